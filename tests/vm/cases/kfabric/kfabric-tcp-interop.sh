# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# kfabric's tcp provider and others of the same wire, both roles: libfabric's, this
# project's stcp, stcp on a host of the other byte order, and libfabric 2's if it
# was put in: "--put" of what "tests/unit/stcp/libfabric-2 BUILD --pack FILE" makes.
# NEEDS: libfabric
# KO: kfabric_core kfabric_tcp kfi_interop
# BIN: ofi_peer ofi_peer_swapped
# MEM: 2G
# TIMEOUT: 2400

LIBFABRIC_2=/vm/files/libfabric-2.tar

# The others speak the same wire: they need not see each alignment.
PEERS=${KFB_PEERS:-libfabric stcp swapped libfabric-2}

is_wanted() { # is_wanted NAME
	case " $PEERS " in *" $1 "*) ;; *) return 1 ;; esac
}

with() { # with NAME PROVIDER COMMAND STRICT STEP: see lib/interop.sh
	_was=$TAP_COUNT
	export PEER_PROVIDER="$2" PEER="$3" STRICT="$4" STEP="$5"
	interop_roles tcp 127.0.0.1
	diag "with $1: $((TAP_COUNT - _was)) points"
}

unpack() {
	mkdir -p /libfabric-2 && tar -x -C /libfabric-2 -f $LIBFABRIC_2
}

check "the loop-back device is up" ip link set lo up
check "the provider loads" modprobe kfabric_tcp || exit
! is_wanted libfabric || with "libfabric of this system" tcp ofi_peer 0 1
! is_wanted stcp || with stcp stcp ofi_peer 1 9
! is_wanted swapped ||
	with "stcp of the other byte order" stcp ofi_peer_swapped 1 9
if ! is_wanted libfabric-2; then
	skip "libfabric 2" "not wanted"
elif [ -e $LIBFABRIC_2 ]; then
	check "libfabric 2 is unpacked" unpack
	with "libfabric 2" tcp "/libfabric-2/ld-linux-x86-64.so.2 \
		--library-path /libfabric-2 /libfabric-2/ofi_peer" 0 9
else
	skip "libfabric 2" "$LIBFABRIC_2 was not put in"
fi
check "the provider unloads" rmmod kfabric_tcp
