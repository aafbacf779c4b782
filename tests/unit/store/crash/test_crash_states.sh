#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# What the crash enumerator sees depends on its seed, not on how many processes
# look: test_crash_states.sh CRASH
set -u

crash=$1
n=40000

# fingerprint SEED JOBS
fingerprint()
{
	"$crash" --states "$n" --seed "$1" --jobs "$2" >"$log" || {
		sed 's/^/# /' "$log"
		echo "not ok - $n states of seed $1"
		exit 1
	}
	grep -q "$n crash states" "$log" || {
		sed 's/^/# /' "$log"
		echo "not ok - exactly as many states as asked for"
		exit 1
	}
	sed -n 's/.*fingerprint //p' "$log"
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "1..3"
one=$(fingerprint 5 1) || { echo "$one"; exit 1; }
three=$(fingerprint 5 3) || { echo "$three"; exit 1; }
other=$(fingerprint 6 3) || { echo "$other"; exit 1; }
echo "ok 1 - no power failure breaks a promise"
if [ "$one" = "$three" ]; then
	echo "ok 2 - one process sees what three see"
else
	echo "not ok 2 - one process sees what three see"
fi
if [ "$one" != "$other" ]; then
	echo "ok 3 - another seed sees other states"
else
	echo "not ok 3 - another seed sees other states"
fi
