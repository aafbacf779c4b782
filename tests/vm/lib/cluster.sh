# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Two guests as the nodes one and two of a cluster: corosync says who is there, the
# kernel's DLM has the locks, and dlm_controld fences who has gone, by fence_kfbrick.
#
# NAME is this node's name, and its client's at the bricks, OTHER the other's.

# shellcheck disable=SC2034 # of cases
case $ROLE in
server) NAME=one OTHER=two NODE=1 ;;
client) NAME=two OTHER=one NODE=2 ;;
esac
CLUSTER=lab
COROSYNC_LOG=/tmp/corosync.log
DLM_LOG=/tmp/dlm.log
# How long a node may be silent: the machine below the guests does other things.
TOKEN_MS=$((10000 * TIMEOUT_FACTOR))

# configure_hosts STORE ADDRESS [SETTING...]: a brick whose disks both nodes write, at one
# time if HOSTS_GROUP is no empty word, and the client watch, who fences
configure_hosts() {
	configure_brick "$@"
	for _name in one two; do
		echo "[client $_name]"
		echo "key-file = $KEY"
		echo "grant = 0x0+1T rw"
		[ -z "${HOSTS_GROUP-hosts}" ] || echo "group = hosts"
	done >>"$BRICK_CONF"
	{
		echo "[client watch]"
		echo "key-file = $KEY"
		echo "role = fencer"
	} >>"$BRICK_CONF"
}

watch() { # as the fencer
	brickctl_as watch 60 "$@"
}

install_agent() { # install_agent FILE WHERE: one of those that are made when installed
	{
		echo "#!/bin/dash"
		echo "export BRICKCTL=/bin/brickctl IPATH_NO_BACKTRACE=1 HFI_NO_BACKTRACE=1"
		cat "/vm/files/$1"
	} >"$2"
	chmod 755 "$2"
}

configure_cluster() { # configure_cluster BRICKS: as fence_kfbrick takes them
	mkdir -p /etc/corosync /etc/dlm /var/lib/corosync /var/log /var/run/dlm_controld
	cat >/etc/corosync/corosync.conf <<-END
		totem {
			version: 2
			cluster_name: $CLUSTER
			transport: knet
			crypto_cipher: none
			crypto_hash: none
			token: $TOKEN_MS
		}
		system {
			sched_rr: no
			move_to_root_cgroup: no
		}
		nodelist {
			node {
				name: one
				nodeid: 1
				ring0_addr: $SERVER_IP
			}
			node {
				name: two
				nodeid: 2
				ring0_addr: $CLIENT_IP
			}
		}
		quorum {
			provider: corosync_votequorum
			two_node: 1
		}
		logging {
			to_syslog: no
			to_stderr: yes
		}
	END
	cat >/etc/dlm/dlm.conf <<-END
		enable_fencing=1

		device bricks /bin/fence_kfbrick ip=$1 username=watch identity_file=$KEY
		connect bricks node=1 plug=one
		connect bricks node=2 plug=two
		unfence bricks
	END
	# Where dlm_controld's settings name it.
	install_agent fence_kfbrick.in /bin/fence_kfbrick
}

is_quorate() {
	corosync-quorumtool -s | grep -q "Quorate: *Yes"
}

has_dlm() {
	dlm_tool status | grep -q "^cluster nodeid $NODE quorate 1"
}

# name_dlm_devices [LOCKSPACE...]: what udev's rules do elsewhere when devices come
name_dlm_devices() {
	mkdir -p /dev/misc
	for _device in dlm-control dlm-monitor dlm_plock $(printf 'dlm_%s ' "$@"); do
		ln -sf "/dev/$_device" /dev/misc/
	done
}

join_cluster() { # without locks yet
	corosync -f >>$COROSYNC_LOG 2>&1 &
	COROSYNC=$!
	wait_for "$LONG_S" is_quorate || {
		tail -20 $COROSYNC_LOG
		return 1
	}
}

# join_locks [LOCKSPACE...]: in these lockspaces for programs, too. A node that was fenced
# lets itself in. Those that come to a new cluster come together: who is not there half a
# minute later is fenced.
join_locks() {
	modprobe dlm && name_dlm_devices "$@" || return
	dlm_controld -D >>$DLM_LOG 2>&1 &
	DLM=$!
	wait_for "$LONG_S" has_dlm || {
		tail -20 $DLM_LOG
		return 1
	}
}

has_fenced() { # has_fenced N: dlm_controld has, so often in all
	[ "$(grep -c "fence result 2 pid .* result 0 exit" $DLM_LOG)" -ge "$1" ]
}

leave_cluster() {
	kill "$DLM" && wait "$DLM"
	kill "$COROSYNC" && wait "$COROSYNC"
	true
}

# run_nodes BRICKS: what the case has for each, as functions of the roles' names
run_nodes() {
	modprobe -q kfabric_verbs
	check "the wire is up" net_setup || exit
	check "soft RoCE starts on eth0" rxe_setup rxe0 eth0 || exit
	check "the driver loads" modprobe kfbrick || exit
	make_key
	[ "$BOOT" -gt 1 ] || check "the guests meet" meet up $LONG_S || exit
	configure_cluster "$1"
	$ROLE
	check "the guests part" meet bye $LONG_S
}
