# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A disk keeps to the rate that its brick hands out: reads and writes, bytes and
# operations, also one that is told while the disk is there, and after the brick has been
# killed, and copies that are written again. The brick counts what comes, and finds nobody
# who moves more.
# NEEDS: base nvdimm fs
# KO: kfabric_core kfabric_tcp kfbrick
# BIN: brickd brickctl
# NVDIMM: 384M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 900

[ "$CARRIER" != verbs ] || use_carrier tcp
LONG_S=60
SIZE=64M
MIB=$((8 << 20)) # what is moved
ADMIN=/tmp/admin

rate_is() { # rate_is BYTES OPERATIONS
	grep -q "^bytes=$1 ops=$2 " "$CTL/rate"
}

set_rate() { # set_rate [SETTING...]: of client a, from the next start or SIGHUP on
	sed -i '/^rate-/d' $BRICK_CONF
	for _setting; do
		sed -i "/^\[client a\]/a $_setting" $BRICK_CONF
	done
}

tell_rate() { # tell_rate BYTES OPERATIONS [SETTING...]
	_bytes=$1 _ops=$2
	shift 2
	set_rate "$@"
	kill -HUP "$BRICKD" && wait_for 60 rate_is "$_bytes" "$_ops"
}

takes_at_least() { # takes_at_least HUNDREDTHS COMMAND...
	_least=$1
	shift
	_from=$(awk '{ print int($1 * 100) }' /proc/uptime)
	"$@" || return
	_took=$(($(awk '{ print int($1 * 100) }' /proc/uptime) - _from))
	echo "it took $_took hundredths of a second"
	[ $_took -ge "$_least" ]
}

write_it() { # write_it BYTES-OF-EACH COUNT
	dd if=/tmp/input of="$DISK" bs="$1" count="$2" oflag=direct conv=fsync
}

read_it() {
	dd if="$DISK" of=/tmp/output bs="$1" count="$2" iflag=direct
}

waits() {
	sed 's/.*waits=//' "$CTL/rate"
}

waits_above() { # waits_above N
	[ "$(waits)" -gt "$1" ]
}

brick_counts() { # brick_counts NAME: of client a
	brickctl --json --admin "$ADMIN" top --by client |
		sed -n 's/.*"client": *"a"\([^}]*}[^}]*}\).*/\1/p' |
		sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p"
}

disk_setup "admin = $ADMIN"
head -c $MIB /dev/urandom >/tmp/input
check "a disk is attached" attach_disk --size $SIZE --queues 2 || exit
check "it has no rate" rate_is 0 0
check "data is written" write_it 64k $((MIB >> 16))
check "nothing has waited" test "$(waits)" -eq 0
check "it is told of one" tell_rate $((2 << 20)) 0 "rate-bytes = 2M"
check "and says so" eval 'case_log | grep -q "the brick allows 2097152 bytes and 0 operations"'
# 8 MiB are four seconds, but for what may be had at one time and the last request.
check "writes keep to it" takes_at_least 350 write_it 64k $((MIB >> 16))
check "so do reads" takes_at_least 350 read_it 64k $((MIB >> 16))
check "the data is what was written" cmp /tmp/input /tmp/output
check "and long requests" takes_at_least 250 write_it 1M $((MIB >> 20))
check "requests have waited" test "$(waits)" -gt 0
check "it is told of another one" tell_rate 0 50 "rate-ops = 50"
check "operations are counted" takes_at_least 170 write_it 4k 100
check "the brick is killed" kill_brick
set_rate "rate-bytes = 4M" "rate-ops = 1000"
check "and comes back with another rate" serve_brick
check "which the disk has, too" wait_for 60 rate_is $((4 << 20)) 1000
check "and keeps to" takes_at_least 150 write_it 64k $((MIB >> 16))
check "there is a file system under it" eval \
	'make_fs ext4 && mkdir -p /mnt && mount -t ext4 "$DISK" /mnt && cp /tmp/input /mnt/a && umount /mnt'
check "and its file is whole" eval \
	'mount -t ext4 "$DISK" /mnt && cmp /tmp/input /mnt/a && umount /mnt'
check "brickctl shows the rate" eval \
	'brickctl --json attached | grep -q "\"bytes\": *4194304"'
check "the brick has counted the bytes" test "$(brick_counts written_bytes)" -ge $((2 * MIB)) ||
	diag "$(brickctl --json --admin "$ADMIN" top --by client)"
check "nobody has moved more than it may" test "$(brick_counts rate_exceeded)" -eq 0
check "it is told of a small one" tell_rate $((1 << 20)) 0 "rate-bytes = 1M"
writers=
for n in $(seq 48); do
	dd if=/tmp/input of="$DISK" bs=1M count=1 seek="$n" oflag=direct 2>/dev/null &
	writers="$writers $!"
done
waited=$(waits)
check "writes of 48 seconds wait for it" wait_for 60 waits_above "$waited"
check "a forced detach waits for none of them" \
	timeout 20 brickctl detach --force "${DISK#/dev/}"
for n in $writers; do
	wait "$n"
done
check "a disk is attached again" attach_disk --size $SIZE --queues 2 || exit
check "and has that rate" rate_is $((1 << 20)) 0
check "the rate goes" tell_rate 0 0
check "and the log says so" eval 'case_log | grep -q "any number of bytes and operations"'
check "it is detached" detach_disk

# Copies are written again under the rate, too, and nothing but the rate has them go on.
# Of libfabric's provider a write is not durable when it is over: there are copies.
comes_back() {
	another_boot && serve_brick && wait_for $LONG_S state_is up
}

use_carrier libfabric-tcp
check "brickd serves by another provider" \
	restart_brick brickd "lease-ms = 600000"
set_rate "rate-bytes = 1M"
check "it has a rate for this client" kill -HUP "$BRICKD"
check "a disk with copies is attached" attach_disk --size $SIZE --queues 2 \
	--retain-mb 16 --reconnect-s 600 || exit
check "it has that rate" wait_for 60 rate_is $((1 << 20)) 0
check "data is written, and not flushed" \
	dd if=/tmp/input of="$DISK" bs=64k count=64 oflag=direct
check "there are copies" test "$(retained copies)" -ge 64
check "the brick dies" kill_brick
check "after a loss of power the disk takes its time" takes_at_least 250 comes_back
check "its copies were written again" test "$(retained replayed)" -gt 0
check "they can be made durable" xfs_io -c fsync "$DISK"
check "the data is read" read_it 64k 64
check "and is what was written" cmp -n $((4 << 20)) /tmp/input /tmp/output
same_boot
check "that disk is detached" detach_disk
disk_end
check "the tcp provider unloads" rmmod kfabric_tcp
