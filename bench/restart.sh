#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures the longest single fetch of a client around upgrades of sfd, and around SIGKILL and a
# start within the runway: 100 of each, beside as much time without. Prints JSON. Starts a daemon in
# a temporary directory. Wants an otherwise idle machine; about a minute.
# usage: bash bench/restart.sh [BUILDDIR]      default: build/bench, which is made when missing
set -euo pipefail
case "${1:-}" in
-h | --help)
	sed -n '3,6s/^# //p' "$0"
	exit 0
	;;
-*)
	echo "usage: bash bench/restart.sh [BUILDDIR]" >&2
	exit 2
	;;
esac
[ $# -eq 0 ] || chosen=$(readlink -m "$1")
cd "$(dirname "$(readlink -f "$0")")/.."
build=${chosen:-build/bench}
runs=100

work=$(mktemp -d)
trap 'kill "$(cat "$work/pid" 2>/dev/null)" 2>/dev/null; rm -rf "$work"' EXIT

bash tools/deps.sh bench
[ -f "$build/build.ninja" ] || meson setup "$build" --buildtype=release -Doptimization=2 \
	-Dtests=disabled -Dbench=true >"$work/setup.log" 2>&1 || {
	cat "$work/setup.log" >&2
	exit 1
}
meson compile -C "$build" >"$work/compile.log" 2>&1 || {
	tail -n 30 "$work/compile.log" >&2
	exit 1
}

# Ends the sfd of before, if there is one, and starts the next.
cat >"$work/start" <<EOF
#!/usr/bin/env bash
[ ! -f "$work/pid" ] || kill -KILL "\$(cat "$work/pid")"
"$build/daemon/sfd" --runtime-dir "$work/run" --state-dir "$work/state" --machine-id 13 \
	--layout 't41 n4 s18' >>"$work/log" 2>&1 &
echo \$! >"$work/pid"
EOF
chmod +x "$work/start"
"$work/start"
export SFD_SOCKET=$work/run/sfd.sock
for _ in $(seq 100); do
	"$build/tools/sfctl" stats >/dev/null 2>&1 && break
	sleep 0.05
done
"$build/tools/sfctl" stats >/dev/null || {
	cat "$work/log" >&2
	exit 1
}
cat >"$work/upgrade" <<EOF
#!/usr/bin/env bash
exec "$build/tools/sfctl" upgrade >/dev/null
EOF
chmod +x "$work/upgrade"

echo "# upgrades"
"$build/bench/bench_restart" "$runs" "$work/upgrade"
echo "# SIGKILL and start"
"$build/bench/bench_restart" "$runs" "$work/start"
uptime
