# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# brickd as a service: starts as shipped, is watched, restarts, stops cleanly.
# ROOT: systemd
# MEM: 1G
# TIMEOUT: 300

export KFBRICK=tcp://127.0.0.1

check "the system came up" systemctl is-active multi-user.target
install_service
check "brickd starts with the settings as shipped" systemctl start brickd ||
	diag "$(service_log)"
check "it runs as its own user" test "$(stat -c %U "/proc/$(main_pid)")" = brickd
check "the manager knows what it does" sh -c \
	'systemctl show -P StatusText brickd | grep -q "serving /var/lib/kfbrick"'
head -c 4M /dev/urandom >/tmp/in
check "blocks are allocated" client alloc 0x0+4M
check "data goes there and comes back" round_trip /tmp/in
check "the sandbox's exposure is 1.5 or less" exposure_at_most 1.5
diag "exposure: $(systemd-analyze security brickd | grep Overall)"

check "root may ask who is there" brickctl sessions

pid=$(main_pid)
kill -9 "$pid"
check "it comes back after it was killed" wait_for 60 restarted "$pid"
check "what was durable is there" sh -c \
	"brickctl --client example --key-file $(shipped_key) read 0x0 --length 4M | cmp - /tmp/in"

mkdir -p /run/systemd/system/brickd.service.d
printf '[Service]\nWatchdogSec=4\n' >/run/systemd/system/brickd.service.d/w.conf
systemctl daemon-reload
check "it restarts with a short watchdog" systemctl restart brickd
pid=$(main_pid)
kill -STOP "$pid"
check "the watchdog replaces a daemon that hangs" wait_for 60 restarted "$pid"

check "it stops" systemctl stop brickd
check "the stop was clean" sh -c \
	'journalctl -u brickd --no-pager -o cat | grep -q "stopped cleanly"'
check "it serves what it has again" systemctl start brickd
check "the first start's work is not done again" sh -c \
	"! journalctl -u brickd-first-start -o cat | grep -q already"

echo 'store = nowhere at all' >>/etc/kfbrick/brickd.conf
systemctl stop brickd
check_fails "wrong settings are refused" systemctl start brickd
check "and not tried again and again" test \
	"$(systemctl show -P NRestarts brickd)" -eq 0
check "the log names file and line" sh -c \
	'journalctl -u brickd -o cat | grep -q "/etc/kfbrick/brickd.conf:[0-9]"'
