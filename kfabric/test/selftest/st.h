/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of the selftest share: results, connected pairs, operations.
 *
 * One thread runs all tests, one after the other; only it opens pairs and
 * checks. The threads of load.c work on what it has opened for them. Every wait
 * has a deadline.
 */
#ifndef KFABRIC_SELFTEST_ST_H
#define KFABRIC_SELFTEST_ST_H

#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/types.h>

#include <kfabric/fi_atomic.h>
#include <kfabric/fi_av.h>
#include <kfabric/fi_cntr.h>
#include <kfabric/fi_scalable.h>
#include <kfabric/kfi_provider.h>

#define ST_WAIT_MS   60000 /* deadline of everything that must come */
#define ST_QUIET_MS  50 /* how long to look for what must not come */
#define ST_MAX_SEGS  16
#define ST_MAX_LEN   (1024 * 1024)
#define ST_SLACK     8192 /* room for odd alignments and gaps */
#define ST_ARENA_LEN (ST_MAX_LEN + ST_SLACK)
#define ST_KEY	     0x5eed0001ULL

/* Module parameters. */
extern unsigned int st_cycles;
extern unsigned int st_peers;
extern bool st_with_load;
extern char *st_peer;
extern char *st_nobody;
extern ushort st_peer_port;
extern bool st_datagrams;
extern bool st_go;

/* Results of one provider. */
struct st {
	const char *provider;
	const char *node;
	const char *service;
	unsigned int passed;
	unsigned int failed;

	struct fi_info *listen_info;
	struct fi_info *info; /* to connect to pep */
	struct fid_fabric *fabric;
	struct fid_domain *domain; /* of the active side */
	struct fid_domain *target; /* of the passive side */
	struct fid_eq *pep_eq;
	struct fid_pep *pep;
	u64 next_key;
	size_t queue_size; /* of nodes to be opened; 0: the provider's */
	struct fid_cntr *tx_cntr; /* of endpoints of its domain; NULL: none */
	struct fid_cntr *rx_cntr;
};

/* fabric, domain, target, pep_eq and pep */
#define ST_OBJECTS 5
/* Of a provider of unconnected endpoints: fabric, domain and target. */
#define ST_RDM_OBJECTS 3

/* ---- tap.c ---- */

void st_tap_line(const char *fmt, ...) __printf(1, 2);
void st_tap_show(struct seq_file *m);
bool st_check(struct st *st, bool ok, const char *what, long long got,
	      long long want);
bool st_checkf(struct st *st, bool ok, const char *fmt, ...) __printf(3, 4);
int st_tap_setup(void);
void st_tap_teardown(void);

/* One assertion, one TAP line. The description is a sentence. */
#define CHECK(st, cond, what) st_check(st, cond, what, 0, 0)
#define CHECK_EQ(st, got, want, what)                           \
	({                                                      \
		long long _got = (got), _want = (want);         \
		st_check(st, _got == _want, what, _got, _want); \
	})
/* Description made with a format. */
#define CHECKF(st, cond, fmt, ...) st_checkf(st, cond, fmt, ##__VA_ARGS__)

/* Wait until something is so; 0 or -ETIME. */
#define ST_UNTIL(cond)                                                       \
	({                                                                   \
		unsigned long _end = jiffies + msecs_to_jiffies(ST_WAIT_MS); \
		while (!(cond) && time_before(jiffies, _end))                \
			schedule_timeout_uninterruptible(1);                 \
		(cond) ? 0 : -ETIME;                                         \
	})

/* ---- op.c ---- */

/* An operation and what became of it. */
struct st_op {
	unsigned int count; /* completions seen; must end as 1 */
	struct fi_cq_err_entry entry; /* the last one */
	struct completion done; /* for upcalls */
	struct fi_context ctx; /* last: the provider's bytes follow */
};

struct st_op *st_op_new(struct st *st);
void st_op_reset(struct st_op *op);
struct st_op *st_op_of(void *op_context);
int st_cq_take(struct fid_cq *cq, int timeout_ms, void **context);
bool st_op_wait(struct fid_cq *cq, struct st_op *op);
int st_op_result(struct fid_cq *cq, struct st_op *op, ssize_t posted);
unsigned int st_cq_drain(struct fid_cq *cq, int timeout_ms);

/* ---- pair.c ---- */

/* How a pair differs from the usual one. */
struct st_opts {
	size_t tx_size;
	u64 tx_bind; /* FI_SELECTIVE_COMPLETION */
	u64 tx_op_flags;
	u32 op_timeout_ms;
	struct fi_cq_attr *cq_attr; /* upcalls, wait objects */
	struct fi_eq_attr *eq_attr;
	struct fi_cq_attr *passive_cq_attr; /* of receives of that side alone */
	void *cq_context;
	struct fi_space_handler *space;
	struct fid_ep *srx; /* that the passive side takes receives from */
	const void *connect_data;
	size_t connect_len;
	const void *accept_data;
	size_t accept_len;
};

/* Two connected endpoints; a connected to b. */
struct st_pair {
	struct st *st;
	struct fid_eq *eq; /* of both */
	struct fid_cq *acq;
	struct fid_cq *bcq;
	struct fid_cq *btx; /* NULL: bcq */
	struct fid_ep *a;
	struct fid_ep *b;
	const u8 *a_data; /* seen by a when connected; of the last pair */
	ssize_t a_len;
	const u8 *b_data; /* seen by b's side in the request */
	ssize_t b_len;
};

/* The last event that was read; data is overwritten by the next one. */
struct st_event {
	u32 event;
	ssize_t len; /* of data, or negative */
	struct kfid *fid;
	struct fi_info *info;
	const u8 *data;
};

bool st_tells_of_peer(const struct st *st);
bool st_tells_why(const struct st *st);
int st_open(struct st *st);
void st_close(struct st *st);
ssize_t st_event_wait(struct fid_eq *eq, struct st_event *ev, int timeout_ms);
int st_ep_open(struct st_pair *p, struct fi_info *info, bool passive,
	       const struct st_opts *opts);
int st_pair_open(struct st_pair *p, struct st *st, const struct st_opts *opts);
void st_pair_close(struct st_pair *p);
int st_mr_open(struct st_pair *p, const struct fi_buf *buf, u64 access,
	       struct fid_mr **mr);
u64 st_mr_addr(struct fid_mr *mr, u64 offset);
bool st_settled(const struct st *st);

/* ---- rdm.c ---- */

struct st_place;

/* An unconnected endpoint with what belongs to it, on st.domain. */
struct st_node {
	struct st *st;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_ep *ep;
	struct sockaddr_in6 name;
	size_t name_len;
	struct st_place *place; /* t_rdm_context.c */
};

bool st_is_unconnected(const struct st *st);
bool st_is_dgram(const struct st *st);
bool st_is_ud(const struct st *st);
bool st_is_rdm_layer(const struct st *st);
bool st_knows_ports(const struct st *st);
size_t st_longest(const struct st *st);
int st_rdm_open(struct st *st);
int st_node_open(struct st_node *n, struct st *st, u16 port, u32 timeout_ms);
int st_node_open_cq(struct st_node *n, struct st *st, u16 port, u32 timeout_ms,
		    struct fi_cq_attr *cq);
void st_node_close(struct st_node *n);
int st_node_limit(struct st_node *n, u32 ms);
fi_addr_t st_node_knows(struct st_node *n, const struct st_node *other);
ssize_t st_node_send(struct st_node *n, struct st_op *op, const void *buf,
		     size_t len, fi_addr_t to);
ssize_t st_node_recv(struct st_node *n, struct st_op *op, void *buf,
		     size_t len);
u16 st_node_port(const struct st_node *n);

#define ST_CTXS	    3 /* contexts of a scalable endpoint, in each direction */
#define ST_CTX_BITS 2 /* of numbers, for more contexts than there are */

/* A scalable endpoint with what belongs to it, on st.domain. */
struct st_sep {
	struct st *st;
	struct fid_av *av;
	struct fid_ep *sep;
	struct fid_cq *tx_cq[ST_CTXS], *rx_cq[ST_CTXS];
	struct fid_ep *tx[ST_CTXS], *rx[ST_CTXS];
	struct sockaddr_in6 name;
	size_t name_len;
};

int st_sep_open(struct st_sep *s, struct st *st);
int st_sep_tx_open(struct st_sep *s, int i);
int st_sep_rx_open(struct st_sep *s, int i);
void st_sep_close(struct st_sep *s);

#define ST_ROOM_OPS   24
#define ST_ROOM_BASE  4096 /* room for one message in a buffer */
#define ST_ROOM_BYTES (ST_ROOM_OPS * ST_ROOM_BASE)

/* Room and operations for tests with several messages. */
struct st_room {
	struct st_op *tx[ST_ROOM_OPS];
	struct st_op *rx[ST_ROOM_OPS];
	u8 *src, *dst;
};

/* Two endpoints that know each other, and room for what they say. */
struct st_duo {
	struct st_room r;
	struct st_node a, b;
	fi_addr_t to_b, to_a; /* as each knows the other */
};

void st_room_close(struct st_room *r);
bool st_room_open(struct st_room *r, struct st *st);
bool st_duo_open(struct st_duo *d, struct st *st);
void st_duo_close(struct st_duo *d);
bool st_two_open(struct st *st, struct st_node *a, struct st_node *b,
		 u32 timeout_ms);
int st_pass(struct st_room *r, struct st_node *from, struct st_node *to,
	    fi_addr_t addr, size_t len);

/* ---- rogue.c ---- */

#define ST_HELLO_LEN 52

/* A connected endpoint of the provider below, which says what it likes. */
struct st_rogue {
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq;
	struct fid_pep *pep;
	struct fid_ep *ep;
	struct fi_info *info;
};

int st_rogue_ask(struct st *st, u16 port, u64 flags, struct fi_info **info);
int st_rogue_open(struct st_rogue *x, struct st *st, u16 port);
void st_rogue_close(struct st_rogue *x);
int st_rogue_dial(struct st_rogue *x, const u8 *hello, size_t len);
int st_rogue_connect(struct st_rogue *x, const u8 *hello, size_t len);
void st_rogue_hello(u8 *hello, u8 serial);
void st_rogue_name(u8 *hello, u8 serial, struct sockaddr_in6 *name);
bool st_rogue_says_with(struct st_rogue *x, u8 serial, u8 features,
			const u8 *bytes, size_t len, const u32 *data,
			struct st_op *op);
bool st_rogue_says(struct st_rogue *x, u8 serial, u8 features, const u8 *bytes,
		   size_t len, struct st_op *op);
int st_rogue_send(struct st_rogue *x, struct st_op *op, const u8 *bytes,
		  size_t len);
ssize_t st_rogue_take(struct st_rogue *x, struct st_op *op, u8 *buf);
bool st_objects_fall(const struct kfi_provider *prov, int to);

/* ---- seg.c ---- */

/* Test memory: one buffer of any type over a contiguous arena. */
struct st_seg {
	u8 *arena;
	struct fi_buf buf;
	unsigned int count;
	struct kvec kvec[ST_MAX_SEGS];
	struct bio_vec bvec[ST_MAX_SEGS];
	struct scatterlist sg[ST_MAX_SEGS];
};

struct st_seg *st_seg_new(void);
void st_seg_free(struct st_seg *seg);
void st_seg_shape(struct st_seg *seg, enum fi_buf_type type,
		  unsigned int segments, size_t align, size_t len);
void st_seg_fill(struct st_seg *seg, u8 seed);
bool st_seg_holds(const struct st_seg *seg, u8 seed);
void st_fill(u8 *p, size_t len, u8 seed);
bool st_holds(const u8 *p, size_t len, u8 seed);
bool st_clean(const u8 *p, size_t len);

/* ---- t_memory.c ---- */

unsigned long st_free_pages(void);
void st_say_each(const char *what, unsigned long before, unsigned long after,
		 unsigned int count);

/* ---- t_cntr.c ---- */

int st_cntr_bind(const struct st *st, struct fid_ep *ep);

/* ---- t_dgram.c ---- */

fi_addr_t st_dgram_absent(const struct st_node *n, u8 behind);

/* ---- load.c ---- */

struct st_load;

struct st_load *st_load_start(struct st *st);
bool st_load_goes_on(struct st_load *load);
void st_load_stop(struct st_load *load, unsigned int rounds);

/* ---- t_atomic.c ---- */

#define ST_ATOMIC_AT	 64 /* of a region in its memory */
#define ST_ATOMIC_REGION 4096

/* Who does atomic operations, on which region. */
struct st_atomic {
	struct st *st;
	struct st_pair p; /* of connected endpoints */
	struct fid_ep *ep;
	struct fid_cq *cq;
	fi_addr_t to;
	struct st_op *op;
	u8 *memory; /* ST_ATOMIC_AT before the region, and one region behind it */
	struct fid_mr *mr;
	u64 key;
	u64 operand[8], compare[8], result[8];
};

int st_atomic_do(struct st_atomic *a, enum fi_datatype type, enum fi_op op,
		 u64 kind, size_t count, u64 offset);
void st_atomic_suite(struct st_atomic *a);

/* ---- beside.c ---- */

void st_beside_start(struct st *st, const char *names);
void st_beside_stop(struct st *st);

/* ---- the tests ---- */

int st_dummy_round(void);
void st_test_core(struct st *st);
void st_test_dummy(struct st *st);
void st_test_info(struct st *st);
void st_test_object(struct st *st);
void st_test_connect(struct st *st);
void st_test_msg(struct st *st);
void st_test_rma(struct st *st);
void st_test_read(struct st *st);
void st_test_access(struct st *st);
void st_test_queue(struct st *st);
void st_test_level(struct st *st);
void st_test_atomic(struct st *st);
void st_test_close(struct st *st);
void st_test_context(struct st *st);
void st_test_cycle(struct st *st);
void st_test_late(struct st *st);
void st_test_two_closes(struct st *st);
void st_test_doorbell(struct st *st);
void st_test_strangers(struct st *st);
void st_test_cntr(struct st *st);
void st_test_look(struct st *st);
void st_test_wait(struct st *st);
void st_test_order(struct st *st);
void st_test_srx(struct st *st);
void st_test_srx_alloc(struct st *st);
void st_test_srx_left(struct st *st);
void st_test_srx_made(struct st *st);
void st_test_rdm_cntr(struct st *st);
void st_test_rdm_object(struct st *st);
void st_test_rdm_av(struct st *st);
void st_test_rdm_msg(struct st *st);
void st_test_rdm_inject(struct st *st);
void st_test_rdm_tag(struct st *st);
void st_test_rdm_directed(struct st *st);
void st_test_rdm_multi(struct st *st);
void st_test_rdm_rma(struct st *st);
void st_test_rdm_scalable(struct st *st);
void st_test_rdm_atomic(struct st *st);
void st_test_rdm_atomic_lost(struct st *st);
void st_test_rdm_cancel(struct st *st);
void st_test_rdm_peer(struct st *st);
void st_test_rdm_hostile(struct st *st);
void st_test_rdm_idle(struct st *st);
void st_test_rdm_grant(struct st *st);
void st_test_rdm_removal(struct st *st);
void st_test_rdm_alloc(struct st *st);
void st_test_dgram(struct st *st);
void st_test_dgram_full(struct st *st);
void st_test_dgram_absent(struct st *st);
void st_test_dgram_unplug(struct st *st);
void st_test_ud(struct st *st);
void st_test_ud_late_cancel(struct st *st);
void st_test_ud_crowd(struct st *st);
void st_test_ud_again(struct st *st);
void st_test_ud_claim(struct st *st);
void st_test_ud_mtu(struct st *st);
void st_test_ud_stray(struct st *st);
void st_test_ud_server(struct st *st);
void st_test_ud_client(struct st *st);
void st_test_remote(struct st *st);
void st_test_cut(struct st *st);
void st_test_gone(struct st *st);
void st_test_rdm_memory(struct st *st);
void st_test_rdm_cost(struct st *st);
void st_test_rdm_peers(struct st *st);
void st_test_rdm_cycle(struct st *st);
void st_test_rdm_context(struct st *st);
void st_test_rdm_busy(struct st *st);
void st_test_rdm_grow(struct st *st);
void st_test_rdm_grow_refused(struct st *st);
void st_test_rdm_broken(struct st *st);
void st_test_rdm_settle(struct st *st);
void st_test_rdm_refused(struct st *st);
void st_test_rdm_crowd(struct st *st);
void st_test_rdm_again(struct st *st);
void st_test_memory(struct st *st);
void st_test_woken_cancel(struct st *st);
void st_test_woken_late(struct st *st);

#endif /* KFABRIC_SELFTEST_ST_H */
