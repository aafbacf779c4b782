# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# File systems on $DISK, and trees of files on them. TYPE is ext4, ext4-journal
# (mounted so), xfs or btrfs.

make_fs() { # make_fs TYPE
	case $1 in
	ext4*) mkfs.ext4 -q -F "$DISK" ;;
	xfs) mkfs.xfs -q -f -K "$DISK" ;;
	btrfs) mkfs.btrfs -q -f -K "$DISK" ;;
	esac
}

check_fs() { # check_fs TYPE: not mounted, its journal is done; repairs nothing
	case $1 in
	ext4*) fsck.ext4 -f -n "$DISK" ;;
	xfs) xfs_repair -n "$DISK" ;;
	btrfs) btrfs check --readonly "$DISK" ;;
	esac
}

# What takes many turns is done by several at one time.
WORKERS=8

# each_worker COMMAND...: with each number from 0; all must succeed
each_worker() {
	_pids=
	for _worker in $(seq 0 $((WORKERS - 1))); do
		"$@" "$_worker" &
		_pids="$_pids $!"
	done
	_all=0
	for _pid in $_pids; do
		wait "$_pid" || _all=1
	done
	return $_all
}

make_tree() { # make_tree FOLDER N: N files in folders, each time the same
	each_worker make_share "$1" "$2"
}

make_share() { # make_share FOLDER N WORKER
	awk -v n="$2" -v top="$1" -v first="$3" -v step=$WORKERS '
	BEGIN { for (i = first; i < n; i += step) {
		f = sprintf("%s/d%02d/s%d", top, i % 52, int(i / 1000))
		if (!(f in made)) { made[f] = 1; system("mkdir -p " f) }
		p = f "/file" i
		for (j = 0; j < i % 40; j++)
			printf "%d line %d of file %d\n", i * j, j, i > p
		printf "end of %d\n", i > p
		close(p)
	} }'
}

tree_sums() { # tree_sums FOLDER: of each file in it
	find "$1" -type f >/tmp/sums.files && rm -f /tmp/sums.of.* &&
		each_worker sum_share "$1" &&
		cat /tmp/sums.of.* | sort -k 2
}

sum_share() { # sum_share FOLDER WORKER: of those of /tmp/sums.files, by their names in it
	awk -v n="$2" -v step=$WORKERS 'NR % step == n' /tmp/sums.files |
		sed "s|^$1/||" >"/tmp/sums.files.$2" &&
		(cd "$1" && xargs -r sha256sum <"/tmp/sums.files.$2") >"/tmp/sums.of.$2"
}

tree_is() { # tree_is FOLDER N: what make_tree makes, each time of the same N
	[ -s /tmp/sums.want ] || {
		make_tree /tmp/tree "$2" && tree_sums /tmp/tree >/tmp/sums.want
	}
	tree_sums "$1" >/tmp/sums.got && cmp /tmp/sums.want /tmp/sums.got
}

# folder_is TREE FOLDER: one of those that tree_is has found to be as they must be
folder_is() {
	grep "  $2/" /tmp/sums.want >/tmp/sums.folder &&
		(cd "$1" && find "$2" -type f | sort | xargs sha256sum) |
		cmp /tmp/sums.folder -
}

# exercise FILE OPERATIONS SEED [mapped]: prints the sum that it must have then
exercise() {
	PYTHONHOME=/usr python3 /vm/files/exercise_file.py "$@"
}
