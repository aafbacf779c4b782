# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What endpoints and connections take of the kernel's memory, by provider.
# NEEDS: rdma rds
# KO: kfabric_core kfabric_loop kfabric_verbs kfabric_tcp kfabric_rds kfabric_udp kfabric_rdm kfabric_selftest
# MEM: 2G
# TIMEOUT: 200
# MEASURES: yes

check "the loop-back device is up" ip link set lo up
check "the providers load" /sbin/modprobe -a kfabric_loop kfabric_verbs \
	kfabric_tcp kfabric_rds kfabric_udp kfabric_rdm || exit
check "soft RoCE starts" rxe_setup || exit
for name in loop tcp verbs "rdm;loop" "rdm;tcp" "rdm;verbs" rds udp; do
	selftest provider="$name" node="$LOCAL_IP" only=memory
done
selftest provider=verbs dgram=1 node="$LOCAL_IP" only=memory
