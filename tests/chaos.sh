#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Takes IDs from a real sfd in every way there is while sfd, its clients, its clock and its disk are
# treated badly, and checks every single ID. The last line sums up; the exit code is 0 when every
# promise held.
# usage: bash tests/chaos.sh [--seed N] [SECONDS]   30 seconds; --seed repeats an order of events
#        bash tests/chaos.sh --self-test            plants faults, which must be found
# Environment: BUILD_DIR, a configured and compiled build; else one is made.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

seconds=30
arguments=()
self_test=false
while [ $# -gt 0 ]; do
	case "$1" in
	--self-test) self_test=true ;;
	--seed)
		arguments+=(--seed "${2:?--seed needs a number}")
		shift
		;;
	*[!0-9]* | '')
		echo "usage: bash tests/chaos.sh [--seed N] [SECONDS] | --self-test" >&2
		exit 2
		;;
	*) seconds=$1 ;;
	esac
	shift
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build=${BUILD_DIR:-$work/build}
if [ -z "${BUILD_DIR:-}" ]; then
	{ meson setup "$build" -Dbench=false && meson compile -C "$build"; } >"$work/log" 2>&1 || {
		tail -n 40 "$work/log"
		exit 1
	}
fi
export SFD_BIN=$build/daemon/sfd SFCTL_BIN=$build/tools/sfctl
export WALL_LIB=$build/tests/e2e/libwall_preload.so
chaos=$build/tests/chaos/chaos

# finds PLANT PATTERN: a run with this fault fails and says so
finds() {
	if "$chaos" --plant "$1" 2 >"$work/out" 2>&1; then
		echo "a planted fault was not found: $1"
		exit 1
	fi
	tail -n 1 <(grep '^chaos:' "$work/out") | grep -E "$2" || {
		tail -n 20 "$work/out"
		echo "a planted fault was not told: $1"
		exit 1
	}
}

if $self_test; then
	finds duplicate ' [1-9][0-9]* duplicates'
	finds order ' 0 duplicates, [1-9][0-9]* order violations'
	finds ordered ' 0 duplicates, [1-9][0-9]* order violations'
	finds failure ' 0 duplicates, 0 order violations, [1-9][0-9]* failed calls'
	exit 0
fi
# Its log and findings go before the last line, so that the line stays the last.
"$chaos" ${arguments[@]+"${arguments[@]}"} "$seconds" 2>"$work/log" >"$work/out"
code=$?
[ $code -eq 0 ] || tail -n 60 "$work/log"
cat "$work/out"
exit $code
