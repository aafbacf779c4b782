# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What brickd makes of devdax, fsdax, a block device and a plain file.
# NEEDS: rdma nvdimm fs python
# BIN: brickd brickctl passive
# FILES: tests/func/lab.py tests/func/job.py
# NVDIMM: 256M persist=cpu
# NVDIMM: 512M persist=cpu
# MEM: 2G
# TIMEOUT: 400

export IPATH_NO_BACKTRACE=1 HFI_NO_BACKTRACE=1

make() { # make REGION OPTION...: a namespace that fills the region
	_region=$1
	shift
	ndctl create-namespace -f -e "namespace$_region.0" "$@"
}

serve_store() { # serve_store STORE ADDRESS
	brick_run --store "$1" --listen "$2" --config /tmp/conf -v
}

# flag FLAG STORE: the daemon's mapping of the store has a flag of smaps
flag() {
	awk -v flag="$1" -v path="$2" '
		/^[0-9a-f]+-[0-9a-f]+ / { mine = $NF == path }
		mine && /^VmFlags:/ { for (i = 2; i <= NF; i++)
			if ($i == flag) found = 1 }
		END { exit !found }' "/proc/$BRICK_PID/smaps"
}

brickctl keygen /tmp/key
printf '[client a]\nkey-file = /tmp/key\ngrant = 0x0+1T rw\n' >/tmp/conf
check "soft RoCE starts on dummy0" rxe_setup || exit
check "the persistent memory comes up" nvdimm_setup || exit
wait_for 10 test -e /dev/pmem0

check "a pmem block device is refused with the way out" \
	says "ndctl create-namespace -f -e namespaceX.Y -m devdax -a 2M" \
	brickd format /dev/pmem0

check "devdax aligned to 4 KiB can be made" make 0 -m devdax -a 4K
check "it is refused with the way out" \
	says "-m devdax -a 2M" brickd format /dev/dax0.0
check "devdax aligned to 2 MiB can be made" make 0 -m devdax -a 2M
check "it is formatted" brickd format /dev/dax0.0 --force
check "brickd serves devdax" serve_store /dev/dax0.0 tcp://127.0.0.1:20149
check "it knows that CPU caches are persistent there" \
	grep -q 'is devdax in region0, flushed by SFENCE, CPU caches' \
	/tmp/brick.log
check "it stops" brick_stop

check "fsdax can be made" make 1 -m fsdax
check "ext4 with 2 MiB clusters can be made" \
	mkfs.ext4 -q -b 4096 -O bigalloc -C 2M /dev/pmem1
modprobe ext4
check "it mounts with dax" mount -o dax /dev/pmem1 /mnt
check "an fsdax file is formatted" brickd format /mnt/store --size 256M
check "brickd serves it over tcp" serve_store /mnt/store tcp://127.0.0.1:20149
check "it is fsdax" grep -q 'is fsdax in region1, flushed by' /tmp/brick.log
check "it is mapped with MAP_SYNC" flag sf /mnt/store
check "it stops" brick_stop
check "over verbs it is refused with the way out" \
	says "fsdax needs a device with on-demand paging" \
	timeout 100 brickd --store /mnt/store --config /tmp/conf \
	--listen "verbs://$LOCAL_IP"
rm /mnt/store
export TMPDIR=/mnt LISTEN=tcp://127.0.0.1 KFB_JOB_MIB=32
functest job.py Job.test_what_was_flushed_survives_sigkill
unset LISTEN TMPDIR
umount /mnt

check "the same file system mounts without dax" \
	mount -o dax=never /dev/pmem1 /mnt
check "a plain file is formatted" brickd format /mnt/store --size 64M
check "over verbs a plain file is refused with the way out" \
	says "may never reach the disk" \
	timeout 100 brickd --store /mnt/store --config /tmp/conf \
	--listen "verbs://$LOCAL_IP"
umount /mnt
