#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# From a fresh checkout to stamped records in one command: installs what is missing, builds, starts
# sfd in a temporary directory, stamps FILE with several processes at once, checks that all IDs are
# distinct, prints records, rate and statistics, and stops everything it started.
# usage: bash tools/quickstart.sh [FILE]      without FILE: the machine's own package log
set -euo pipefail
case "${1:-}" in
-h | --help)
	sed -n '3,6s/^# //p' "$0"
	exit 0
	;;
esac
[ $# -le 1 ] || {
	echo "usage: bash tools/quickstart.sh [FILE]" >&2
	exit 2
}
file=$(readlink -f "${1:-/var/log/dpkg.log}")
cd "$(dirname "$(readlink -f "$0")")/.."
[ -f "$file" ] && [ -r "$file" ] || {
	echo "quickstart: $file cannot be read; name a text or NDJSON file" >&2
	exit 1
}
[ -s "$file" ] || {
	echo "quickstart: $file is empty; name a text or NDJSON file" >&2
	exit 1
}

build=build/quickstart
processes=4
work=$(mktemp -d)
sfd=
cleanup() {
	if [ -n "$sfd" ]; then
		kill "$sfd" 2>/dev/null || true
		wait "$sfd" 2>/dev/null || true
	fi
	rm -rf "$work"
}
trap cleanup EXIT

echo "== building"
bash tools/deps.sh build
[ -f $build/build.ninja ] || meson setup $build --buildtype=release -Dtests=disabled \
	-Dbench=false >"$work/setup.log" 2>&1 || {
	cat "$work/setup.log"
	exit 1
}
meson compile -C $build >"$work/compile.log" 2>&1 || {
	tail -n 30 "$work/compile.log"
	exit 1
}

echo "== starting sfd (machine id 1023, layout twitter)"
$build/daemon/sfd --machine-id 1023 --runtime-dir "$work/run" --state-dir "$work/state" \
	2>"$work/sfd.log" &
sfd=$!
export SFD_SOCKET=$work/run/sfd.sock
for _ in $(seq 200); do
	[ -S "$SFD_SOCKET" ] && break
	kill -0 $sfd 2>/dev/null || break
	sleep 0.05
done
[ -S "$SFD_SOCKET" ] || {
	echo "quickstart: sfd did not start:" >&2
	cat "$work/sfd.log" >&2
	exit 1
}

input=lines
head -c 1 "$file" | grep -q '{' && input=ndjson
echo "== $processes processes stamp $file ($input) at once"
started=$(date +%s%N)
pids=()
for i in $(seq $processes); do
	$build/tools/sfctl stamp --input $input "$file" >"$work/stamped.$i" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid" || {
		echo "quickstart: a stamping process failed" >&2
		exit 1
	}
done
ended=$(date +%s%N)

echo "== records"
head -n 3 "$work/stamped.1"
id_of() { # the ID of each stamped record
	if [ $input = ndjson ]; then
		sed -nE 's/^[[:space:]]*\{"id":"([0-9]+)".*/\1/p' "$@"
	else
		sed -nE 's/^([0-9]+)\t.*/\1/p' "$@"
	fi
}
id_of "$work"/stamped.* >"$work/ids"
# grep counts a last line without a newline, too
records=$(grep -c '' "$work/ids")
distinct=$(sort -u "$work/ids" | grep -c '')
bytes=$(($(stat -c %s "$file") * processes))
echo "   ... taken apart:"
head -n 1 "$work/ids" | $build/tools/sfctl decode --layout twitter

echo "== sfctl stats, a second later"
sleep 1.2
$build/tools/sfctl stats

echo "== a million IDs a process, all checked"
$build/tools/sfctl bench --processes 2 --ids 1000000 --verify

awk -v r="$records" -v d="$distinct" -v b=$bytes -v ns=$((ended - started)) 'BEGIN {
	s = ns / 1e9
	printf "== %d records stamped in %.2f s (%.0f records/s, %.1f MB/s), %d distinct IDs\n",
		r, s, r / s, b / s / 1e6, d
}'
[ "$records" -gt 0 ] && [ "$records" -eq "$distinct" ] || {
	echo "quickstart: IDs repeat or none were given" >&2
	exit 1
}
echo "== all IDs are distinct"
