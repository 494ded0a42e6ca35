#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Searches every interleaving of the protocol's model, and then of the model with one mistake at a
# time, which must be found for what it is. One line a check; see README.md.
# usage: bash tests/model/run.sh [NAME]     NAME: only the checks whose name begins with it
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")" || exit 1

only=${1:-}
checks=0
failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What need not be reached: resets and the escapes of "unless" where nothing can be preempted, and
# in a copy of give() the half that is for the other way of taking IDs.
unneeded='"-end-"| = 0"$|gone\[|boot!=booted|_returned_id|cursor_went_back|"last = |takes_ranges'

fail() { # name reason file
	failed=$((failed + 1))
	echo "FAIL $1: $2"
	tail -n 12 "$3" | sed 's/^/     /'
}

# Builds and runs one search; what it said is in $work/said.
search() { # switches...
	(
		cd "$work" && rm -f pan* &&
			spin -a "$@" "$OLDPWD/ring.pml" && cc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=2000 -o pan pan.c &&
			# -E: a daemon that has used up the ticks waits for ever
			./pan -E -m200000
	) >"$work/said" 2>&1
}

states() { awk '/states, stored/ { print $1 }' "$work/said"; }

is_wanted() { [[ $1 == "$only"* ]]; }

# The promises hold in every state, and the search met all that it should.
holds() { # name switches...
	local name=$1 missed
	is_wanted "$name" || return 0
	shift
	checks=$((checks + 1))
	search "$@"
	missed=$(awk -v unneeded="$unneeded" '/^unreached in init/ { exit }
		/^\t.*, state [0-9]+, / && $0 !~ unneeded' "$work/said")
	if ! grep -q 'errors: 0$' "$work/said" || [ -z "$(states)" ]; then
		fail "$name" "a promise is broken, or there was no search" "$work/said"
	elif grep -qE 'Search not completed|max search depth too small|out of memory|truncated' "$work/said"; then
		fail "$name" "not every state was searched" "$work/said"
	elif [ -n "$missed" ]; then
		echo "$missed" >"$work/missed"
		fail "$name" "not reached, so it proves nothing" "$work/missed"
	else
		echo "ok   $name: $(states) states"
	fi
}

# The mistake is found, and breaks the promise that it should.
breaks() { # name promise switches...
	local name=$1 promise=$2
	is_wanted "$name" || return 0
	shift 2
	checks=$((checks + 1))
	search "$@"
	if grep -q "assertion violated  *!($promise)" "$work/said"; then
		echo "ok   $name: found ($promise), $(states) states"
	else
		fail "$name" "not found as $promise" "$work/said"
	fi
}

ring=(-DREUSE)
clock=(-DLIVES=2 -DCLOCK -DSTEPS -DSTOP -DCOARSE -DCAP=1 -DCALLS=2)
chain=(-DLIVES=3 -DCLOCK -DSTEADY -DCOARSE -DCAP=1 -DCALLS=1)
reboot=(-DLIVES=2 -DREBOOT -DSTOP -DCOARSE -DCAP=1 -DRANGES=2)
handover=(-DLIVES=2 -DHANDOVER -DSTOP -DSTEADY -DCALLS=2)
killed=(-DLIVES=3 -DHANDOVER -DSTOP -DSTEADY -DCALLS=1 -DCAP=1 -DRANGES=2)

holds "ring, ordered calls" "${ring[@]}"
holds "ring, a range against ordered calls" "${ring[@]}" -DRANGES=1
holds "ring, the same tags in each turn" "${ring[@]}" -DSAME_TAG
holds "restart, after a crash or a stop" "${clock[@]}"
holds "restart, twice" "${chain[@]}"
holds "reboot, and crash" "${reboot[@]}"
holds "hand-over" "${handover[@]}"
holds "hand-over, the next one killed" "${killed[@]}"

breaks "planted: a plain store instead of the add" given_twice -DBUG_PLAIN_STORE
breaks "planted: no second look after the add" given_twice -DBUG_NO_SECOND_LOOK
breaks "planted: no floor" below_a_returned_id -DBUG_NO_FLOOR
breaks "planted: no floor, one cursor" cursor_went_back -DRANGES=2 -DBUG_NO_FLOOR
breaks "planted: no tag" given_twice "${handover[@]}" -DBUG_NO_TAG
breaks "planted: the mark raised after the horizon" given_twice "${reboot[@]}" -DBUG_MARK_LATE
breaks "planted: the record written after the horizon" given_twice "${clock[@]}" -DBUG_RECORD_LATE
breaks "planted: the new ring open at once" below_a_returned_id "${clock[@]}" -DBUG_OPEN_AT_ONCE
breaks "planted: a step shown in the record first" below_a_returned_id "${clock[@]}" -DBUG_RECORD_SHOWN_FIRST
breaks "planted: the last ring's end counts alone" below_a_returned_id "${chain[@]}" -DBUG_OPEN_BY_LAST
breaks "planted: other grants for ticks given back" given_twice \
	-DLIVES=2 -DHANDOVER -DSTOP -DSTEADY -DCALLS=1 -DSPREAD=1 -DBUG_OTHER_GRANT
breaks "planted: the word of a tick given back before the horizon" below_a_returned_id \
	"${handover[@]}" -DBUG_WORD_FIRST
breaks "planted: on from the copied horizon" given_twice "${killed[@]}" -DBUG_COPIED_HORIZON
breaks "planted: a floor above the old horizon is hostile" below_a_returned_id "${handover[@]}" -DBUG_FLOOR_CLAMPED

[ "$checks" -gt 0 ] || echo "no check begins with '$only'"
[ "$checks" -gt 0 ] && [ "$failed" -eq 0 ]
