# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A system boots, attaches a disk by its file in attach.d and mounts it.
# ROOT: systemd
# NEEDS: rdma nvdimm
# KO: kfabric_core kfabric_verbs kfbrick
# FILES: tests/vm/boot/before-boot tests/vm/boot/hardware
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 600

LINK=/dev/disk/by-id/kfbrick-5d1f3a52-7c1e-4c8e-9b0a-2f6d8e4b7a10-0x0

logs() {
	systemctl --no-pager --failed
	journalctl --no-pager -o cat -u guest-hardware -u brickd -u data.mount \
		-u "kfbrick@data" | tail -40
}

monotonic() { # monotonic UNIT PROPERTY: when, in microseconds since the boot
	systemctl show -P "$2" "$1"
}

before() { # before UNIT UNIT: it was ready before the other was begun
	[ "$(monotonic "$1" ActiveEnterTimestampMonotonic)" -le \
		"$(monotonic "$2" InactiveExitTimestampMonotonic)" ]
}

is_data() { # the mounted file system is on the disk with the stable name
	[ "$(findmnt -n -o SOURCE /data)" = "$(readlink -f $LINK)" ]
}

# needed DESCRIPTION COMMAND...: without it the rest says nothing
needed() {
	check "$@" && return
	diag "$(logs)"
	bail "the rest of the case can be tried"
}

needed "the system came up" systemctl is-active multi-user.target
needed "brickd runs" systemctl is-active brickd
needed "the disk was attached at boot" systemctl is-active kfbrick@data
needed "it has a name by brick and address" test -b $LINK
needed "it was mounted at boot" systemctl is-active data.mount
check "what is mounted is that disk" is_data
check "the disk was there before the mount was begun" \
	before kfbrick@data.service data.mount
check "brickd was there before the disk" before brickd.service kfbrick@data.service
check "a cluster's locks were there before the disk" before dlm.service kfbrick@data.service
check "the disk was there before the locks of shared volumes" \
	before kfbrick@data.service lvmlocks.service
check "it is written" dd if=/dev/urandom of=/data/file bs=1M count=8 conv=fsync
sum=$(sha256sum </data/file)

# What a shutdown does: the mount goes, then the disk, then the brick.
check "its file system is unmounted and it is detached" \
	systemctl stop data.mount kfbrick@data
check_fails "it is gone" test -e $LINK
check "brickd stops cleanly" systemctl stop brickd
check "it said so" eval 'service_log | grep -q "stopped cleanly"'

# And the next boot.
check "everything comes back" systemctl start brickd remote-fs.target
wait_for 60 systemctl is-active data.mount
check "the file is what it was" test "$(sha256sum </data/file)" = "$sum"
check "nothing has failed" test -z "$(systemctl --failed --no-legend)" ||
	diag "$(logs)"

echo "colour = red" >/etc/kfbrick/attach.d/other.conf
check_fails "what is wrong in a file fails its unit" systemctl start kfbrick@other
check "and the unit's log says what" eval \
	'journalctl -u kfbrick@other -o cat | grep -q colour'
check "a unit without a file is left out" systemctl start kfbrick@none
check_fails "and does not run" systemctl is-active kfbrick@none
