# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# The RDMA device goes away under a busy connection of kfabric.
# NEEDS: rdma
# KO: kfabric_core kfabric_verbs kfi_interop
# GROUP: kfabric
# MEM: 1G
# TIMEOUT: 120

writing() {
	dmesg_since "# removal begins" | grep -q "writing until"
}

for round in 1 2 3; do
	check "round $round: soft RoCE starts on dummy0" rxe_setup || exit
	echo "# removal begins" >/dev/kmsg
	# In the second one its receives are those of a shared context.
	modprobe kfi_interop role=removal node="$LOCAL_IP" service=0 \
		shared=$((round == 2)) &
	load=$!
	check "round $round: the writes begin" wait_for 20 writing
	sleep 0.3
	check "round $round: the device goes, although it is in use" \
		timeout 300 rdma link delete rxe0
	check "round $round: the test ends" wait $load
	dmesg_since "# removal begins" >/tmp/removal.log
	ktap /tmp/removal.log
	check "round $round: the test unloads" rmmod kfi_interop
done
check "the provider unloads" wait_for 30 rmmod kfabric_verbs
