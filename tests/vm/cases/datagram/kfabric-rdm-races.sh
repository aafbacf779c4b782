# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Reliable datagrams whose engine is slow between two messages, so that whatever else
# happens comes between them.
# KO: kfabric_core kfabric_loop kfabric_rdm kfabric_selftest kfi_probe
# KARGS: slub_debug=FZP
# TIMEOUT: 300

check "the loop-back device is up" ip link set lo up
check "the provider loads" modprobe kfabric_loop || exit
check "the layer loads" modprobe kfabric_rdm || exit
probe_setup
# Completions are read while messages wait for one.
probe delay kfir_rx_get 1
selftest provider="rdm;loop" only=multi
check "the engine was slow" probed_above kfir_rx_get 300
probe clear

# Looking at a peer takes long, and the work is late, so that whoever posts all the time
# is the engine again when it comes.
probe delay kfir_send_all 5
probe delay kfir_engine 1
selftest provider="rdm;loop" only=busy
check "peers were looked at slowly" probed_above kfir_send_all 10
probe clear

# What is sent is read late, when its context is closing.
probe delay loop_engine 5
selftest provider="rdm;loop" only=scalable
check "it was read late" probed_above loop_engine 100
probe clear

# A context that closes is the first to see that a connection is over: what has come back
# from it and whoever else would end it are late.
probe sleep kfir_engine 100
probe delay kfir_inner_done 20
selftest provider="rdm;loop" only=settle
check "the work was late" probed_above kfir_engine 10
probe clear

# 40 messages wait when 40 others come: to look at each of them for each of these
# would be 1600.
probe count kfir_receive
selftest provider="rdm;loop" only=crowd
diag "looked at: $(probed kfir_receive)"
check "messages were looked at" probed_above kfir_receive 80
check_fails "but not all for each that comes" probed_above kfir_receive 800
probe clear

# Regions close when their keys are to be granted, and that is late.
probe sleep kfir_engine 20
selftest provider="rdm;loop" only=grant
check "grants were late" probed_above kfir_engine 50
probe clear

# Pieces are refused, so that what gives credits back takes the buffer that an operation
# had; the kernel notices when something is written into one that is over.
probe return kfi_post_sendmsg -11 by=kfir_slot_send every=2
selftest provider="rdm;loop" only=again
check "pieces were refused" probed_above kfi_post_sendmsg 40
probe clear

# Connections end when something is to be sent: a request, or the answer to one that is
# done by then.
probe return kfi_post_sendmsg -104 by=kfir_slot_send every=7
selftest provider="rdm;loop" only=atomic_lost
check "connections ended" probed_above kfi_post_sendmsg 10
probe clear

# A window grows later when what it grows by is refused: the first buffer, each tenth.
probe return kfir_post_slot -11 by=kfir_post_more times=1
selftest provider="rdm;loop" only=grow
check "the first buffer was refused" probed_above kfir_post_slot 0
probe clear
probe return kfir_post_slot -11 by=kfir_post_more every=10
selftest provider="rdm;loop" only=grow
check "some buffers were refused" probed_above kfir_post_slot 1
probe clear

# It does not ask each time again when there is no room for it.
probe return kfir_more_slots 0
probe count kfir_grow
selftest provider="rdm;loop" only=grow_refused
diag "asked: $(probed kfir_grow), refused: $(probed kfir_more_slots)"
check "there was none" probed_above kfir_more_slots 2
check_fails "it was not asked for all the time" probed_above kfir_grow 40
probe clear

# A send that is refused can be canceled until the work that ends it comes.
probe sleep kfir_engine 300
selftest provider="rdm;loop" only=refused
check "the work was late" probed_above kfir_engine 0
probe clear

# Elements change when others have come between what they were and what they become.
probe delay kfi_atomic_value 1 every=5
selftest provider="loop,rdm;loop" only=atomic
check "others came between" probed_above kfi_atomic_value 100
probe_end
check "the layer unloads" wait_for 30 rmmod kfabric_rdm
check "the provider unloads" wait_for 30 rmmod kfabric_loop
