# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A write and its flush through kfabric take as long as through plain verbs.
# Free-running times depend on the host's load: run it with --icount.
# NEEDS: libfabric
# KO: kfabric_core kfabric_verbs kfi_latency
# BIN: ofi_peer
# MEM: 1G
# MEASURES: yes
# TIMEOUT: 120

# A peer serves one connection at a time.
serve() { # serve PORT
	ofi_peer server "$LOCAL_IP" "$1" >"/tmp/peer.$1" &
	check "a peer listens on port $1" \
		wait_for 20 grep -q listening "/tmp/peer.$1" || exit
}

check "soft RoCE starts on dummy0" rxe_setup || exit
serve 7471
serve 7472
echo "# latency begins" >/dev/kmsg
check "the comparison loads" \
	modprobe kfi_latency node="$LOCAL_IP" service=7471,7472
dmesg_since "# latency begins" >/tmp/latency.log
ktap /tmp/latency.log
killall ofi_peer
