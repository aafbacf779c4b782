/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A kernel's way to the simulated fabric: one end of a link, as the fabric's
 * objects for processes have it. It names neither libfabric's nor kfabric's types,
 * which are called the same.
 */
#ifndef SIM_KERNEL_NIC_H
#define SIM_KERNEL_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KM_NIC_DATA_MAX 256

struct km_nic;

enum km_nic_kind {
	KM_NIC_DONE,
	KM_NIC_FAILED, /* the operation is why the link ends */
	KM_NIC_CONNECTED,
	KM_NIC_REFUSED,
	KM_NIC_SHUTDOWN,
	KM_NIC_CALLED,
};

/*
 * struct km_nic_event - what has happened
 * @context: of an operation; NULL: nobody's
 * @len: of a message, or of @data
 * @error: positive
 * @data: of the peer's answer
 */
struct km_nic_event {
	enum km_nic_kind kind;
	void *context;
	size_t len;
	int error;
	uint8_t data[KM_NIC_DATA_MAX];
};

struct km_nic *km_nic_open(void);
int km_nic_connect(struct km_nic *nic, uint16_t port, const void *data,
		   size_t len);
/* Posting: 0 or a negative errno. */
int km_nic_send(struct km_nic *nic, const void *buf, size_t len, void *context);
int km_nic_recv(struct km_nic *nic, void *buf, size_t len, void *context);
int km_nic_write(struct km_nic *nic, const void *buf, size_t len,
		 uint64_t raddr, uint64_t key, bool commits, void *context);
int km_nic_read(struct km_nic *nic, void *buf, size_t len, uint64_t raddr,
		uint64_t key, void *context);

/* Waits for the next event. */
void km_nic_next(struct km_nic *nic, struct km_nic_event *event);
/* Whoever waits for one gets KM_NIC_CALLED. */
void km_nic_call(struct km_nic *nic);
/* Nothing of it reaches memory any more. */
void km_nic_close(struct km_nic *nic);
void km_nic_free(struct km_nic *nic);

#endif
