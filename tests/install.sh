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
libraries=${library%/*}
for file in "$base"/sbin/sfd "$base"/bin/sfctl "$libraries/libsfclient.a" \
	"$base"/lib/systemd/system/sfd.{service,socket} "$base"/lib/{sysusers,tmpfiles}.d/sfd.conf \
	"$base"/share/doc/sfd/sfd.conf; do
	[ -e "$file" ] || {
		echo "not installed: $file"
		exit 1
	}
done

# One shared library: name, its map, what it may need besides libc, its headers.
check_library() {
	local name=$1 map=$2 needs=$3 header
	shift 3
	echo "lib$name: soname and dependencies"
	readelf -d "$libraries/lib$name.so.0" >"$work/dynamic"
	grep -q "SONAME.*\[lib$name.so.0\]" "$work/dynamic"
	others=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' "$work/dynamic" |
		grep -vE "^(libc\.so\.|ld-linux|$needs)" || true)
	[ -z "$others" ] || {
		echo "lib$name needs more than it may: $others"
		exit 1
	}
	echo "lib$name: exported symbols are those of the map, declared in its headers"
	nm -D --defined-only "$libraries/lib$name.so.0" | awk '$2 != "A" {print $3}' |
		sed 's/@.*//' | sort >"$work/exported"
	sed -n 's/^[[:space:]]*\(sf_[a-z0-9_]*\);.*/\1/p' "$map" | sort >"$work/mapped"
	diff "$work/mapped" "$work/exported"
	: >"$work/headers"
	for header in "$@"; do
		[ -e "$base/include/$header" ] || {
			echo "not installed: $header"
			exit 1
		}
		cat "$base/include/$header" >>"$work/headers"
	done
	tr '\n' ' ' <"$work/headers" >"$work/one-line"
	while read -r symbol; do
		grep -qE "SF_API [^;(]*\b$symbol\(" "$work/one-line" || {
			echo "$symbol is not in a public header"
			exit 1
		}
	done <"$work/exported"
	find "$root" -name "$name.pc" | grep -q . || {
		echo "not installed: $name.pc"
		exit 1
	}
	echo "lib$name: headers stand alone"
	for header in "$@"; do
		echo "#include <$header>" >"$work/alone.c"
		cp "$work/alone.c" "$work/alone.cc"
		gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -I "$base/include" -c "$work/alone.c" \
			-o "$work/alone.o"
		g++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I "$base/include" \
			-c "$work/alone.cc" -o "$work/alone.o"
	done
}
check_library sfclient libclient/libsfclient.map "nothing else" \
	sfclient.h sfformats.h sflayout.h sfpaging.h sftext.h
check_library sfcontent libclient/content/libsfcontent.map "lib(sodium|uuid|yajl)\.so" sfcontent.h
check_library sfalias libclient/alias/libsfalias.map "lib(sfclient|sqlite3)\.so" sfalias.h

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
export SFD_SOCKET=$work/run/sfd.sock LD_LIBRARY_PATH=$libraries
for program in example example++; do
	"$work/$program" >"$work/ids"
	[ "$(sort -u "$work/ids" | wc -l)" -ge 5 ]
	[ "$(sort -u "$work/ids" | wc -l)" -eq "$(wc -l <"$work/ids")" ]
done
"$base/bin/sfctl" next | grep -qE '^[0-9]+$'
[ ! -e "$build/tools/sfctl-exporter" ] || "$base/bin/sfctl" exporter --help | grep -q Usage
