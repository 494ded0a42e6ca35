#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sfd and its clients in containers: as PID 1, in other namespaces with only the socket in common,
# without /dev/shm, and with a socket that another program has opened.
# Environment: SFD_BIN, SFCTL_BIN.
. "$(dirname "$0")/../support/command_line.sh"
# The leak check is a debugger, which cannot be PID 1.
export ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}

# soon command...: within 10 s
soon() {
	for _ in $(seq 200); do
		"$@" && return
		sleep 0.05
	done
	return 1
}
if ! unshare --mount --pid --fork --user --map-root-user true 2>/dev/null || [ "$(id -u)" -ne 0 ]; then
	echo "SKIP containers: namespaces are not permitted here"
	echo "100%: Checks: 0, Failures: 0, Errors: 0"
	exit 0
fi
chmod 755 "$work" # for other users
cat >"$work/sfd.conf" <<'CONF'
[stream default]
layout = t41 n10 s10 epoch=1288834974657
machine_id = 151
allow = *
CONF

# ---- PID 1, no /dev/shm ----
# Its orphan is a process whose parent has ended.
cat >"$work/container" <<'CONTAINER'
mount --make-rprivate /
mount -t tmpfs -o ro tmpfs /dev/shm
(sleep 0.5 &)
exec "$SFD_BIN" -c "$1/sfd.conf" --runtime-dir "$1/run" --state-dir "$1/state"
CONTAINER
unshare --mount --pid --fork --mount-proc --kill-child sh "$work/container" "$work" 2>"$work/sfd.log" &
container=$!
export SFD_SOCKET=$work/run/sfd.sock
soon test -S "$SFD_SOCKET"
sfd=$(pgrep -P $container)
holds is_pid_1 grep -qE '^NSpid:.*[[:space:]]1$' "/proc/$sfd/status"
holds gives_ids_without_dev_shm "$SFCTL_BIN" next -n 1000
childless() { ! pgrep -P "$sfd" >/dev/null; }
holds reaps_orphans soon childless

# ---- clients in other containers ----
# in_another_container arguments of sfctl: nothing in common but the directory of the socket
in_another_container() {
	mkdir -p "$work/mounted" && unshare --mount --pid --fork --mount-proc --user --map-root-user \
		--ipc --net --uts --cgroup --time --monotonic 86400 sh -c '
		mount --bind "$1/run" "$1/mounted" && mount -t tmpfs -o ro tmpfs /dev/shm && shift &&
			exec "$@"' sh "$work" "$SFCTL_BIN" --socket "$work/mounted/sfd.sock" "$@"
}
holds client_in_another_container in_another_container next -n 1000
other_user() {
	setpriv --reuid=daemon --regid=daemon --clear-groups \
		unshare --user --map-root-user --mount --pid --fork --ipc --net --uts \
		"$SFCTL_BIN" next -n 10
}
if setpriv --reuid=daemon --regid=daemon --clear-groups unshare --user true 2>/dev/null &&
	setpriv --reuid=daemon --regid=daemon --clear-groups test -x "$SFCTL_BIN"; then
	holds client_of_another_user_in_another_container other_user
else
	echo "SKIP client_of_another_user: it may make no namespaces here, or not run sfctl"
fi
# Order holds between containers, whatever their clocks show.
{
	"$SFCTL_BIN" next --ordered
	in_another_container next --ordered
	"$SFCTL_BIN" next --ordered
} >"$work/in_order" 2>"$work/err"
holds order_between_containers sort -nuc "$work/in_order"
holds order_saw_three [ "$(wc -l <"$work/in_order")" -eq 3 ]
holds time_is_the_hosts [ "$(($(date +%s%3N) - $(sed -n 2p "$work/in_order" |
	"$SFCTL_BIN" decode --json | jq -r '.[0].unix_ms') < 60000))" -eq 1 ]
in_another_container bench --ids 100000 --verify >"$work/verified" 2>&1
holds bench_in_another_container grep -qE 'duplicates +0$' "$work/verified"

# ---- stopping, and clients that live on ----
in_another_container next -n 2000000 --timeout-ms 10000 >"$work/ids" 2>"$work/err" &
taker=$!
soon test -s "$work/ids"
kill -TERM "$sfd"
wait $container
holds stops_cleanly_as_pid_1 [ $? -eq 0 ]
holds socket_is_removed [ ! -e "$SFD_SOCKET" ]
# another one, in a container of its own
unshare --mount --pid --fork --mount-proc --kill-child sh "$work/container" "$work" 2>>"$work/sfd.log" &
container=$!
holds client_moves_over_between_containers_fc83 wait $taker
holds client_got_every_id_once [ "$(sort -nu "$work/ids" | wc -l)" -eq 2000000 ]

# ---- two in one place ----
before=$(stat -c %i "$SFD_SOCKET")
"$SFD_BIN" --machine-id 152 --runtime-dir "$work/run" --state-dir "$work/state2" >"$work/out" 2>&1
holds second_one_is_refused_fc83 [ $? -eq 1 ]
holds refusal_leaves_the_first_alone_fc83 [ "$(stat -c %i "$SFD_SOCKET")" = "$before" ]
# The directory is moved away, and another sfd takes its place.
mv "$work/run" "$work/moved"
"$SFD_BIN" --machine-id 152 --runtime-dir "$work/run" --state-dir "$work/state2" 2>>"$work/sfd.log" &
sfd=$!
soon test -S "$SFD_SOCKET"
kill "$(pgrep -P $container)"
wait $container
holds stopping_one_leaves_the_other_alone_fc83 "$SFCTL_BIN" next

# ---- a socket that another program has opened ----
if command -v systemd-socket-activate >/dev/null; then
	kill "$sfd" && wait "$sfd"
	systemd-socket-activate --seqpacket -l "$SFD_SOCKET" "$SFD_BIN" --machine-id 152 \
		--runtime-dir "$work/run" --state-dir "$work/state2" 2>>"$work/sfd.log" &
	sfd=$!
	soon test -S "$SFD_SOCKET"
	holds passed_in_socket_gives_ids_fc84 "$SFCTL_BIN" next
	kill "$sfd" && wait "$sfd"
	sfd=
	holds passed_in_socket_is_not_unlinked_fc84 test -S "$SFD_SOCKET"
fi
finish
