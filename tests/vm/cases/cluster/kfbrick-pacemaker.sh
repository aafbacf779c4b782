# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Pacemaker moves a mounted file system back and forth between two nodes: by a command,
# and by the death of its host, which is fenced, and is let in by hand when it is back.
# NEEDS: rdma nvdimm fs pacemaker
# KO: kfabric_core kfabric_verbs kfbrick
# BIN: brickd brickctl
# FILES: initiator/brickctl/fence/fence_kfbrick.in initiator/brickctl/ocf/disk.in
# GUESTS: 2
# NVDIMM: 96M persist=mem-ctrl
# MEM: 1G
# MANUAL: yes
# TIMEOUT: 7200

# shellcheck disable=SC2034 # of cluster.sh
HOSTS_GROUP= # one after the other
LONG_S=900
SIZE=64M
MOUNT=/mnt/data
MOVES=${KFB_MOVES:-2} # there by a command, and back by a death
BRICK_IP=$SERVER_IP
PACEMAKER_LOG=/tmp/pacemaker.log

ctl() { # as this node
	brickctl_as "$NAME" 60 "$@"
}

# ---- getting there

serve() {
	dax=$(devdax_setup) || return
	configure_hosts "$dax" "$BRICK_IP" "lease-ms = 3000" "fences = /tmp/fences"
	brickd format "$dax" --force && serve_brick && ctl alloc 0x0+$SIZE
}

make_the_fs() { # on the disk that Pacemaker has afterwards
	attach_disk --size $SIZE --client one --key-file $KEY && make_fs ext4 &&
		detach_disk
}

install_agents() { # where Pacemaker looks
	mkdir -p /usr/sbin /usr/lib/ocf/resource.d/kfbrick $MOUNT
	[ -e /usr/sbin/fence_kfbrick ] || ln -s /bin/fence_kfbrick /usr/sbin/
	install_agent disk.in /usr/lib/ocf/resource.d/kfbrick/disk
}

make_user() { # as whom most of Pacemaker runs
	grep -q hacluster /etc/passwd 2>/dev/null || {
		echo root:x:0:0::/:/bin/sh
		echo hacluster:x:189:189::/:/bin/sh
	} >>/etc/passwd
	grep -q haclient /etc/group 2>/dev/null || {
		echo root:x:0:
		echo haclient:x:189:
	} >>/etc/group
	mkdir -p /var/lib/pacemaker/cib /var/lib/pacemaker/pengine \
		/var/lib/pacemaker/cores /var/lib/pacemaker/blackbox \
		/var/log/pacemaker /run/crm /run/resource-agents /run/lock
	chown -R 189:189 /var/lib/pacemaker /var/log/pacemaker /run/crm
}

is_online() { # is_online NODE
	crm_mon -1 -X 2>/dev/null | grep -q "<node name=\"$1\" .*online=\"true\""
}

manage() { # this node is one of the cluster's, and its manager runs
	make_user
	install_agents
	join_cluster || return
	PCMK_logfile=$PACEMAKER_LOG PCMK_logfacility=none \
		pacemakerd >>/tmp/pacemakerd.out 2>&1 &
	PACEMAKER=$!
	wait_for $LONG_S is_online "$NAME" || {
		tail -30 $PACEMAKER_LOG /tmp/pacemakerd.out
		return 1
	}
}

nvpairs() { # nvpairs ELEMENT SET NAME=VALUE...
	_element=$1 _set=$2
	shift 2
	echo "<$_element id=\"$_set\">"
	for _pair; do
		echo "<nvpair id=\"$_set-${_pair%%=*}\" name=\"${_pair%%=*}\"" \
			"value=\"${_pair#*=}\"/>"
	done
	echo "</$_element>"
}

operations() { # operations RESOURCE
	echo "<operations>"
	for _op in start:0 stop:0 monitor:10s; do
		echo "<op id=\"$1-${_op%:*}\" name=\"${_op%:*}\"" \
			"interval=\"${_op#*:}\" timeout=\"${LONG_S}s\"/>"
	done
	echo "</operations>"
}

settings() {
	echo "<crm_config>"
	nvpairs cluster_property_set all stonith-enabled=true \
		stonith-timeout=${LONG_S}s cluster-recheck-interval=10s
	echo "</crm_config>"
}

resources() {
	echo "<resources>"
	echo "<primitive id=\"bricks\" class=\"stonith\" type=\"fence_kfbrick\">"
	nvpairs instance_attributes bricks-set "ip=$CARRIER://$BRICK_IP" username=watch \
		"identity_file=$KEY" "pcmk_host_list=one two" \
		pcmk_reboot_action=off pcmk_off_timeout=${LONG_S}s
	operations bricks
	echo "</primitive><group id=\"work\">"
	nvpairs meta_attributes work-meta resource-stickiness=100
	echo "<primitive id=\"data\" class=\"ocf\" provider=\"kfbrick\" type=\"disk\">"
	nvpairs instance_attributes data-set "brick=$CARRIER://$BRICK_IP" name=data size=$SIZE client=%n \
		"key_file=$KEY"
	operations data
	echo "</primitive>"
	echo "<primitive id=\"files\" class=\"ocf\" provider=\"heartbeat\"" \
		"type=\"Filesystem\">"
	nvpairs instance_attributes files-set device=/dev/kfbrick0 directory=$MOUNT fstype=ext4
	operations files
	echo "</primitive></group></resources>"
}

places() { # it begins at node one, and then stays where it is
	echo "<constraints><rsc_location id=\"first\" rsc=\"work\" node=\"one\"" \
		"score=\"10\"/></constraints>"
}

configure_manager() {
	settings >/tmp/settings.xml
	resources >/tmp/resources.xml
	places >/tmp/places.xml
	cibadmin --replace --scope crm_config --xml-file /tmp/settings.xml &&
		cibadmin --replace --scope resources --xml-file /tmp/resources.xml &&
		cibadmin --replace --scope constraints --xml-file /tmp/places.xml
}

# ---- what nodes do

show_why() {
	diag "$(crm_mon -1 2>&1 | tail -30)"
	diag "$(grep -v "	info:" $PACEMAKER_LOG | tail -60)"
}

is_mounted() {
	grep -q " $MOUNT ext4 rw" /proc/mounts
}

is_elsewhere() {
	! grep -q " $MOUNT " /proc/mounts && [ ! -e /sys/block/kfbrick0 ]
}

keep() { # keep N: durably
	seq "$1" $(($1 + 9999)) >$MOUNT/kept && sync $MOUNT/kept
}

is_kept() { # is_kept N
	seq "$1" $(($1 + 9999)) | cmp - $MOUNT/kept
}

write_on() { # what is not flushed, when its host dies
	while seq 100000 >>$MOUNT/more; do
		[ "$(stat -c %s $MOUNT/more)" -lt 8000000 ] || : >$MOUNT/more
	done 2>/dev/null
}

comes_here() { # comes_here WHAT
	check "$1: it is mounted here" wait_for $LONG_S is_mounted || {
		show_why
		exit
	}
}

has_it() { # has_it WHAT N: the file system is here, with what was kept
	comes_here "$1"
	check "$1: what was kept is there" is_kept "$2"
}

# ---- node one, which has the brick

move_there() { # move_there N
	check "move $1: this node keeps something" keep "$1"
	check "move $1: it is moved" \
		crm_resource --move --resource work --node two --quiet
	check "move $1: it is mounted there" wait_peer "has-$1" $LONG_S || {
		show_why
		exit
	}
	check "move $1: and nothing of it is here" is_elsewhere
	check "move $1: it may stay where it is" \
		crm_resource --clear --resource work --quiet
}

of_two() { # of_two ACTION: by hand, as fence_kfbrick(8) says
	fence_kfbrick -o "$1" -n two -a "$CARRIER://$BRICK_IP" -l watch -k $KEY
}

is_out() {
	of_two status
	[ $? -eq 2 ]
}

move_back() { # move_back N: its host dies
	announce "die-$1"
	has_it "move $1" "$1"
	check "move $1: the dead node is kept out" is_out
	check "move $1: it has booted" wait_peer "booted-$1" $LONG_S
	check "move $1: it is let in" of_two on
	announce "in-$1"
	check "move $1: it is one of the cluster again" \
		wait_peer "online-$1" $LONG_S
	check "move $1: both are online" wait_for $LONG_S is_online two
}

server() {
	check "the brick serves" serve || exit
	check "there is a file system" make_the_fs || exit
	announce serves
	check "this node is managed" manage || exit
	check "so is the other" meet managed $LONG_S || exit
	check "both are online" wait_for $LONG_S is_online two
	check "there is something to manage" configure_manager || exit
	comes_here first
	for n in $(seq 2 2 "$MOVES"); do
		move_there $((n - 1))
		move_back "$n"
	done
	check "it stops" crm_resource --ban --resource work --node one --quiet
	announce last
	check "it is at the other node" wait_peer has-last $LONG_S
	check "the other node has left" wait_peer left $LONG_S
	leave
	check "the file system is whole" whole
	check "the brick stops" stop_brick
}

whole() {
	attach_disk --size $SIZE --client one --key-file $KEY &&
		fsck.ext4 -f -n "$DISK" && detach_disk
}

# ---- node two

client() {
	check "the brick serves" wait_peer serves $LONG_S || exit
	if [ "$BOOT" -eq 1 ]; then
		check "this node is managed" manage || exit
		announce managed
	else
		last=$((2 * (BOOT - 1)))
		announce "booted-$last"
		check "move $last: this node is let in" wait_peer "in-$last" $LONG_S
		check "move $last: it is managed" manage || exit
		announce "online-$last"
	fi
	n=$((2 * BOOT - 1))
	if [ "$n" -lt "$MOVES" ]; then
		has_it "move $n" "$n"
		announce "has-$n"
		check "move $n: this node keeps something" keep $((n + 1))
		write_on &
		check "move $n: the other node is ready" \
			wait_peer "die-$((n + 1))" $LONG_S
		die_and_boot
	fi
	check "it is to come here" wait_peer last $LONG_S
	has_it last "$MOVES"
	announce has-last
	leave
	check "nothing of it is here" is_elsewhere
	announce left
}

leave() {
	kill "$PACEMAKER"
	check "its manager ends" wait_for $LONG_S is_over "$PACEMAKER"
	kill "$COROSYNC" && wait "$COROSYNC"
}

run_nodes "$CARRIER://$BRICK_IP"
