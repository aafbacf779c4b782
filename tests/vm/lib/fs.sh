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

make_tree() { # make_tree FOLDER N: N files in folders, each time the same
	awk -v n="$2" -v top="$1" 'BEGIN { for (i = 0; i < n; i++) {
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
	(cd "$1" && find . -type f | sort | xargs sha256sum)
}

tree_is() { # tree_is FOLDER N: what make_tree makes, each time of the same N
	[ -s /tmp/sums.want ] || {
		make_tree /tmp/tree "$2" && tree_sums /tmp/tree >/tmp/sums.want
	}
	tree_sums "$1" >/tmp/sums.got && cmp /tmp/sums.want /tmp/sums.got
}

# folder_is TREE FOLDER: one of those that tree_is has found to be as they must be
folder_is() {
	grep "  \./$2/" /tmp/sums.want >/tmp/sums.of &&
		(cd "$1" && find "./$2" -type f | sort | xargs sha256sum) |
		cmp /tmp/sums.of -
}

# exercise FILE OPERATIONS SEED [mapped]: prints the sum that it must have then
exercise() {
	PYTHONHOME=/usr python3 /vm/files/exercise_file.py "$@"
}
