# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# A bridge that answers a request before it is sent: the answer is not forgotten.
# NEEDS: python 9p
# KO: kfabric_core kfabric_tcp kfabric_9p kfi_probe
# FILES: tests/func/tcp_peers.py tests/vm/target/ninep_hostile.py
# MEM: 1G
# TIMEOUT: 120

GO=/tmp/go

# The only place is taken by the second one while the first is answered; he is held
# before he has sent anything, and has his reply already.
is_held_answered() {
	begins first || return
	ls -d $MOUNT/early >/tmp/early 2>&1 &
	_early=$!
	wait_for 20 grep -q k9p_call_start /proc/$_early/wchan || return
	echo "it waits for a place"
	probe hold finish_wait by=ls
	touch $GO
	wait_for 20 probed_above finish_wait 0 || return
	echo "it has one, and is held"
	probe count p9_client_cb
	rm $GO
	wait_for 20 probed_above p9_client_cb 0
}

answered_first() {
	rm -f $GO
	hostile_mount $HOSTILE_PORT depth=1 || return
	is_held_answered && echo "it is answered"
	_held=$?
	touch $GO
	probe release
	wait_for 20 is_over $_early || kill -9 $_early
	wait $_early && [ $_held = 0 ]
	_bad=$?
	cat /tmp/early
	probe clear
	rm -f $GO
	wait_for 20 is_over $LOOKER && serves || _bad=1
	goes && [ $_bad = 0 ]
}

hostile_setup || exit
probe_setup
check "a request that is answered before it is sent" answered_first
probe_end
hostile_end
