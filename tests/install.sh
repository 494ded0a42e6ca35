#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What is installed is what a user needs: files, soname, exported symbols, headers that stand alone
# (also as C++), and the README's program, built with pkg-config and run against an installed sfd.
# usage: install.sh BUILD-DIR
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
build=$1
work=$(mktemp -d)
sfd=
cleanup() {
	[ -z "$sfd" ] || kill "$sfd" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
root=$work/root

meson install -C "$build" --no-rebuild --destdir "$root" >"$work/install.log"
prefix=$(meson introspect "$build" --buildoptions |
	python3 -c 'import json,sys; print(next(o["value"] for o in json.load(sys.stdin) if o["name"]=="prefix"))')
base=$root$prefix
library=$(find "$root" -name 'libsfclient.so.0')
for file in "$base"/sbin/sfd "$base"/bin/sfctl "$base"/include/sfclient.h \
	"$base"/include/sflayout.h "$library"; do
	[ -e "$file" ] || {
		echo "not installed: $file"
		exit 1
	}
done
[ -e "$(dirname "$library")/libsfclient.a" ] || {
	echo "not installed: libsfclient.a"
	exit 1
}

echo "soname and dependencies"
readelf -d "$library" | grep -q 'SONAME.*\[libsfclient.so.0\]'
others=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
	grep -vE '^(libc\.so\.|ld-linux)' || true)
[ -z "$others" ] || {
	echo "libsfclient needs more than libc: $others"
	exit 1
}

echo "exported symbols are those of the map"
nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sed 's/@.*//' | sort >"$work/exported"
sed -n '/global:/,/local:/s/^[[:space:]]*\(sf_[a-z0-9_]*\);.*/\1/p' libclient/libsfclient.map |
	sort >"$work/mapped"
diff "$work/mapped" "$work/exported"
echo "every exported function is declared and documented"
while read -r symbol; do
	grep -qE "SF_API .*\b$symbol\(" libclient/include/sfclient.h shm/sflayout.h || {
		echo "$symbol is not in a public header"
		exit 1
	}
done <"$work/exported"

echo "headers stand alone"
for header in sfclient.h sflayout.h; do
	echo "#include <$header>" >"$work/alone.c"
	cp "$work/alone.c" "$work/alone.cc"
	gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -I "$base/include" -c "$work/alone.c" -o "$work/alone.o"
	g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I "$base/include" -c "$work/alone.cc" \
		-o "$work/alone.o"
done

echo "the README's program"
pc=$(find "$root" -name sfclient.pc)
sed "s|^prefix=.*|prefix=$base|" "$pc" >"$work/sfclient.pc"
flags=$(PKG_CONFIG_PATH=$work pkg-config --cflags --libs sfclient)
sed -n '/^```c$/,/^```$/p' README.md | sed '/^```/d' >"$work/example.c"
[ -s "$work/example.c" ] || {
	echo "the README has no C program"
	exit 1
}
for optimise in -O0 -O2; do
	# shellcheck disable=SC2086
	gcc $optimise -Wall -Wextra -Werror "$work/example.c" -o "$work/example" $flags
	# shellcheck disable=SC2086
	g++ $optimise -x c++ -Wall -Wextra -Werror "$work/example.c" -x none -o "$work/example++" $flags
done
"$base/sbin/sfd" --machine-id 1019 --runtime-dir "$work/run" --state-dir "$work/state" \
	2>"$work/sfd.log" &
sfd=$!
for _ in $(seq 200); do
	[ -S "$work/run/sfd.sock" ] && break
	sleep 0.05
done
export SFD_SOCKET=$work/run/sfd.sock LD_LIBRARY_PATH=${library%/*}
for program in example example++; do
	"$work/$program" >"$work/ids"
	[ "$(sort -u "$work/ids" | wc -l)" -ge 5 ]
	[ "$(sort -u "$work/ids" | wc -l)" -eq "$(wc -l <"$work/ids")" ]
done
"$base/bin/sfctl" next | grep -qE '^[0-9]+$'
