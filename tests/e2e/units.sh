#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The files that make sfd a host service, judged by systemd's own tools; no manager runs.
# Environment: SFD_BIN, SFD_UNITS (where sfd.service was configured), SFD_UNITS_SOURCE.
set -uo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0
failures=0
root=$work/root

# holds NAME command...
holds() {
	local name=$1
	shift
	checks=$((checks + 1))
	"$@" >"$work/out" 2>&1 && return
	failures=$((failures + 1))
	echo "units.sh:F: $name: $(head -n 3 "$work/out")"
}
silent() { [ -z "$("$@" 2>&1 | tee /dev/stderr)" ]; }

sed "s|^ExecStart=[^ ]*|ExecStart=$SFD_BIN|" "$SFD_UNITS/sfd.service" >"$work/sfd.service"
cp "$SFD_UNITS_SOURCE/sfd.socket" "$work"
holds units_are_correct silent systemd-analyze verify --man=no "$work/sfd.service" "$work/sfd.socket"
holds exposure_is_at_most_2 systemd-analyze security --no-pager --offline=true --threshold=20 \
	"$work/sfd.service"
holds starts_after_time_sync_fc18 grep -qx 'After=.*\btime-sync.target' "$work/sfd.service"
holds example_configuration_is_valid "$SFD_BIN" -c "$SFD_UNITS_SOURCE/sfd.conf" \
	--runtime-dir "$work/run" --state-dir "$work/state" --check-config

# A fresh root: user and directories are made, and nothing takes the state away again.
prepare() {
	mkdir -p "$root/etc" "$root/run/lock" "$root/var/lib" "$root/usr/lib/sysusers.d" \
		"$root/usr/lib/tmpfiles.d" &&
		cp "$SFD_UNITS_SOURCE/sysusers.conf" "$root/usr/lib/sysusers.d/sfd.conf" &&
		cp "$SFD_UNITS_SOURCE/tmpfiles.conf" "$root/usr/lib/tmpfiles.d/sfd.conf"
}
is() { # path mode
	[ "$(stat -c '%a %u' "$root$1")" = "$2 $uid" ] || {
		stat -c '%n %a %u' "$root$1"
		return 1
	}
}
tmpfiles() { systemd-tmpfiles --root="$root" "$@"; }
survive() {
	tmpfiles "$@" && [ "$(cat "$root/var/lib/sfd/default.mark")" = mark ] &&
		[ "$(cat "$root/run/sfd/default.run")" = run ]
}
if [ "$(id -u)" -eq 0 ]; then
	holds a_fresh_root_is_made prepare
	holds the_user_is_made systemd-sysusers --root="$root"
	uid=$(awk -F: '$1 == "sfd" {print $3}' "$root/etc/passwd")
	holds the_directories_are_made_fc82 tmpfiles --create
	holds the_runtime_directory_lets_clients_in_fc82 is /run/sfd 755
	holds the_state_directory_is_private_fc82 is /var/lib/sfd 700
	holds the_lock_file_is_for_all_and_roots \
		[ "$(stat -c '%a %u' "$root/run/lock/sfd.nodes")" = "666 0" ]
	echo mark >"$root/var/lib/sfd/default.mark"
	echo run >"$root/run/sfd/default.run"
	# older than any age
	touch -d '2001-01-01' "$root/var/lib/sfd/default.mark" "$root/run/sfd/default.run" \
		"$root/var/lib/sfd" "$root/run/sfd"
	for action in --clean --remove --create '--create --remove --clean --boot'; do
		# shellcheck disable=SC2086
		holds "state_survives_tmpfiles_${action// /_}_fc82" survive $action
	done
else
	echo "SKIP directories_fc82: systemd-tmpfiles needs root to give files to the user sfd"
fi

echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ $failures -eq 0 ]
