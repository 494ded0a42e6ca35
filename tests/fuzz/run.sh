#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every fuzzer of a build made with -Dfuzz=true, for a while; as many at a time as there are CPUs.
# usage: run.sh BUILD-DIR [SECONDS]
set -euo pipefail
seconds=${2:-20}
vectors=$(dirname "$0")/../vectors
# Undefined behaviour ends the run, as bad memory accesses do.
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

# Every text in the vectors, one a file: what the readers of IDs start from.
texts() {
	jq -r '.. | strings | select(length <= 200)' "$vectors"/*.json | sort -u |
		awk -v name="$1/vector" '{ printf "%s", $0 >(name NR); close(name NR) }'
}

# Some of them as records of an alias import; the first byte chooses NDJSON, CSV or plain keys.
records() {
	jq -r '.. | strings | select(length <= 200)' "$vectors"/*.json | sort -u |
		awk 'NR % 40 == 0' >"$1/texts"
	{ printf 0 && jq -cR '{key: ., id: "7", created: 0}' "$1/texts"; } >"$1/ndjson"
	{ printf '1key,created,id\n' && jq -rR '[., 0, "7"] | @csv' "$1/texts"; } >"$1/csv"
	{ printf 2 && cat "$1/texts"; } >"$1/keys"
}

# Decisions of the fuzzers of whole conversations: peers that attach and ask, one after the other
# and without waiting for the answers; memory scribbled upon between turns, under two policies; good
# rings, bad ones, and a refusal.
conversations() {
	case $2 in
	control)
		printf '\0\0\0\1\2\0\0\1\0\0\1\0\0\30\0\0\2\0\0\1\0\0\0\0\3\0\0\1\1\0\30\34' >"$1/talk"
		printf '\0\1\1\2\2\1\0\1\0\0\1\1\0\1\2\2\1\0\0\3\0\25\0\10junkjunk\31' >"$1/breach"
		printf '\0\0\0\0\0\0\0\4\0\0\0\5\1\0\0\0\2\0\0\1\0\0\20\30' >"$1/upgrade"
		;;
	claims)
		printf '\0\0\0\0\0\0\0\0\0\0\2\10\0\3\10\0\0\2\100\11\3\0\4\11\12\1\0\0\2\1\4\5\0\1\3\10\0\0\2\2' >"$1/slew"
		printf '\1\3\1\0\0\2\3\0\0\0\1\0\100\0\1\2\2\1\0\3\1\0\12\101\0\0\1\10\10\0\1\0\2\4\5\1\0\0\3\377' >"$1/ahead"
		;;
	attach)
		printf '\0\1\7\0\0\0\7\0\0\0\0\1\7\0\0\0\7\0\0\0' >"$1/good"
		printf '\0\1\7\0\3\1\0\7\0\3\1\0' >"$1/slots"
		printf '\0\1\7\0\4\201\0\7\0\0\0' >"$1/nodes"
		printf '\2no\0\0\0' >"$1/refusal"
		;;
	esac
}

fuzz() { # target directory
	local name=${1##*/fuzz_}
	mkdir -p "$2/corpus"
	case $name in
	alias) records "$2/corpus" ;;
	content | formats | text) texts "$2/corpus" ;;
	attach | claims | control) conversations "$2/corpus" "$name" ;;
	esac
	if "$1" -max_total_time="$seconds" -timeout=20 -print_final_stats=0 -close_fd_mask=2 \
		-artifact_prefix="$2/" "$2/corpus" >"$2/log" 2>&1; then
		echo "ok   $name, $(sed -n 's/^Done \([0-9]* runs\).*/\1/p' "$2/log")"
	else
		echo "FAIL $name"
		tail -n 40 "$2/log"
		return 1
	fi
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found=0
failed=0
running=0
for target in "$1"/tests/fuzz/fuzz_*; do
	[ -f "$target" ] && [ -x "$target" ] || continue
	found=$((found + 1))
	if [ $running -ge "$(nproc)" ]; then
		wait -n || failed=$((failed + 1))
		running=$((running - 1))
	fi
	fuzz "$target" "$work/${target##*/}" &
	running=$((running + 1))
done
while [ $running -gt 0 ]; do
	wait -n || failed=$((failed + 1))
	running=$((running - 1))
done
[ $found -gt 0 ] || echo "no fuzzer was built"
[ $found -gt 0 ] && [ $failed -eq 0 ]
