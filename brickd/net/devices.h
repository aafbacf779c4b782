/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The RDMA devices behind a listening address: how each is reached, which have
 * passed the self-test, whether they can reach the medium.
 *
 * A wildcard address listens on all devices, so the self-test must try each of
 * them; a device that had no address then was not tried and is not served.
 *
 * Context: the thread that starts the daemon; brick_device_is_tested() and
 * brick_device_is_soft() the loop.
 */
#ifndef BRICKD_NET_DEVICES_H
#define BRICKD_NET_DEVICES_H

#include "brickd/media/media.h"
#include "brickd/net/fabric.h"

/**
 * brick_devices_find - how to reach each device that an address listens on
 * @listen: any address
 * @found: one address for each device, the port is as in @listen
 * @n: how many
 * @err: message on failure
 * @err_len: its size, bytes
 *
 * Return: 0, -ENODEV (a wildcard, but no device has an address), -E2BIG (more
 * than BRICK_DEVICES_MAX), -errno.
 */
int brick_devices_find(const struct brick_address *listen,
		       struct brick_address found[BRICK_DEVICES_MAX],
		       uint32_t *n, char *err, size_t err_len);

/**
 * brick_device_add - a device has passed the self-test
 * @fabric: through which
 * @info: of a connection request that came over it; copied
 *
 * Return: 0, -E2BIG or -ENOMEM.
 */
int brick_device_add(struct brick_fabric *fabric, const struct fi_info *info);
void brick_devices_fini(struct brick_fabric *fabric);

/**
 * brick_device_is_tested - has a connection request come over a tested device?
 * @fabric: through which
 * @info: of the request
 */
bool brick_device_is_tested(const struct brick_fabric *fabric,
			    const struct fi_info *info);

/* Where the system lists RDMA devices. */
#define BRICK_DEVICES_FOLDER "/sys/class/infiniband"

/**
 * brick_device_is_soft - is an RDMA device made of software?
 * @folder: BRICK_DEVICES_FOLDER
 * @name: of the device
 *
 * Soft RoCE and soft iWARP have no hardware of their own below them: the CPU
 * copies what arrives to its place. In doubt a device is hardware.
 */
bool brick_device_is_soft(const char *folder, const char *name);

/**
 * brick_devices_try_medium - can the devices reach the medium, and may they?
 * @fabric: tested
 * @media: to be served
 * @err: message on failure: what to do
 * @err_len: its size, bytes
 *
 * Return: 0, -EOPNOTSUPP or -errno.
 */
int brick_devices_try_medium(const struct brick_fabric *fabric,
			     const struct brick_media *media, char *err,
			     size_t err_len);

#endif
