# SPDX-License-Identifier: BSD-2-Clause
# shellcheck shell=dash
# Databases on disks that lose power: every commit is there, and they are whole.
# NEEDS: rdma nvdimm fs databases
# KO: kfabric_core kfabric_verbs kfabric_fault kfbrick
# BIN: brickd brickctl
# NVDIMM: 608M persist=mem-ctrl
# MEM: 2G
# TIMEOUT: 3600
# MANUAL: yes
# ALLOW: EXT4-fs (error|warning)|JBD2|Buffer I/O error|I/O error
# ALLOW: XFS \(kfbrick

# KFB_DB: which databases, and on what.
#
# Transactions move amounts between accounts, and say so in a ledger; they are
# numbered, and the number is noted on a tmpfs when a commit has succeeded. Each
# account must be what the ledger makes it, and the ledger be without gaps and
# reach as far as the notes.
#
# SQLite synchronizes as FULL does. Its journal is a write-ahead log on ext4, and
# one that is truncated on XFS: to have a transaction end with the removal of its
# journal is durable only with EXTRA, as SQLite says itself.
ACCOUNTS=16
PGBIN=$(echo /usr/lib/postgresql/*/bin)
FILLER="n * 37 % 900 + length(n || ':')"
CHECK="SELECT (SELECT count(*) FROM ledger),
	(SELECT coalesce(max(n), 0) FROM ledger),
	(SELECT count(*) FROM ledger WHERE length(filler) <> $FILLER
		OR filler NOT LIKE n || ':%'),
	(SELECT count(*) FROM account a WHERE balance <>
		coalesce((SELECT sum(amount) FROM ledger WHERE dst = a.id), 0) -
		coalesce((SELECT sum(amount) FROM ledger WHERE src = a.id), 0)),
	(SELECT sum(balance) FROM account), (SELECT count(*) FROM account);"

schema() {
	echo "CREATE TABLE account(id integer PRIMARY KEY, balance bigint);
		CREATE TABLE ledger(n integer PRIMARY KEY, src integer,
			dst integer, amount bigint, filler text);
		CREATE INDEX by_account ON ledger(src, dst, n);"
	seq $ACCOUNTS | sed 's/.*/INSERT INTO account VALUES(&, 0);/'
}

# transactions FIRST NOTE EVERY WORDS: without end; NOTE is how the client is
# told to print something, WORDS come with each number that EVERY divides
transactions() {
	awk -v n="$1" -v note="$2" -v every="$3" -v words="$4" \
		-v accounts=$ACCOUNTS 'BEGIN {
		for (i = 0; i < 900; i++)
			x = x "x"
		for (;; n++) {
			a = 1 + n * 7 % accounts
			b = 1 + (a + n % (accounts - 1)) % accounts
			m = 1 + n * 31 % 1000
			print "BEGIN;"
			printf "INSERT INTO ledger VALUES(%d, %d, %d, %d, ", n, a, b, m
			printf "'\''%d:%s'\'');\n", n, substr(x, 1, n * 37 % 900)
			print "UPDATE account SET balance = balance - " m \
				" WHERE id = " a ";"
			print "UPDATE account SET balance = balance + " m \
				" WHERE id = " b ";"
			print "COMMIT;"
			print note " noted " n
			if (n % every == 0)
				print words
		}
	}'
}

# ---- SQLite

sqlite() { # sqlite [OPTION...] [SQL]: as FULL does; it ends with an error
	_journal=truncate
	[ "$TYPE" = xfs ] || _journal=wal
	stdbuf -oL sqlite3 -bail -cmd "PRAGMA journal_mode=$_journal" \
		-cmd 'PRAGMA synchronous=FULL' \
		-cmd 'PRAGMA wal_autocheckpoint=40' "$PLACE/db" "$@"
}

make_sqlite() {
	schema | sqlite
}

load_sqlite() {
	transactions "$1" .print 1000 '' | sqlite
}

check_sqlite() {
	[ "$(sqlite 'PRAGMA integrity_check' | tail -n 1)" = ok ] &&
		sqlite "$CHECK" | tail -n 1 >"$DIR/state"
}

# ---- PostgreSQL: every page has a checksum

as_nobody() {
	su -s /bin/sh nobody -c "$*"
}

psql() {
	as_nobody "$PGBIN/psql" -X -q -At -v ON_ERROR_STOP=1 -h "$DIR/run" postgres
}

start_postgres() {
	# Of a boot that is over.
	rm -f "$PLACE/db/postmaster.pid" "$DIR/run/".s.PGSQL.*
	as_nobody "$PGBIN/pg_ctl" -D "$PLACE/db" -l "$DIR/run/log" -w -t $LONG_S \
		start || {
		tail -n 20 "$DIR/run/log"
		return 1
	}
}

stop_postgres() {
	as_nobody "$PGBIN/pg_ctl" -D "$PLACE/db" -m fast -w -t $LONG_S stop
}

make_postgres() {
	mkdir -p "$DIR/run" "$PLACE/db"
	chown nobody "$DIR/run" "$PLACE/db"
	as_nobody "$PGBIN/initdb" -D "$PLACE/db" -k -N -A trust -E UTF8 \
		--locale=C --wal-segsize=1 || return
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$DIR/run'"
		echo "min_wal_size = 4MB"
		echo "max_wal_size = 8MB"
		echo "shared_buffers = 8MB"
		echo "max_connections = 8"
	} >>"$PLACE/db/postgresql.conf"
	start_postgres || return
	{
		schema
		echo "CREATE EXTENSION amcheck;"
	} | psql && stop_postgres
}

load_postgres() {
	start_postgres || return
	# awk takes the first backslash for itself.
	transactions "$1" '\\echo' 10 'CHECKPOINT;' | psql
}

check_postgres() {
	start_postgres || return
	echo "$CHECK" | psql >"$DIR/state"
	_rc=$?
	as_nobody "$PGBIN/pg_amcheck" -h "$DIR/run" -d postgres --heapallindexed \
		--parent-check --rootdescend || _rc=$?
	stop_postgres || _rc=$?
	return $_rc
}

# ---- what powerfs.sh asks

prepare_syncs() {
	"make_$LOAD"
}

begin_syncs() { # begin_syncs CUT
	_first=1
	[ ! -e "$DIR/state" ] || _first=$(($(cut -d'|' -f2 "$DIR/state") + 1))
	: >"$DIR/notes"
	chmod 666 "$DIR/notes"
	"load_$LOAD" "$_first" >>"$DIR/notes" 2>"$DIR/client.err" &
	_load=$!
}

noted() { # the last transaction whose commit was noted
	sed -n 's/^noted //p' "$DIR/notes" | tail -n 1
}

has_syncs() {
	[ "$(grep -c '^noted' "$DIR/notes")" -gt 2 ]
}

# Whoever was started with this database; a server's client ends with it.
end_syncs() {
	for _proc in $(grep -ls "$PLACE/db" /proc/[0-9]*/cmdline); do
		_proc=${_proc%/cmdline}
		kill -KILL "${_proc#/proc/}" 2>/dev/null # or it was this grep
	done
	wait "$_load"
	true
}

verify_syncs() { # verify_syncs CUT
	"check_$LOAD" || return 1
	_noted=$(noted)
	IFS='|' read -r _count _most _bad _wrong _sum _accounts <"$DIR/state"
	echo "$_count transactions up to $_most, noted $_noted; $_bad of them" \
		"bad, $_wrong accounts wrong, sum $_sum, $_accounts accounts"
	[ "$_count" = "$_most" ] && [ "$_most" -ge "$_noted" ] &&
		[ "$_most" -le $((_noted + 1)) ] && [ "$_bad" = 0 ] &&
		[ "$_wrong" = 0 ] && [ "$_sum" = 0 ] &&
		[ "$_accounts" = $ACCOUNTS ] || return 1
}

powerfs_begin "${KFB_DB:-ext4:sqlite xfs:sqlite ext4:postgres}"
check "each loses power $CUTS times and comes back" cuts_of_all
for name in $SUBJECTS; do
	subject "$name"
	check "$name: every commit is there, and it is whole" nothing_lost
	tell_fs
done
powerfs_end
