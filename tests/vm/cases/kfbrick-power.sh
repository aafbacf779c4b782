# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Power is cut while a disk is written and flushed: every cell of the loss table.
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickd-caches brickd-lying brickctl powerfail-writer powerfail-verify
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 1800

# KFB_CUTS: of each cell; KFB_SEED: of what drains and what is torn;
# KFB_CELLS: a pattern of their names.
CUTS=${KFB_CUTS:-2}
SOON=50 # a lie is noticed within so many cuts
LONG_S=200
FAULT=$FABRIC/fault
SIZE=8M

# Whether a cut loses what was flushed: 0 no, 1 yes. Other: it failed.
one_cut() {
	_notes=/tmp/notes.$_cut
	rm -f "$_notes"
	attach_disk --size $SIZE --queues "$queues" --reconnect-s 600 \
		--provider 'fault;verbs' || return 2
	[ "$(cat "$CTL/flush_mode")" = "$mode" ] || return 2
	powerfail-writer --jobs 2 --batch 3 --fua --size $SIZE \
		"$_notes" "$DISK" >/tmp/writer.out 2>&1 &
	_writer=$!
	wait_for $LONG_S has_flushed $((4 + _cut % 13)) || return 2
	fail_power || return 2
	wait_for $LONG_S is_back || return 2
	kill -KILL $_writer 2>/dev/null
	wait $_writer 2>/dev/null
	powerfail-verify "$_notes" "$DISK" >/tmp/verdict 2>&1
	_verdict=$?
	detach_disk >/tmp/detach.out 2>&1 || state_is gone || true
	rm -f "$_notes"
	return $_verdict
}

has_flushed() { # has_flushed N: so many flushes are noted
	[ -e "$_notes" ] && [ "$(wc -l <"$_notes")" -gt "$1" ]
}

is_back() { # it has learnt what became of its writes
	state_is lossy || state_is up
}

# cuts N: prints how many of N cuts have lost what was flushed; with FIRST set
# it ends with the first that does.
cuts() {
	lost=0 _cut=0
	while [ $_cut -lt "$1" ]; do
		_cut=$((_cut + 1))
		one_cut
		case $? in
		0) ;;
		1)
			lost=$((lost + 1))
			[ -z "$FIRST" ] || break
			;;
		*)
			cat /tmp/attach.err /tmp/writer.out /tmp/verdict
			tail -5 $BRICK_LOG
			return 1
			;;
		esac
	done
	echo "$lost of $_cut cuts lost what was flushed" >/tmp/cuts
}

# cell NAME none|some PROGRAM MODE QUEUES P: cuts in one cell
cell() {
	name="$1; $5 queues, p $(($6 / 10))%" mode=$4 queues=$5
	echo "$name" | grep -q "${KFB_CELLS:-.}" || return
	_setting='persistence = auto'
	[ "$mode" = message ] || _setting='persistence = assume-readback'
	check "$name: brickd serves" restart_brick "$3" "lease-ms = 600000" \
		"$_setting" || return
	echo "$6" >$FAULT/drain_permille
	if [ "$2" = none ]; then
		FIRST=''
		check "$name: $CUTS cuts are made" cuts "$CUTS"
		check "$name: nothing that was flushed is lost" test "$lost" -eq 0
	else
		FIRST=yes
		[ "$CUTS" -le $SOON ] || FIRST=''
		_most=$CUTS
		[ "$_most" -gt $SOON ] || _most=$SOON
		check "$name: up to $_most cuts are made" cuts "$_most"
		check "$name: it is seen to lose" test "$lost" -gt 0
	fi
	diag "$name: $(cat /tmp/cuts)"
}

modprobe kfabric_fault || bail "the fault layer loads"
echo 1 >$FAULT/power
echo "${KFB_SEED:-1}" >$FAULT/seed
disk_setup "lease-ms = 600000"

for q in 1 4; do
	for p in 0 600; do
		cell "readback, DDIO off" none brickd readback $q $p
		cell "FLUSH, DDIO off" none brickd message $q $p
		cell "FLUSH, DDIO on" none brickd-caches message $q $p
		cell "readback, DDIO on" some brickd-caches readback $q $p
		cell "FLUSH to a brick that lies, DDIO on" some brickd-lying \
			message $q $p
	done
done

# None, if each cut came right after a flush.
diag "$(grep lost_lines $FAULT/counters)"
echo 1 >$FAULT/reset
same_boot
disk_end
check "the fault layer unloads" rmmod kfabric_fault
