# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A disk over a link of 4 Mbit/s, and over one that loses packets: what is written
# and read back is the same and no connection is lost. Then the link is cut. The
# brick is in a namespace of its own; slow-link hands packets over.
# NEEDS: base nvdimm
# MODULES: tun
# KO: kfabric_core kfabric_tcp kfbrick
# BIN: brickd brickctl slow-link
# NVDIMM: 256M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 900

use_carrier tcp
BRICK_IP=10.77.0.2
MIB=8

link_up() { # link_up NAME=VALUE...: the guest's own end is the client's
	modprobe tun && mkfifo /tmp/link.in && : >/tmp/link.ends || return
	slow-link here=1 "$@" </tmp/link.in >/tmp/link.ends &
	LINK=$!
	exec 9>/tmp/link.in
	wait_for 30 test -s /tmp/link.ends
}

link_is() { # link_is NAME=VALUE
	echo "$1" >&9
}

brick_behind() { # brickd, where the other end is
	read -r _ _ns </tmp/link.ends
	printf '#!/bin/sh\nexec nsenter --net=%s brickd "$@"\n' "$_ns" \
		>/tmp/brick-behind
	chmod +x /tmp/brick-behind
	export BRICK_PROGRAM=/tmp/brick-behind
	dax=$(devdax_setup) || return
	configure_brick "$dax" $BRICK_IP
	brickd format "$dax" --force && serve_brick
}

# Through the page cache: as much is in flight as the disk lets.
written_and_read() { # written_and_read MIB
	head -c $(($1 << 20)) /dev/urandom >/tmp/input
	dd if=/tmp/input of="$DISK" bs=1M conv=fsync || return
	echo 3 >/proc/sys/vm/drop_caches
	dd if="$DISK" of=/tmp/output bs=1M count="$1" || return
	cmp /tmp/input /tmp/output
}

is_unbroken() { # no queue was connected again since the disk is there
	_n=$(counter connects)
	echo "connected $_n times, at first $CONNECTS; $(cat "$CTL/last_error")"
	[ "$_n" -eq "$CONNECTS" ]
}

cut_for() { # cut_for SECONDS, while something is written
	head -c $((MIB << 20)) /dev/urandom >/tmp/input
	dd if=/tmp/input of="$DISK" bs=1M conv=fsync 2>/tmp/dd.err &
	_dd=$!
	sleep 2
	link_is cut=1
	sleep "$1"
	link_is cut=0
	wait $_dd || { cat /tmp/dd.err; return 1; }
	echo 3 >/proc/sys/vm/drop_caches
	dd if="$DISK" of=/tmp/output bs=1M count=$MIB || return
	cmp /tmp/input /tmp/output
}

check "the link is up" link_up rate=4000000 queue=65536 || exit
make_key
check "a brick serves behind it" brick_behind || diag "$(cat $BRICK_LOG)"
check "the driver loads" modprobe kfbrick || exit
check "a disk is attached" attach_disk --base 0x0 --size 16 \
	--reconnect-s 600 || exit
CONNECTS=$(counter connects)
check "4 Mbit/s: $MIB MiB are written and read" written_and_read $MIB
check "no connection was lost" is_unbroken
link_is loss=50
check "5 % lost: 2 MiB are written and read" written_and_read 2
check "no connection was lost there" is_unbroken
link_is loss=0
check "a cut of 12 s is survived" cut_for 12
check "a cut of 40 s is survived" cut_for 40
check "the disk is up" state_is up
check "it is detached" detach_disk
check "brickd stops" stop_brick
check "the driver unloads" rmmod kfbrick
exec 9>&-
check "the link goes" wait $LINK
