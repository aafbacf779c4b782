# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# fio that writes a disk and verifies all that it wrote, for some time or again and
# again while a case does something to the disk's brick or to the way there; and
# what another writer has noted.

fio_verify() { # fio_verify SECONDS MIB NAME OPTION...: on $DISK
	_seconds=$1 _mib=$2 _name=$3
	shift 3
	fio --name="$_name" --filename="$DISK" --ioengine=libaio --direct=1 \
		--time_based --runtime="$_seconds" --size="${_mib}M" \
		--verify=crc32c --verify_fatal=1 --do_verify=1 \
		--verify_backlog=256 --group_reporting --randseed=4711 "$@" \
		>/tmp/fio.out 2>&1
	_status=$?
	grep -E 'err=|verify' /tmp/fio.out
	return $_status
}

fio_once() { # fio_once SEED DEVICE MIB
	fio --name=load --filename="$2" --ioengine=libaio --direct=1 \
		--bsrange=4k-64k --iodepth=8 --size="$3M" --rw=randwrite \
		--fsync=16 --verify=crc32c --verify_fatal=1 --do_verify=1 \
		--randseed="$1" >/tmp/fio.out 2>&1
}

fio_on_and_on() { # fio_on_and_on DEVICE MIB: until the file stop is there
	_seed=1
	while [ ! -e /tmp/stop ]; do
		fio_once $_seed "$1" "$2" || return
		echo $_seed >/tmp/rounds
		_seed=$((_seed + 1))
	done
}

begin_load() { # begin_load DEVICE MIB
	rm -f /tmp/stop /tmp/rounds
	fio_on_and_on "$1" "$2" &
	LOAD=$!
}

end_load() { # when fio has verified what it is at; true: no error at all
	touch /tmp/stop
	wait "$LOAD" || {
		tail -20 /tmp/fio.out
		return 1
	}
}

is_busy() { # it is written, and not only what was left over
	wait_for "${LONG_S:-100}" counter_above writes $(($(counter writes) + 20))
}

has_flushed() { # has_flushed N: so often, says powerfail-writer in /tmp/notes
	[ -e /tmp/notes ] && [ "$(wc -l </tmp/notes)" -gt "$1" ]
}
