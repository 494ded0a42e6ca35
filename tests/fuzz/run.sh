#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every fuzzer of a build made with -Dfuzz=true, for a while.
# usage: run.sh BUILD-DIR [SECONDS]
set -euo pipefail
seconds=${2:-20}
vectors=$(dirname "$0")/../vectors
found=0

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

for target in "$1"/tests/fuzz/fuzz_*; do
	[ -f "$target" ] && [ -x "$target" ] || continue
	found=$((found + 1))
	work=$(mktemp -d)
	echo "$(basename "$target")"
	case $(basename "$target") in
	fuzz_alias) records "$work" ;;
	fuzz_content | fuzz_formats | fuzz_text) texts "$work" ;;
	esac
	"$target" -max_total_time="$seconds" -print_final_stats=0 -close_fd_mask=2 \
		-artifact_prefix="$work/" "$work" >"$work/log" 2>&1 || {
		tail -n 40 "$work/log"
		exit 1
	}
	rm -rf "$work"
done
[ $found -gt 0 ] || {
	echo "no fuzzer was built"
	exit 1
}
