# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The example of docs/kfabric.md: loads only if all went well.
# KO: kfabric_core kfabric_loop kfabric_example
# GROUP: kfabric
# TIMEOUT: 60

trace=/sys/kernel/debug/tracing

shown() { # shown EVENT
	grep -q "kfabric_$1:" $trace/trace
}

modprobe kfabric_core
echo 1 >$trace/events/kfabric/enable
check "the example runs over loop" modprobe kfabric_example
echo 0 >$trace/events/kfabric/enable
for event in post complete ep_state event object; do
	check "the trace shows kfabric_$event" shown $event
done
check "its objects show in debugfs" \
	grep -q "^mr .*bytes=4096" /sys/kernel/debug/kfabric/objects
check "its endpoints are connected" \
	test "$(grep -c "^ep .*state=connected" \
		/sys/kernel/debug/kfabric/objects)" -eq 2
check_fails "the provider does not unload while it is used" rmmod kfabric_loop
check "it unloads" rmmod kfabric_example
check "no object is left" test ! -s /sys/kernel/debug/kfabric/objects
check_fails "it does not load without a provider" \
	modprobe kfabric_example provider=nobody
check "the loop provider unloads" modprobe -r kfabric_loop
