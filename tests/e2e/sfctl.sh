#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sfctl from the command line, against a real sfd: output, JSON, exit codes, and every usage error.
# Environment: SFD_BIN, SFCTL_BIN.
. "$(dirname "$0")/../support/command_line.sh"
start_sfd --machine-id 640-641 --layout twitter

# ---- next ----
expect 0 next_prints_ids '' -- next -n 5
holds next_prints_five_distinct_numbers [ "$(grep -cE '^[0-9]+$' "$work/out")" -eq 5 ]
holds next_ids_rise sort -nuc "$work/out"
expect 0 next_hex '' -- next -n 2 --format hex
holds next_hex_has_16_digits [ "$(grep -cE '^[0-9a-f]{16}$' "$work/out")" -eq 2 ]
expect 0 next_json_fc57 '' -- next -n 3 --json
holds next_json_is_an_array_of_strings jq -e 'length == 3 and all(type == "string")' "$work/out"
expect 0 next_ordered '' -- next --ordered -n 3
for bad in 0 -1 2147483648000 1x ''; do
	expect 2 "next_refuses_n_${bad}_fc34" '' -- next -n "$bad"
done
expect 2 next_refuses_format '' -- next --format octal
expect 2 next_refuses_arguments '' -- next what

# ---- decode ----
expect 0 decode_twitter_fc51 2022-11-18T11:50:20.644Z -- decode --layout twitter 1593572310593806338
expect 0 decode_discord_fc51 2016-04-30T11:18:25.796Z -- decode --layout discord 175928847299117063
expect 0 decode_json '' -- decode --json --layout twitter 1593572310593806338
holds decode_json_has_the_parts jq -e \
	'.[0] | .id == "1593572310593806338" and .node == 378 and .sequence == 2' "$work/out"
say '1593572310593806338\n175928847299117063\n'
expect 0 decode_reads_stdin '' -- decode --layout twitter
holds decode_gives_a_row_each [ "$(grep -c '^1' "$work/out")" -eq 2 ]
in=/dev/null
for bad in 14755887168818983731200 18446744073709551616 9223372036854775808 -1 +5 ' 5' 5x 1e18 0x10 ''; do
	expect 1 "decode_refuses_${bad}_fc53" '' -- decode --layout twitter "$bad"
done
expect 0 decode_warns_of_the_future_fc52 future -- decode --layout twitter 7202794905796608000
expect 2 decode_refuses_layouts '' -- decode --layout t41 1
expect 0 decode_asks_sfd_for_the_layout '' -- decode "$("$SFCTL_BIN" next)"

# ---- encode ----
expect 0 encode_min_fc58 1741610183685046272 -- encode --layout twitter --time 2024-01-01T00:00:00.000Z --min
expect 0 encode_max_fc58 1741610183689240575 -- encode --layout twitter --time 1704067200000 --max
expect 0 encode_parts 1593572310593806338 -- encode --layout twitter --time 2022-11-18T11:50:20.644Z \
	--node 378 --sequence 2
expect 1 encode_refuses_node_fc26 '[0,1023]' -- encode --layout twitter --time 1704067200000 --node 1024
expect 1 encode_refuses_time_before_the_epoch '' -- encode --layout twitter --time 0
expect 2 encode_needs_time '' -- encode --layout twitter
expect 2 encode_refuses_time_text '' -- encode --layout twitter --time yesterday

# ---- stats ----
expect 0 stats_text 'stream default' -- stats
holds stats_text_tells_of_connections grep -qE '^ +0 connections turned away at a limit$' "$work/out"
grep -E '^  memory  ' "$work/out" >"$work/memory"
expect 0 stats_json '' -- stats --json
locked=$(jq '.streams[0].counters.memory_locked' "$work/out")
holds stats_text_tells_of_memory grep -qE "^  memory +$([ "$locked" -eq 1 ] && echo 'locked$' || echo 'not all locked')" \
	"$work/memory"
holds stats_json_counts_exactly jq -e '.streams[0].counters.ids_claimed >= 12 and .version' "$work/out"
"$SFCTL_BIN" next -n 1000000000 >/dev/null 2>&1 &
taker=$!
for _ in $(seq 100); do
	expect 0 stats_json '' -- stats --json
	jq -e '.streams[0].counters.clients == 1' "$work/out" >/dev/null && break
	sleep 0.05
done
holds stats_lists_clients jq -e --argjson pid $taker '.streams[0].attached_clients[0]
	| .pid == $pid and .command == "sfctl" and .uid == (env.EUID // "0" | tonumber) and .since
	and (.ids | type == "number")' \
	"$work/out"
expect 0 stats_text_lists_clients $taker -- stats
kill $taker
expect 1 stats_of_another_stream other -- stats --stream other
expect 2 stats_refuses_watch '' -- stats --watch never

# ---- doctor ----
expect 0 doctor_text 'ok       default state: running' -- doctor
holds doctor_begins_each_line_with_a_level [ "$(grep -cvE '^(ok|warning|failure) +[a-z ]+: ' "$work/out")" -eq 0 ]
expect 0 doctor_json '' -- doctor --json
holds doctor_json_has_findings jq -e '.ok and (.findings | length == 17) and all(.findings[];
	.level and .text and (.stream == null or .stream == "default")) and
	any(.findings[]; .check == "clock")' "$work/out"
expect 1 doctor_of_another_stream 'failure  sfd: ' -- doctor --stream other
expect 1 doctor_without_sfd 'start sfd' -- doctor --socket "$work/none"
expect 1 doctor_json_without_sfd '' -- doctor --socket "$work/none" --json
holds doctor_json_says_so jq -e '.ok == false and
	any(.findings[]; .level == "failure" and .check == "sfd")' "$work/out"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	stranger() { setpriv --reuid 54321 --regid 54321 --clear-groups "$SFCTL_BIN" doctor >"$work/out"; }
	chmod 755 "$work" "$(dirname "$SFD_SOCKET")"
	holds doctor_of_a_stranger_is_no_failure stranger
	holds doctor_says_who_may_not_attach grep -q '^warning  default access: .*allow list' "$work/out"
fi
few() { (ulimit -Sn 12 && "$SFCTL_BIN" doctor >"$work/out"); }
holds doctor_with_few_descriptors few
holds doctor_says_how_few grep -q '^warning  limits: .*12 files' "$work/out"
expect 2 doctor_refuses_arguments '' -- doctor default

# ---- bench ----
for mode in next call ordered fill range; do
	expect 0 "bench_$mode" '' -- bench --mode $mode --ids 50000 --processes 2 --threads 2 --verify --json
	holds "bench_${mode}_ids_are_distinct_and_in_order" jq -e '.ids == 200000 and .duplicates == 0
		and .order_violations == 0 and .ns_per_id > 0 and .ids_per_second > 0
		and .seconds > 0' "$work/out"
done
expect 2 bench_refuses_mode '' -- bench --mode fast
expect 2 bench_refuses_processes '' -- bench --processes 0

# ---- stamp ----
say '{"a":1}\n{}\n  {"b":"x"}\n'
expect 0 stamp_objects '' -- stamp
holds stamp_gives_json jq -es 'length == 3 and all(.id | test("^[0-9]+$")) and .[0].a == 1' "$work/out"
expect 0 stamp_field '"event":"' -- stamp --field event
say '{"a":1}\nnonsense\n{"a":2}\n'
expect 1 stamp_stops_at_a_bad_record 2 -- stamp
holds stamp_wrote_what_came_before [ "$(wc -l <"$work/out")" -eq 1 ]
say '{"a":2\n'
expect 1 stamp_says_where_a_cut_record_ends 'not JSON at byte 6: parse error: premature EOF' -- stamp
say '{"a":1}\nnonsense\n{"a":2}\n'
expect 0 stamp_passes_a_bad_record nonsense -- stamp --on-error pass
say '{"id":"7","a":1}\n'
expect 1 stamp_refuses_a_record_that_has_the_field id -- stamp
say 'one\ntwo'
expect 0 stamp_lines '' -- stamp --input lines
holds stamp_lines_keeps_the_text [ "$(cut -f 2 "$work/out" | tr '\n' ,)" = one,two, ] 
in=/dev/null
expect 1 stamp_of_a_missing_file missing -- stamp "$work/missing"
expect 2 stamp_refuses_input '' -- stamp --input xml

# ---- the program ----
expect 0 help Usage: -- --help
holds help_has_80_columns [ "$(awk 'length > 80' "$work/out" | wc -l)" -eq 0 ]
expect 0 version sfctl -- --version
expect 2 no_command '' --
expect 2 unknown_command '' -- frobnicate
expect 2 unknown_option '' -- next --frobnicate
for command in next decode encode stats doctor bench stamp mark "mark show" "mark set" "mark adopt"; do
	# shellcheck disable=SC2086 # a command with its action
	expect 0 "${command}_help_ends_with_examples" Examples -- $command --help
	holds "${command}_help_has_80_columns" [ "$(awk 'length > 80' "$work/out" | wc -l)" -eq 0 ]
done
for command in stats doctor; do
	expect 0 "${command}_help_says_that_all_streams_are_shown" 'only this stream (default: all)' -- $command --help
	SFD_STREAM=other expect 0 "${command}_shows_all_streams_whatever_the_environment_says" default -- $command
done
expect 1 no_daemon_at_the_socket "$work/none" -- next --socket "$work/none"
expect 1 no_such_stream other -- next --stream other
checks=$((checks + 3))
"$SFCTL_BIN" next >/dev/full 2>"$work/err" && fail "a full disk must fail"
echo '{}' | "$SFCTL_BIN" stamp >&- 2>"$work/err" && fail "a closed stdout must fail"
timeout 20 "$SFCTL_BIN" stamp <&- >"$work/out" 2>"$work/err"
[ $? -eq 1 ] || fail "a closed stdin must fail, and not hang"
holds control_socket_saw_no_output jq -e '.streams[0].counters.requests_bad == 0' \
	<("$SFCTL_BIN" stats --json)

finish
