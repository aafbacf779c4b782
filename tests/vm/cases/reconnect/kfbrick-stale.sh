# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Writes that a network holds back for some time arrive when their disk has gone on by
# another network, and has written the same blocks again: which of them then are what they
# were? The same cuts under a disk of kfbrick, of which none may go back, and under
# nvme-rdma with the kernel's native multipath beside it, whose counts are printed.
# KFB_CUTS says how often for each of KFB_DELAYS, in seconds; KFB_NVME_OPTIONS are more of
# those of nvme's connections, such as keep_alive_tmo=30.
#
# What is held back is all that the client sends on that network, by netem: as by a switch
# whose queue is stuck, or a host that is stopped below its network's card. nvme has its
# defaults, the brick a lease of as many seconds as those have for a keep-alive.
# NEEDS: rdma nvdimm nvme netem
# MODULES: bridge dummy vxlan brd
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# GUESTS: 2
# NVDIMM: 160M persist=mem-ctrl
# MEM: 1G
# MANUAL: yes
# TIMEOUT: 7200

LONG_S=300
LEASE_MS=5000
CUTS=${KFB_CUTS:-10}
DELAYS=${KFB_DELAYS:-4 6 8 20}
BLOCKS="0 1 2 3 4 5 6 7"
BRICK_IP=10.11.0.1
NVME_PORT=4420
NVME_OPTIONS=nr_io_queues=1,reconnect_delay=2${KFB_NVME_OPTIONS:+,$KFB_NVME_OPTIONS}

server() {
	dax=$(devdax_setup) || bail "a devdax namespace can be made"
	configure_brick "$dax" "$BRICK_IP, $CARRIER://10.12.0.1" \
		"lease-ms = $LEASE_MS"
	check "devdax is formatted" brickd format "$dax" --force
	check "brickd serves it" serve_brick || diag "$(cat $BRICK_LOG)"
	check "there is a disk for nvme" modprobe brd rd_nr=1 rd_size=16384
	check "it is a subsystem" nvmet_subsystem disk /dev/ram0
	check "it is served on one network" \
		nvmet_port 1 rdma 10.11.0.1 $NVME_PORT disk
	check "and on the other" nvmet_port 2 rdma 10.12.0.1 $NVME_PORT disk
	announce serving
	check "the client is done" wait_peer "done" 7000
	check "brickd stops" stop_brick
}

# ---- which network a disk is on, and whether it could be on either

kfbrick_network() {
	network_of_disk
}

kfbrick_is_whole() {
	state_is up
}

nvme_reads() { # nvme_reads N: how often the N-th path was read
	awk '{ print $1 }' "/sys/block/nvme0c$1n1/stat"
}

nvme_network() {
	_was=$(nvme_reads 0)
	dd if="$DEVICE" of=/dev/null bs=4k count=1 skip=100 iflag=direct || return
	[ "$(nvme_reads 0)" -gt "$_was" ]
	case $?$(cat /sys/class/nvme/nvme0/address) in
	0*10.11.0.1* | 1*10.12.0.1*) echo 1 ;;
	*) echo 2 ;;
	esac
}

nvme_is_whole() {
	[ "$(cat /sys/class/nvme/nvme[01]/state | paste -sd' ')" = "live live" ]
}

# ---- a cut

put() { # put FILE: each block of it, at one time, durably
	_puts=
	for _b in $BLOCKS; do
		dd if="$1" of="$DEVICE" bs=4k count=1 skip="$_b" seek="$_b" \
			oflag=direct conv=notrunc,fsync 2>/dev/null &
		_puts="$_puts $!"
	done
	for _put in $_puts; do
		wait "$_put" || return
	done
}

block_is() { # block_is N FILE
	dd if="$2" bs=4k count=1 skip="$1" 2>/dev/null | cmp -s - /tmp/block
}

look_at_blocks() { # adds to those that went back, and those that nobody wrote
	for _b in $BLOCKS; do
		dd if="$DEVICE" of=/tmp/block bs=4k count=1 skip="$_b" \
			iflag=direct 2>/dev/null || return
		block_is "$_b" /tmp/new && continue
		if block_is "$_b" /tmp/old; then
			n_stale=$((n_stale + 1))
		else
			n_other=$((n_other + 1))
		fi
	done
}

sleep_until() { # sleep_until CENTISECONDS
	_rest=$(($1 - $(now_cs)))
	[ $_rest -le 0 ] || sleep $((_rest / 100 + 1))
}

cut_once() { # cut_once SIDE DELAY
	wait_for $LONG_S "$1_is_whole" || return
	_net=$("$1_network") || return
	head -c 32768 /dev/urandom >/tmp/old
	head -c 32768 /dev/urandom >/tmp/new
	/bin/tc qdisc add dev "net$_net" root netem delay "$2s" limit 100000 || return
	_since=$(now_cs)
	put /tmp/old || return
	_gone_on=$(now_cs)
	put /tmp/new || return
	_written=$(now_cs)
	[ $_written -ge $((_since + $2 * 100)) ] || n_before=$((n_before + 1))
	sleep_until $((_gone_on + $2 * 100 + 200))
	echo $((_gone_on - _since))0 >>"/tmp/pauses.$1.$2"
	look_at_blocks && /bin/tc qdisc del dev "net$_net" root
}

cut_again_and_again() { # cut_again_and_again SIDE DELAY
	n_stale=0 n_other=0 n_before=0 _i=0
	while [ $_i -lt "$CUTS" ]; do
		_i=$((_i + 1))
		check "$1, $2 s: cut $_i is survived" cut_once "$1" "$2" || return
	done
	check "$1, $2 s: all blocks are as somebody wrote them" \
		test $n_other -eq 0
	diag "$1, held back for $2 s: $n_stale of $((CUTS * 8)) blocks went back;" \
		"in $n_before of $CUTS cuts the newer ones were durable before any of" \
		"it came;" \
		"ms until the disk went on:" \
		"$(sort -n "/tmp/pauses.$1.$2" | paste -sd' ')"
}

both_sides() {
	for _delay in $DELAYS; do
		DEVICE=$DISK
		cut_again_and_again kfbrick "$_delay" || return
		n_kfbrick_stale=$((n_kfbrick_stale + n_stale))
		n_kfbrick_before=$((n_kfbrick_before + n_before))
		DEVICE=/dev/nvme0n1
		cut_again_and_again nvme "$_delay" || return
	done
}

client() {
	check "the server serves" wait_peer serving $LONG_S || return
	check "the driver loads" modprobe kfbrick || return
	check "a disk is attached" attach_disk --size 4M --queues 1 \
		--reconnect-s 600 --address 10.12.0.1 || return
	check "nvme is there by one network" nvme_connect rdma 10.11.0.1 \
		$NVME_PORT "disk,$NVME_OPTIONS" || return
	check "and by the other" nvme_connect rdma 10.12.0.1 \
		$NVME_PORT "disk,$NVME_OPTIONS" || return
	check "they are one disk" wait_for 30 test -b /dev/nvme0n1 || return
	diag "nvme goes by $(cat /sys/class/nvme-subsystem/nvme-subsys0/iopolicy)," \
		"keep-alive $(cat /sys/class/nvme/nvme0/kato) s"
	n_kfbrick_stale=0 n_kfbrick_before=0
	both_sides
	check "no block of kfbrick's disk went back" test $n_kfbrick_stale -eq 0
	check "it went on before what was held back arrived" \
		test $n_kfbrick_before -gt 0
	nvme_end
	check "it is detached" detach_disk
	check "the driver unloads" rmmod kfbrick
	check "no object is left open" wait_for 30 fabric_idle
}

check "the wire is up" net_setup || exit
check "there are two networks" networks_setup || exit
make_key
modprobe sch_netem
check "the guests meet" meet up $LONG_S || exit
$ROLE
announce "done"
check "the guests part" meet bye $LONG_S
