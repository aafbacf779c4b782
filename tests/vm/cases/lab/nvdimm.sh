# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Emulated persistent memory: devdax, its alignment, its persistence domain.
# NEEDS: nvdimm
# NVDIMM: 512M persist=mem-ctrl
# MEM: 1G
# TIMEOUT: 60

dax=$(devdax_setup) || bail "a devdax namespace can be made"
tap ok "a devdax namespace can be made"
check "the device is a character device" test -c "$dax"
check "the device is aligned to 2 MiB" \
	test "$(cat /sys/bus/dax/devices/dax0.0/align)" -eq 2097152
check "the persistence domain is the memory controller" \
	ndctl_shows -R '"persistence_domain":"memory_controller"'
check "ndctl lists one namespace" \
	test "$(ndctl list -N | grep -c '"mode":"devdax"')" -eq 1
