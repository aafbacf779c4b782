# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# ext4, XFS and btrfs on disks that lose power: all that was synced is there.
# NEEDS: rdma nvdimm fs btrfs
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickd-caches brickctl powerfail-files
# GROUP: powerfs
# NVDIMM: 672M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 3600
# ALLOW: EXT4-fs (error|warning)|JBD2|Buffer I/O error|I/O error
# ALLOW: XFS \(kfbrick|BTRFS (error|warning|critical|info)

# KFB_FS: which file systems; KFB_FLUSH: readback, or message; KFB_CACHES: yes:
# the brick's CPU caches, and what they hold, are lost.
[ -z "$KFB_CACHES" ] || export BRICK_PROGRAM=brickd-caches
_setting='persistence = auto'
[ "$KFB_FLUSH" != readback ] || _setting='persistence = assume-readback'
powerfs_begin "${KFB_FS:-ext4 ext4-journal xfs btrfs}" "$_setting"
check "each loses power $CUTS times and comes back" cuts_of_all
for fs in $SUBJECTS; do
	subject "$fs"
	check "$fs: nothing that was synced is lost" nothing_lost
	tell_fs
done
powerfs_end
