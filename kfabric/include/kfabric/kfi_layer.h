/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * kfabric for providers that are a layer over another one: "rdm;tcp" is rdm over
 * tcp. What each object of them does is theirs; names and fabrics are the same for
 * all.
 */
#ifndef KFABRIC_KFI_LAYER_H
#define KFABRIC_KFI_LAYER_H

#include <kfabric/kfi_provider.h>

/**
 * struct kfi_layer_fabric - a fabric of a layer
 * @fabric: for upper layers
 * @inner: the one below, open as long as @fabric is
 */
struct kfi_layer_fabric {
	struct fid_fabric fabric;
	struct fid_fabric *inner;
};

static inline struct fid_fabric *kfi_layer_inner(struct fid_fabric *fabric)
{
	return container_of(fabric, struct kfi_layer_fabric, fabric)->inner;
}

/**
 * kfi_layer_inner_name() - the provider that a layer is over
 * @prov_name: "rdm;tcp", or NULL
 *
 * Context: any.
 * Return: "tcp", a part of @prov_name; NULL: it names none.
 */
const char *kfi_layer_inner_name(const char *prov_name);

/**
 * kfi_layer_name() - put a layer's name and version into an info of the inner provider
 * @info: from fi_getinfo()
 * @prov: the layer
 *
 * Context: process.
 * Return: 0; -ENOMEM.
 */
int kfi_layer_name(struct fi_info *info, const struct kfi_provider *prov);

/**
 * kfi_layer_fabric() - a fabric operation to point &kfi_provider.fabric at: opens the
 *	inner one as well
 * @prov: the layer
 * @attr: from fi_fabric()
 * @fabric: out: is in a &struct kfi_layer_fabric
 * @context: from fi_fabric()
 *
 * Context: process.
 * Return: 0; -EINVAL @attr names no inner provider; -ENOMEM; as fi_fabric().
 */
int kfi_layer_fabric(struct kfi_provider *prov, struct fi_fabric_attr *attr,
		     struct fid_fabric **fabric, void *context);

#endif /* KFABRIC_KFI_LAYER_H */
