# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# What 4 KiB messages and writes cost through unconnected endpoints beside what is
# below them. Times of a free-running guest say little: run it with --icount.
# NEEDS: rdma rds
# KO: kfabric_core kfabric_loop kfabric_verbs kfabric_tcp kfabric_rds kfabric_rdm kfabric_selftest
# MEM: 1G
# TIMEOUT: 200
# MANUAL: yes
# MEASURES: yes

# Both are there at one time, in one boot, and have their turns: min / median / max
# of 200 rounds, and the median in thousandths of that of what is below.

check "the loop-back device is up" ip link set lo up
check "the providers load" /sbin/modprobe -a kfabric_loop kfabric_verbs \
	kfabric_tcp kfabric_rds kfabric_rdm || exit
check "soft RoCE starts" rxe_setup || exit
for name in ${KFB_COST_OF:-rdm;verbs rdm;tcp rdm;loop rds}; do
	selftest provider="$name" node="$LOCAL_IP" only=cost
done
