#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every fuzzer of a build made with -Dfuzz=true, for a while.
# usage: run.sh BUILD-DIR [SECONDS]
set -euo pipefail
seconds=${2:-20}
found=0
for target in "$1"/tests/fuzz/fuzz_*; do
	[ -f "$target" ] && [ -x "$target" ] || continue
	found=$((found + 1))
	work=$(mktemp -d)
	echo "$(basename "$target")"
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
