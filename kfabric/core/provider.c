// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfabric_core: registry of providers, and fi_getinfo() over all of them.
 *
 * Locking: kfi_prov_mutex protects the list. No provider's code runs under
 * it: a layered provider calls fi_getinfo() from its own getinfo.
 * Lifetime: prov->ref counts the registration, every object, and every call
 * into the provider that is under way; deregistration waits for it. Calls and
 * objects hold the owner module as well.
 */
#include <linux/kmod.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "core.h"

#define GETINFO_FLAGS (FI_SOURCE | FI_NUMERICHOST | FI_PROV_ATTR_ONLY)

DEFINE_MUTEX(kfi_prov_mutex);
LIST_HEAD(kfi_prov_list);

bool kfi_prov_handles(const char *name, const char *prov_name)
{
	size_t len = strlen(name);

	return !strncmp(prov_name, name, len) &&
	       (!prov_name[len] || prov_name[len] == ';');
}

bool kfi_prov_get(struct kfi_provider *prov)
{
	if (!try_module_get(prov->owner))
		return false;
	if (!READ_ONCE(prov->dying) && refcount_inc_not_zero(&prov->ref))
		return true;
	module_put(prov->owner);
	return false;
}

void kfi_prov_put(struct kfi_provider *prov)
{
	struct module *owner = prov->owner;

	if (refcount_dec_and_test(&prov->ref))
		complete(&prov->gone);
	module_put(owner);
}

/* Return the provider that handles prov_name, with a reference, or NULL. */
static struct kfi_provider *kfi_prov_find(const char *prov_name)
{
	struct kfi_provider *prov, *found = NULL;

	mutex_lock(&kfi_prov_mutex);
	list_for_each_entry(prov, &kfi_prov_list, node) {
		if (kfi_prov_handles(prov->name, prov_name) &&
		    kfi_prov_get(prov)) {
			found = prov;
			break;
		}
	}
	mutex_unlock(&kfi_prov_mutex);
	return found;
}

static void kfi_prov_destroy_wqs(struct workqueue_struct **made)
{
	unsigned int i;

	for (i = KFI_PROVIDER_WQS_MAX; i--;)
		if (made[i])
			destroy_workqueue(made[i]);
}

static int kfi_prov_alloc_wqs(const struct kfi_provider *prov,
			      struct workqueue_struct **made)
{
	const struct kfi_provider_wq *q = prov->wqs;
	unsigned int i;

	for (i = 0; i < KFI_PROVIDER_WQS_MAX && q->wq; i++, q++) {
		made[i] =
			alloc_workqueue("%s", q->flags, q->max_active, q->name);
		if (!made[i]) {
			kfi_prov_destroy_wqs(made);
			return -ENOMEM;
		}
	}
	return 0;
}

int kfabric_provider_register(struct kfi_provider *prov)
{
	struct workqueue_struct *made[KFI_PROVIDER_WQS_MAX] = {};
	struct list_head *pos = &kfi_prov_list;
	struct kfi_provider *other;
	unsigned int i;
	int ret;

	if (!prov->name || !prov->name[0] ||
	    strlen(prov->name) >= KFI_PROV_NAME_MAX ||
	    strchr(prov->name, ';') || !prov->getinfo || !prov->fabric)
		return -EINVAL;
	if (FI_MAJOR(prov->fi_version) != FI_MAJOR_VERSION)
		return -ENOSYS;
	ret = kfi_prov_alloc_wqs(prov, made);
	if (ret)
		return ret;
	mutex_lock(&kfi_prov_mutex);
	list_for_each_entry(other, &kfi_prov_list, node) {
		if (!strcmp(other->name, prov->name)) {
			ret = -EEXIST;
			goto unlock;
		}
	}
	/* Who is registered already keeps the queues that it has. */
	for (i = 0; i < KFI_PROVIDER_WQS_MAX && made[i]; i++)
		*prov->wqs[i].wq = made[i];
	refcount_set(&prov->ref, 1);
	init_completion(&prov->gone);
	atomic_set(&prov->nr_objects, 0);
	prov->dying = false;
	list_for_each_entry(other, &kfi_prov_list, node) {
		if (kfi_prov_comes_before(prov, other)) {
			pos = &other->node;
			break;
		}
	}
	list_add_tail(&prov->node, pos);
unlock:
	mutex_unlock(&kfi_prov_mutex);
	if (ret)
		kfi_prov_destroy_wqs(made);
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_provider_register);

void kfabric_provider_deregister(struct kfi_provider *prov)
{
	unsigned int i;

	might_sleep();
	mutex_lock(&kfi_prov_mutex);
	list_del(&prov->node);
	WRITE_ONCE(prov->dying, true);
	mutex_unlock(&kfi_prov_mutex);
	if (refcount_dec_and_test(&prov->ref))
		complete(&prov->gone);
	wait_for_completion(&prov->gone);
	for (i = KFI_PROVIDER_WQS_MAX; i--;)
		if (prov->wqs[i].wq)
			destroy_workqueue(*prov->wqs[i].wq);
}
EXPORT_SYMBOL_GPL(kfabric_provider_deregister);

/* Take references on all registered providers, in their order. */
static int kfi_prov_snapshot(struct kfi_provider ***provs, size_t *count)
{
	struct kfi_provider *prov, **v;
	size_t n = 0;

	mutex_lock(&kfi_prov_mutex);
	list_for_each_entry(prov, &kfi_prov_list, node)
		n++;
	v = kcalloc(n + 1, sizeof(*v), GFP_KERNEL);
	if (!v) {
		mutex_unlock(&kfi_prov_mutex);
		return -ENOMEM;
	}
	n = 0;
	list_for_each_entry(prov, &kfi_prov_list, node)
		if (kfi_prov_get(prov))
			v[n++] = prov;
	mutex_unlock(&kfi_prov_mutex);
	*provs = v;
	*count = n;
	return 0;
}

/*
 * Fill in what the provider left to the core, move what fits the hints from
 * list to *tail, and free the rest.
 */
static int kfi_prov_sift(struct kfi_provider *prov, struct fi_info *list,
			 const struct fi_info *hints, struct fi_info ***tail)
{
	struct fi_fabric_attr *attr;
	struct fi_info *next;
	int ret = 0;

	for (; list; list = next) {
		next = list->next;
		list->next = NULL;
		attr = list->fabric_attr;
		if (!attr->prov_version)
			attr->prov_version = prov->version;
		if (!ret && !attr->prov_name) {
			attr->prov_name = kstrdup(prov->name, GFP_KERNEL);
			ret = attr->prov_name ? 0 : -ENOMEM;
		}
		kfi_info_promise(list);
		if (ret || !kfi_match_info(list, hints)) {
			kfabric_freeinfo(list);
			continue;
		}
		**tail = list;
		*tail = &list->next;
	}
	return ret;
}

/* Load the provider that the hints name, if it is not there. */
static void kfi_prov_load(const char *want)
{
	char name[KFI_PROV_NAME_MAX];
	struct kfi_provider *prov;
	size_t len;

	if (!want)
		return;
	prov = kfi_prov_find(want);
	if (prov) {
		kfi_prov_put(prov);
		return;
	}
	len = strcspn(want, ";");
	if (!len || len >= sizeof(name))
		return;
	memcpy(name, want, len);
	name[len] = '\0';
	request_module(KFI_MODULE_PREFIX "%s", name);
}

/* Malformed addresses are refused here, the same for all providers. */
static int kfi_check_address(const char *node, const char *service, u64 flags)
{
	struct fi_info *probe;
	int ret;

	if (!node && !service)
		return 0;
	probe = kfabric_dupinfo(NULL);
	if (!probe)
		return -ENOMEM;
	ret = kfi_resolve(node, service, flags, NULL, probe);
	kfabric_freeinfo(probe);
	return ret;
}

int kfabric_getinfo(u32 version, const char *node, const char *service,
		    u64 flags, const struct fi_info *hints,
		    struct fi_info **info)
{
	const char *want = hints && hints->fabric_attr
				   ? hints->fabric_attr->prov_name
				   : NULL;
	struct fi_info *head = NULL, **tail = &head, *list;
	struct kfi_provider *prov, **provs;
	size_t i, count;
	int ret;

	if (version > FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION))
		return -ENOSYS;
	if (flags & ~GETINFO_FLAGS)
		return -FI_EBADFLAGS;
	ret = kfi_check_address(node, service, flags);
	if (ret)
		return ret;
	kfi_prov_load(want);
	ret = kfi_prov_snapshot(&provs, &count);
	if (ret)
		return ret;
	for (i = 0; i < count; i++) {
		prov = provs[i];
		list = NULL;
		if (!ret && (want ? kfi_prov_handles(prov->name, want)
				  : !(prov->flags & KFI_PROV_EXPLICIT) &&
					     !kfi_prov_is_excluded(prov)))
			ret = prov->getinfo(prov, node, service, flags, hints,
					    &list);
		/* One provider that cannot must not hide the others. */
		if (ret && ret != -ENOMEM)
			ret = 0;
		else if (list)
			ret = kfi_prov_sift(prov, list, hints, &tail);
		kfi_prov_put(prov);
	}
	kfree(provs);
	if (!ret && !head)
		ret = -ENODATA;
	if (ret)
		kfabric_freeinfo(head);
	else
		*info = head;
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_getinfo);

int kfabric_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric,
		   void *context)
{
	struct kfi_provider *prov;
	int ret;

	if (!attr || !attr->prov_name)
		return -EINVAL;
	prov = kfi_prov_find(attr->prov_name);
	if (!prov)
		return -ENODEV;
	ret = prov->fabric(prov, attr, fabric, context);
	kfi_prov_put(prov);
	return ret;
}
EXPORT_SYMBOL_GPL(kfabric_fabric);
