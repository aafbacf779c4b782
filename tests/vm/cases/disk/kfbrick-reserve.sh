# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The block layer's persistent reservations: disks of three hosts on the same blocks, of
# which one has no key, each type and command by its ioctls, and what is left of them when
# the brick was killed.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl pr-ioctl
# NVDIMM: 160M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 1200

LONG_S=120
CONFLICT=24
A=0xa
B=0xb

pr() { # pr DISK WORD NUMBER...
	pr-ioctl "$@"
}

conflicts() { # conflicts DISK WORD NUMBER...
	_ret=0
	pr-ioctl "$@" || _ret=$?
	echo "status $_ret"
	[ $_ret -eq $CONFLICT ]
}

disk_is() { # disk_is DISK STATE
	read -r _state <"/sys/block/${1#/dev/}/kfbrick/state" &&
		[ "$_state" = "$2" ]
}

becomes() { # becomes DISK STATE
	wait_for $LONG_S disk_is "$1" "$2"
}

writes() { # writes DISK
	dd if=/dev/zero of="$1" bs=4096 count=1 oflag=direct conv=notrunc
}

attach_as() { # attach_as CLIENT: prints the disk
	brickctl_as "$1" 60 attach --shared --size 4 --queues 1 --reconnect-s 60
}

reattach() { # reattach DISK: it was taken the blocks, and may have them again
	brickctl reattach "$1" && becomes "$1" up
}

shows() { # shows TEXT: a line of what the brick says is reserved
	ctl reserve show 0x0+4 | grep -qx "$1"
}

type_name() { # type_name TYPE
	_names="none write-exclusive exclusive-access write-exclusive-reg-only"
	_names="$_names exclusive-access-reg-only write-exclusive-all-regs"
	_names="$_names exclusive-access-all-regs"
	# shellcheck disable=SC2086 # a list
	set -- "$1" $_names
	shift "$1"
	echo "$2"
}

other_type() { # other_type TYPE
	echo $(($1 % 6 + 1))
}

# What is for the holder alone takes the other host's disk away.
alone() { # alone TYPE
	becomes "$TWO" failed && ! writes "$TWO" && writes "$ONE"
}

# Who has no key has lost it with any type, and does not come back by itself.
is_kept_out() { # is_kept_out DISK
	becomes "$1" failed && ! writes "$1" && ! brickctl reattach "$1"
}

together() {
	disk_is "$TWO" up && writes "$TWO" && writes "$ONE"
}

try_type() { # try_type TYPE
	_type=$1
	_what="type $_type"
	check "$_what: the first host reserves" pr "$ONE" reserve $A "$_type"
	if [ "$_type" -le 2 ]; then
		check "$_what: the other's disk has failed, and writes nothing" alone
	else
		check "$_what: both write" together
		check "$_what: the other does not reserve by another type" \
			conflicts "$TWO" reserve $B "$(other_type "$_type")"
	fi
	check "$_what: who has no key has no disk any more" is_kept_out "$THREE"
	check "$_what: a key that is another one conflicts" \
		conflicts "$ONE" release $B "$_type"
	check_fails "$_what: another type is not released" \
		pr "$ONE" release $A "$(other_type "$_type")"
	kill_brick
	check "$_what: the brick serves again" serve_brick
	check "$_what: the holder's disk is up" becomes "$ONE" up
	check "$_what: it is as it was" shows "type $(type_name "$_type")"
	check "$_what: so is its holder" shows "key $A a holder"
	check "$_what: the holder reserves once more" \
		pr "$ONE" reserve $A "$_type"
	[ "$_type" -le 2 ] ||
		check "$_what: the other's disk is up, too" becomes "$TWO" up
	check "$_what: who has no key is kept out still" is_kept_out "$THREE"
	check "$_what: it is released" pr "$ONE" release $A "$_type"
	check "$_what: nothing is reserved" shows "type none"
	[ "$_type" -gt 2 ] ||
		check "$_what: the other has its disk again" reattach "$TWO"
	check "$_what: so has who has no key" reattach "$THREE"
	check "$_what: all write then" eval 'together && writes "$THREE"'
}

try_preempt() { # try_preempt WORD
	check "$1: one host reserves for those that have registered" \
		pr "$ONE" reserve $A 3
	check "$1: the other takes over" pr "$TWO" "$1" $B $A 3
	check "$1: it holds the reservation" shows "key $B other holder"
	check_fails "$1: who had it has no key" shows "key $A a.*"
	check "$1: its disk has failed" becomes "$ONE" failed
	check_fails "$1: and writes nothing" writes "$ONE"
	check "$1: the new holder writes" writes "$TWO"
	check_fails "$1: who has no key is not let in" reattach "$ONE"
	check "$1: who registers is" ctl reserve register 0x0+4 --new-key $A
	check "$1: its disk is there again" reattach "$ONE"
	check "$1: both write" together
	check "$1: all keys are cleared" pr "$TWO" clear $B
	check "$1: nobody has one" shows "blocks 0"
	check "$1: both register" both_register
}

both_register() {
	pr "$ONE" register 0 $A && pr "$TWO" register 0 $B
}

disk_setup "reservations = /tmp/reservations" "lease-ms = 3000"
stop_brick
sed -i 's/^\[client a\]$/&\ngroup = hosts/; s/^\[client other\]$/&\ngroup = hosts/; s/^\[client small\]$/&\ngroup = hosts/' \
	"$BRICK_CONF"
check "three clients are in one group" serve_brick || exit
check "the blocks are there" ctl alloc 0x0+4 || exit
ONE=$(attach_as a)
check "one host has the disk" wait_for $LONG_S test -b "$ONE" || exit
TWO=$(attach_as other)
check "another one has it, too" wait_for $LONG_S test -b "$TWO" || exit
THREE=$(attach_as small)
check "and one that never registers" wait_for $LONG_S test -b "$THREE" || exit

check "who has no key reserves nothing" conflicts "$ONE" reserve $A 1
check "nor clears it" conflicts "$ONE" clear $A
check "a key is registered where there is none" pr "$ONE" register 0 $B
check "not by an old one that is another" conflicts "$ONE" register $A $A
check "it is changed" pr "$ONE" register $B $A
check "it is changed without the old one" pr "$ONE" register-ignore $A
check "the other host has one, too" pr "$TWO" register 0 $B
check_fails "a type that is none is refused" pr "$ONE" reserve $A 7
check_fails "a disk does not grow into what nobody has allocated" \
	brickctl attach --resize "$ONE" --size 8
check "it reserves" pr "$ONE" reserve $A 5
check "what it has, and no more" shows "blocks 4"
check "it is released" pr "$ONE" release $A 5
for type in 1 2 3 4 5 6; do
	try_type $type
done
try_preempt preempt
try_preempt preempt-abort
check "a host takes its key back" pr "$TWO" register $B 0
check_fails "the brick has none of it" shows "key $B other"
check "who never had one has its disk again" reattach "$THREE"
for disk in $THREE $TWO $ONE; do
	check "$disk is detached" detach_disk "$disk"
done
disk_end
