# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Endpoints of RDS within this host: whoever runs the sender's engine runs the receiver's,
# and is held up just then; receives are canceled while the socket is asked.
# NEEDS: rds
# KO: kfabric_core kfabric_rds kfabric_selftest kfi_probe
# KARGS: slub_debug=FZP
# TIMEOUT: 300

may() { # may WHAT: has the test said so?
	dmesg_since "# holding begins" | grep -q "$1"
}

check "the loop-back device is up" /bin/ip link set lo up
check "the provider loads, and RDS with it" /sbin/modprobe kfabric_rds || exit
probe_setup

probe sleep krds_socket_receive 50
selftest provider=rds only=woken_cancel
check "the socket was asked slowly" probed_above krds_socket_receive 10
probe clear

# The sender goes on when the message has arrived, or when the test has waited in vain.
echo "# holding begins" >/dev/kmsg
probe hold krds_handoff_next by=kfi-sender
(wait_for 120 may "the sender may go on"; probe release) &
load=$!
selftest provider=rds only=woken_late
check "the sender was held up" probed_above krds_handoff_next 0
wait $load
probe_end
check "the provider unloads" wait_for 30 rmmod kfabric_rds
