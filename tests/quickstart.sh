#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The quickstart works from a fresh clone, on its default input and on NDJSON, refuses what it
# should, and leaves nothing running.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q . "$work/clone"
cd "$work/clone"

bash tools/quickstart.sh >"$work/out" 2>&1 || {
	tail -n 20 "$work/out"
	exit 1
}
grep -q 'all IDs are distinct' "$work/out"
printf '{"a":1}\n{}\n{"b":[2,3]}\n' >"$work/in.ndjson"
bash tools/quickstart.sh "$work/in.ndjson" >"$work/out" 2>&1 || {
	tail -n 20 "$work/out"
	exit 1
}
grep -q '12 distinct IDs' "$work/out"
printf 'one\ntwo, without a newline at the end' >"$work/in put.txt"
bash tools/quickstart.sh "$work/in put.txt" >"$work/out" 2>&1 || {
	tail -n 20 "$work/out"
	exit 1
}
grep -q ' 8 records stamped .* 8 distinct IDs' "$work/out"
if bash tools/quickstart.sh "$work/missing" >"$work/out" 2>&1; then
	echo "a missing file must fail"
	exit 1
fi
# Nothing of ours is left: no process has its working files.
! pgrep -f "$work/clone/build/quickstart/daemon/sfd" >/dev/null
