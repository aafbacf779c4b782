# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Two guests write one disk: each reads what the other has flushed; the brick is
# killed under both, its power fails, one of them is fenced, and one dies.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# GUESTS: 2
# NVDIMM: 160M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 1800

LONG_S=300
SIZE=16M
HALF_KIB=2048
SECTORS=64 # of each guest, in turn, in one block

BRICK_IP=$SERVER_IP

ctl() { # as this guest
	brickctl_as "$NAME" 60 "$@"
}

attach_shared() {
	attach_disk --shared --size $SIZE --queues 2 --reconnect-s 600 "$@"
}

# make_bytes WHO ROUND: other ones for each guest, round and sector
make_bytes() {
	awk -v who="$1" -v round="$2" -v n=$((HALF_KIB << 6)) 'BEGIN {
		for (i = 0; i < n; i++)
			printf "%-4s%3d%08d\n", who, round, i
	}' >"/tmp/$1.bytes"
}

put_half() { # put_half 0|1: what is in this guest's file, not flushed
	dd if="/tmp/$NAME.bytes" of="$DISK" bs=64k seek=$(($1 * HALF_KIB / 64)) \
		oflag=direct conv=notrunc 2>/tmp/dd.err
}

has_half() { # has_half WHO 0|1
	dd if="$DISK" of=/tmp/output bs=64k skip=$(($2 * HALF_KIB / 64)) \
		count=$((HALF_KIB / 64)) iflag=direct 2>/tmp/dd.err &&
		cmp "/tmp/$1.bytes" /tmp/output
}

flush() {
	xfs_io -c fsync "$DISK"
}

weave() { # weave WHO FIRST TARGET [OPTION]: every other sector, from FIRST on
	_i=0
	while [ $_i -lt $SECTORS ]; do
		dd if="/tmp/$1.bytes" of="$3" bs=4k skip=$_i count=1 \
			seek=$((2 * _i + $2)) conv=notrunc ${4:+oflag=$4} \
			2>/tmp/dd.err || return
		_i=$((_i + 1))
	done
}

is_woven() {
	rm -f /tmp/woven
	weave one 0 /tmp/woven && weave two 1 /tmp/woven &&
		dd if="$DISK" of=/tmp/output bs=4k count=$((2 * SECTORS)) \
			iflag=direct 2>/tmp/dd.err && cmp /tmp/woven /tmp/output
}

# ---- what both do at one time

both_round() { # both_round NAME ROUND: halves, flushed, read by the other
	make_bytes one "$2"
	make_bytes two "$2"
	check "$1: this guest's half is written" put_half "$MINE"
}

halves() {
	both_round halves 1
	check "halves: it is flushed" flush
	check "halves: so is the other's" meet halves $LONG_S
	check "halves: this guest's has 0 differences" has_half "$NAME" "$MINE"
	check "halves: the other's has 0 differences" has_half "$OTHER" $((1 - MINE))
	check "halves: the other has read" meet halves-read $LONG_S
}

sectors() {
	make_bytes one 2
	make_bytes two 2
	check "sectors: every other one is written" \
		weave "$NAME" "$MINE" "$DISK" direct
	check "sectors: they are flushed" flush
	check "sectors: so are the other's" meet sectors $LONG_S
	check "sectors: all have 0 differences" is_woven
	check "sectors: the other has read" meet sectors-read $LONG_S
}

# The brick is killed: nobody has lost anything, whoever maps first.
under_a_kill() { # under_a_kill COMMAND...: what kills it, at the server
	both_round kill 3
	check "kill: the other's is, too" meet kill-written $LONG_S
	"$@"
	check "kill: the brick is there again" meet kill-served $LONG_S
	check "kill: the disk is up" wait_for $LONG_S state_is up ||
		diag "$(cat "$CTL/state" "$CTL/last_error")"
	check "kill: what was not flushed is flushed" flush
	check "kill: so is the other's" meet kill-flushed $LONG_S
	check "kill: this guest's half has 0 differences" \
		has_half "$NAME" "$MINE"
	check "kill: the other's has 0 differences" has_half "$OTHER" $((1 - MINE))
	check "kill: the other has read" meet kill-read $LONG_S
}

# ---- the brick's guest

kill_and_serve() {
	kill_brick
	check "kill: brickd serves again" serve_brick || diag "$(cat "$BRICK_LOG")"
}

power_server() { # all of it is flushed here, and nothing of the other's
	both_round power 4
	check "power: it is flushed" flush
	check "power: the other has written" meet power-written $LONG_S
	kill_brick
	another_boot
	check "power: brickd serves again" serve_brick || diag "$(cat "$BRICK_LOG")"
	announce power-served
	check "power: who had flushed everything is up" \
		wait_for $LONG_S state_is up ||
		diag "$(cat "$CTL/state" "$CTL/last_error")"
	check "power: and has its bytes" has_half "$NAME" "$MINE"
	make_bytes one 5
	check "power: and writes on" put_half "$MINE"
	check "power: and flushes" flush
	announce power-five
	check "power: the other has been told" meet power-told $LONG_S
}

has_tried() { # the log has its fence, and a refusal
	[ "$(grep -c "client two is fenced: kept out" "$BRICK_LOG")" -ge 2 ]
}

fence_server() {
	check "fence: the other one writes" wait_peer fence-writing $LONG_S
	check "fence: it is fenced" watch fence two
	check "fence: its bytes are read" read_all /tmp/fenced
	check "fence: it waits" wait_peer fence-waits $LONG_S
	check "fence: it has tried to come back" wait_for $LONG_S has_tried
	check "fence: this one's disk is up" state_is up
	read_all /tmp/later
	check "fence: no byte has landed since" cmp /tmp/fenced /tmp/later
	make_bytes one 6
	check "fence: this one takes the other's half" put_half 1
	check "fence: and flushes it" flush
	check "fence: the other one is admitted" watch admit two
	check "fence: its disk is dead" wait_peer fence-dead $LONG_S
	check "fence: no byte of it has landed" has_half one 1
	check "fence: it is attached again" meet fence-again $LONG_S
}

read_all() { # read_all FILE
	dd if="$DISK" of="$1" bs=64k iflag=direct 2>/tmp/dd.err
}

peer_is_dead() {
	! peer_has death-writing
}

death_server() {
	check "death: the other one writes" wait_peer death-writing $LONG_S
	announce death-seen
	check "death: it dies" wait_for $LONG_S peer_is_dead
	make_bytes one 7
	check "death: this one writes on" put_half 0
	check "death: and flushes" flush
	check "death: and reads" has_half one 0
	check "death: the other one has booted" meet death-read $LONG_S
}

server() {
	MINE=0
	dax=$(devdax_setup) || bail "a devdax namespace can be made"
	configure_hosts "$dax" "$BRICK_IP" "lease-ms = 3000" \
		"fences = /tmp/fences"
	check "devdax is formatted" brickd format "$dax" --force
	check "brickd serves it" serve_brick || diag "$(cat "$BRICK_LOG")"
	check "what nobody has allocated is refused" \
		says "8 of the 8 blocks are not allocated, the first at 0x0" \
		ctl attach --shared --size $SIZE
	check "and what to do is said" says "brickctl alloc" \
		ctl attach --shared --size $SIZE
	check "nothing was allocated" allocated 0
	check "thin is refused" says "shared and thin" \
		ctl attach --shared --thin --size $SIZE
	check "copies are refused" says "shared and retain_mb" \
		ctl attach --shared --retain-mb 64 --size $SIZE
	check "the blocks are allocated" ctl alloc 0x0+8
	check "in a group a disk for one host alone is refused" \
		says "map shared" ctl attach --size $SIZE
	check "a shared disk is attached" attach_shared || exit
	check "it says so" test "$(cat "$CTL/shared")" = 1
	check "the same as another disk is refused here" \
		says "as the same client" ctl attach --shared --size $SIZE
	check "the other one has it, too" meet attached $LONG_S || exit
	check "a disk for one host alone is refused" says "somebody else" \
		brickctl_as other 60 attach --size $SIZE
	halves
	sectors
	under_a_kill kill_and_serve
	power_server
	fence_server
	grow
	death_server
	check "it is detached" detach_disk
	check "all blocks are there still" allocated 10
	check "the driver unloads" rmmod kfbrick
	check "brickd stops" stop_brick
}

grow() { # each by itself, once the blocks are there
	check "grow: not before they are allocated" says "2 of the 2 blocks" \
		ctl attach --resize "$DISK" --size 10
	check "grow: nor does the disk change" test "$(cat "$CTL/blocks")" = 8
	check "grow: the other has been refused" meet grow-refused $LONG_S
	[ "$NAME" = two ] ||
		check "grow: they are allocated" ctl alloc 16M+2
	check "grow: once for both" meet grow-allocated $LONG_S
	check "grow: the disk grows" ctl attach --resize "$DISK" --size 10
	check "grow: it has them" test "$(cat "$CTL/blocks")" = 10
	check "grow: so has the other" meet grow-done $LONG_S
}

# ---- the other guest

power_client() {
	both_round power 4
	announce power-written
	check "power: the other has flushed" wait_peer power-written $LONG_S
	check "power: the brick is there again" wait_peer power-served $LONG_S
	check "power: who had not flushed is told" \
		wait_for $LONG_S state_is lossy ||
		diag "$(cat "$CTL/state" "$CTL/last_error")"
	check_fails "power: the flush fails" flush
	check_fails "power: and a write" put_half "$MINE"
	check "power: the other writes on" wait_peer power-five $LONG_S
	make_bytes one 5
	check "power: which is read" has_half one 0
	check_fails "power: detaching says so, too" detach_disk
	check "power: it is attached again" attach_shared || exit
	check "power: it is written and flushed" eval 'put_half 1 && flush'
	check "power: the other goes on" meet power-told $LONG_S
}

write_on() { # other bytes each time, until a write fails
	while head -c 65536 /dev/urandom >/tmp/next &&
		dd if=/tmp/next of="$DISK" bs=64k seek=$((HALF_KIB / 64 + 1)) \
			oflag=direct conv=notrunc 2>/dev/null; do
		:
	done
}

fence_client() {
	_writes=$(counter writes)
	write_on &
	_writer=$!
	check "fence: it writes" wait_for $LONG_S counter_above writes \
		$((_writes + 8))
	announce fence-writing
	check "fence: it is told why it is out" \
		wait_for $LONG_S grep -q fenced "$CTL/last_error"
	check "fence: its requests wait" wait_for $LONG_S state_is connecting
	announce fence-waits
	check "fence: once admitted its disk is dead" \
		wait_for $LONG_S state_is dead ||
		diag "$(cat "$CTL/state" "$CTL/last_error")"
	check "fence: it says that blocks have changed hands" \
		grep -q "changed hands" "$CTL/last_error"
	check "fence: who wrote has failed" wait_for $LONG_S is_over $_writer
	announce fence-dead
	detach_disk
	check "fence: it is attached again" attach_shared || exit
	make_bytes one 6
	check "fence: it reads what the other wrote" has_half one 1
	check "fence: the other goes on" meet fence-again $LONG_S
}

death_client() {
	_writes=$(counter writes)
	write_on &
	check "death: it writes" wait_for $LONG_S counter_above writes \
		$((_writes + 8))
	announce death-writing
	check "death: the other one knows" wait_peer death-seen $LONG_S
	die_and_boot
}

after_death() {
	check "death: it is attached again" attach_disk --shared --size 10 ||
		exit
	make_bytes one 7
	check "death: what the other wrote has 0 differences" has_half one 0
	check "death: the other one goes on" meet death-read $LONG_S
	check "it is detached" detach_disk
	check "the driver unloads" rmmod kfbrick
}

client() {
	MINE=1
	check "the driver loads" modprobe kfbrick
	if [ "$BOOT" -gt 1 ]; then
		after_death
		return
	fi
	check "the blocks are allocated" wait_peer attached $LONG_S || exit
	check "a shared disk is attached" attach_shared || exit
	announce attached
	halves
	sectors
	under_a_kill true
	power_client
	fence_client
	grow
	death_client
}

modprobe -q kfabric_verbs
check "the wire is up" net_setup || exit
check "soft RoCE starts on eth0" rxe_setup rxe0 eth0 || exit
modprobe kfbrick
make_key
[ "$BOOT" -gt 1 ] || check "the guests meet" meet up $LONG_S || exit
$ROLE
check "the guests part" meet bye $LONG_S
