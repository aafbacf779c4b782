// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: what providers over other providers have in common.
 *
 * Context: process.
 * Lifetime: the inner fabric is closed in close(), before the outer one goes.
 */
#include <linux/export.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kfabric/kfi_layer.h>

const char *kfi_layer_inner_name(const char *prov_name)
{
	const char *rest = prov_name ? strchr(prov_name, ';') : NULL;

	return rest && rest[1] ? rest + 1 : NULL;
}
EXPORT_SYMBOL_GPL(kfi_layer_inner_name);

int kfi_layer_name(struct fi_info *info, const struct kfi_provider *prov)
{
	char *name = kasprintf(GFP_KERNEL, "%s;%s", prov->name,
			       info->fabric_attr->prov_name);

	if (!name)
		return -ENOMEM;
	kfree(info->fabric_attr->prov_name);
	info->fabric_attr->prov_name = name;
	info->fabric_attr->prov_version = prov->version;
	return 0;
}
EXPORT_SYMBOL_GPL(kfi_layer_name);

static struct kfi_layer_fabric *to_kfi_layer_fabric(struct kfid *fid)
{
	return container_of(fid, struct kfi_layer_fabric, fabric.fid);
}

static void kfi_layer_fabric_close(struct kfid *fid)
{
	fi_close(&to_kfi_layer_fabric(fid)->inner->fid);
}

static void kfi_layer_fabric_release(struct kfid *fid)
{
	kfree(to_kfi_layer_fabric(fid));
}

static const struct fi_ops kfi_layer_fabric_ops = {
	.size = sizeof(struct fi_ops),
	.close = kfi_layer_fabric_close,
	.release = kfi_layer_fabric_release,
};

int kfi_layer_fabric(struct kfi_provider *prov, struct fi_fabric_attr *attr,
		     struct fid_fabric **fabric, void *context)
{
	struct fi_fabric_attr inner = *attr;
	struct kfi_layer_fabric *new;
	int ret;

	inner.prov_name = (char *)kfi_layer_inner_name(attr->prov_name);
	if (!inner.prov_name)
		return -EINVAL;
	new = kzalloc(sizeof(*new), GFP_KERNEL);
	if (!new)
		return -ENOMEM;
	ret = fi_fabric(&inner, &new->inner, new);
	if (ret)
		goto free;
	ret = kfi_fabric_init(&new->fabric, prov, &kfi_layer_fabric_ops,
			      prov->fabric_ops, context);
	if (ret)
		goto close_inner;
	*fabric = &new->fabric;
	return 0;
close_inner:
	fi_close(&new->inner->fid);
free:
	kfree(new);
	return ret;
}
EXPORT_SYMBOL_GPL(kfi_layer_fabric);
