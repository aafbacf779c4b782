# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The service as shipped on devdax over verbs, then on a file over tcp.
# ROOT: systemd
# NVDIMM: 160M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 600

conf=/etc/kfbrick/brickd.conf

as_brickd() { # as_brickd COMMAND...: with the rights of the service's user
	setpriv --reuid brickd --regid brickd --init-groups "$@"
}

settings() { # settings STORE ADDRESS...: the shipped ones, but for these
	sed -i "/^store = /d; /^listen = /d; s|^\\[brick\\]|&\\nstore = $1|" $conf
	shift
	for _address; do
		sed -i "s|^\\[brick\\]|&\\nlisten = $_address|" $conf
	done
}

said() { # said TEXT: the service's log has it
	service_log | grep -qF -e "$1"
}

check "the system came up" systemctl is-active multi-user.target
install_service
dax=$(devdax_setup) || bail "a devdax namespace can be made"
udevadm settle
check "soft RoCE starts on dummy0" rxe_setup || exit
check "the device is the service's group's" \
	test "$(stat -c %G:%a "$dax")" = kfbrick-dax:660
check "the service's user may format it" as_brickd brickd format "$dax" --force
settings "$dax" "verbs://$LOCAL_IP" tcp://127.0.0.1
check "brickd starts on devdax" systemctl start brickd || diag "$(service_log)"
check "it runs as its own user" test "$(stat -c %U "/proc/$(main_pid)")" = brickd
check "it flushes by cache lines" said "is devdax in region0, flushed by CLWB"
check "the sandbox's exposure is 1.5 or less" exposure_at_most 1.5
diag "exposure: $(systemd-analyze security brickd | grep Overall)"

head -c 4M /dev/urandom >/tmp/in
head -c 4M /dev/urandom >/tmp/other
export KFBRICK="verbs://$LOCAL_IP"
check "blocks are allocated over verbs" client alloc 0x0+4M
check "data goes to devdax and comes back over verbs" round_trip /tmp/in
client --json info >/tmp/info
check "a flush is a message there" grep -q '"flush_mode": *"message"' /tmp/info
check "over soft RoCE what is acknowledged is placed" \
	grep -q '"ack_is_placed": *true' /tmp/info
export KFBRICK=tcp://127.0.0.1
check "the same is there over tcp" sh -c \
	"brickctl --client example --key-file $(shipped_key) read 0x0 --length 4M | cmp - /tmp/in"
client --json info >/tmp/info
check "over tcp that depends on the client" \
	grep -q '"ack_is_placed": *false' /tmp/info

pid=$(main_pid)
kill -9 "$pid"
check "it comes back after it was killed" wait_for 60 restarted "$pid"
export KFBRICK="verbs://$LOCAL_IP"
check "it goes on over verbs" round_trip /tmp/other
check "it stops" systemctl stop brickd
check "the stop was clean, although an instance was killed" \
	said "stopped cleanly"

# Where devices are hidden there is no verbs: this case would notice.
mkdir -p /run/systemd/system/brickd.service.d
printf '[Service]\nPrivateDevices=yes\n' >/run/systemd/system/brickd.service.d/d.conf
systemctl daemon-reload
check_fails "in a tighter sandbox it does not start" systemctl start brickd
systemctl stop brickd
rm -r /run/systemd/system/brickd.service.d
systemctl daemon-reload
systemctl reset-failed brickd

settings /var/lib/kfbrick/store tcp://127.0.0.1
export KFBRICK=tcp://127.0.0.1
check "brickd starts on a file" systemctl start brickd || diag "$(service_log)"
check "it flushes by fdatasync" said "is a file, flushed by fdatasync"
check "blocks are allocated over tcp" client alloc 0x0+4M
check "data goes to the file and comes back over tcp" round_trip /tmp/in
check "it stops" systemctl stop brickd
