// SPDX-License-Identifier: BSD-2-Clause
/*
 * A link between two network namespaces that is as bad as a test wants it:
 * rate, queue, delay, loss, order, corruption and cuts, for kernels without
 * netem. Each namespace has one end of it, a TUN device; what one sends this
 * program hands to the other, later or never. A packet's checksums are in it,
 * so TCP notices what was corrupted.
 *
 *   slow-link [NAME=VALUE]...
 *
 *   rate=BITS      per second and direction; 0: as fast as it goes
 *   queue=BYTES    that wait before the rate; what comes then is dropped
 *   delay=MS       of every packet
 *   loss=PERMILLE, corrupt=PERMILLE
 *   reorder=PERMILLE  that come REORDER_MS later than their neighbours
 *   cut=0|1        nothing passes
 *   here=1         the first end is in the namespace of who starts it
 *   seed=N
 *
 * Prints "CLIENT BRICK\n", paths of the two namespaces for nsenter --net=, when
 * both ends are up; the first has 10.77.0.1, the second 10.77.0.2. Lines of
 * NAME=VALUE on standard input change it; its end ends it. Nothing outlives it
 * but processes that were started in the namespaces.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PACKET_MAX  2048
#define REORDER_MS  10
#define PACKETS_MAX 65536
#define NS_PER_MS   1000000ULL
#define NS_PER_S    1000000000ULL
#define IPV4_MIN    20
#define N_ENDS	    2

struct packet {
	TAILQ_ENTRY(packet) link;
	uint64_t leaves_ns; /* the queue before the rate */
	uint64_t due_ns;
	bool is_queued;
	size_t len;
	uint8_t bytes[];
};

/* One direction: from this end's device to the other's. */
struct end {
	int tun_fd;
	int ns_fd;
	TAILQ_HEAD(packets, packet) packets; /* by due_ns */
	uint32_t n_packets;
	uint64_t queued_bytes;
	uint64_t free_ns; /* the rate has sent all that is queued */
};

static struct {
	uint64_t rate, queue, delay, loss, corrupt, reorder, cut, here, seed;
} link_is = { .queue = 256 * 1024, .seed = 1 };

static const struct {
	const char *name;
	uint64_t *value;
} settings[] = {
	{ "rate", &link_is.rate },	 { "queue", &link_is.queue },
	{ "delay", &link_is.delay },	 { "loss", &link_is.loss },
	{ "corrupt", &link_is.corrupt }, { "reorder", &link_is.reorder },
	{ "cut", &link_is.cut },	 { "here", &link_is.here },
	{ "seed", &link_is.seed },
};

static void die(const char *what)
{
	fprintf(stderr, "slow-link: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void set(const char *word)
{
	const char *value = strchr(word, '=');
	size_t i;

	for (i = 0; value && i < sizeof(settings) / sizeof(settings[0]); i++) {
		size_t len = strlen(settings[i].name);

		if (len != (size_t)(value - word) ||
		    strncmp(word, settings[i].name, len) != 0)
			continue;
		*settings[i].value = strtoull(value + 1, NULL, 10);
		return;
	}
	errno = EINVAL;
	die(word);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* xorshift64*: the same packets meet the same fate for the same seed. */
static uint64_t draw(uint64_t below)
{
	link_is.seed ^= link_is.seed >> 12;
	link_is.seed ^= link_is.seed << 25;
	link_is.seed ^= link_is.seed >> 27;
	return (link_is.seed * 0x2545f4914f6cdd1dULL >> 33) % below;
}

static bool happens(uint64_t permille)
{
	return permille && draw(1000) < permille;
}

/* ---- the ends ---------------------------------------------------------- */

static void interface_up(const char *name, const char *address)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct ifreq ifr = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		die("socket");
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (address) {
		inet_pton(AF_INET, address, &sin.sin_addr);
		memcpy(&ifr.ifr_addr, &sin, sizeof(sin));
		if (ioctl(fd, SIOCSIFADDR, &ifr))
			die("address");
		inet_pton(AF_INET, "255.255.255.0", &sin.sin_addr);
		memcpy(&ifr.ifr_netmask, &sin, sizeof(sin));
		if (ioctl(fd, SIOCSIFNETMASK, &ifr))
			die("netmask");
	}
	ifr.ifr_flags = IFF_UP | IFF_RUNNING;
	if (ioctl(fd, SIOCSIFFLAGS, &ifr))
		die(name);
	close(fd);
}

/* In a namespace of its own, which this process is in afterwards. */
static void end_open(struct end *end, const char *name, const char *address,
		     bool here)
{
	struct ifreq ifr = { .ifr_flags = IFF_TUN | IFF_NO_PI };

	if (!here && unshare(CLONE_NEWNET))
		die("a network namespace");
	TAILQ_INIT(&end->packets);
	end->ns_fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	end->tun_fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (end->ns_fd < 0 || end->tun_fd < 0)
		die("/dev/net/tun");
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (ioctl(end->tun_fd, TUNSETIFF, &ifr))
		die(name);
	if (!here)
		interface_up("lo", NULL);
	interface_up(name, address);
}

/* ---- packets ----------------------------------------------------------- */

/* By the time that it is due; most belong to the end. */
static void insert(struct end *end, struct packet *packet)
{
	struct packet *at = TAILQ_LAST(&end->packets, packets);

	while (at && at->due_ns > packet->due_ns)
		at = TAILQ_PREV(at, packets, link);
	if (at)
		TAILQ_INSERT_AFTER(&end->packets, at, packet, link);
	else
		TAILQ_INSERT_HEAD(&end->packets, packet, link);
	end->n_packets++;
}

static void spoil(struct packet *packet)
{
	if (packet->len > IPV4_MIN)
		packet->bytes[IPV4_MIN + draw(packet->len - IPV4_MIN)] ^=
			(uint8_t)(1 + draw(255));
}

static void take(struct end *end, const uint8_t *bytes, size_t len,
		 uint64_t at_ns)
{
	struct packet *packet;

	if (link_is.cut || happens(link_is.loss) ||
	    end->n_packets == PACKETS_MAX ||
	    (link_is.rate && end->queued_bytes + len > link_is.queue))
		return;
	packet = calloc(1, sizeof(*packet) + len);
	if (!packet)
		return;
	packet->len = len;
	memcpy(packet->bytes, bytes, len);
	if (happens(link_is.corrupt))
		spoil(packet);
	if (end->free_ns < at_ns)
		end->free_ns = at_ns;
	if (link_is.rate)
		end->free_ns += len * 8 * NS_PER_S / link_is.rate;
	packet->leaves_ns = end->free_ns;
	packet->is_queued = true;
	end->queued_bytes += len;
	packet->due_ns = end->free_ns + link_is.delay * NS_PER_MS;
	if (happens(link_is.reorder))
		packet->due_ns += REORDER_MS * NS_PER_MS;
	insert(end, packet);
}

static void take_all(struct end *end)
{
	uint8_t bytes[PACKET_MAX];
	ssize_t n;

	while ((n = read(end->tun_fd, bytes, sizeof(bytes))) > 0) {
		/* IPv4 alone: what IPv6 says of itself is no test's affair. */
		if (bytes[0] >> 4 == 4)
			take(end, bytes, (size_t)n, now_ns());
	}
}

/* Packets that have left the queue make room there. */
static void drain_queue(struct end *end, uint64_t at_ns)
{
	struct packet *packet;

	TAILQ_FOREACH(packet, &end->packets, link)
	{
		if (packet->leaves_ns > at_ns + REORDER_MS * NS_PER_MS)
			break;
		if (!packet->is_queued || packet->leaves_ns > at_ns)
			continue;
		packet->is_queued = false;
		end->queued_bytes -= packet->len;
	}
}

static void hand_over(struct end *end, const struct end *to, uint64_t at_ns)
{
	struct packet *packet = TAILQ_FIRST(&end->packets);
	struct packet *next;

	drain_queue(end, at_ns);
	for (; packet && packet->due_ns <= at_ns; packet = next) {
		next = TAILQ_NEXT(packet, link);
		/* A device that is full drops it, as a wire would. */
		if (!link_is.cut &&
		    write(to->tun_fd, packet->bytes, packet->len) < 0 &&
		    errno != EAGAIN && errno != EIO && errno != EINVAL)
			die("handing a packet over");
		TAILQ_REMOVE(&end->packets, packet, link);
		end->n_packets--;
		free(packet);
	}
}

static uint64_t next_ns(const struct end *ends)
{
	uint64_t next = UINT64_MAX;
	int i;

	for (i = 0; i < N_ENDS; i++) {
		const struct packet *first = TAILQ_FIRST(&ends[i].packets);

		if (first && first->due_ns < next)
			next = first->due_ns;
	}
	return next;
}

/* ---- the loop ---------------------------------------------------------- */

/* What has been written to standard input; false: it has ended. */
static bool obey(void)
{
	static char line[256];
	static size_t len;
	ssize_t n = read(STDIN_FILENO, line + len, sizeof(line) - 1 - len);
	char *end;

	if (n <= 0)
		return false;
	len += (size_t)n;
	line[len] = '\0';
	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		set(line);
		len -= (size_t)(end + 1 - line);
		memmove(line, end + 1, len + 1);
	}
	return true;
}

static void run(struct end *ends)
{
	struct pollfd fds[] = {
		{ .fd = ends[0].tun_fd, .events = POLLIN },
		{ .fd = ends[1].tun_fd, .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
	};

	for (;;) {
		uint64_t at_ns = now_ns();
		uint64_t next = next_ns(ends);
		uint64_t wait_ns = next > at_ns ? next - at_ns : 0;
		struct timespec wait = {
			.tv_sec = (time_t)(wait_ns / NS_PER_S),
			.tv_nsec = (long)(wait_ns % NS_PER_S),
		};
		int i;

		if (ppoll(fds, 3, next == UINT64_MAX ? NULL : &wait, NULL) <
			    0 &&
		    errno != EINTR)
			die("ppoll");
		if (fds[2].revents && !obey())
			return;
		for (i = 0; i < N_ENDS; i++) {
			take_all(&ends[i]);
			hand_over(&ends[i], &ends[1 - i], now_ns());
		}
	}
}

int main(int argc, char **argv)
{
	struct end ends[N_ENDS] = { 0 };
	int i;

	for (i = 1; i < argc; i++)
		set(argv[i]);
	end_open(&ends[0], "slow0", "10.77.0.1", link_is.here);
	end_open(&ends[1], "slow1", "10.77.0.2", false);
	printf("/proc/%d/fd/%d /proc/%d/fd/%d\n", getpid(), ends[0].ns_fd,
	       getpid(), ends[1].ns_fd);
	fflush(stdout);
	run(ends);
	return 0;
}
