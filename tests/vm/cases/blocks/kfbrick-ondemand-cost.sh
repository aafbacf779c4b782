# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Throughput of a disk that maps an eighth of its blocks at a time, beside one
# that maps all of them: the same brick, turn by turn.
# NEEDS: rdma nvdimm fio
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# NVDIMM: 160M persist=mem-ctrl
# MEM: 1G
# MANUAL: yes
# MEASURES: yes
# TIMEOUT: 3000

ROUNDS=${KFB_COST_ROUNDS:-3}
export OPS_MIB=${KFB_COST_MIB:-8}
BLOCKS=32
MIB=$((BLOCKS * 2))
HOT=$((BLOCKS / 8 - 1)) # blocks that fit into the cache

of_row() { # of_row DEVICE read|write: 1 MiB at a time, from end to end, twice
	fio_value "$1" "$2:bw" --ioengine=libaio --iodepth=4 --bs=1m \
		--size="${MIB}m" --io_size="$((2 * MIB))m" --rw="$2"
}

of_random() { # of_random DEVICE read|write MIB: 4 KiB, over so many MiB
	fio_value "$1" "$2:iops" --ioengine=libaio --iodepth=16 \
		--size="${3}m" --io_size="${OPS_MIB}m" --rw="rand$2"
}

measure() { # measure NAME DEVICE: one turn; a line of results
	_a=$(of_row "$2" read)
	_b=$(of_row "$2" write)
	_c=$(of_random "$2" read $((HOT * 2)))
	_d=$(of_random "$2" write $((HOT * 2)))
	_e=$(of_random "$2" read $MIB)
	_f=$(of_random "$2" write $MIB)
	echo "$1 $_a $_b $_c $_d $_e $_f" >>/tmp/results
	diag "$(tail -1 /tmp/results)"
}

disk_setup
check "a disk that maps everything is attached" attach_disk --size $BLOCKS \
	--queues 2 || exit
all=$DISK
check "one that maps an eighth is attached" attach_disk --base 1G \
	--size $BLOCKS --queues 2 --map-cache $((BLOCKS / 8)) || exit
few=$DISK
for disk in "$all" "$few"; do
	dd if=/dev/urandom of="$disk" bs=1M count=$MIB oflag=direct \
		conv=notrunc,fsync 2>/dev/null
done
for round in $(seq "$ROUNDS"); do
	diag "round $round"
	measure everything "$all"
	measure an-eighth "$few"
done
tap ok "both are measured"
diag "$(cat "$CTL/map_cache")"
table "1 MiB reads, MiB/s" "1 MiB writes, MiB/s" \
	"QD16 read in the cache, IOPS" "QD16 write in the cache, IOPS" \
	"QD16 read, IOPS" "QD16 write, IOPS"
check "one is detached" detach_disk "$all"
check "and the other" detach_disk "$few"
disk_end
