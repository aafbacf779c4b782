// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * kfbrick: devices: how they come, change and go.
 *
 * The states are those of kfb_disk.h: its table says what each event does, and
 * kfbk_move() is the only one who changes them. ATTACHING connects, allocates,
 * maps; a failure leaves nothing. DETACHING lets in nothing new; what is under
 * way ends.
 *
 * Locking: the list and the choice of who detaches under kfbk_devices_lock, for
 * a disk that must not be open inside the disk's open_mutex.
 * Lifetime: one reference for the list, one for the disk.
 */
#include <linux/blkdev.h>
#include <linux/idr.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "../disk/disks.h"
#include "../device/key.h"
#include "../session/link.h"
#include "attach.h"
#include "../blocks/mappings.h"
#include "../io/requests.h"

static DEFINE_MUTEX(kfbk_devices_lock);
static LIST_HEAD(kfbk_devices);
static DEFINE_IDA(kfbk_instances);

/* ---- coming ----------------------------------------------------------- */

static void kfbk_device_release(struct kref *ref)
{
	struct kfbk_device *dev = container_of(ref, struct kfbk_device, ref);

	kfbk_session_fini(dev);
	kfbk_retain_close(dev);
	kvfree(dev->cache.nodes);
	kfbk_maps_fini(dev);
	ida_free(&kfbk_instances, dev->instance);
	/* The client's key, and its session's. */
	kvfree_sensitive(dev, sizeof(*dev));
}

static struct kfbk_device *kfbk_device_alloc(const struct kfbk_options *options)
{
	struct kfbk_device *dev = kvzalloc(sizeof(*dev), GFP_KERNEL);

	if (!dev)
		return NULL;
	dev->instance = ida_alloc(&kfbk_instances, GFP_KERNEL);
	if (dev->instance < 0) {
		kvfree(dev);
		return NULL;
	}
	kref_init(&dev->ref);
	dev->release = kfbk_device_release;
	dev->options = *options;
	dev->state = KFB_DISK_ATTACHING;
	dev->told = KFB_DISK_UP;
	ratelimit_state_init(&dev->log_limit, DEFAULT_RATELIMIT_INTERVAL,
			     DEFAULT_RATELIMIT_BURST);
	ratelimit_state_init(&dev->state_limit, DEFAULT_RATELIMIT_INTERVAL,
			     DEFAULT_RATELIMIT_BURST);
	spin_lock_init(&dev->lock);
	kfbk_rate_init(&dev->rate);
	INIT_LIST_HEAD(&dev->node);
	INIT_LIST_HEAD(&dev->claim);
	INIT_LIST_HEAD(&dev->ended);
	return dev;
}

static const char *kfbk_device_open_fabric(struct kfbk_device *dev, int *error)
{
	*error = kfbk_fabric_open(dev);
	switch (*error) {
	case 0:
		return NULL;
	case -ENODATA:
		return "this kind of fabric has no way to that address";
	case -EINVAL:
		return "the address is not a numeric one";
	case -ENOMEM:
		return "no memory to open the fabric";
	default:
		return "the fabric cannot be opened";
	}
}

/* Prepare everything but the session. Return NULL, or what went wrong. */
static const char *kfbk_device_prepare(struct kfbk_device *dev, int *error)
{
	const char *wrong;

	if (*dev->options.client) {
		*error = kfbk_key_get(dev->options.key, dev->key);
		if (*error == -EINVAL)
			return "the key is not a client's, of 32 bytes";
		if (*error)
			return "there is no such key in the keyrings";
	}
	wrong = kfbk_device_open_fabric(dev, error);
	if (wrong)
		return wrong;
	wrong = kfbk_maps_check(dev->options.n_blocks);
	if (wrong) {
		*error = -EINVAL;
		return wrong;
	}
	*error = kfbk_maps_init(dev) ?: kfbk_cache_open(dev);
	if (*error)
		return "no memory for the table of blocks";
	INIT_WORK(&dev->map_work, kfbk_map_work);
	INIT_WORK(&dev->restore_work, kfbk_restore);
	*error = kfbk_session_init(dev);
	if (*error)
		return "no memory for a session";
	return NULL;
}

/* The session is there: the rest of attaching. */
static int kfbk_attach_session(struct kfbk_device *dev)
{
	int ret = kfbk_claim(dev, dev->n_blocks);

	if (ret)
		return ret;
	ret = kfbk_retain_open(dev);
	if (ret) {
		kfbk_say(dev, "no memory for copies of %u MiB of writes",
			 dev->retain.mb);
		return ret;
	}
	ret = kfbk_maps_attach(dev);
	if (ret)
		return ret;
	kfbk_claim_used(dev);
	ret = kfbk_disk_add(dev);
	if (ret) {
		kfbk_say(dev, "no disk can be made: %s", fi_strerror(ret));
		kfbk_maps_undo(dev);
		return ret;
	}
	/*
	 * The disk has said whether it has a cache: from now on a loss is not
	 * the end. One that came while it was made was.
	 */
	kfbk_lock(dev);
	if (kfb_client_state(&dev->core.client) == KFB_CLIENT_LIVE) {
		dev->core.has_promised = true;
		dev->core.client.config.reconnect_ms =
			dev->options.reconnect_ms;
		kfbk_move(dev, KFB_DISK_ADDED);
	} else {
		ret = -ECONNRESET;
	}
	kfbk_unlock(dev);
	if (ret)
		kfbk_disk_del(dev);
	return ret;
}

int kfbk_attach(const struct kfbk_options *options, int *instance,
		char why[KFBK_WHY_BYTES])
{
	struct kfbk_device *dev = kfbk_device_alloc(options);
	char url[KFBK_URL_BYTES];
	const char *wrong;
	int ret;

	if (!dev) {
		strscpy(why, "no memory", KFBK_WHY_BYTES);
		return -ENOMEM;
	}
	wrong = kfbk_device_prepare(dev, &ret);
	if (wrong) {
		strscpy(why, wrong, KFBK_WHY_BYTES);
		goto put;
	}
	ret = kfbk_session_start(dev);
	ret = ret ?: kfbk_attach_session(dev);
	if (ret) {
		strscpy(why, dev->why, KFBK_WHY_BYTES);
		kfbk_session_stop(dev);
		kfbk_unclaim(dev);
		goto put;
	}
	kfbk_info(dev,
		  "%s (%s%s%s) brick %pU range 0x%llx+%llu, %u queues%s%s\n",
		  kfbk_address_text(dev, dev->told_address, url),
		  kfb_path_name(dev->path), *dev->interface ? " " : "",
		  dev->interface, dev->core.client.info.brick_uuid,
		  options->base, dev->n_blocks, dev->core.client.n_used,
		  options->thin ? ", thin" : "",
		  options->ro	    ? ", read-only"
		  : options->shared ? ", shared"
				    : "");
	*instance = dev->instance;
	mutex_lock(&kfbk_devices_lock);
	list_add_tail(&dev->node, &kfbk_devices);
	mutex_unlock(&kfbk_devices_lock);
	return 0;

put:
	kfbk_fabric_close(dev);
	kfbk_put(dev);
	return ret;
}

/* ---- going ------------------------------------------------------------ */

/* From here on nobody else detaches the device, and no loss is waited for. */
static void kfbk_detach_begin(struct kfbk_device *dev)
{
	lockdep_assert_held(&kfbk_devices_lock);
	list_del_init(&dev->node);
	kfbk_lock(dev);
	kfbk_move(dev, KFB_DISK_DETACH);
	dev->core.client.config.reconnect_ms = 0;
	kfbk_unlock(dev);
}

static int kfbk_detach_finish(struct kfbk_device *dev)
{
	bool is_live, is_dirty;
	int ret;

	kfbk_lock(dev);
	is_live = kfb_client_state(&dev->core.client) == KFB_CLIENT_LIVE;
	kfbk_unlock(dev);
	/* The way back is not waited for: requests fail, and the disk can go. */
	if (!is_live)
		kfbk_session_leave(dev);
	kfbk_disk_del(dev);
	kfbk_lock(dev);
	is_dirty = kfb_initiator_is_dirty(&dev->core);
	kfbk_unlock(dev);
	ret = is_dirty ? kfbk_flush_sync(dev, NULL) : 0;
	/* Nobody will ask any more. */
	ret = ret ?: dev->core.untold_error;
	if (ret)
		kfbk_err(
			dev,
			"what was written last may not be durable: error %d%s%s\n",
			ret, *dev->why ? ": " : "", dev->why);
	kfbk_session_stop(dev);
	kfbk_unclaim(dev);
	kfbk_fabric_close(dev);
	kfbk_info(dev, "detached\n");
	kfbk_put(dev);
	/* Any other error would say that it is still there. */
	return ret ? -EIO : 0;
}

/* A device with a reference for the caller, or NULL. */
static struct kfbk_device *kfbk_device_get(int instance)
{
	struct kfbk_device *dev, *found = NULL;

	mutex_lock(&kfbk_devices_lock);
	list_for_each_entry(dev, &kfbk_devices, node) {
		if (dev->instance == instance) {
			kref_get(&dev->ref);
			found = dev;
			break;
		}
	}
	mutex_unlock(&kfbk_devices_lock);
	return found;
}

/* Take a device out of the list: 0, or -ENODEV: somebody else was faster. */
static int kfbk_device_take(struct kfbk_device *dev)
{
	int ret = -ENODEV;

	mutex_lock(&kfbk_devices_lock);
	if (!list_empty(&dev->node)) {
		kfbk_detach_begin(dev);
		ret = 0;
	}
	mutex_unlock(&kfbk_devices_lock);
	return ret;
}

/*
 * Take a device out of the list if nobody has its disk open. Nobody opens that
 * between the look and the new state, at which open() is refused. An open that
 * waits for the brick has the mutex as long; a signal ends the wait for it.
 */
static int kfbk_device_take_unused(struct kfbk_device *dev)
{
	struct gendisk *disk = kfbk_disk_get(dev);
	int ret;

	if (!disk)
		return -ENODEV;
	ret = mutex_lock_killable(&disk->open_mutex);
	if (!ret) {
		ret = disk_openers(disk) ? -EBUSY : kfbk_device_take(dev);
		mutex_unlock(&disk->open_mutex);
	}
	kfbk_disk_put(disk);
	return ret;
}

int kfbk_detach(int instance, bool force, char why[KFBK_WHY_BYTES])
{
	struct kfbk_device *dev = kfbk_device_get(instance);
	int ret = -ENODEV;

	if (dev) {
		ret = force ? kfbk_device_take(dev)
			    : kfbk_device_take_unused(dev);
		/* The list's reference is left to who took it away. */
		kfbk_put(dev);
	}
	if (ret) {
		strscpy(why,
			ret == -ENODEV ? "no such device"
			: ret == -EBUSY
				? "it is in use: unmount it first"
				: "interrupted while somebody was opening it",
			KFBK_WHY_BYTES);
		return ret;
	}
	ret = kfbk_detach_finish(dev);
	if (ret)
		strscpy(why,
			"detached, but what was written last may not be durable",
			KFBK_WHY_BYTES);
	return ret;
}

/* ---- growing ---------------------------------------------------------- */

int kfbk_resize(int instance, u64 n_blocks, char why[KFBK_WHY_BYTES])
{
	struct kfbk_device *dev = kfbk_device_get(instance);
	int ret;

	if (!dev) {
		strscpy(why, "no such device", KFBK_WHY_BYTES);
		return -ENODEV;
	}
	ret = kfbk_resize_wait(dev, n_blocks);
	if (ret) {
		kfbk_lock(dev);
		strscpy(why, dev->why, KFBK_WHY_BYTES);
		kfbk_unlock(dev);
	}
	kfbk_put(dev);
	return ret;
}

/* ---- coming back ------------------------------------------------------ */

/* Begin: 0, or why not; of -EEXIST it says that itself. */
static int kfbk_reattach_begin(struct kfbk_device *dev,
			       char why[KFBK_WHY_BYTES])
{
	int ret = kfbk_claim_again(dev, why);

	if (ret)
		return ret;
	kfbk_lock(dev);
	if (dev->state == KFB_DISK_DEAD)
		ret = -ESTALE;
	else if (dev->state != KFB_DISK_FAILED)
		ret = -EALREADY;
	else
		ret = kfb_initiator_retake(&dev->core);
	if (!ret) {
		/* The reason of its failure is none for what comes now. */
		dev->keeps_why = false;
		strscpy(dev->why, "it is taken up again by order",
			sizeof(dev->why));
		kfbk_move(dev, KFB_DISK_RETAKE);
		/* Under the lock: as in kfbk_resize_wait(). */
		kfbk_kick(dev);
	}
	kfbk_unlock(dev);
	if (ret)
		kfbk_claim_settled(dev);
	return ret;
}

static int kfbk_reattach_wait(struct kfbk_device *dev)
{
	enum kfb_disk_state state;
	bool is_left;

	/* What it is then: it may be another a moment later. */
	if (wait_event_killable(
		    dev->settled,
		    !kfbk_is_coming_back(state = READ_ONCE(dev->state)))) {
		/*
		 * The session work settles it when the try is over, unless the
		 * disk is detached meanwhile: then nobody waits for that work.
		 */
		kfbk_lock(dev);
		is_left = dev->state != KFB_DISK_DETACHING;
		if (is_left) {
			dev->n_left++;
			kfbk_kick(dev);
		}
		kfbk_unlock(dev);
		if (!is_left)
			kfbk_claim_settled(dev);
		return -EINTR;
	}
	kfbk_claim_settled(dev);
	if (state == KFB_DISK_UP)
		return 0;
	return state == KFB_DISK_LOSSY || state == KFB_DISK_DEAD ? -EIO
								 : -ETIMEDOUT;
}

static void kfbk_reattach_say(struct kfbk_device *dev, int error,
			      char why[KFBK_WHY_BYTES])
{
	kfbk_lock(dev);
	if (error == -EALREADY)
		snprintf(why, KFBK_WHY_BYTES,
			 "it is %s, and no disk that has failed",
			 kfb_disk_state_name(dev->state));
	else if (error == -EINVAL)
		scnprintf(
			why, KFBK_WHY_BYTES,
			"it did not fail for want of the brick, and does not come back: detach it (%s)",
			dev->why);
	else if (error == -ESTALE)
		strscpy(why,
			"it is dead: completed writes are lost, or blocks are another client's; detach it, attach it again, and check what it holds",
			KFBK_WHY_BYTES);
	else if (error == -EINTR)
		strscpy(why, "interrupted: it goes on trying", KFBK_WHY_BYTES);
	else
		strscpy(why, dev->why, KFBK_WHY_BYTES);
	kfbk_unlock(dev);
}

int kfbk_reattach(int instance, char why[KFBK_WHY_BYTES])
{
	struct kfbk_device *dev = kfbk_device_get(instance);
	int ret;

	if (!dev) {
		strscpy(why, "no such device", KFBK_WHY_BYTES);
		return -ENODEV;
	}
	ret = kfbk_reattach_begin(dev, why);
	if (!ret)
		ret = kfbk_reattach_wait(dev);
	if (ret && ret != -EEXIST)
		kfbk_reattach_say(dev, ret, why);
	kfbk_put(dev);
	return ret;
}

/* ---- the module ------------------------------------------------------- */
void kfbk_devices_exit(void)
{
	struct kfbk_device *dev;

	mutex_lock(&kfbk_devices_lock);
	while (!list_empty(&kfbk_devices)) {
		dev = list_first_entry(&kfbk_devices, struct kfbk_device, node);
		kfbk_detach_begin(dev);
		mutex_unlock(&kfbk_devices_lock);
		kfbk_detach_finish(dev);
		mutex_lock(&kfbk_devices_lock);
	}
	mutex_unlock(&kfbk_devices_lock);
	ida_destroy(&kfbk_instances);
}
