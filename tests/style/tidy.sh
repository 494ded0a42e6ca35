#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The linter finds nothing. One file a call: clang-tidy 14 mixes up several.
# usage: tidy.sh BUILD-DIR (configured with clang)
set -euo pipefail
# what sources include that is not there before a build
ninja -C "$1" -t targets all | sed -n 's/^\(tools\/bpf\/.*\.skel\.h\):.*/\1/p' | xargs -r ninja -C "$1" >/dev/null
git ls-files 'shm/*.c' 'libclient/*.c' 'daemon/*.c' 'tools/*.c' 'bench/*.c' 'tests/*.c' |
	grep -v -e '^tests/fuzz/' -e '\.bpf\.c$' | xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p "$1" 2>/dev/null
