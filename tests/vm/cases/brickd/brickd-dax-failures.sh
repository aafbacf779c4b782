# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What the CPU cannot have of persistent memory ends brickd by name, and costs
# nothing that was flushed: a dax file system that is full, and pages that the
# kernel has marked as poisoned.
# NEEDS: nvdimm fs
# BIN: brickd brickctl poison-page
# NVDIMM: 160M persist=mem-ctrl
# NVDIMM: 256M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 440
# ALLOW: Memory failure

export VIA=tcp
MIB=1048576
BLOCK=$((2 * MIB))
DATA=$BLOCK # where slot 0 is in a store of this size
SLOW=/mnt/slow # it keeps what it is given, as the stores do

serve() { # serve STORE: with a slow tier
	_store=$1
	{
		printf '[brick]\nstore = %s\nslow = %s\n' "$_store" $SLOW
		printf 'listen = tcp://127.0.0.1\nadmin = /tmp/admin\n'
		printf '[client a]\nkey-file = /tmp/brick.key\n'
		echo 'grant = 0x0+1T rw'
	} >/tmp/brick.conf
	brick_run --config /tmp/brick.conf
}

writes() { # writes ADDRESS TEXT
	printf '%s' "$2" | brick_ctl write "$1"
}

reads() { # reads ADDRESS TEXT
	brick_ctl read "$1" --length ${#2} >/tmp/read && [ "$(cat /tmp/read)" = "$2" ]
}

demote() { # demote ADDRESS
	brickctl --admin /tmp/admin tier demote "$1"
}

died() { # died PLACE: brickd of SIGBUS there
	wait_for 30 brick_log_has "(SIGBUS) in $1" || kill "$BRICK_PID"
	wait "$BRICK_PID"
	_status=$?
	[ $_status -eq $((128 + 7)) ] || {
		echo "status $_status"
		cat /tmp/brick.log
		return 1
	}
}

same_epoch() { # of the store's first start
	! brick_log_has 'new power epoch'
}

fill_bricks() { # three blocks, the last of them in the slow tier
	brick_ctl alloc 0x0+3 && writes 0x0 first && writes 0x200000 second &&
		writes 0x400000 third && demote 0x400000+1
}

has_all() {
	reads 0x0 first && reads 0x200000 second && reads 0x400000 third
}

punch() { # punch STORE: slots without a block have no room any more
	for _slot in 0 1 2 3 4 5 6 7; do
		case $(dd if="$1" bs=$BLOCK skip=$((DATA / BLOCK + _slot)) \
			count=1 2>/dev/null | head -c 5) in
		first | secon) ;;
		*) xfs_io -c "fpunch $((DATA + _slot * BLOCK)) $BLOCK" "$1" ||
			return ;;
		esac
	done
}

serve_or_die() { # serve_or_die STORE: it clears free slots from its start on
	serve "$1" || brick_log_has '(SIGBUS) in slot '
}

modprobe ext4
brickctl keygen /tmp/brick.key
check "the persistent memory comes up" nvdimm_setup || exit

# --- fsdax

make_fs() {
	ndctl create-namespace -f -e namespace1.0 -m fsdax &&
		wait_for 10 test -e /dev/pmem1 &&
		mkfs.ext4 -q -b 4096 -m 0 /dev/pmem1 &&
		mount -o dax /dev/pmem1 /mnt
}

fill_fs() { # until nothing more goes in
	dd if=/dev/zero of=/mnt/filler bs=64k 2>/dev/null
	dd if=/dev/zero of=/mnt/filler2 bs=4k 2>/dev/null
	sync
	[ "$(df -k /mnt | awk 'END { print $4 }')" -lt 8 ]
}

check "a file system with dax is made" make_fs || exit
check "a store on it" brickd format /mnt/store --size 18M --allow-fragmented \
	--slow $SLOW --slow-size 10M
check "brickd serves it" serve /mnt/store
check "it is fsdax" brick_log_has 'is fsdax'
check "blocks are written, one is demoted" fill_bricks
check "it stops" brick_stop
check "slots that nobody uses lose their room" punch /mnt/store
check "the file system is full" fill_fs
check "brickd serves it again, or has already tried to clear a slot" \
	serve_or_die /mnt/store
check_fails "a copy to where there is no room is not made" \
	reads 0x400000 third
check "brickd has died of it, and named the slot" died "slot "
check "with room again" rm /mnt/filler /mnt/filler2
check "it serves" serve /mnt/store
check "nothing of the epoch was lost" same_epoch
check "all blocks are there" has_all
check "it stops" brick_stop

# --- devdax

dax_setup() {
	ndctl create-namespace -f -e namespace0.0 -m devdax -a 2M &&
		wait_for 10 test -e /dev/dax0.0
}

poisoned() { # poisoned OFFSET: brickd gets SIGBUS
	poison-page /dev/dax0.0 "$1"
}

# Whoever has such a page mapped hears of it at once, not when it is read: a page
# that is only said to be poisoned can be read.
early_kill() {
	echo 1 >/proc/sys/vm/memory_failure_early_kill
}

check "a devdax device is made" dax_setup || exit
check "processes hear early of poisoned memory" early_kill
check_fails "its slow tier cannot be in memory" brickd format /dev/dax0.0 \
	--force --slow /tmp/slow --slow-size 10M
check "a store on it" brickd format /dev/dax0.0 --force --slow $SLOW
check "brickd serves it" serve /dev/dax0.0
check "blocks are written, one is demoted" fill_bricks
check "the first block's slot is poisoned" poisoned $DATA
check "brickd has died of it, and named the slot" died "slot 0"
check "it serves" serve /dev/dax0.0
check "nothing of the epoch was lost" same_epoch
check "all blocks are there" has_all
check "the tables are poisoned" poisoned $((0x10000))
check "brickd has died of it, and said so" died "the store's metadata"
check "it serves" serve /dev/dax0.0
check "all blocks are there" has_all
check "it stops" brick_stop
