#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sfd as a service of a real systemd, booted for this test: its units, restarts under load, the
# watchdog, socket activation, and every feature behind the unit's restrictions.
# Environment: SFD_BIN, SFCTL_BIN, HANG_BIN, SFD_UNITS, SFD_UNITS_SOURCE.
set -uo pipefail
. "$(dirname "$0")/../support/boot.sh"
work=$(mktemp -d /tmp/sfd-systemd.XXXXXX)
trap 'power_off "$work"; rm -rf "$work"' EXIT
checks=0
failures=0

# holds NAME command...
holds() {
	local name=$1
	shift
	checks=$((checks + 1))
	"$@" >"$work/out" 2>&1 && return
	failures=$((failures + 1))
	echo "systemd.sh:F: $name: $(head -n 3 "$work/out")"
}
# soon command...: within 10 s
soon() {
	for _ in $(seq 100); do
		"$@" && return
		sleep 0.1
	done
	return 1
}
skip() {
	echo "SKIP systemd: $*"
	echo "100%: Checks: 0, Failures: 0, Errors: 0"
	exit 0
}

# ---- the host ----
[ "$(id -u)" -eq 0 ] || skip "needs root"
command -v systemd-run >/dev/null || skip "no systemd here"
put() { # file directory-of-the-host [name]
	mkdir -p "$work/files$2" && cp -L "$1" "$work/files$2/${3:-}"
}
put "$SFD_BIN" /usr/local/sbin sfd
put "$SFCTL_BIN" /usr/local/bin sfctl
put "$HANG_BIN" /usr/local/bin hang_thread
for library in $(ldd "$SFCTL_BIN" | awk '$1 ~ /^libsf/ {print $3}'); do
	put "$library" /usr/local/lib
done
put "$SFD_UNITS/sfd.service" /usr/local/lib/systemd/system
put "$SFD_UNITS_SOURCE/sfd.socket" /usr/local/lib/systemd/system
put "$SFD_UNITS_SOURCE/sysusers.conf" /usr/local/lib/sysusers.d sfd.conf
put "$SFD_UNITS_SOURCE/tmpfiles.conf" /usr/local/lib/tmpfiles.d sfd.conf
sed -i 's|^ExecStart=[^ ]*|ExecStart=/usr/local/sbin/sfd|' \
	"$work/files/usr/local/lib/systemd/system/sfd.service"
mkdir -p "$work/files/etc/sfd"
cat >"$work/files/etc/sfd/sfd.conf" <<'CONF'
[stream default]
layout = t41 n10 s9 epoch=1704067200000
machine_id = 150
allow = *
[stream hardware]
format = hound
machine_id = hardware
allow = @daemon
[stream documents]
format = ulid
CONF
boot "$work" || skip "no systemd can be booted here: $(tail -n 1 "$work/boot.log")"
sfctl() { host env LD_LIBRARY_PATH=/usr/local/lib sfctl "$@"; }
# not nobody: the number that users have where they are unknown
as_other() { # sfctl's arguments
	host setpriv --reuid=daemon --regid=daemon --clear-groups \
		env LD_LIBRARY_PATH=/usr/local/lib sfctl "$@"
}
show() { host systemctl show -P "$1" sfd; }
is() { # property value
	[ "$(show "$1")" = "$2" ] || {
		echo "$1=$(show "$1")"
		return 1
	}
}
journal() { host journalctl -q -u sfd -o cat "$@"; }

holds user_and_directories_are_made host sh -c 'systemd-sysusers && systemd-tmpfiles --create sfd.conf'
# as a unit that has no directory yet
host rm -rf /var/lib/sfd /run/sfd
finish() {
	echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
	[ $failures -eq 0 ]
	exit
}
holds starts host systemctl start sfd
[ $failures -eq 0 ] || {
	journal -n 20
	finish
}
holds makes_its_directories_fc82 [ "$(host stat -c '%U %a' /var/lib/sfd /run/sfd | paste -s)" = \
	$'sfd 700\tsfd 755' ]
holds says_what_it_serves is StatusText "Serving 3 streams in /run/sfd"

# ---- every feature under the unit's restrictions ----
field() { host sed -n "s/^$1:[[:space:]]*//p" "/proc/$(show MainPID)/status" | cut -f1; }
holds runs_unprivileged [ "$(field Uid) $(field CapEff) $(field NoNewPrivs)" = \
	"$(host id -u sfd) 0000000000000000 1" ]
# of the clock it may say what is true of this host
holds nothing_was_refused_it_fc81 [ -z "$(journal -p warning | grep -v clock)" ]
clock_is_told() { sfctl stats --json | jq -e '.streams[0].counters.clock_sync != 0'; }
holds kernel_tells_of_its_clock_fc81 clock_is_told
holds root_takes_ids_fc81 sfctl next -n 3
holds others_take_ids_fc81 as_other next -n 3
holds wide_ids_come_fc81 sfctl --stream documents next
holds access_list_by_group_holds_fc81 as_other --stream hardware next
refused() {
	! as_other --stream documents next >"$work/refused" 2>&1 && grep documents "$work/refused"
}
holds access_list_keeps_out_fc81 refused
address=$(cat /sys/class/net/*/address | grep -cv 00:00:00:00:00:00)
if [ "$address" -gt 0 ]; then
	holds hardware_address_is_seen_fc81 grep -vq '0x[0-9a-f][13579bdf]' \
		<(journal | grep 'format hound')
fi
holds modes_agree_fc81 sfctl bench --mode ordered --ids 5000 --verify
client_is_named() {
	host env LD_LIBRARY_PATH=/usr/local/lib sh -c '
		setpriv --reuid=daemon --regid=daemon --clear-groups sfctl next -n 1000000000 >/dev/null &
		named=1
		for i in $(seq 50); do
			sfctl stats --json | jq -e "any(.streams[0].attached_clients[];
				.command == \"sfctl\" and .uid == 1)" && named=0 && break
			sleep 0.1
		done
		kill $!
		exit $named'
}
holds clients_are_named_fc81 client_is_named
# by the manager's own words, not ours
priorities() {
	host journalctl -q -u sfd -o json | jq -se 'map(select(._COMM == "sfd")) |
		any(.PRIORITY == "6") and all((.PRIORITY == "6" or .PRIORITY == "4") and
			(.MESSAGE | startswith("<") or startswith("sfd:") | not))'
}
holds log_has_priorities priorities

# ---- restarts under load ----
# load NAME SECONDS command...: while it happens, two processes take IDs, and none comes twice
load() {
	local name=$1 ids=$(($2 * 256000)) bench
	shift 2
	sfctl bench --processes 2 --ids $ids --verify >"$work/bench" 2>&1 &
	bench=$!
	soon beating
	holds "${name}_it_happens" "$@"
	holds "$name" wait "$bench"
	holds "${name}_without_duplicates" grep -qE 'duplicates +0$' "$work/bench"
}
beating() { sfctl stats --json 2>/dev/null | jq -e '.streams[0].counters.beating == 1' >/dev/null; }
changed() { [ "$(show MainPID)" != "$main" ] && [ "$(show MainPID)" != 0 ] && is ActiveState active; }
started_anew() {
	main=$(show MainPID)
	"$@" && soon changed
}
kill_main() { host systemctl kill --kill-whom=main -s KILL sfd; }
hang() { # thread
	host hang_thread "$(show MainPID)" "$1" >/dev/null &
}
hang_beat() { hang sfd-beat; }
hang_main() { hang sfd; }
load restart_while_clients_take_fc83 2 started_anew host systemctl restart sfd
holds descriptors_are_kept_over_a_restart [ "$(show NFileDescriptorStore)" -ge 9 ]
reload() {
	main=$(show MainPID)
	host sh -c 'echo "[stream added]
format = uuid7" >>/etc/sfd/sfd.conf; systemctl reload sfd' && soon added && is MainPID "$main"
}
added() { sfctl --stream added next; }
load reload_while_clients_take 2 reload
holds reload_adds_a_stream added
refused_reload() {
	host sh -c 'sed -i "s/^layout = .*/layout = twitter/" /etc/sfd/sfd.conf; systemctl reload sfd'
	soon layout_is_refused
	local status=$?
	host sed -i "s/^layout = .*/layout = t41 n10 s9 epoch=1704067200000/" /etc/sfd/sfd.conf
	return $status
}
layout_is_refused() {
	grep -q 'layout cannot change' <(journal)
}
holds reload_refuses_what_would_break_ids refused_reload
kept() { # count
	[ "$(show NFileDescriptorStore)" -eq "$1" ]
}
reload_without() {
	local kept=$(show NFileDescriptorStore)
	host sh -c 'cp /etc/sfd/sfd.conf /etc/sfd/with.conf &&
		sed -i "/^\[stream added\]/,+1d" /etc/sfd/sfd.conf; systemctl reload sfd' &&
		soon kept $((kept - 3)) &&
		host sh -c 'mv /etc/sfd/with.conf /etc/sfd/sfd.conf; systemctl reload sfd' &&
		soon kept "$kept"
}
holds descriptors_of_a_stream_that_is_gone_are_let_go reload_without
holds status_after_reloads is StatusText "Serving 4 streams in /run/sfd"
load killed_while_clients_take 2 started_anew kill_main
load beat_thread_hangs_while_clients_take 5 started_anew hang_beat
load control_loop_hangs_while_clients_take 5 started_anew hang_main
holds watchdog_saw_both [ "$(journal | grep -c 'Watchdog timeout')" -eq 2 ]
holds restarted_three_times is NRestarts 3
holds idle_for_longer_than_the_watchdog sleep 2.5
holds is_left_alone_while_idle is NRestarts 3

# ---- what an operator does ----
holds stops host systemctl stop sfd
holds stop_is_clean is Result success
holds marks_survive_a_stop_fc82 host test -s /var/lib/sfd/default.mark
holds starts_after_a_stop host systemctl start sfd
host systemctl stop sfd
host sh -c 'echo nonsense >>/etc/sfd/sfd.conf'
fails() { ! host systemctl start sfd; }
holds wrong_configuration_fails fails
holds wrong_configuration_is_not_tried_again is NRestarts 0
host sed -i '/^nonsense$/d' /etc/sfd/sfd.conf
host systemctl reset-failed sfd

# The limit that allows real time cannot be raised everywhere; with the capability it is the
# filter's say. And the same filter as a container's, which knows no io_uring.
dropin() { # lines
	host sh -c 'mkdir -p "$0" && { echo "[Service]"; printf "$1"; } >"$0/test.conf" &&
		systemctl daemon-reload' /run/systemd/system/sfd.service.d "$1"
}
dropin 'CapabilityBoundingSet=CAP_SYS_NICE\nAmbientCapabilities=CAP_SYS_NICE\nSystemCallFilter=~@aio\n'
holds starts_without_io_uring_fc81 host systemctl start sfd
holds beat_may_be_real_time_fc81 grep -q SCHED_FIFO <(host chrt -a -p "$(show MainPID)")
holds refusal_of_io_uring_is_named_fc81 grep -q 'io_uring.*seccomp' <(journal -p warning)
holds gives_ids_without_io_uring_fc81 sfctl next -n 1000
host sh -c 'systemctl stop sfd && rm -r /run/systemd/system/sfd.service.d && systemctl daemon-reload'

# ---- the socket unit ----
inode() { host stat -c %i /run/sfd/sfd.sock; }
holds socket_starts host systemctl start sfd.socket
socket=$(inode)
holds a_client_starts_sfd sfctl next
holds it_runs is ActiveState active
load socket_restart_while_clients_take_fc83 2 started_anew host systemctl restart sfd
holds socket_survives_a_restart_fc83 [ "$(inode)" = "$socket" ]
holds sfd_stops_alone host systemctl stop sfd
holds passed_in_socket_is_not_unlinked_fc84 [ "$(inode)" = "$socket" ]
holds the_next_client_starts_it_again sfctl next
host systemctl stop sfd.socket sfd
# without the socket unit the path is free again
holds starts_with_its_own_socket host systemctl start sfd
holds takes_ids_on_its_own_socket sfctl next

finish
