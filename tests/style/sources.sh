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
for file in $sources; do
	head -n 2 "$file" | grep -q 'SPDX-License-Identifier: ' || complain "$file: no licence line"
done
for file in $(git ls-files '*.c' '*.h'); do
	lines=$(wc -l <"$file")
	[ "$lines" -le 500 ] || complain "$file: $lines lines, at most 500"
done
# Every atomic states its order.
grep -nE 'atomic_(load|store|exchange|fetch_[a-z]+|compare_exchange_(weak|strong)) *\(' \
	$(git ls-files '*.c' '*.h') && complain "atomics without an explicit order"
grep -nE '\bvolatile\b' $(git ls-files 'shm/*' 'libclient/*' 'daemon/*') | grep -vE 'asm|/\*' &&
	complain "volatile is no synchronisation"
grep -nwE 'TODO|FIXME|XXX|HACK' $(git ls-files '*.c' '*.h' '*.sh' | grep -v '^tests/style/') &&
	complain "open marks"
exit $bad
