# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What a case can use inside a guest: TAP, waiting, devices, the peer guest.
#
# CASE is the case's name, KIND the kernel as --kernel names it. ROLE is server
# or client where two guests run the same case, else server.
# Both guests of a pair have eth0: server 10.0.0.1, client 10.0.0.2.

TAP_COUNT=0
LOCAL_IP=192.168.77.1
SERVER_IP=10.0.0.1
CLIENT_IP=10.0.0.2
PEER_PORT=8000
# shellcheck disable=SC2034 # of cases with BOOTS
BOOT=$(sed -n 's/.*vm_boot=\([0-9]*\).*/\1/p' /proc/cmdline)

# --- TAP

tap() { # tap ok|"not ok" DESCRIPTION
	TAP_COUNT=$((TAP_COUNT + 1))
	echo "$1 $TAP_COUNT - $2"
}

diag() {
	echo "$*" | sed 's/^/# /'
}

check() { # check DESCRIPTION COMMAND...: the command succeeds
	_what=$1
	shift
	if "$@" >/tmp/check.out 2>&1; then
		tap ok "$_what"
	else
		_status=$?
		tap "not ok" "$_what"
		diag "status $_status of: $*"
		tail -20 /tmp/check.out | sed 's/^/# /'
		return 1
	fi
}

check_fails() { # check_fails DESCRIPTION COMMAND...: the command fails
	_what=$1
	shift
	if "$@" >/tmp/check.out 2>&1; then
		tap "not ok" "$_what"
		diag "this should have failed: $*"
		return 1
	fi
	tap ok "$_what"
}

says() { # says TEXT COMMAND...: the command fails and says so
	_text=$1
	shift
	"$@" >/tmp/said 2>&1 && return 1
	grep -qF -e "$_text" /tmp/said || {
		cat /tmp/said
		return 1
	}
}

prints() { # prints TEXT COMMAND...: it says so, whether it fails or not
	_text=$1
	shift
	"$@" >/tmp/said 2>&1
	grep -qF -e "$_text" /tmp/said || {
		cat /tmp/said
		return 1
	}
}

skip() { # skip DESCRIPTION REASON
	tap ok "$1 # SKIP $2"
}

tap_end() {
	echo "1..$TAP_COUNT"
}

bail() { # bail DESCRIPTION: fail and end the case
	tap "not ok" "$1"
	tap_end
	exit 1
}

skip_all() { # skip_all REASON: end the case
	skip "the whole case" "$1"
	tap_end
	exit 0
}

# --- waiting

now_s() {
	cut -d. -f1 /proc/uptime
}

now_cs() { # hundredths
	cut -d' ' -f1 /proc/uptime | tr -d .
}

# All takes longer on the debug kernel: TIMEOUT is stretched likewise.
TIMEOUT_FACTOR=1
[ "$KIND" != debug ] || TIMEOUT_FACTOR=8

# The machine below the guest does other things as well: nobody gives up sooner.
WAIT_LEAST_S=60

# wait_for SECONDS COMMAND...: until the command succeeds. It starts as few
# processes as it can: in an emulated guest each takes milliseconds.
wait_for() {
	read -r _now _ </proc/uptime
	_until=$1
	[ "$_until" -ge $WAIT_LEAST_S ] || _until=$WAIT_LEAST_S
	_until=$((${_now%.*} + _until * TIMEOUT_FACTOR))
	shift
	_tries=0
	until "$@" >/dev/null 2>&1; do
		read -r _now _ </proc/uptime
		[ "${_now%.*}" -lt "$_until" ] || return 1
		_tries=$((_tries + 1))
		case $_tries in
		?) sleep 0.05 ;;
		1? | 2?) sleep 0.2 ;;
		*) sleep 0.5 ;;
		esac
	done
}

is_over() { # is_over PROCESS: one of this shell's
	! kill -0 "$1" 2>/dev/null
}

# --- devices

have() {
	command -v "$1" >/dev/null
}

rxe_active() { # rxe_active NAME
	rdma link show "$1/1" | grep -q 'state ACTIVE'
}

rxe_setup() { # rxe_setup [NAME] [NETDEV]: soft RoCE, by default on dummy0
	_rxe=${1:-rxe0} _net=${2:-dummy0}
	# As on hardware: the generic one takes 25 000 instructions for 4 KiB.
	modprobe -q crc32_pclmul || modprobe -q crc32_generic
	modprobe ib_uverbs && modprobe rdma_ucm && modprobe rdma_rxe || return
	if [ "$_net" = dummy0 ]; then
		[ -e /sys/class/net/dummy0 ] ||
			modprobe dummy numdummies=1 || return
		ip link set dummy0 mtu "${MTU:-4200}" up || return
		ip addr replace $LOCAL_IP/24 dev dummy0 || return
	fi
	[ -e "/sys/class/infiniband/$_rxe" ] ||
		rdma link add "$_rxe" type rxe netdev "$_net" || return
	wait_for 10 rxe_active "$_rxe" && wait_for 5 test -e /dev/infiniband
}

ndctl_shows() { # ndctl_shows OPTION TEXT: "ndctl list OPTION" has the text
	ndctl list "$1" | grep -q "$2"
}

nvdimm_setup() { # load the drivers; succeeds when a region exists
	modprobe nfit && modprobe nd_pmem && modprobe device_dax || return
	modprobe dax_pmem || return
	wait_for 10 ndctl_shows -R '"dev":"region0"'
}

devdax_setup() { # devdax_setup [REGION NUMBER]: prints the device's path
	_ns=namespace${1:-0}.0
	nvdimm_setup || return
	wait_for 10 ndctl_shows -Ni "\"dev\":\"$_ns\"" || return
	if [ ! -e "/dev/dax${1:-0}.0" ]; then
		ndctl create-namespace -f -e "$_ns" -m devdax -a 2M >&2 || return
	fi
	wait_for 10 test -e "/dev/dax${1:-0}.0" && echo "/dev/dax${1:-0}.0"
}

die_and_boot() { # the runner kills this guest, and boots it once more
	echo "@again"
	sleep 3600
}

# --- the other guest

freeze_peer() { # the runner stops it, as soon as it sees this
	echo "@freeze"
}

thaw_peer() {
	echo "@thaw"
}

net_setup() { # eth0 up with this role's address
	modprobe virtio_pci && modprobe virtio_net || return
	wait_for 10 test -e /sys/class/net/eth0 || return
	_ip=$SERVER_IP
	[ "$ROLE" = client ] && _ip=$CLIENT_IP
	ip link set eth0 mtu "${MTU:-4200}" up || return
	ip addr replace $_ip/24 dev eth0
	mkdir -p /run/events
	httpd -p $PEER_PORT -h /run/events 2>/dev/null || true
}

peer_ip() {
	if [ "$ROLE" = client ]; then echo $SERVER_IP; else echo $CLIENT_IP; fi
}

announce() { # announce EVENT: the peer's wait_peer EVENT returns
	echo yes >"/run/events/$CASE.$1"
}

# busybox's own wget crashes in its static build, and its nc, once connected, waits
# for as long as the wire is cut.
peer_has() { # peer_has EVENT
	printf 'GET /%s.%s HTTP/1.0\r\n\r\n' "$CASE" "$1" |
		timeout 10 nc -w 2 "$(peer_ip)" $PEER_PORT |
		grep -q '^HTTP/1.. 200'
}

wait_peer() { # wait_peer EVENT SECONDS
	wait_for "${2:-30}" peer_has "$1"
}

meet() { # meet EVENT SECONDS: both guests get here before either goes on
	announce "$1"
	wait_peer "$1" "${2:-30}"
}

# --- kernel modules

ktap() { # ktap FILE: repeat a module's TAP as this case's own points
	# The file may come from the kernel's log: a time, a module's name and
	# indentation are cut. Nested points count like others, so all plans
	# together must promise as many points as there are.
	awk '
	{ sub(/^\[ *[0-9.]+\] */, ""); sub(/^[a-z0-9_]+: */, "") }
	{ sub(/^[ \t]+/, "") }
	/^(not )?ok [0-9]+/ {
		verdict = /^not/ ? "not ok" : "ok"
		sub(/^(not )?ok [0-9]+ *-? */, "")
		print verdict "|" $0
		n++
	}
	/^1\.\.[0-9]+/ { plan += substr($1, 4) }
	/^# / { print "#|" substr($0, 3) }
	END {
		if (n != plan || !n)
			print "not ok|" n + 0 " of " plan + 0 " points came"
	}' "$1" >/tmp/ktap.lines
	while IFS='|' read -r _verdict _what; do
		case $_verdict in
		'#') diag "$_what" ;;
		*) tap "$_verdict" "$_what" ;;
		esac
	done </tmp/ktap.lines
}

script_points() { # script_points FILE: a script's points, without numbers, as this case's
	while read -r _line; do
		case $_line in
		"ok - "*) tap ok "${_line#ok - }" ;;
		"not ok - "*) tap "not ok" "${_line#not ok - }" ;;
		*) diag "$_line" ;;
		esac
	done <"$1"
}

FABRIC=/sys/kernel/debug/kfabric

fabric_idle() { # no object of the kernel fabric is open
	! grep -q . $FABRIC/objects
}

selftest() { # selftest [PARAMETER=VALUE...]: run the kernel fabric's suite
	_mark="selftest $* begins"
	echo "$_mark" >/dev/kmsg
	if ! modprobe kfabric_selftest "$@"; then
		dmesg_since "$_mark" >/tmp/ktap
		ktap /tmp/ktap
		bail "the selftest loads"
	fi
	selftest_end "$_mark"
}

selftest_end() { # selftest_end [MARK]: its points are the case's, and it leaves nothing
	if [ -e $FABRIC/selftest/results ]; then
		cat $FABRIC/selftest/results >/tmp/ktap
	else
		dmesg_since "$1" >/tmp/ktap
	fi
	ktap /tmp/ktap
	check "the selftest unloads" rmmod kfabric_selftest
	check "no object is left open" wait_for 10 fabric_idle
}

modules_held() { # each module and how often it is held
	awk '{ print $1, $3 }' /proc/modules
}

slab_objects() { # how many threads there are; each cache and the objects in use in it
	# Each of the kernel's own is a process.
	set -- /proc/[0-9]*
	echo "(tasks) $#"
	awk 'NR > 2 { print $1, $2 }' /proc/slabinfo
}

kernel_kib() { # memory of the kernel that cannot be reclaimed
	awk '/^(SUnreclaim|VmallocUsed|Percpu|PageTables):/ { s += $2 }
		END { print s }' /proc/meminfo
}

held_as_in() { # held_as_in FILE
	modules_held | diff "$1" -
}

# Exact only with slub_debug: otherwise what a CPU keeps for itself counts as
# used, and to have it given back means to open a file of each cache, which
# leaves as many objects behind for some seconds. Areas of vmalloc are freed
# late and in heaps, those of the stacks of this loop's processes too. The kernel
# makes threads of its own under load: one has two objects of a cache at most.
slab_within() { # slab_within LIMIT WAS NOW: no cache has LIMIT objects more
	awk -v limit="$1" 'NR == FNR { was[$1] = $2; next }
		$1 == "(tasks)" {
			if ($2 > was[$1])
				limit += 2 * ($2 - was[$1])
			next
		}
		$1 != "vmap_area" && $2 - was[$1] >= limit {
			print $1, was[$1], $2
			bad = 1
		}
		END { exit bad }' "$2" "$3"
}

slab_as_in() { # slab_as_in FILE LIMIT
	slab_objects >/tmp/slab.now
	slab_within "$2" "$1" /tmp/slab.now
}

kernel_below() { # kernel_below KIB
	_kib=$(kernel_kib)
	echo "$_kib KiB"
	[ "$_kib" -lt "$1" ]
}

# come_and_go N [PARAMETER=VALUE...]: connections are made and end N times; modules
# and memory are as before. One object that stays in every second cycle is found.
# Needs "# KARGS: slub_debug=F", which has the kernel count exactly.
come_and_go() {
	_n=$1
	shift
	selftest only=cycle cycles=100 "$@" # what grows once has grown
	modules_held >/tmp/held.before
	slab_objects >/tmp/slab.before
	_before=$(kernel_kib)
	selftest only=cycle "cycles=$_n" "$@"
	left_nothing $((_n * 2 / 5))
}

# left_nothing LIMIT: no cache has LIMIT objects more than /tmp/slab.before says, no
# module is held more often than /tmp/held.before does, the kernel has no more than
# 2 MiB above $_before.
left_nothing() {
	check "each module is held as often as before" \
		wait_for 10 held_as_in /tmp/held.before
	# IB's connection manager keeps what it knows of a connection for some
	# seconds after its end.
	wait_for 60 slab_as_in /tmp/slab.before "$1"
	check "no cache has $1 objects more than before" \
		slab_as_in /tmp/slab.before "$1"
	# What is freed when all processors have looked is late on a busy machine.
	check "the kernel has not grown by 2 MiB from $_before KiB" \
		wait_for 60 kernel_below $((_before + 2048))
}

# cycles N [PARAMETER=VALUE...]: connections, regions and providers come and go
# N times each under load, and leave nothing behind.
cycles() {
	_times=$1
	shift
	come_and_go "$_times" load=1 "$@"
}

# --- brickd as a service, with ROOT: systemd

# shipped_key: of the client that the settings as they are shipped know
shipped_key() {
	echo /var/lib/kfbrick/example.key
}

install_service() { # what a package's scripts do
	check "the installation makes users" systemd-sysusers
	check "the installation makes settings" systemd-tmpfiles --create
	ldconfig
	udevadm control --reload
	systemctl daemon-reload
}

service_log() {
	journalctl -u brickd -u brickd-first-start --no-pager -o cat
}

client() { # client COMMAND [ARGUMENT...]: as the shipped settings' client
	brickctl --client example --key-file "$(shipped_key)" "$@"
}

round_trip() { # round_trip FILE: what was written is what is read, durably
	client write 0x0 -i "$1" && client read 0x0 -o /tmp/out \
		--length "$(stat -c %s "$1")" && cmp "$1" /tmp/out
}

main_pid() {
	systemctl show -P MainPID brickd
}

restarted() { # restarted PID: it runs, as another process
	systemctl is-active brickd && [ "$(main_pid)" != "$1" ]
}

exposure_at_most() { # exposure_at_most LIMIT: systemd's score of the sandbox
	systemd-analyze security brickd | awk -v limit="$1" \
		'/Overall/ { e = $(NF - 2) }
		END { print e; exit !(e != "" && e + 0 <= limit) }'
}

# --- functional tests

functest() { # functest TEST.py [ARGUMENT...]: of tests/func, over verbs
	_test=$1
	shift
	BRICKD=/bin/brickd BRICKCTL=/bin/brickctl FUNC_BIN=/bin \
		EXAMPLES_BIN=/bin KFB_LISTEN="${LISTEN:-verbs://$LOCAL_IP}" \
		KFB_TAP=yes PYTHONHOME=/usr PYTHONDONTWRITEBYTECODE=1 \
		IPATH_NO_BACKTRACE=1 HFI_NO_BACKTRACE=1 \
		python3 "/vm/files/$_test" "$@" >/tmp/functest.tap 2>/tmp/functest.err
	_status=$?
	ktap /tmp/functest.tap
	[ $_status -eq 0 ] || sed 's/^/# /' /tmp/functest.err
	return $_status
}

dmesg_since() { # dmesg_since TEXT: the log's lines from the last TEXT on
	dmesg | awk -v text="$1" 'index($0, text) { n = 0 } { line[n++] = $0 }
		END { for (i = 0; i < n; i++) print line[i] }'
}

case_log() { # the log since this case began: others share the guest
	dmesg_since "vm case $CASE begins"
}

# --- a brick in this guest, on the default port of verbs and tcp

brick_key() { # brick_key STORE: to be served; client a has a key
	_store=$1
	export IPATH_NO_BACKTRACE=1 HFI_NO_BACKTRACE=1
	brickctl keygen /tmp/brick.key
}

brick_setup() { # brick_setup STORE: likewise, newly formatted
	brick_key "$1" && brickd format "$_store" --force
}

# brick_run WORD...: brickd with these words, until it is ready. Its process is
# $BRICK_PID, its log /tmp/brick.log.
brick_run() {
	: >/tmp/brick.ready
	brickd "$@" --ready-fd 3 3>/tmp/brick.ready >/tmp/brick.log 2>&1 &
	BRICK_PID=$!
	wait_for 60 test -s /tmp/brick.ready || {
		cat /tmp/brick.log
		return 1
	}
}

brick_stop() {
	kill "$BRICK_PID" && wait "$BRICK_PID"
}

brick_serve() { # brick_serve [SETTING...]: until it is ready
	{
		printf '[brick]\nstore = %s\n' "$_store"
		printf 'listen = verbs://%s, tcp://127.0.0.1\n' "$LOCAL_IP"
		for _setting; do
			echo "$_setting"
		done
		printf '[client a]\nkey-file = /tmp/brick.key\n'
		echo 'grant = 0x0+1T rw'
	} >/tmp/brick.conf
	brick_run --config /tmp/brick.conf -v
}

brick_log_has() { # brick_log_has TEXT
	grep -qF -e "$1" /tmp/brick.log
}

brick_ctl() { # brick_ctl WORD...: brickctl of client a, over $VIA or verbs
	_host=$LOCAL_IP
	[ "$VIA" != tcp ] || _host=127.0.0.1
	brickctl --brick "${VIA:-verbs}://$_host" --client a \
		--key-file /tmp/brick.key "$@"
}

brick_says() { # brick_says verbs|tcp NAME VALUE: in its INFO
	VIA=$1 brick_ctl info --json >/tmp/brick.info || return
	grep -qF -e "\"$2\":$3," -e "\"$2\":\"$3\"," /tmp/brick.info || {
		cat /tmp/brick.info
		return 1
	}
}
