#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Nothing of the host becomes a machine id: no address, no name, no default. Environment: SFD_BIN.
set -uo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0
failures=0

# refuses NAME command...: exit code 2, a sentence that says what to set, and nothing left behind
refuses() {
	local name=$1 got
	shift
	checks=$((checks + 1))
	timeout 10 "$@" --runtime-dir "$work/run" --state-dir "$work/state" >"$work/out" 2>&1
	got=$?
	if [ $got -ne 2 ] || ! grep -q 'machine.id' "$work/out" || [ -e "$work/run/sfd.sock" ]; then
		failures=$((failures + 1))
		echo "identity.sh:F: $name: exit code $got: $(head -n 1 "$work/out")"
	fi
}

refuses start_without_a_machine_id_fc08 "$SFD_BIN"
refuses start_with_an_empty_machine_id_fc08 "$SFD_BIN" --machine-id ''
refuses start_with_a_misspelt_option_fc08 "$SFD_BIN" --machine-idd 1
if unshare -n true 2>/dev/null; then
	# two hosts whose addresses agree in the bits that others take for an id: none, here
	for host in one other; do
		refuses "start_on_the_${host}_of_two_hosts_with_like_addresses_fc07" unshare -n "$SFD_BIN"
	done
else
	echo "SKIP start_on_one_of_two_hosts_fc07: network namespaces need root"
fi

echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ $failures -eq 0 ]
