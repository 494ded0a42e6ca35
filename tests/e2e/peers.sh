#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# bench/peers.sh without its servers: the counter of duplicates finds those that are planted; the
# measuring finds those that two processes and a fork make, and none of sfd; a worker that fails is
# left out; the report and its tables come out of that. No test depends on a speed.
# Environment: SFD_BIN, SFCTL_BIN, PEERS (the folder of the workers).
. "$(dirname "$0")/../support/command_line.sh"
bench=$(readlink -f "$(dirname "$0")/../../bench")
export PYTHONDONTWRITEBYTECODE=1

# ---- the command line ----
says() { # CODE ARGUMENT...: exits with CODE and says how it is used
	local got=0
	bash "$bench/peers.sh" "${@:2}" >"$work/out" 2>&1 || got=$?
	[ $got -eq "$1" ] && grep -q '^usage: bash bench/peers.sh' "$work/out"
}
holds help_says_usage says 0 --help
holds unknown_option_is_refused says 2 --fast
holds rounds_must_be_a_number says 2 --rounds many
holds rounds_must_be_positive says 2 --rounds 0
holds one_build_folder says 2 a b

# ---- planted duplicates ----
record() { printf '%-32s' "$1"; } # an ID of 32 bytes
many() { for i in $(seq "$1" "$2"); do record "$i"; done; }
many 1 1000 >"$work/a"
many 1001 2000 >"$work/b"
{
	many 2001 2100
	record 7      # of a
	record 1500   # of b
	record 2050   # of itself
	record 2050
} >"$work/c"
printf '%031d%b' 0 '\001\0' | head -c 32 >"$work/last" # all but the last byte is the same
printf '%031d%b' 0 '\002\0' | head -c 32 >>"$work/last"
counts() { [ "$("$PEERS/duplicates" "${@:2}")" = "$1" ]; }
holds no_duplicate_in_one counts '{"ids":1000,"duplicates":0}' "$work/a"
holds no_duplicate_in_two counts '{"ids":2000,"duplicates":0}' "$work/a" "$work/b"
holds twice_in_one_file counts '{"ids":104,"duplicates":2}' "$work/c"
holds planted_are_found counts '{"ids":2104,"duplicates":4}' "$work/a" "$work/b" "$work/c"
holds every_id_twice counts '{"ids":2000,"duplicates":1000}' "$work/a" "$work/a"
holds last_byte_counts counts '{"ids":2,"duplicates":0}' "$work/last"
holds nothing_in_nothing counts '{"ids":0,"duplicates":0}' /dev/null
refuses() { # CODE ARGUMENT...
	local got=0
	"$PEERS/duplicates" "${@:2}" >"$work/out" 2>&1 || got=$?
	[ $got -eq "$1" ]
}
head -c 33 "$work/a" >"$work/torn"
holds torn_record_is_refused refuses 1 "$work/torn"
holds missing_file_is_refused refuses 1 "$work/none"
holds no_file_is_refused refuses 2

# ---- measuring ----
start_sfd --machine-id 1015 --layout 't41 n10 s12'
row() { # NAME COMMAND...
	jq -nc --arg name "$1" --arg word "$work/word" --arg socket "$SFD_SOCKET" --argjson server "$sfd" \
		'{name: $name, kind: "own", safe_by: "the host", version: "", layout: "", cap: "",
			fork: null, server: $server, link: null, command: $ARGS.positional,
			env: {PEERS_WORD: $word, SFD_SOCKET: $socket}}' --args "${@:2}"
}
{
	row 'sf_next inline' "$PEERS/peer_sfd" next
	row 'Snowflake, own' "$PEERS/peer_words" own
	row ranges "$PEERS/peer_words" ranges
	row random "$PEERS/peer_libuuid" random
	row unknown "$PEERS/peer_words" unknown
	row missing "$PEERS/missing" way
} >"$work/manifest"
holds measures eval 'python3 "$bench/peers/measure.py" "$work/manifest" --rounds 2 --window-ms 10 \
	--duplicates "$PEERS/duplicates" --collect-ms 200 --collect-ids 400000 >"$work/measured"'
is() { jq -e "$1" "$work/measured"; }
holds four_are_measured is '[.peers[].name] == ["sf_next inline", "Snowflake, own", "ranges", "random"]'
holds two_are_left_out is '[.left_out[].name] == ["unknown", "missing"]'
holds reason_is_given is '.left_out[1].reason | test("No such file")'
holds all_rounds_are_there is '[.peers[].one_thread.round_ns | length] == [2, 2, 2, 2]'
holds ids_were_counted is '[.peers[].unique.one_thread.ids > 1000] | all'
holds sfd_repeats_nothing is '.peers[0].unique | [.[].duplicates] | add == 0 and length >= 2'
holds fork_repeats_ranges is '.peers[2].unique.after_fork.duplicates > 0'
holds first_id_is_timed is '[.peers[].first | .since_main_ns > 0 and .since_spawn_ns > .since_main_ns] | all'
if [ "$(nproc)" -gt 1 ]; then
	holds two_processes_repeat_own is '.peers[1].unique.two_processes.duplicates > 0'
	holds one_process_repeats_nothing is '.peers[1].unique.two_threads.duplicates == 0'
fi
if is '.peers[0].syscalls.fails' >/dev/null 2>&1; then
	echo "SKIP system calls: $(jq -r '.peers[0].syscalls.fails' "$work/measured")"
else
	holds sfd_makes_no_call is '.peers[0].syscalls.per_id < 0.001'
	holds random_makes_calls is '.peers[3].syscalls.by_name.getrandom > 0.9'
fi

# ---- report and tables ----
jq -n -f "$bench/peers/report.jq" --slurpfile measured "$work/measured" --slurpfile left_out /dev/null \
	--arg cpu '' --arg cpus 1 --arg kernel '' --arg compiler '' --arg flags '' --arg commit '' \
	--arg date '' --arg load '' --argjson settings '{"rounds":2,"window_ms":10,"collect_ms":200,
		"collect_ids":400000}' >"$work/report" 2>"$work/err"
holds goals_without_peers_are_open jq -e '[.goals[] | select(.peer == null and
	(.what | startswith("no peer"))) | .met] | length > 0 and all(. == null)' "$work/report"
jq -r -f "$bench/peers/table.jq" "$work/report" >"$work/out" 2>"$work/err"
holds table_has_the_row grep -q '^Snowflake, own ' "$work/out"
holds table_has_what_is_left_out grep -q '^  missing: it failed: cannot run' "$work/out"
finish
