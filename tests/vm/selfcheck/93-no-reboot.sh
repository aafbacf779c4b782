# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A system that is to reboot and does not shut down for it: a failure, in boot 1.
# ROOT: systemd
# BOOTS: 2
# MEM: 1G
# TIMEOUT: 600

check "boot $BOOT has the disk of all boots" test "$BOOT" = 1 -o -e /var/was-here
touch /var/was-here
if [ "$BOOT" = 1 ]; then
	sync
	for _what in Success Failure; do
		echo "${_what}Action=poweroff-force"
	done | sed '1i [Unit]' >/run/systemd/system/vm-cases.service.d/zz.conf
	check "its end can be another" systemctl daemon-reload
fi
