# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# ext4 on a brick that answers flushes and does not flush: its loss is found out.
# NEEDS: rdma nvdimm fs
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickd-caches brickd-lying brickctl powerfail-files
# GROUP: powerfs
# NVDIMM: 96M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 900
# ALLOW: EXT4-fs (error|warning)|JBD2|Buffer I/O error|I/O error
SOON=50 # cuts within which a lie is noticed

export BRICK_PROGRAM=brickd-caches
KFB_CUTS=$SOON powerfs_begin ext4
check "the same caches on a brick that lies" restart_brick brickd-lying \
	"lease-ms = 600000"
check "it loses power and comes back" cuts_of_all first
subject ext4
check "what was synced is seen to be lost" test "$(lines_in "$DIR/lost")" -gt 0
diag "at cut $CUT of $SOON"
powerfs_end
