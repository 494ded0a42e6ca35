#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sfctl top in a real terminal (tmux, with a server of its own): the page, keys, sizes, sfd that dies,
# comes back, is upgraded and stopped, and a terminal that is left as it was. And -b, without one.
# Environment: SFD_BIN, SFCTL_BIN.
. "$(dirname "$0")/../support/command_line.sh"
command -v tmux >/dev/null || {
	echo "SKIP top: there is no tmux: apt-get install tmux"
	exit 0
}
export LC_ALL=C.UTF-8 TMUX_TMPDIR=$work
unset NO_COLOR TMUX
takers=()
tmux() { command tmux -L top -f /dev/null "$@"; }
mkfifo "$work/never" && exec 5<>"$work/never"
nap() { read -rt "$1" -u 5; } # without a process
trap 'tmux kill-server 2>/dev/null
	[ ${#takers[@]} -eq 0 ] || { kill "${takers[@]}"; wait "${takers[@]}"; } 2>/dev/null
	[ -z "$sfd" ] || { kill -CONT $sfd; kill $sfd && wait $sfd; } 2>/dev/null; rm -rf "$work"' EXIT

# keep_running FD command...: again and again, with its input from there; a signal ends both
keep_running() {
	local from=$1 child
	shift
	trap 'kill $child; exit' TERM
	while :; do
		"$@" <&"$from" >/dev/null 2>&1 &
		child=$!
		wait $child
		nap 0.1
	done
}

screen() { tmux capture-pane -p >"$work/out"; }

# sees NAME REGEX: it is on the screen within 10 s
sees() {
	checks=$((checks + 1))
	for _ in $(seq 200); do
		screen
		grep -qE -- "$2" "$work/out" && return
		nap 0.05
	done
	: >"$work/err"
	fail "$1: no \"$2\" on the screen:"
	sed 's/^/     |/' "$work/out"
}

# lacks NAME REGEX: it is not on the screen, or not for much longer
lacks() {
	checks=$((checks + 1))
	for _ in $(seq 200); do
		screen
		grep -qE -- "$2" "$work/out" || return
		nap 0.05
	done
	: >"$work/err"
	fail "$1: \"$2\" is on the screen"
}

keys() { tmux send-keys "$@"; }
line() { tmux send-keys -l "$1" && tmux send-keys Enter; }

# ended NAME: the process $top has ended
ended() {
	checks=$((checks + 1))
	for _ in $(seq 200); do
		kill -0 "$top" 2>/dev/null || return
		nap 0.05
	done
	fail "$1: process $top is still there"
}

# start_top [ARGUMENT...]: in the shell of the terminal; sets $top
start_top() {
	line "$SFCTL_BIN top -d 0.2 $*; echo \"code \$?\""
	sees start 'sfctl top - [0-9:]{8} '
	top=$(pgrep -P "$(tmux display-message -p '#{pane_pid}')" -x sfctl | tail -n 1)
}

stty_now() {
	: >"$work/stty"
	line "stty -g >'$work/stty'"
	for _ in $(seq 100); do
		[ -s "$work/stty" ] && break
		nap 0.05
	done
	cat "$work/stty"
}

cat >"$work/conf" <<END
[stream default]
layout = t41 n10 s12 epoch=1577836800000
machine_id = 864
[stream orders]
format = ulid
END
chmod 644 "$work/conf"
start_sfd -c "$work/conf"
# Clients that take an ID now and then, and begin again if sfd is away for too long. One would like to
# write on the terminal: its name is the link's.
evil=$work/$'e\e[7mvil'
ln -s "$SFCTL_BIN" "$evil"
mkfifo "$work/default" "$work/orders"
exec 3<>"$work/default" 4<>"$work/orders"
keep_running 3 "$evil" stamp &
takers+=($!)
keep_running 4 "$SFCTL_BIN" --stream orders stamp &
takers+=($!)
while echo '{}' >&3 && echo '{}' >&4; do nap 0.05; done &
takers+=($!)
for _ in $(seq 200); do
	[ "$("$SFCTL_BIN" stats --json | jq '[.streams[].attached_clients | length] | add')" -eq 2 ] && break
	nap 0.05
done
# what a row of each looks like, of one that has taken IDs
rate=' [0-9.]+[kM]? +[0-9.]+% '
evil_row="^ *[0-9]+ .* default .*$rate.* e\\?\\[7mvil$"
orders_row="^ *[0-9]+ .* orders .*$rate.* sfctl$"

# ---- pages of text ----
in=/dev/null
expect 0 batch 'STREAM ' -- top -b -n 2 -d 0.3
holds batch_has_two_pages [ "$(grep -c '^sfctl top - ' "$work/out")" -eq 2 ]
holds batch_has_less_than_80_columns [ "$(wc -L <"$work/out")" -lt 80 ]
holds batch_lists_the_clients [ "$(grep -cE "$evil_row|$orders_row" "$work/out")" -eq 4 ]
holds batch_lets_no_control_through [ "$(tr -d '\n[:print:]▁▂▃▄▅▆▇█' <"$work/out" | wc -c)" -eq 0 ]
holds batch_shows_the_name_that_is_left grep -qF 'e?[7mvil' "$work/out"
expect 0 batch_of_one_stream 'orders' -- top -b -n 1 -d 0.1 --stream orders
holds batch_of_one_stream_has_no_other [ "$(grep -c '^default' "$work/out")" -eq 0 ]
LC_ALL=C expect 0 batch_ascii '' -- top -b -n 1 -d 0.1
holds batch_in_c_is_ascii [ "$(LC_ALL=C tr -d '\n -~' <"$work/out" | wc -c)" -eq 0 ]
expect 1 batch_of_no_such_stream other -- top -b -n 1 --stream other
expect 1 batch_without_sfd 'start sfd' -- top -b -n 1 --socket "$work/none"
expect 1 no_terminal 'stdin is no terminal: run it in one, or use -b' -- top
expect 2 refuses_delay '0.1 to 3600' -- top -d 0
expect 2 refuses_looks 'from 1' -- top -n 0
expect 2 refuses_json --json -- top -b --json
expect 2 refuses_arguments 'one argument too many' -- top now
expect 0 help Examples -- top --help
holds help_has_80_columns [ "$(awk 'length > 80' "$work/out" | wc -l)" -eq 0 ]
# shellcheck disable=SC2016 # the inner shell's
holds full_disk_is_told bash -c '"$SFCTL_BIN" top -b -n 1 -d 0.1 >/dev/full; [ $? -eq 1 ]'

# ---- terminals that are none ----
tmux new-session -d -x 80 -y 24 "exec env PS1='shell> ' SFD_SOCKET='$SFD_SOCKET' bash --norc --noprofile"
sees shell '^shell>'
before=$(stty_now)
line "TERM=nonsense $SFCTL_BIN top; echo \"code \$?\""
sees term_unknown 'TERM=nonsense is a terminal that nothing is known of: set TERM'
sees term_unknown_code 'code 1'
line "clear; TERM=dumb $SFCTL_BIN top"
sees term_dumb 'TERM=dumb is a terminal without a movable cursor'
line "clear; env -u TERM $SFCTL_BIN top"
sees term_unset 'TERM is not set'
line "clear; $SFCTL_BIN top --socket '$work/none'; echo \"code \$?\""
sees sfd_unknown 'no sfd listens at '
sees sfd_unknown_code 'code 1'
line "clear; $SFCTL_BIN top >/dev/null"
sees stdout_is_none 'stdout is no terminal'

# ---- the page ----
line 'clear; echo what was there'
start_top
sees streams '^default +running .*[▁▂▃▄▅▆▇█]{3} '
sees beat '^STREAM .* USED RUNWAY'
sees clients "$evil_row"
sees clock '^Clock: .*; in IDs of '
lacks shell_is_hidden 'what was there'
checks=$((checks + 1))
tmux capture-pane -pe >"$work/out"
grep -q $'\e\\[[0-9;]*3[0-7]m' "$work/out" || fail "the page has no colours"
grep -q $'\e\\[7mvil' "$work/out" && fail "a client's name got through"

# ---- keys ----
keys h
sees help_page 'Keys of sfctl top'
keys q
sees help_is_left '^STREAM '
keys N
sees sort_by_pid 'by pid'
keys R
sees reversed 'by pid reversed'
keys P r
sees sort_by_rate 'by rate$'
keys u
sees asks_for_a_user 'Only clients of user .*: _'
keys -l nobody-here
keys Enter
lacks other_users ' default .*mvil$'
keys =
sees all_users "$evil_row"
keys d
keys -l 0.3
keys Enter
sees delay 'every 0.3s'
keys F7
sees unknown_key 'that key does nothing'
keys Down Up PageDown PageUp Home End Tab C-l
sees scrolled '^STREAM '

# ---- sizes ----
tmux resize-window -x 140 -y 40
sees wide 'LATEST .*CLIENTS'
tmux resize-window -x 40 -y 8
lacks narrow 'RUNWAY BEATS'
sees narrow_has_clients '^ +PID +IDs/s'
tmux resize-window -x 30 -y 5
sees too_small '30x5: sfctl top needs 40x8'
tmux resize-window -x 80 -y 24
sees size_of_before '^ +PID USER .* COMMAND'

# ---- sfd ----
"$SFCTL_BIN" upgrade >/dev/null 2>"$work/err" || fail "upgrade"
sees upgraded 'up [0-9]s'
lacks upgrade_is_no_absence 'sfd is away'
sees client_after_upgrade "$evil_row"
kill -STOP $sfd
sees owes_an_answer 'sfd owes an answer for '
kill -CONT $sfd
lacks answered 'sfd owes an answer'
kill -KILL $sfd
wait $sfd 2>/dev/null
sees away 'sfd is away since [0-9:]{8} \([0-9.a-z]+\): '
sees away_says_why 'no sfd listens at'
sees last_figures "$evil_row"
rm -f "$SFD_SOCKET"
start_sfd -c "$work/conf"
sees back 'sfd is back, after [0-9.]+m?s'
sees client_after_restart "$evil_row"
checks=$((checks + 1))
screen
grep -qE ' -[0-9.]+[kMG%]? ' "$work/out" && fail "a negative number"

# ---- leaving ----
keys C-z
sees suspended 'Stopped'
sees shell_of_before 'what was there'
holds terminal_is_as_before_while_stopped [ "$(stty_now)" = "$before" ]
line fg
sees goes_on '^STREAM '
kill -STOP "$top" # by somebody else: the shell takes the terminal
sees stopped '\[1\]\+ +Stopped'
line fg
sees goes_on_again '^STREAM '
keys q
ended quit
line 'echo "left $?"'
sees quit 'left 0'
sees shell_is_back 'what was there'
holds terminal_is_as_before [ "$(stty_now)" = "$before" ]
line clear
start_top
keys C-c
ended interrupted
sees shell_after_interrupt '^shell>'
holds terminal_is_as_before_interrupt [ "$(stty_now)" = "$before" ]
line clear
start_top
kill -TERM "$top"
sees terminated 'Terminated'
holds terminal_is_as_before_term [ "$(stty_now)" = "$before" ]
line 'clear; export NO_COLOR=1'
start_top -n 1000
checks=$((checks + 1))
tmux capture-pane -pe >"$work/out"
grep -q $'\e\\[[0-9;]*[34][0-7]m' "$work/out" && fail "NO_COLOR has colours"
kill -STOP $sfd # nobody who waits for sfd may keep q waiting
sees owes_again 'sfd owes an answer for '
keys q
sees quit_while_awaiting 'code 0'
kill -CONT $sfd
line "clear; $SFCTL_BIN top -n 2 -d 0.1; echo \"code \$?\""
sees ends_by_itself 'code 0'
start_top
tmux kill-server
ended terminal_is_gone

finish
