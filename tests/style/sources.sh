#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Rules that neither compiler nor linter knows.
set -uo pipefail
bad=0

complain() {
	echo "$*"
	bad=1
}

sources=$(git ls-files '*.c' '*.h' '*.def' '*.sh' 'meson.build' '*/meson.build' meson_options.txt)
# shellcheck disable=SC2086
awk 'FNR > 2 { nextfile }
	{ seen[FILENAME] = 1 }
	/SPDX-License-Identifier: / { has[FILENAME] = 1 }
	END { for (file in seen) if (!(file in has)) { print file ": no licence line"; bad = 1 } exit bad }' \
	$sources || bad=1
wc -l $(git ls-files '*.c' '*.h') |
	awk '$2 != "total" && $1 > 500 { print $2 ": " $1 " lines, at most 500"; bad = 1 } END { exit bad }' ||
	bad=1
# Every atomic states its order.
grep -nE 'atomic_(load|store|exchange|fetch_[a-z]+|compare_exchange_(weak|strong)) *\(' \
	$(git ls-files '*.c' '*.h') && complain "atomics without an explicit order"
grep -nE '\bvolatile\b' $(git ls-files 'shm/*' 'libclient/*' 'daemon/*') | grep -vE 'asm|/\*' &&
	complain "volatile is no synchronisation"
grep -nwE 'TODO|FIXME|XXX|HACK' $(git ls-files '*.c' '*.h' '*.sh' | grep -v '^tests/style/') &&
	complain "open marks"
exit $bad
