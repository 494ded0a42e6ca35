#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures what an ID costs, beside what it could be compared with; prints a table and writes
# BUILDDIR/bench/results.json. Starts two daemons in a temporary directory, one with layout twitter,
# one with a layout too roomy to saturate and streams of wide formats, and stops them. Wants an
# otherwise idle machine.
# usage: bash bench/run.sh [BUILDDIR]      default: build/bench, which is made when missing
set -euo pipefail
case "${1:-}" in
-h | --help)
	sed -n '3,7s/^# //p' "$0"
	exit 0
	;;
-*)
	echo "usage: bash bench/run.sh [BUILDDIR]" >&2
	exit 2
	;;
esac
[ $# -le 1 ] || {
	echo "usage: bash bench/run.sh [BUILDDIR]" >&2
	exit 2
}
[ $# -eq 0 ] || chosen=$(readlink -m "$1")
cd "$(dirname "$(readlink -f "$0")")/.."
build=${chosen:-build/bench}
roomy='t41 n1 s22'
formats=(ulid uuid7 objectid)

work=$(mktemp -d)
daemons=()
cleanup() {
	for pid in "${daemons[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$work"
}
trap cleanup EXIT

bash tools/deps.sh bench
[ -f "$build/build.ninja" ] || meson setup "$build" --buildtype=release -Doptimization=2 \
	-Dtests=disabled -Dbench=true >"$work/setup.log" 2>&1 || {
	cat "$work/setup.log" >&2
	exit 1
}
meson compile -C "$build" >"$work/compile.log" 2>&1 || {
	tail -n 30 "$work/compile.log" >&2
	exit 1
}
built() { # path of the program of that name
	meson introspect "$build" --targets |
		jq -er --arg name "$1" '[.[] | select(.name == $name and .type == "executable")][0]
			.filename[0]' || {
		echo "bench: $build has no program $1; set it up with -Dbench=true" >&2
		return 1
	}
}
sfd=$(built sfd)
sfctl=$(built sfctl)
bench_fetch=$(built bench_fetch)
bench_contention=$(built bench_contention)
bench_formats=$(built bench_formats)

streams() { # LAYOUT MACHINE_ID FORMAT...: a configuration; a stream has the name of its format
	printf '[stream default]\nlayout = %s\nmachine_id = %s\n' "$1" "$2"
	local format
	for format in "${@:3}"; do
		printf '[stream %s]\nformat = %s\n' "$format" "$format"
	done
}
start() { # NAME LAYOUT "MACHINE_ID..." FORMAT...: with the first machine id free on this host
	local name=$1 layout=$2 machine pid
	for machine in $3; do
		streams "$layout" "$machine" "${@:4}" >"$work/$name.conf"
		"$sfd" --config "$work/$name.conf" --runtime-dir "$work/$name" \
			--state-dir "$work/$name.state" 2>"$work/$name.log" &
		pid=$!
		daemons+=("$pid")
		for _ in $(seq 200); do
			[ -S "$work/$name/sfd.sock" ] && return
			kill -0 "$pid" 2>/dev/null || break
			sleep 0.05
		done
	done
	echo "bench: sfd did not start with layout $layout:" >&2
	cat "$work/$name.log" >&2
	exit 1
}
start roomy "$roomy" "0 1" "${formats[@]}"
start twitter twitter "1023 1022 1021"

measure() { # NAME PROGRAM ARGUMENT...: a program of this folder, against the daemon NAME
	echo "   $(basename "$2"), layout $1" >&2
	SFD_SOCKET=$work/$1/sfd.sock "${@:2}" | jq -c --arg layout "$1" '{layout: $layout} + .' \
		>>"$work/programs"
}
sfctl_bench() { # NAME ARGUMENT...
	local name=$1
	shift
	echo "   sfctl bench, layout $name: $*" >&2
	"$sfctl" bench --socket "$work/$name/sfd.sock" --json "$@" |
		jq -c --arg layout "$name" '. + {layout: $layout, notation: .layout}' >>"$work/sfctl"
}

echo "== measuring (about two minutes; load $(cut -d ' ' -f 1 /proc/loadavg), best below 0.1)" >&2
measure roomy "$bench_fetch" "${formats[@]}"
measure twitter "$bench_fetch"
[ "$(nproc)" -lt 2 ] || measure roomy "$bench_contention"
measure none "$bench_formats"
for shape in "1 1" "2 1" "1 2"; do
	read -r processes threads <<<"$shape"
	for run in "next 100000000" "call 50000000" "ordered 10000000" "fill 200000000" \
		"range 200000000"; do
		read -r mode ids <<<"$run"
		sfctl_bench roomy --mode "$mode" --ids "$ids" --processes "$processes" \
			--threads "$threads"
	done
	for mode in next ordered; do
		sfctl_bench twitter --mode $mode --ids $((8192000 / (processes * threads))) \
			--processes "$processes" --threads "$threads" --verify
	done
done

echo "== whole commands" >&2
export SFD_SOCKET=$work/roomy/sfd.sock
"$sfctl" next -n 1000000 >"$work/ids"
seq 1100000 | awk '{ # about 100 MB
	printf "{\"time\":\"2024-06-01T12:00:00Z\",\"host\":\"web-%d\",", $1 % 16
	printf "\"request\":%d,\"path\":\"/a/b/c\",\"status\":200}\n", $1
}' >"$work/records"
commands=(
	"next -n 1000000"
	"decode --layout '$roomy'"
	"stamp --input ndjson"
)
inputs=(/dev/null "$work/ids" "$work/records")
for i in "${!commands[@]}"; do
	hyperfine --warmup 1 --runs 5 --style none --command-name "sfctl ${commands[$i]}" \
		--export-json "$work/hyperfine" \
		"$(printf %q "$sfctl") ${commands[$i]} <$(printf %q "${inputs[$i]}")" >&2
	jq -c --argjson bytes "$(stat -Lc %s "${inputs[$i]}")" \
		'.results[0] | {command, input_bytes: $bytes, mean_s: .mean, median_s: .median,
			least_s: .min, greatest_s: .max, runs: (.times | length)}' \
		"$work/hyperfine" >>"$work/commands"
done

compile=$(meson introspect "$build" --buildoptions |
	jq -r '[.[] | select(.name == "buildtype" or .name == "optimization" or .name == "b_lto"
		or .name == "c_args") | "\(.name)=\(.value)"] | join(" ")')
command=$(jq -r '[.[] | select(.file | endswith("bench_fetch.c"))][0].command' \
	"$build/compile_commands.json")
mkdir -p "$build/bench"
jq -n -f bench/report.jq --slurpfile programs "$work/programs" --slurpfile sfctl "$work/sfctl" \
	--slurpfile commands "$work/commands" \
	--arg cpu "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)" \
	--arg cpus "$(nproc)" \
	--arg kernel "$(uname -sr)" \
	--arg compiler "$(${command%% *} --version | head -n 1)" \
	--arg options "$compile" \
	--arg flags "$(tr ' ' '\n' <<<"$command" | grep -E '^-(O|f|m|std|D)' | tr '\n' ' ')" \
	--arg commit "$(git rev-parse HEAD 2>/dev/null || echo none)" \
	--arg date "$(date -u +%FT%TZ)" \
	--arg load "$(cut -d ' ' -f 1-3 /proc/loadavg)" \
	--arg roomy "$roomy" >"$build/bench/results.json"
jq -r -f bench/table.jq "$build/bench/results.json"
echo
echo "results: $build/bench/results.json"
