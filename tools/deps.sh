#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages that building, testing or benchmarking needs and that are missing.
# usage: bash tools/deps.sh build|test|bench|peers
set -euo pipefail

build=(gcc libc6-dev meson ninja-build pkg-config
	liburing-dev libinih-dev libseccomp-dev libsystemd-dev zlib1g-dev
	libjansson-dev libyajl-dev libsodium-dev uuid-dev libsqlite3-dev libcsv-dev
	libncurses-dev libmicrohttpd-dev clang bpftool libbpf-dev libelf-dev systemtap-sdt-dev)
test=("${build[@]}" g++ clang-format clang-tidy libclang-rt-14-dev llvm
	binutils bpftrace check gcovr git jq procps spin strace systemd libhiredis-dev libpq-dev
	curl prometheus python3-prometheus-client tmux)
bench=("${build[@]}" hyperfine jq git)
peers=("${bench[@]}" strace python3 uuid-runtime redis-server postgresql libhiredis-dev libpq-dev
	librust-uuid-dev golang-github-{google-,gofrs-,rogpeppe-fast}uuid-dev
	golang-github-oklog-ulid-dev golang-github-rs-xid-dev golang-github-segmentio-ksuid-dev)
# tools that often come from elsewhere
command -v npm >/dev/null || peers+=(nodejs npm)
command -v go >/dev/null || peers+=(golang-go)
command -v cargo >/dev/null || peers+=(cargo)

case "${1:-}" in
build) wanted=("${build[@]}") ;;
test) wanted=("${test[@]}") ;;
bench) wanted=("${bench[@]}") ;;
peers) wanted=("${peers[@]}") ;;
*)
	echo "usage: bash tools/deps.sh build|test|bench|peers" >&2
	exit 2
	;;
esac

missing=()
for package in "${wanted[@]}"; do
	dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
		missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
	command -v sudo >/dev/null || {
		echo "missing packages: ${missing[*]}; run as root: apt-get install ${missing[*]}" >&2
		exit 1
	}
	root=(sudo)
fi
echo "installing: ${missing[*]}"
"${root[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -qq --no-install-recommends \
	"${missing[@]}" >/dev/null
# tests start a Prometheus of their own: Debian's, which would serve all networks, is not wanted
if [[ " ${missing[*]} " = *" prometheus "* ]] && [ -d /run/systemd/system ]; then
	"${root[@]}" systemctl --quiet disable --now prometheus
fi
