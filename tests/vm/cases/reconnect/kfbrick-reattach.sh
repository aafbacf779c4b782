# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The brick comes back when --reconnect-s is over: brickctl reattach takes the disk
# up again under what is mounted on it where nothing is lost; else the disk is lossy,
# or the order is refused and says why. KFB_PARTS: some of its parts, by name.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_tcp kfabric_fault kfbrick
# BIN: brickd brickctl
# GROUP: kfbrick
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900

LONG_S=200
FS_MIB=24 # of the disk's 32: what is behind it is written past the file system

attach() { # attach OPTION...
	attach_disk --base 0x0 --size 32M --queues 2 --reconnect-s 3 "$@"
}

reattach() {
	brickctl reattach "$DISK"
}

refused() { # refused WHY: the order is, and says so
	says "$1" reattach
}

# Nothing of the file system is left to be written later.
# Neither mkfs nor the mount writes zeros where the new disk has them: below it each line is
# kept by itself, which takes a kernel that checks its memory minutes.
mount_fs() {
	mkfs.ext4 -q -F -E lazy_itable_init=1,lazy_journal_init=1 "$DISK" \
		${FS_MIB}M &&
		mount -o noatime,noinit_itable "$DISK" /mnt &&
		cp /tmp/file /mnt/file && xfs_io -c syncfs /mnt || return
	grep " /mnt " /proc/self/mountinfo >/tmp/mounted
}

# The mount is the one that it was, and its bytes come from the disk.
fs_is_whole() {
	grep " /mnt " /proc/self/mountinfo | cmp - /tmp/mounted &&
		echo 3 >/proc/sys/vm/drop_caches && cmp /tmp/file /mnt/file
}

fs_goes_on() { # fs_goes_on WHAT
	check "$1: the same mount has its files" fs_is_whole
	check "$1: one more is written" dd if=/tmp/file of="/mnt/$1" bs=64k \
		conv=fsync
	check "$1: it is there" cmp /tmp/file "/mnt/$1"
	check "$1: on the disk, beside the first" fs_is_whole
	# What it wrote while the disk is away it would be told is lost.
	check "$1: nothing of it is left to be written" xfs_io -c syncfs /mnt
}

fs_end() { # fs_end WHAT
	check "$1: it is unmounted" umount /mnt
	check "$1: the file system has no fault" fsck.ext4 -f -n "$DISK"
}

put() { # put FILE: some of each of the last blocks, not flushed
	for _block in 12 13 14 15; do
		xfs_io -d -c "pwrite -q -i $1 $((_block << 21)) 64k" "$DISK" ||
			return
	done
}

holds() { # holds FILE: they do
	for _block in 12 13 14 15; do
		dd if="$DISK" of=/tmp/output bs=64k count=1 \
			skip=$((_block << 5)) iflag=direct || return
		cmp "$1" /tmp/output || return
	done
}

sync_disk() {
	xfs_io -c fsync "$DISK"
}

stay_away() { # the brick, for longer than the disk waits
	kill_brick
	wait_for $LONG_S state_is failed
}

lose_power() { # likewise, with what was not flushed, and it is another boot
	kill -STOP "$BRICKD"
	cut_power
	wait_for $LONG_S state_is failed && another_boot
}

# The brick was killed, and its machine lives on.
restart() {
	check "restart: a disk is attached" attach || exit
	check "restart: one that is up is not taken up again" \
		refused "it is up, and no disk that has failed"
	check "restart: nor one that is not there" \
		says "no such device" brickctl reattach kfbrick99
	check "restart: a file system is mounted" mount_fs || exit
	check "restart: the disk is written, and not flushed" put /tmp/new
	check "restart: the brick stays away for too long" stay_away
	check_fails "restart: a read fails" holds /tmp/new
	check "restart: without it the disk does not come back" \
		refused "is brickd running there"
	check "restart: and has failed as before" state_is failed
	check "restart: the brick is back" serve_brick
	check "restart: that alone changes nothing" state_is failed
	check "restart: the disk is taken up again" reattach
	check "restart: it is up" state_is up
	check "restart: what was not flushed is there" holds /tmp/new
	check "restart: a flush is good" sync_disk
	fs_goes_on restart
	kill_brick
	check "restart: it waits for the brick again" \
		wait_for $LONG_S state_is connecting
	check "restart: and for no longer than before" \
		wait_for $LONG_S state_is failed
	check "restart: the brick is back again" serve_brick
	check "restart: and so is the disk" reattach
	check "restart: the log says that it was ordered" eval \
		'case_log | grep -F "taken up again by order; requests wait"'
	fs_goes_on again
	fs_end restart
	check "restart: it is detached" detach_disk
}

# Copies bring back what the brick's machine has lost.
copies() {
	check "copies: a disk is attached" attach --provider "fault;$PROVIDER" \
		--retain-mb 16 || exit
	check "copies: a file system is mounted" mount_fs || exit
	check "copies: the disk is written and flushed" eval \
		'put /tmp/old && sync_disk'
	check "copies: it is written, and not flushed" put /tmp/new
	_lost=$(fault_count lost_lines)
	check "copies: the power fails for too long" lose_power
	check "copies: bytes were really lost" \
		test "$(fault_count lost_lines)" -gt "$_lost"
	check "copies: the brick is back" serve_brick
	check "copies: the disk is taken up again" reattach
	check "copies: it is up" state_is up
	check "copies: they were written again" \
		test "$(retained replayed)" -gt 0
	check "copies: a flush is good" sync_disk
	check "copies: nothing is lost" holds /tmp/new
	fs_goes_on copies
	fs_end copies
	check "copies: it is detached" detach_disk
	same_boot
}

# Without copies the disk is as lossy as if the brick had come back in time.
lossy() {
	check "lossy: a disk is attached" attach --provider "fault;$PROVIDER" \
		--retain-mb 0 || exit
	check "lossy: it is written and flushed" eval \
		'put /tmp/old && sync_disk'
	check "lossy: the power fails for too long" lose_power
	check "lossy: the brick is back" serve_brick
	check "lossy: nothing is lost: the disk is taken up again" reattach
	check "lossy: what was flushed is there" holds /tmp/old
	check "lossy: a flush is good" sync_disk
	check "lossy: it is written, and not flushed" put /tmp/new
	check "lossy: the power fails for too long again" lose_power
	check "lossy: the brick is back again" serve_brick
	check "lossy: it is not as it was, and why" refused "lost its power or memory"
	check "lossy: the disk is lossy" state_is lossy
	check_fails "lossy: a flush fails" sync_disk
	check_fails "lossy: and a write" put /tmp/new
	check "lossy: it can be read" dd if="$DISK" of=/dev/null bs=64k \
		count=4 iflag=direct
	check "lossy: that is no disk that has failed" \
		refused "it is lossy, and no disk that has failed"
	kill_brick
	check "lossy: without the brick it is dead" \
		wait_for $LONG_S state_is dead
	check "lossy: the brick is back for the last time" serve_brick
	check "lossy: that is not taken up again" refused \
		"it is dead: completed writes are lost"
	check "lossy: it stays dead" state_is dead
	check_fails "lossy: detaching says so" detach_disk
	same_boot
}

# Births tell clients apart, and not the disks of one client.
others() {
	check "others: a disk is attached" attach || exit
	check "others: it is written and flushed" eval 'put /tmp/old && sync_disk'
	_first=$DISK _first_ctl=$CTL
	check "others: the brick stays away for too long" stay_away
	check "others: the brick is back" serve_brick
	check "others: another disk only reads" attach --ro
	_second=$DISK DISK=$_first CTL=$_first_ctl
	check "others: not while that is there" \
		refused "has blocks of this range now"
	check "others: it is detached" detach_disk "$_second"
	check "others: nothing was written: it is taken up again" reattach
	check_fails "others: the log does not say who was there" eval \
		'case_log | grep -F "as the same client; requests wait"'
	check "others: it is up" state_is up
	check "others: the brick stays away once more" stay_away
	check "others: and is back" serve_brick
	check_fails "others: a disk that the brick has no room for is none" \
		ctl attach --base 0x0 --size 1G
	check "others: nothing was written then, either" reattach
	check "others: it is up again" state_is up
	check "others: the brick stays away for the last time" stay_away
	check "others: and is there again" serve_brick
	check "others: another disk is there" attach
	check "others: it is written" eval 'put /tmp/new && sync_disk'
	_second=$DISK DISK=$_first CTL=$_first_ctl
	check "others: not while that is there, either" \
		refused "has blocks of this range now"
	check "others: that is detached, too" detach_disk "$_second"
	check "others: what it wrote is not known" \
		refused "has seen another disk with its blocks"
	check "others: it has failed as before" state_is failed
	check "others: it can be detached" detach_disk
}

# Who gave the order goes away; or somebody else orders.
orders() {
	check "orders: a disk is attached" attach --reconnect-s $((20 * TIMEOUT_FACTOR)) || exit
	check "orders: it is written, and not flushed" put /tmp/new
	check "orders: the brick stays away for too long" stay_away
	reattach >/tmp/order.out 2>&1 &
	_order=$!
	check "orders: it tries to come back" wait_for $LONG_S state_is connecting
	check "orders: it is in nobody else's way" refused \
		"it is connecting, and no disk that has failed"
	kill -KILL $_order
	wait $_order 2>/dev/null
	check "orders: the brick is back" serve_brick
	check "orders: so is the disk, whoever waits for that" \
		wait_for $LONG_S state_is up
	check "orders: nothing is lost" holds /tmp/new
	check "orders: it is written again, and not flushed" put /tmp/old
	check "orders: the brick stays away once more" stay_away
	reattach >/tmp/order.out 2>&1 &
	_order=$!
	check "orders: it tries to come back once more" \
		wait_for $LONG_S state_is connecting
	check_fails "orders: it is detached meanwhile, and writes are lost" \
		timeout 30 brickctl detach "$DISK" --force
	check_fails "orders: the order has failed" wait $_order
	check "orders: and says something" grep -q kfbrick /tmp/order.out
	check "orders: it is gone" test ! -e "$DISK"
	check "orders: the brick is there for the next" serve_brick
}

serve_at() { # serve_at ADDRESS
	sed -i "s/^listen = .*/listen = $CARRIER:\/\/$1/" $BRICK_CONF
	serve_brick
}

elsewhere() { # elsewhere COMMAND...: of disk.sh, for a brick where no disk looks
	_ip=$BRICK_IP
	BRICK_IP=$_ip:20150
	"$@"
	_status=$?
	BRICK_IP=$_ip
	return $_status
}

# As long as it tries no other disk of the client gets its blocks.
claims() {
	check "claims: a disk is attached" attach --reconnect-s $((40 * TIMEOUT_FACTOR)) || exit
	check "claims: the brick stays away for too long" stay_away
	reattach >/tmp/order.out 2>&1 &
	_order=$!
	check "claims: it tries to come back" wait_for $LONG_S state_is connecting
	check "claims: another order is refused" refused "it is connecting"
	check "claims: the brick is back elsewhere" serve_at "$BRICK_IP:20150"
	check "claims: another disk does not get the blocks" \
		says "has blocks of this range already" \
		elsewhere ctl attach --base 0x0 --size 32M
	kill -KILL $_order
	wait $_order 2>/dev/null
	check "claims: the disk has failed again" wait_for $LONG_S state_is failed
	_first=$DISK _first_ctl=$CTL
	check "claims: now another disk does" elsewhere attach
	check "claims: it is detached" detach_disk
	DISK=$_first CTL=$_first_ctl
	check "claims: so is the one that has failed" detach_disk
	check "claims: the brick stops" stop_brick
	check "claims: it is back where it was" serve_at "$BRICK_IP"
}

other_gets_it() { # when the time is over that the disk's client has for itself
	wait_for $LONG_S other write 24M -i /tmp/new
}

# Another client has got a block, which its birth shows.
birth() {
	check "birth: a brick with short leases serves" \
		restart_brick brickd "lease-ms = 2000" || exit
	check "birth: a disk is attached" attach || exit
	check "birth: it is written and flushed" eval 'put /tmp/old && sync_disk'
	check "birth: the brick stays away for too long" stay_away
	check "birth: the brick is back" serve_brick
	check "birth: another client writes a block" other_gets_it
	check "birth: the disk is not taken up again" refused "changed hands"
	# Lossy, until its session is over too.
	check "birth: it is dead" wait_for $LONG_S state_is dead
	check "birth: and stays so" refused "blocks are another client's"
	check_fails "birth: detaching says what is lost" detach_disk
	check "birth: the other client's bytes are there" eval \
		'other read 24M --length 64K -o /tmp/output && cmp /tmp/new /tmp/output'
}

mkdir -p /mnt
modprobe -q ext4
head -c $((1 << 20)) /dev/urandom >/tmp/file
head -c 65536 /dev/urandom >/tmp/old
head -c 65536 /dev/urandom >/tmp/new
fault_setup power=1
disk_setup "lease-ms = 600000"
for part in ${KFB_PARTS:-restart copies lossy others orders claims birth}; do
	$part
done
fault_end disk_end
