// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Selftest: the registry and infos, with providers of its own.
 */
#include <linux/in.h>
#include <linux/kthread.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <kfabric/kfi_buf.h>

#include "st.h"

static int st_core_never_getinfo(struct kfi_provider *prov, const char *node,
				 const char *service, u64 flags,
				 const struct fi_info *hints,
				 struct fi_info **info)
{
	return -ENODATA;
}

/* One info that says nothing but the provider's name. */
static int st_core_plain_getinfo(struct kfi_provider *prov, const char *node,
				 const char *service, u64 flags,
				 const struct fi_info *hints,
				 struct fi_info **info)
{
	*info = fi_allocinfo();
	if (!*info)
		return -ENOMEM;
	(*info)->caps = FI_MSG;
	(*info)->ep_attr->type = FI_EP_MSG;
	return 0;
}

static int st_core_broken_getinfo(struct kfi_provider *prov, const char *node,
				  const char *service, u64 flags,
				  const struct fi_info *hints,
				  struct fi_info **info)
{
	return -EIO;
}

static int st_core_no_fabric(struct kfi_provider *prov,
			     struct fi_fabric_attr *attr,
			     struct fid_fabric **fabric, void *context)
{
	return -ENOSYS;
}

static struct kfi_provider st_core_one = {
	.name = "st-one",
	.version = FI_VERSION(3, 1),
	.fi_version = FI_VERSION(1, 0),
	.owner = THIS_MODULE,
	.preference = 71,
	.getinfo = st_core_plain_getinfo,
	.fabric = st_core_no_fabric,
};

static struct kfi_provider st_core_two = {
	.name = "st-two",
	.version = FI_VERSION(3, 2),
	.fi_version = FI_VERSION(1, 0),
	.owner = THIS_MODULE,
	.preference = 70,
	.getinfo = st_core_plain_getinfo,
	.fabric = st_core_no_fabric,
};

static struct kfi_provider st_core_never = {
	.name = "st-never",
	.fi_version = FI_VERSION(1, 0),
	.owner = THIS_MODULE,
	.getinfo = st_core_never_getinfo,
	.fabric = st_core_no_fabric,
};

static struct kfi_provider st_core_broken = {
	.name = "st-broken",
	.fi_version = FI_VERSION(1, 0),
	.owner = THIS_MODULE,
	.getinfo = st_core_broken_getinfo,
	.fabric = st_core_no_fabric,
};

static struct kfi_provider st_core_hidden = {
	.name = "st-hidden",
	.fi_version = FI_VERSION(1, 0),
	.owner = THIS_MODULE,
	.flags = KFI_PROV_EXPLICIT,
	.getinfo = st_core_plain_getinfo,
	.fabric = st_core_no_fabric,
};

/* Ask for infos, of one provider or (NULL) all. */
static int st_core_ask_infos(const char *prov_name, u64 flags,
			     struct fi_info **info)
{
	struct fi_info *hints = fi_allocinfo();
	int ret;

	if (!hints)
		return -ENOMEM;
	if (prov_name)
		hints->fabric_attr->prov_name = kstrdup(prov_name, GFP_KERNEL);
	ret = fi_getinfo(FI_VERSION(1, 0), NULL, NULL, flags, hints, info);
	fi_freeinfo(hints);
	return ret;
}

/* Place of a provider in the answer, from 1; 0: not in it. */
static int st_core_place_of(const char *prov_name)
{
	struct fi_info *list, *info;
	int i = 0, found = 0;

	if (st_core_ask_infos(NULL, 0, &list))
		return 0;
	for (info = list; info; info = info->next) {
		i++;
		if (!strcmp(info->fabric_attr->prov_name, prov_name))
			found = i;
	}
	fi_freeinfo(list);
	return found;
}

static void st_core_register(struct st *st)
{
	struct kfi_provider bad = st_core_one;

	CHECK_EQ(st, kfi_provider_register(&st_core_one), 0,
		 "a provider registers");
	CHECK_EQ(st, kfi_provider_register(&st_core_one), -EEXIST,
		 "the same provider does not register twice");
	CHECK_EQ(st, kfi_provider_register(&bad), -EEXIST,
		 "another provider of the same name does not register");
	bad.name = "";
	CHECK_EQ(st, kfi_provider_register(&bad), -EINVAL,
		 "an empty name is refused");
	bad.name = "a;b";
	CHECK_EQ(st, kfi_provider_register(&bad), -EINVAL,
		 "a name with a semicolon is refused");
	bad.name = "a-name-that-is-longer-than-the-limit";
	CHECK_EQ(st, kfi_provider_register(&bad), -EINVAL,
		 "a name that is too long is refused");
	bad.name = "st-on";
	bad.getinfo = NULL;
	CHECK_EQ(st, kfi_provider_register(&bad), -EINVAL,
		 "a provider without operations is refused");
	bad.getinfo = st_core_plain_getinfo;
	bad.fi_version = FI_VERSION(2, 0);
	CHECK_EQ(st, kfi_provider_register(&bad), -ENOSYS,
		 "a provider of another major version is refused");
	bad.fi_version = FI_VERSION(1, 0);
	CHECK_EQ(st, kfi_provider_register(&bad), 0,
		 "a name that begins like another one is no duplicate");
	kfi_provider_deregister(&bad);
}

static void st_core_several(struct st *st)
{
	CHECK_EQ(st, kfi_provider_register(&st_core_two), 0,
		 "a second provider registers beside the first");
	CHECK(st, st_core_place_of("st-one") > 0, "the first one is found");
	CHECK(st, st_core_place_of("st-two") > 0, "the second one is found");
	CHECK(st, st_core_place_of("st-two") < st_core_place_of("st-one"),
	      "the preferred one comes first, whoever registered first");
	CHECK_EQ(st, kfi_provider_register(&st_core_never), 0,
		 "a third registers");
	CHECK_EQ(st, st_core_place_of("st-never"), 0,
		 "a provider that has nothing is not listed");
	CHECK_EQ(st, kfi_provider_register(&st_core_broken), 0,
		 "a fourth registers");
	CHECK(st, st_core_place_of("st-one") > 0,
	      "a provider that fails does not hide the others");
	CHECK_EQ(st, kfi_provider_register(&st_core_hidden), 0,
		 "a fifth registers");
	CHECK_EQ(st, st_core_place_of("st-hidden"), 0,
		 "one that must be named is not listed unasked");
	kfi_provider_deregister(&st_core_broken);
	kfi_provider_deregister(&st_core_never);
}

static void st_core_getinfo(struct st *st)
{
	struct fi_info *info = NULL;

	CHECK_EQ(st, st_core_ask_infos("st-hidden", 0, &info), 0,
		 "one that must be named is found by its name");
	fi_freeinfo(info);
	info = NULL;
	if (CHECK_EQ(st, st_core_ask_infos("st-one", 0, &info), 0,
		     "a name selects")) {
		CHECK(st, !info->next, "a name selects one provider only");
		CHECK(st, !strcmp(info->fabric_attr->prov_name, "st-one"),
		      "the answer names the provider");
		CHECK_EQ(st, info->fabric_attr->prov_version, FI_VERSION(3, 1),
			 "the answer has the provider's version");
	}
	fi_freeinfo(info);
	info = (void *)st;
	CHECK_EQ(st, st_core_ask_infos("st-nobody", 0, &info), -ENODATA,
		 "an unknown name gives no data");
	CHECK(st, info == (void *)st, "a failure leaves the output alone");
	CHECK_EQ(st, st_core_ask_infos(NULL, BIT_ULL(63), &info), -FI_EBADFLAGS,
		 "an unknown flag is refused");
	CHECK_EQ(st, fi_getinfo(FI_VERSION(9, 0), NULL, NULL, 0, NULL, &info),
		 -ENOSYS, "a newer version than the core's is refused");
	CHECK_EQ(st,
		 fi_getinfo(FI_VERSION(1, 0), "no.such.name", "1", 0, NULL,
			    &info),
		 -EINVAL, "a host name is refused");
	CHECK_EQ(st,
		 fi_getinfo(FI_VERSION(1, 0), "127.0.0.1", "x", 0, NULL, &info),
		 -EINVAL, "a service that is no number is refused");
	CHECK_EQ(st,
		 fi_getinfo(FI_VERSION(1, 0), "127.0.0.1", "65536", 0, NULL,
			    &info),
		 -EINVAL, "a port that is too large is refused");
	CHECK_EQ(st, fi_version(), FI_VERSION(1, 0), "the version is 1.0");
}

static void st_core_fill_info(struct fi_info *info)
{
	info->caps = FI_MSG | FI_RMA;
	info->tx_attr->size = 17;
	info->tx_attr->comp_levels = FI_TRANSMIT_COMPLETE;
	info->ep_attr->type = FI_EP_MSG;
	info->ep_attr->max_msg_size = 4096;
	info->domain_attr->name = kstrdup("dom", GFP_KERNEL);
	info->domain_attr->mr_mode = FI_MR_PROV_KEY;
	info->fabric_attr->prov_name = kstrdup("fault;loop", GFP_KERNEL);
	info->addr_format = FI_SOCKADDR_IN;
}

static void st_core_dupinfo(struct st *st, struct fi_info *info)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct fi_info *dup;

	CHECK_EQ(st,
		 kfi_info_set_addr(&info->src_addr, &info->src_addrlen, &sin,
				   sizeof(sin)),
		 0, "an info takes an address");
	dup = fi_dupinfo(info);
	if (!CHECK(st, dup, "an info can be copied"))
		return;
	CHECK(st, dup->tx_attr != info->tx_attr && dup->tx_attr->size == 17,
	      "a copy has its own attributes, and they are equal");
	CHECK(st,
	      dup->src_addr != info->src_addr && dup->src_addrlen == 16 &&
		      !memcmp(dup->src_addr, &sin, sizeof(sin)),
	      "a copy has its own address, and it is equal");
	CHECK(st,
	      dup->domain_attr->name != info->domain_attr->name &&
		      !strcmp(dup->domain_attr->name, "dom"),
	      "a copy has its own name, and it is equal");
	fi_freeinfo(dup);
}

/* One wish at a time, and whether it can be fulfilled. */
static void st_core_match(struct st *st, struct fi_info *info)
{
	struct fi_info *h = fi_allocinfo();

	if (!h)
		return;
	CHECK(st, kfi_match_info(info, NULL), "no hints match");
	CHECK(st, kfi_match_info(info, h), "empty hints match");
	h->caps = FI_MSG;
	CHECK(st, kfi_match_info(info, h), "fewer capabilities match");
	h->caps = FI_RMA_PMEM;
	CHECK(st, !kfi_match_info(info, h), "a missing capability does not");
	h->caps = FI_RMA;
	CHECK(st, !kfi_match_info(info, h),
	      "a demand of mr_mode that the hints do not allow does not");
	h->domain_attr->mr_mode = FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
	CHECK(st, kfi_match_info(info, h), "one that they allow matches");
	h->tx_attr->size = 18;
	CHECK(st, !kfi_match_info(info, h), "too short a queue does not");
	h->tx_attr->size = 17;
	CHECK(st, kfi_match_info(info, h), "a queue as long as asked does");
	h->tx_attr->comp_levels = FI_COMMIT_COMPLETE;
	CHECK(st, !kfi_match_info(info, h), "a missing level does not");
	h->tx_attr->comp_levels = FI_TRANSMIT_COMPLETE;
	h->ep_attr->type = FI_EP_RDM;
	CHECK(st, !kfi_match_info(info, h), "another endpoint type does not");
	h->ep_attr->type = FI_EP_MSG;
	h->ep_attr->flush_modes = FI_FLUSH_COMMIT;
	CHECK(st, !kfi_match_info(info, h), "a missing flush mode does not");
	h->ep_attr->flush_modes = 0;
	h->addr_format = FI_SOCKADDR_IN6;
	CHECK(st, !kfi_match_info(info, h), "another address format does not");
	h->addr_format = FI_SOCKADDR;
	CHECK(st, kfi_match_info(info, h), "either address format matches");
	h->fabric_attr->prov_name = kstrdup("fault", GFP_KERNEL);
	CHECK(st, kfi_match_info(info, h), "the outer layer's name matches");
	h->fabric_attr->prov_name[1] = 'u';
	CHECK(st, !kfi_match_info(info, h), "another name does not");
	fi_freeinfo(h);
}

static void st_core_strerror(struct st *st)
{
	CHECK(st, !strcmp(fi_strerror(-EACCES), fi_strerror(EACCES)),
	      "an error's text does not depend on its sign");
	CHECK(st, strcmp(fi_strerror(FI_ETRUNC), fi_strerror(FI_EAVAIL)),
	      "fabric errors have texts of their own");
	CHECK(st, fi_strerror(99999), "an unknown error has a text");
}

/* A provider's queues are its own as long as it is registered. */
static void st_core_queues(struct st *st)
{
	static struct workqueue_struct *wq;
	struct kfi_provider prov = st_core_two;
	struct workqueue_struct *first;

	prov.wqs[0] = (struct kfi_provider_wq){ &wq, "st_core", 0, 0 };
	CHECK_EQ(st, kfi_provider_register(&prov), 0,
		 "a provider with a workqueue registers");
	first = wq;
	CHECK_EQ(st, kfi_provider_register(&prov), -EEXIST,
		 "it does not register twice");
	CHECK(st, first && wq == first, "and has the same queue as before");
	kfi_provider_deregister(&prov);
}

/* Copies between a buffer and one place end where the buffer ends. */
static void st_core_copy(struct st *st)
{
	u8 memory[32], bytes[32] = "0123456789";
	struct fi_buf buf = fi_buf_linear(memory + 8, 10);

	memset(memory, 0xee, sizeof(memory));
	CHECK_EQ(st, kfi_buf_put(&buf, 4, bytes, 20), 6,
		 "no more is copied into a buffer than there is room for");
	CHECK(st, !memcmp(memory + 12, bytes, 6), "that is the beginning");
	CHECK(st,
	      !memchr_inv(memory, 0xee, 12) &&
		      !memchr_inv(memory + 18, 0xee, 14),
	      "nothing before or behind it is written");
	CHECK_EQ(st, kfi_buf_get(bytes, &buf, 4, 20), 6,
		 "no more is copied out of it than it has");
	CHECK_EQ(st, kfi_buf_get(bytes, &buf, 4, SIZE_MAX - 2), 6,
		 "however much is asked for");
	CHECK_EQ(st, kfi_buf_get(bytes, &buf, 11, 1), 0,
		 "behind its end there is nothing");
}

static void st_core_cycles(struct st *st)
{
	unsigned int i, ok = 0;

	for (i = 0; i < st_cycles; i++) {
		struct fi_info *info = NULL;

		if (kfi_provider_register(&st_core_one))
			break;
		ok += !st_core_ask_infos("st-one", 0, &info);
		fi_freeinfo(info);
		kfi_provider_deregister(&st_core_one);
	}
	CHECK_EQ(st, ok, st_cycles,
		 "a provider registers, answers and deregisters many times");
	CHECK_EQ(st, st_core_place_of("st-one"), 0,
		 "after it, it is not found");
}

void st_test_core(struct st *st)
{
	struct fi_info *info = fi_allocinfo();

	st_core_register(st);
	st_core_several(st);
	st_core_getinfo(st);
	kfi_provider_deregister(&st_core_hidden);
	kfi_provider_deregister(&st_core_two);
	kfi_provider_deregister(&st_core_one);
	CHECK_EQ(st, st_core_place_of("st-two"), 0,
		 "a provider that deregistered is not found");
	if (info) {
		st_core_fill_info(info);
		st_core_match(st, info);
		st_core_dupinfo(st, info);
		fi_freeinfo(info);
	}
	st_core_strerror(st);
	st_core_copy(st);
	st_core_queues(st);
	st_core_cycles(st);
}
