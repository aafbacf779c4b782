# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# verbs, TCP, RDS and UDP loaded together, and used at one time: the suite on one of them
# while messages pass over the others.
# NEEDS: rdma rds
# KO: kfabric_core kfabric_verbs kfabric_tcp kfabric_rds kfabric_rdm kfabric_udp kfabric_selftest
# GROUP: kfabric
# MEM: 1G
# TIMEOUT: 400

check "the providers load" /sbin/modprobe -a kfabric_verbs kfabric_tcp \
	kfabric_rds kfabric_udp || exit
check "the layer loads" modprobe kfabric_rdm || exit
check "soft RoCE starts" rxe_setup || exit
selftest provider=rds node="$LOCAL_IP" beside="rdm;verbs,rdm;tcp"
selftest provider=udp node="$LOCAL_IP" only=msg beside="rdm;verbs,rds"
selftest provider=verbs node="$LOCAL_IP" only=rma beside="rdm;tcp,rds"
selftest provider=tcp only=rma node="$LOCAL_IP" beside="rdm;verbs,rds"
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the providers unload" wait_for 30 \
	rmmod kfabric_verbs kfabric_tcp kfabric_rds kfabric_udp
