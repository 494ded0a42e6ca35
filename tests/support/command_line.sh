# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced by tests of sfctl: a real sfd in a directory of its own, and checks that count.
# Environment: SFD_BIN, SFCTL_BIN.
set -uo pipefail
work=$(mktemp -d)
checks=0
failures=0
sfd=
trap '[ -z "$sfd" ] || { kill $sfd && wait $sfd; } 2>/dev/null; rm -rf "$work"' EXIT

# start_sfd [FLAG...]: returns once it serves
start_sfd() {
	"$SFD_BIN" "$@" --runtime-dir "$work/run" --state-dir "$work/state" 2>"$work/sfd.log" &
	sfd=$!
	for _ in $(seq 200); do
		[ -S "$work/run/sfd.sock" ] && break
		sleep 0.05
	done
	export SFD_SOCKET=$work/run/sfd.sock
}

fail() {
	failures=$((failures + 1))
	printf '%s:F: %s\n' "$(basename "$0")" "$1"
	sed 's/^/     /' "$work/out" "$work/err" | head -n 6
}

# expect CODE NAME [TEXT of stdout or stderr] -- arguments of sfctl; stdin comes from $in
in=/dev/null
expect() {
	local code=$1 name=$2 text=$3 got
	shift 4
	checks=$((checks + 1))
	timeout 30 "$SFCTL_BIN" "$@" <"$in" >"$work/out" 2>"$work/err"
	got=$?
	[ $got -eq "$code" ] || {
		fail "$name: exit code $got, not $code"
		return
	}
	[ -z "$text" ] || grep -qF -- "$text" "$work/out" "$work/err" || fail "$name: no \"$text\""
}

# prints NAME TEXT -- arguments of sfctl: exactly this comes out, and the exit code is 0
prints() {
	local name=$1 text=$2
	shift 3
	expect 0 "$name" '' -- "$@"
	[ "$(cat "$work/out")" = "$text" ] || fail "$name: not \"$text\""
}

# holds NAME command...: the command succeeds
holds() {
	local name=$1
	shift
	checks=$((checks + 1))
	"$@" >/dev/null 2>"$work/said" && return
	cat "$work/said" >>"$work/err"
	fail "$name"
}

# say TEXT: the next commands read it from stdin; backslash escapes are resolved
say() { printf '%b' "$1" >"$work/in" && in=$work/in; }

# The last line counts like Check's.
finish() {
	echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
	[ $failures -eq 0 ]
}
