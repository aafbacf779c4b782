# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Measuring disks with fio: OPS_MIB is how much each job moves.

fio_value() { # fio_value DEVICE WHICH OPTION...: a mean latency in ns, or :iops
	_device=$1 _which=$2
	shift 2
	fio --name=j --filename="$_device" --direct=1 --bs=4k \
		--size="${OPS_MIB}m" --io_size="${OPS_MIB}m" --randseed=7 \
		--allrandrepeat=1 --eta=never --lat_percentiles=1 \
		--clat_percentiles=0 "$@" --output-format=json \
		--output=/tmp/fio.json || return
	fio_says "$_which"
}

fio_says() { # fio_says WHICH: of the job that ran last
	awk -v which="$1" '
		/"(read|write|trim|sync)" : [{]/ { m = $1; gsub("\"", "", m) }
		/"lat_ns" : [{]/ { l = 1 }
		/"(clat_ns|slat_ns)" : [{]/ { l = 0 }
		l && /"mean" :/ { gsub(",", "", $3); mean[m] = $3; l = 0 }
		/"iops" :/ { gsub(",", "", $3); iops[m] = $3 }
		/"bw" :/ { gsub(",", "", $3); bw[m] = $3 }
		END {
			split(which, w, ":")
			v = w[2] == "iops" ? iops[w[1]] :
				w[2] == "bw" ? bw[w[1]] / 1024 : mean[w[1]]
			printf "%.0f", v
		}' /tmp/fio.json
}

measure() { # measure NAME DEVICE: one turn; a line of results
	# what the turn before has written is no part of the first flush
	dd if=/dev/zero of="$2" bs=4k count=1 oflag=direct conv=notrunc,fsync \
		2>/dev/null
	_w=$(fio_value "$2" write --ioengine=psync --rw=randwrite)
	_s=$(fio_value "$2" sync --ioengine=psync --rw=randwrite --fsync=1)
	_ws=$(($(fio_says write) + _s))
	_r=$(fio_value "$2" read --ioengine=psync --rw=randread)
	_q=$(fio_value "$2" write:iops --ioengine=libaio --iodepth=16 \
		--rw=randwrite)
	_qr=$(fio_value "$2" read:iops --ioengine=libaio --iodepth=16 \
		--rw=randread)
	_bw=$(fio_value "$2" write:bw --ioengine=libaio --iodepth=4 --bs=1m \
		--size=64m --io_size=64m --rw=write)
	echo "$1 $_w $_ws $_r $_q $_qr $_bw" >>/tmp/results
	diag "$(tail -1 /tmp/results)"
}

table() { # table COLUMN...: min / median / max, a row for each name of /tmp/results
	_head='| |' _line='|---|'
	for _column; do
		_head="$_head $_column |" _line="$_line---|"
	done
	diag "$_head"
	diag "$_line"
	awk '
		{ cols = NF }
		!($1 in n) { names[++rows] = $1 }
		{ i = ++n[$1]; for (c = 2; c <= NF; c++) v[$1, c, i] = $c }
		function middle(name, c,    i, j, t, k) {
			k = n[name]
			for (i = 1; i <= k; i++)
				a[i] = v[name, c, i]
			for (i = 2; i <= k; i++)
				for (j = i; j > 1 && a[j - 1] > a[j]; j--) {
					t = a[j]; a[j] = a[j - 1]; a[j - 1] = t
				}
			return a[1] " / " a[int((k + 1) / 2)] " / " a[k]
		}
		END {
			for (r = 1; r <= rows; r++) {
				line = "| " names[r]
				for (c = 2; c <= cols; c++)
					line = line " | " middle(names[r], c)
				print line " |"
			}
		}' /tmp/results >/tmp/table
	diag "$(cat /tmp/table)"
}
