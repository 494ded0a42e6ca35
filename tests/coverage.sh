#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Line coverage of shm, daemon and libclient by the suites that ran on a build configured with
# -Db_coverage=true: of every file, with the lines that nothing reached, and of each folder. Fails
# when a folder is under 90 %.
# usage: coverage.sh --prepare BUILD-DIR     before the suites: an sfd of any user counts
#        coverage.sh BUILD-DIR               after them
set -euo pipefail
if [ "$1" = --prepare ]; then
	find "$2" -name '*.gcda' -delete
	find "$2" -name '*.gcno' | while read -r notes; do
		install -m 666 /dev/null "${notes%.gcno}.gcda"
	done
	exit
fi
build=$(readlink -f "$1")
cd "$(dirname "$(readlink -f "$0")")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find "$build" -name '*.gcda' -empty -delete # of what never ran
# one thread: with more, gcovr 5.2 waits for ever for one that failed
gcovr --root . --object-directory "$build" --filter shm/ --filter daemon/ \
	--filter libclient/ --txt "$work/files" --csv "$work/table" "$build"
grep -E '^[a-z/]+.*%' "$work/files"
awk -F, -v wanted=90 '
	NR > 1 { split($1, path, "/"); all[path[1]] += $2; run[path[1]] += $3 }
	END {
		for (i = split("shm daemon libclient", folders, " "); i > 0; i--) {
			folder = folders[i]
			percent = all[folder] ? 100 * run[folder] / all[folder] : 0
			printf "line coverage of %s: %.1f %% of %d lines\n", folder, percent, all[folder]
			if (percent < wanted) {
				printf "%s: at least %d %% are wanted\n", folder, wanted
				bad = 1
			}
		}
		exit bad
	}' "$work/table"
