// SPDX-License-Identifier: BSD-2-Clause
/* Text: numbers, copies, addresses. */
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/uuid.h>
#include <net/net_namespace.h>

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include <linux/in.h>

struct net init_net;
static struct nsproxy sim_nsproxy = { .net_ns = &init_net };
struct task_struct sim_task = { .nsproxy = &sim_nsproxy };

ssize_t strscpy(char *to, const char *from, size_t room)
{
	size_t len = strnlen(from, room);

	if (!room)
		return -E2BIG;
	if (len == room)
		len--;
	memcpy(to, from, len);
	to[len] = '\0';
	return from[len] ? -E2BIG : (ssize_t)len;
}

int scnprintf(char *to, size_t room, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(to, room, fmt, ap);
	va_end(ap);
	return min(n, (int)room - 1);
}

char *strim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

void memzero_explicit(void *at, size_t len)
{
	memset(at, 0, len);
	barrier();
}

void *kmemdup(const void *from, size_t len, gfp_t flags)
{
	void *to = kmalloc(len, flags);

	return to ? memcpy(to, from, len) : NULL;
}

char *kstrdup(const char *text, gfp_t flags)
{
	return text ? kmemdup(text, strlen(text) + 1, flags) : NULL;
}

void *memdup_user_nul(const void *from, size_t len)
{
	char *to = kzalloc(len + 1, GFP_KERNEL);

	return to ? memcpy(to, from, len) : ERR_PTR(-ENOMEM);
}

/* ---- numbers ---------------------------------------------------------------- */

/* What follows a number is a line's end at most. */
static int parse(const char *text, unsigned int base, u64 most, u64 *out)
{
	char *end;

	if (!isxdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, &end, (int)base);
	if (*end == '\n')
		end++;
	if (*end)
		return -EINVAL;
	return errno || *out > most ? -ERANGE : 0;
}

int kstrtou64(const char *text, unsigned int base, u64 *out)
{
	return parse(text, base, U64_MAX, out);
}

int kstrtou32(const char *text, unsigned int base, u32 *out)
{
	u64 number;
	int ret = parse(text, base, U32_MAX, &number);

	if (!ret)
		*out = (u32)number;
	return ret;
}

int kstrtou16(const char *text, unsigned int base, u16 *out)
{
	u64 number;
	int ret = parse(text, base, U16_MAX, &number);

	if (!ret)
		*out = (u16)number;
	return ret;
}

int uuid_parse(const char *text, uuid_t *out)
{
	char byte[3] = "";

	for (u32 i = 0; i < sizeof(out->b); i++) {
		if (*text == '-')
			text++;
		if (!isxdigit((unsigned char)text[0]) ||
		    !isxdigit((unsigned char)text[1]))
			return -EINVAL;
		memcpy(byte, text, 2);
		out->b[i] = (u8)strtoul(byte, NULL, 16);
		text += 2;
	}
	return 0;
}

/* ---- files of sysfs ------------------------------------------------------------ */

static int emit(char *buf, int at, const char *fmt, va_list ap)
{
	int n = vsnprintf(buf + at, (size_t)(4096 - at), fmt, ap);

	return n < 4096 - at ? n : 4096 - at - 1;
}

int sysfs_emit(char *buf, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = emit(buf, 0, fmt, ap);
	va_end(ap);
	return n;
}

int sysfs_emit_at(char *buf, int at, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = emit(buf, at, fmt, ap);
	va_end(ap);
	return n;
}

/* ---- addresses ------------------------------------------------------------------ */

/* Of IPv4: the simulated fabric has no others. */
int inet_pton_with_scope(struct net *net, unsigned short family,
			 const char *node, const char *service,
			 struct sockaddr_storage *out)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)out;
	u16 port = 0;

	if (service && kstrtou16(service, 0, &port))
		return -EINVAL;
	*sin = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port) };
	return inet_pton(AF_INET, node, &sin->sin_addr) == 1 ? 0 : -EINVAL;
}
