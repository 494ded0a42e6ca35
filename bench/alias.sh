#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures alias imports: a million pairs of random UUIDs and IDs of now, by one importer and by two
# at once, into an empty store; then once more, when all are known. Checks that each key has one ID
# and no two have the same. Prints a table and writes BUILDDIR/bench/alias.json. Starts a daemon in a
# temporary directory, which is also where the store lies ($TMPDIR chooses the disk). Wants an
# otherwise idle machine.
# usage: bash bench/alias.sh [BUILDDIR]      default: build/bench, which is made when missing
set -euo pipefail
case "${1:-}" in
-h | --help)
	sed -n '3,8s/^# //p' "$0"
	exit 0
	;;
-*)
	echo "usage: bash bench/alias.sh [BUILDDIR]" >&2
	exit 2
	;;
esac
[ $# -le 1 ] || {
	echo "usage: bash bench/alias.sh [BUILDDIR]" >&2
	exit 2
}
[ $# -eq 0 ] || chosen=$(readlink -m "$1")
cd "$(dirname "$(readlink -f "$0")")/.."
build=${chosen:-build/bench}
pairs=1000000
runs=3

work=$(mktemp -d)
sfd_pid=
cleanup() {
	[ -z "$sfd_pid" ] || { kill "$sfd_pid" && wait "$sfd_pid"; } 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

bash tools/deps.sh bench
[ -f "$build/build.ninja" ] || meson setup "$build" --buildtype=release -Doptimization=2 \
	-Dtests=disabled -Dbench=true >"$work/setup.log" 2>&1 || {
	cat "$work/setup.log" >&2
	exit 1
}
meson compile -C "$build" sfd sfctl >"$work/compile.log" 2>&1 || {
	tail -n 30 "$work/compile.log" >&2
	exit 1
}
sfctl=$build/tools/sfctl

for machine in 1020 1018 1017; do # the first that is free on this host
	"$build/daemon/sfd" --runtime-dir "$work/run" --state-dir "$work/state" \
		--machine-id "$machine" --layout twitter 2>"$work/sfd.log" &
	sfd_pid=$!
	for _ in $(seq 200); do
		[ -S "$work/run/sfd.sock" ] && break 2
		kill -0 "$sfd_pid" 2>/dev/null || break
		sleep 0.05
	done
	sfd_pid=
done
[ -n "$sfd_pid" ] || {
	cat "$work/sfd.log" >&2
	exit 1
}
export SFD_SOCKET=$work/run/sfd.sock SFD_ALIAS_STORE=$work/alias.db

echo "== making $pairs random UUIDs" >&2
od -An -v -tx1 -w16 -N $((pairs * 16)) /dev/urandom | tr -d ' ' |
	sed -E 's/(.{8})(.{4}).(.{3}).(.{3})(.{12})/{"key":"\1-\2-4\3-a\4-\5"}/' >"$work/keys.ndjson"
split -n l/2 --additional-suffix=.ndjson "$work/keys.ndjson" "$work/half-"

import() { # FILE...: all at once; fails when one of them does
	local pids=() pid
	for file in "$@"; do
		"$sfctl" alias import "$file" >/dev/null &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid"
	done
}
check() { # every key there, every ID once
	"$sfctl" alias export --format csv | tail -n +2 >"$work/all.csv"
	[ "$(cut -d , -f 1 "$work/all.csv" | sort -u | wc -l)" -eq "$pairs" ] &&
		[ "$(cut -d , -f 2 "$work/all.csv" | sort -u | wc -l)" -eq "$pairs" ] || {
		echo "bench: the store does not have $pairs distinct keys and IDs" >&2
		exit 1
	}
}
measure() { # NAME FRESH FILE...
	local name=$1 fresh=$2 begin end
	shift 2
	for _ in $(seq $runs); do
		[ "$fresh" = no ] || rm -f "$SFD_ALIAS_STORE"*
		begin=$(date +%s%N)
		import "$@"
		end=$(date +%s%N)
		check
		jq -nc --arg name "$name" --argjson ns $((end - begin)) --argjson pairs $pairs \
			'{name: $name, seconds: ($ns / 1e9), pairs_per_s: ($pairs / $ns * 1e9 | round)}' \
			>>"$work/runs"
	done
}
echo "== measuring (load $(cut -d ' ' -f 1 /proc/loadavg), best below 0.1)" >&2
measure "one importer" yes "$work/keys.ndjson"
measure "two importers at once" yes "$work"/half-*.ndjson
measure "two importers, all known" no "$work"/half-*.ndjson

mkdir -p "$build/bench"
jq -n --slurpfile runs "$work/runs" \
	--argjson bytes "$(stat -c %s "$SFD_ALIAS_STORE")" --argjson pairs $pairs \
	--arg cpus "$(nproc)" --arg load "$(cut -d ' ' -f 1-3 /proc/loadavg)" \
	--arg kernel "$(uname -sr)" --arg disk "$(stat -f -c %T "$work")" \
	--arg commit "$(git rev-parse HEAD 2>/dev/null || echo none)" --arg date "$(date -u +%FT%TZ)" \
	'{date: $date, commit: $commit, kernel: $kernel, cpus: ($cpus | tonumber), load: $load,
		file_system: $disk, pairs: $pairs, bytes_per_pair: ($bytes / $pairs | round),
		imports: [$runs | group_by(.name)[] | sort_by(.pairs_per_s) | {name: .[0].name,
			median_pairs_per_s: .[length / 2 | floor].pairs_per_s,
			least: .[0].pairs_per_s, greatest: .[-1].pairs_per_s}]}' >"$build/bench/alias.json"
jq -r '"alias import of \(.pairs) pairs, \(.bytes_per_pair) bytes each, on \(.file_system); load \(.load)",
	(.imports[] | "  \(.name): \(.median_pairs_per_s) pairs/s (\(.least) to \(.greatest))")' \
	"$build/bench/alias.json"
echo
echo "results: $build/bench/alias.json"
