# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The loss table: power is cut while disks are written and flushed.
#
# Starting a brick again takes longer than all else, so a loss of power hits
# several disks at once; each is a client of its own, with its own writer, queues
# and dice, and counts as a cut of its own. Disks are attached and detached by
# orders to the driver, without brickctl, and the tools are those that know no
# libfabric: loading that takes a second in a guest.
#
# KFB_CUTS: at least so many in each cell; KFB_DISKS: of each number of queues, in
# each loss of power; KFB_SEED: of what is written, drains and is torn;
# KFB_CELLS: a pattern of the rows' names; KFB_DRAINS: of p, in thousandths.

# power_setup [SETTING]: a brick, the driver, the fault layer; SETTING is brickd's
# for rows that read back.
power_setup() {
	READBACK=${1:-persistence = auto}
	CUTS=${KFB_CUTS:-1}
	DISKS=${KFB_DISKS:-1}
	SEED=${KFB_SEED:-1}
	DRAINS=${KFB_DRAINS:-0 600}
	SOON=50 # a lie is noticed within so many cuts
	LONG_S=200
	fault_setup power=1 "seed=$SEED"
	disk_setup "lease-ms = 600000"
	loss=0
}

power_end() {
	# None, if each cut came right after a flush.
	diag "$(fault_count lost_lines) lines were lost in all"
	same_boot
	fault_end disk_end
}

order() { # order TEXT: the driver's answer is in answer
	{
		echo "$1" >&8
		answer=$(cat <&8)
	} 8<>/dev/kfbrick-control
}

# Five neighbours are never of fewer queues than four.
order_disk() { # order_disk QUEUES: its number is in instance
	_blocks=$((1 + ($1 > 1) * 4))
	order "attach,addr=$BRICK_IP,provider=fault;$CARRIER,base=$base$(
	),blocks=$_blocks,queues=$1,sector=512,retain_mb=$copies,reconnect_s=600$(
	),timeout_s=60"
	instance=${answer#instance=}
	base=$((base + (_blocks << 21)))
	[ "$instance" != "$answer" ]
}

attach_all() { # "QUEUES NUMBER" of each disk is a line of /tmp/disks
	base=0
	: >/tmp/disks
	for _queues in 1 4; do
		for _i in $(seq "$DISKS"); do
			order_disk $_queues || {
				echo "attach: $answer"
				return 1
			}
			echo "$_queues $instance" >>/tmp/disks
		done
	done
	_mode=$(cat "/sys/block/kfbrick$instance/kfbrick/flush_mode")
	echo "flushes by $_mode, wanted $mode"
	[ "$_mode" = "$mode" ]
}

# Small records: each of their lines goes through the model by itself.
write_all() {
	rm -f /tmp/notes.*
	writers=
	while read -r _queues _n; do
		# shellcheck disable=SC2086 # words, or none
		powerfail-writer-disk --record 512 --jobs 2 --batch 4 --fua \
			--seed $((SEED * 100000 + loss * 100 + _n)) $how \
			"/tmp/notes.$_n" "/dev/kfbrick$_n" \
			>>/tmp/writers.out 2>&1 &
		writers="$writers $!"
	done </tmp/disks
}

all_have_flushed() { # all_have_flushed N: so many flushes are noted of each
	wc -l /tmp/notes.* | awk -v n="$1" -v want=$((DISKS * 2)) \
		'$2 != "total" && $1 > n { k++ } END { exit k < want }'
}

# With copies a loss of power is nobody's business: all that was written before
# it is there when a later flush is good.
all_go_on() {
	! cat /sys/block/kfbrick*/kfbrick/state | grep -qx lossy || return
	_most=$(wc -l /tmp/notes.* |
		awk '$2 != "total" && $1 > m { m = $1 } END { print m }')
	wait_for $LONG_S all_have_flushed "$_most"
}

all_are_back() { # they have learnt what became of their writes
	[ "$(cat /sys/block/kfbrick*/kfbrick/state | grep -cx 'lossy\|up')" -eq \
		$((DISKS * 2)) ]
}

none_is_left() {
	! ls -d /sys/block/kfbrick*
}

judge_all() { # adds to cuts_Q and lost_Q
	while read -r _queues _n; do
		powerfail-verify-disk "/tmp/notes.$_n" "/dev/kfbrick$_n"
		_verdict=$?
		[ $_verdict -le 1 ] || return
		eval "cuts_$_queues=\$((cuts_$_queues + 1))"
		[ $_verdict -eq 0 ] || eval "lost_$_queues=\$((lost_$_queues + 1))
			: \${first_$_queues:=\$cuts_$_queues}"
	done </tmp/disks
}

detach_all() { # one that has lost something says so: it goes all the same
	while read -r _queues _n; do
		order "detach,instance=$_n"
	done </tmp/disks
	wait_for $LONG_S none_is_left
}

# phase NAME: what has been done since the last one; no process is started.
phase() {
	read -r _up _ </proc/uptime
	phases="$phases $1 $_up"
}

power_loss() { # one loss of power, and what it has left
	loss=$((loss + 1)) phases=''
	: >/tmp/writers.out
	phase begin
	attach_all || return
	phase attach
	write_all
	wait_for $LONG_S all_have_flushed $((2 + (SEED * 7919 + loss * 31) % 7))
	_wrote=$?
	phase write
	cut_power && another_boot && serve_brick || return
	phase restart
	wait_for $LONG_S all_are_back || return
	phase back
	[ "$copies" -eq 0 ] || all_go_on || return
	# shellcheck disable=SC2086 # words
	kill -KILL $writers 2>/dev/null
	# shellcheck disable=SC2086 # words
	wait $writers 2>/dev/null
	judge_all || return
	phase validate
	detach_all || return
	phase detach
	echo "loss $loss:$phases"
	return $_wrote
}

# Done with a cell? One that must lose may take some more cuts to show it.
are_enough() {
	[ $cuts_1 -ge "$CUTS" ] || return
	[ "$must" = none ] || [ $cuts_1 -ge $SOON ] || {
		[ $lost_1 -gt 0 ] && [ $lost_4 -gt 0 ]
	}
}

losses_of_power() {
	cuts_1=0 cuts_4=0 lost_1=0 lost_4=0 first_1='' first_4=''
	until are_enough; do
		power_loss >/tmp/loss.out 2>&1 || {
			echo "loss $loss of seed $SEED:"
			tail -30 /tmp/loss.out
			tail -5 /tmp/writers.out $BRICK_LOG
			return 1
		}
	done
}

judge_cell() { # judge_cell NAME LOST CUTS FIRST
	if [ "$must" = none ]; then
		check "$1: nothing that was flushed is lost" test "$2" -eq 0
	else
		check "$1: it is seen to lose" test "$2" -gt 0
	fi
	diag "$1: seed $SEED: $2 of $3 cuts lost what was flushed," \
		"the first of them: ${4:-none}"
}

# row NAME none|some PROGRAM MODE [OPTION [MIB]]: cuts with each p, of disks with
# one and with four queues; OPTION is the writer's, MIB of copies are retained.
row() {
	must=$2 mode=$4 how=${5:-} copies=${6:-0}
	echo "$1" | grep -q "${KFB_CELLS:-.}" || return
	_setting='persistence = auto'
	[ "$mode" != readback ] || _setting=$READBACK
	check "$1: brickd serves" restart_brick "$3" "lease-ms = 600000" \
		"auth = none" "allow-remote-anonymous = yes" \
		"max-unauthenticated-per-address = 64" "$_setting" || return
	for _p in $DRAINS; do
		echo "$_p" >"$FAULT/drain_permille"
		_begun=$(now_s)
		check "$1; p $((_p / 10))%: power is cut" losses_of_power ||
			return
		diag "$(($(now_s) - _begun)) s; the last $(tail -1 /tmp/loss.out)"
		judge_cell "$1; 1 queues, p $((_p / 10))%" $lost_1 $cuts_1 $first_1
		judge_cell "$1; 4 queues, p $((_p / 10))%" $lost_4 $cuts_4 $first_4
	done
}
