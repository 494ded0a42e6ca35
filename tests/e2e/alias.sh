#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sfctl alias from the command line, against a real sfd: output, JSON, files, exit codes and usage
# errors; imports that are killed, resumed and run side by side.
# Environment: SFD_BIN, SFCTL_BIN.
. "$(dirname "$0")/../support/command_line.sh"
start_sfd --machine-id 642 --layout twitter
past=643
export SFD_ALIAS_STORE=$work/alias.db
uuid=7d444840-9dc0-11d1-b245-5ffdce74fad2

# ---- get ----
expect 0 get_makes_ids '' -- alias get a b "${uuid^^}"
cp "$work/out" "$work/three"
holds get_gives_a_line_each [ "$(sort -u "$work/three" | grep -cE '^[0-9]{19}$')" -eq 3 ]
expect 0 get_gives_the_same_ever_after '' -- alias get a b $uuid
holds get_gave_the_same cmp "$work/out" "$work/three"
say "a\nb\n$uuid\n"
expect 0 get_reads_stdin '' -- alias get
holds get_of_stdin_gave_the_same cmp "$work/out" "$work/three"
say 'a\n\nb'
expect 1 get_of_a_bad_key_holds_its_place 'line 2: the key has 0 bytes; legal is [1,255]' -- alias get
holds get_goes_on_behind_a_bad_key [ "$(sed -n 3p "$work/out")" = "$(sed -n 2p "$work/three")" ]
holds get_gives_a_dash_for_a_bad_key [ "$(sed -n 2p "$work/out")" = - ]
in=/dev/null
expect 0 get_json '' -- alias get --json a 'x "y"'
holds get_json_has_strings jq -e --arg a "$(head -n 1 "$work/three")" \
	'.[0] == {key: "a", id: $a} and .[1].key == "x \"y\"" and (.[1].id | test("^[0-9]{19}$"))' "$work/out"
expect 1 get_no_make_of_an_unknown_key 'key "new" has no alias' -- alias get --no-make new a
holds get_no_make_gives_the_known [ "$(sed -n 2p "$work/out")" = "$(head -n 1 "$work/three")" ]
expect 1 get_no_make_json_has_null '' -- alias get --no-make --json new
holds get_no_make_json_is_null jq -e '. == [null]' "$work/out"
expect 1 get_no_make_made_nothing '' -- alias get --no-make new
expect 1 get_created_needs_a_machine_id 'machine id' -- alias get --created 2021-03-04T05:06:07.008Z m
expect 1 get_refuses_the_machine_id_of_sfd 'machine id 642 is in use on this host by an sfd, pid' -- alias get --machine-id 642 new
expect 0 get_created '' -- alias get --created 2021-03-04T05:06:07.008Z --machine-id $past m n
holds get_created_counts_up [ "$(tail -n 1 "$work/out")" -eq $(($(head -n 1 "$work/out") + 1)) ]
id=$(head -n 1 "$work/out")
expect 0 get_created_has_its_time 2021-03-04T05:06:07.008Z -- decode --layout twitter "$id"
holds get_created_has_its_node grep -q "node=$past" "$work/out"
prints get_created_of_a_known_key "$id" -- alias get --created 2022-01-01T00:00:00Z m
expect 1 get_created_in_the_future 'lies in the future' -- alias get --created 2077-01-01T00:00:00Z f
expect 1 get_created_before_the_epoch 'legal is' -- alias get --created 2001-01-01T00:00:00Z f
expect 1 get_another_machine_id "machine id is $past, not 7" -- alias get --machine-id 7 a
expect 1 get_another_layout "the store's layout is" -- alias get --layout discord a
expect 2 get_refuses_a_time '' -- alias get --created yesterday a
expect 2 get_refuses_created_without_making '' -- alias get --no-make --created 0 a
expect 2 get_refuses_a_machine_id '' -- alias get --machine-id x a
expect 2 get_refuses_when_full '' -- alias get --when-full maybe a
expect 2 get_refuses_a_layout '' -- alias get --layout t41 a

# ---- reverse ----
prints reverse "$(printf 'b\na\n%s' $uuid)" -- alias reverse "$(sed -n 2p "$work/three")" \
	"$(sed -n 1p "$work/three")" "$(sed -n 3p "$work/three")"
expect 1 reverse_of_no_alias 'ID 5 is no alias' -- alias reverse 5
expect 1 reverse_of_no_id 'not decimal digits' -- alias reverse -1
in=$work/three
expect 0 reverse_reads_stdin '' -- alias reverse --json
holds reverse_json jq -e --arg uuid $uuid 'map(.key) == ["a", "b", $uuid]' "$work/out"
in=/dev/null

# ---- export and import ----
expect 0 export_json '' -- alias export
cp "$work/out" "$work/all.ndjson"
holds export_is_in_the_order_of_ids jq -es 'map(.id | tonumber) == (map(.id | tonumber) | sort) and length == 6' \
	"$work/all.ndjson"
expect 0 export_csv '' -- alias export --format csv
cp "$work/out" "$work/all.csv"
for kind in ndjson csv; do
	expect 0 "import_$kind" '6 aliases made, 0 known; 0 bad' -- alias import --layout twitter \
		--store "$work/$kind.db" "$work/all.$kind"
	expect 0 "import_${kind}_again" '0 aliases made, 6 known; 0 bad' -- alias import \
		--store "$work/$kind.db" "$work/all.$kind"
	expect 0 "export_of_import_$kind" '' -- alias export --store "$work/$kind.db" --format $kind
	holds "${kind}_goes_round_byte_for_byte" cmp "$work/out" "$work/all.$kind"
done
in=$work/all.ndjson
expect 0 import_stdin_json '' -- alias import --json --layout twitter --store "$work/stdin.db"
holds import_json jq -e '. == {records: 6, made: 6, known: 0, refused: 0}' "$work/out"
in=/dev/null
printf 'k1\nk2\n' >"$work/keys"
expect 0 import_keys '"key":"k2"' -- alias import --format keys --output - "$work/keys"
holds import_output_has_the_ids [ "$(head -n 1 "$work/out" | jq -r .id)" = "$("$SFCTL_BIN" alias get k1)" ]
expect 0 import_output_file '' -- alias import --format keys --output "$work/pairs" "$work/keys"
holds import_output_is_ndjson jq -es 'map(.key) == ["k1", "k2"]' "$work/pairs"
{
	echo '{"key":"p1","created":"2020-02-02T00:00:00Z"}'
	echo '{"key":"p2","created":1580601600000}'
	echo '{"key":"p3","id":"4242"}'
} >"$work/past.ndjson"
expect 0 import_past '3 aliases made' -- alias import "$work/past.ndjson"
holds import_past_counts_up [ "$("$SFCTL_BIN" alias get p2)" -eq $(($("$SFCTL_BIN" alias get p1) + 1)) ]
prints import_keeps_an_id 4242 -- alias get p3

# ---- bad records ----
{
	echo '{"key":"g1"}'
	echo '{"key":"g2"}'
	echo '{"key":"p3","id":"4243"}'
	echo '{"kye":"g3"}'
	echo '{"key":"g4"}'
} >"$work/bad.ndjson"
expect 1 import_stops_at_a_bad_record 'line 3: key "p3" has ID 4242 already, not 4243' -- alias import \
	"$work/bad.ndjson"
expect 0 import_wrote_what_came_before '' -- alias get --no-make g1 g2
expect 1 import_wrote_nothing_behind '' -- alias get --no-make g4
sed 's/"id":"4243"/"id":"4242"/' "$work/bad.ndjson" >"$work/good" && cat "$work/good" >"$work/bad.ndjson"
expect 1 import_resumes_where_it_stopped 'line 4: "kye" is none of' -- alias import --resume "$work/bad.ndjson"
holds import_read_only_what_was_left grep -q '^1 records: 0 aliases made, 1 known; 1 bad' "$work/out"
expect 0 import_skips_bad_records '1 aliases made, 0 known; 1 bad' -- alias import --resume --on-error skip \
	"$work/bad.ndjson"
holds import_reports_bad_records grep -q 'line 4: "kye"' "$work/err"
expect 0 import_resumed_at_the_end '0 records' -- alias import --resume "$work/bad.ndjson"
echo '{"key":"g5"}' >>"$work/bad.ndjson"
expect 0 import_resumes_a_file_that_grew '1 records: 1 aliases made' -- alias import --resume "$work/bad.ndjson"
cp "$work/bad.ndjson" "$work/other" && mv "$work/other" "$work/bad.ndjson"
expect 0 import_resumes_a_file_that_was_replaced_by_its_copy '0 records' -- alias import --resume \
	"$work/bad.ndjson"
sed -i 's/g1/G1/' "$work/bad.ndjson"
expect 1 import_resumes_no_file_that_changed 'bytes are not those that the last run read' -- alias import \
	--resume "$work/bad.ndjson"
holds import_that_cannot_resume_says_what_to_do grep -qF "cannot resume $work/bad.ndjson: " "$work/err"
holds import_that_cannot_resume_says_the_remedy grep -q 'run without --resume, which does no harm' "$work/err"
expect 1 import_resumes_in_no_other_format 'the last run read it as ndjson, not as keys' -- alias import \
	--resume --format keys "$work/bad.ndjson"
# a line without its end is done, but no run goes on behind it
printf 'whole\nfrag' >"$work/grows"
expect 0 import_of_an_unfinished_line '2 records' -- alias import --format keys "$work/grows"
printf 'ment\nmore\n' >>"$work/grows"
expect 0 import_resumes_before_an_unfinished_line '2 records: 2 aliases made' -- alias import --resume \
	--format keys "$work/grows"
expect 0 import_read_the_finished_line '' -- alias get --no-make fragment more
expect 1 import_made_no_key_of_a_part 'key "ment" has no alias' -- alias get --no-make ment
# what is the store's fault, or sfd's, is no record's
printf '{"key":"q1"}\n{"key":"q2","created":1600000000000}\n' >"$work/fault"
expect 1 import_skip_fails_without_a_machine_id 'give one that no stream has, with --machine-id' -- alias import \
	--on-error skip --store "$work/fault.db" "$work/fault"
holds import_without_a_machine_id_counts_no_bad_record grep -q '; 0 bad' "$work/out"
expect 0 import_resumes_with_a_machine_id '2 aliases made, 0 known; 0 bad' -- alias import --resume \
	--on-error skip --store "$work/fault.db" --machine-id $past "$work/fault"
expect 1 import_skip_fails_without_sfd "$work/none" -- alias import --on-error skip --socket "$work/none" \
	--layout twitter --store "$work/fault2.db" "$work/keys" --format keys
printf '{"key":"w1","x":1}\n{"key":""}\n{"key":"w2"}\n' >"$work/twice"
expect 0 import_skip_with_sfd '1 aliases made, 0 known; 2 bad' -- alias import --on-error skip "$work/twice"
holds import_reports_a_bad_record_once [ "$(wc -l <"$work/err")" -eq 2 ]
# long lines, and inputs that cannot be read
{ echo '{"key":"l1"}' && head -c 2000000 /dev/zero | tr '\0' x && printf '\n{"key":"l2"}\n'; } >"$work/long"
expect 0 import_skips_a_long_line '2 aliases made, 0 known; 1 bad' -- alias import --on-error skip "$work/long"
holds import_reports_a_long_line grep -q 'line 2: longer than 1048576 bytes' "$work/err"
expect 1 import_of_a_directory "cannot read $work: Is a directory" -- alias import "$work"
in=$work
expect 1 get_of_a_directory 'cannot read stdin: Is a directory' -- alias get
in=$work/long
expect 1 get_of_a_long_line 'line 2: longer than' -- alias get --json
holds get_of_a_long_line_holds_its_place jq -e 'length == 3 and .[1] == null' "$work/out"
in=/dev/null
checks=$((checks + 2))
"$SFCTL_BIN" alias get <&- >"$work/out" 2>"$work/err" && fail "get of a closed stdin must fail"
"$SFCTL_BIN" alias import <&- >"$work/out" 2>"$work/err" && fail "import of a closed stdin must fail"
holds import_of_a_closed_stdin_says_so grep -q 'alias import: cannot read .*: Bad file descriptor' "$work/err"
holds import_of_a_closed_stdin_has_no_record grep -q '; 0 bad' "$work/out"
{ printf "a%.0s\n" {1..50000} && echo unheard-of; } >"$work/midway"
in=$work/midway
expect 1 get_json_that_fails_midway "$work/none" -- alias get --json --socket "$work/none"
in=/dev/null
holds get_json_that_failed_is_json jq -e 'length > 0 and .[0].key == "a"' "$work/out"
printf '{"key":"j1"}\n' >"$work/job"
in=$work/job
expect 0 import_job_of_stdin '1 records' -- alias import --job nightly --resume
expect 0 import_job_of_stdin_again '0 records' -- alias import --job nightly --resume
in=/dev/null
expect 1 import_job_of_a_shorter_input 'ends before byte 13' -- alias import --job nightly --resume
printf 'key,id\nc1,\n"c\n2",5x\nc3,\n' >"$work/bad.csv"
expect 1 import_csv_names_the_first_line 'line 3: ID "5x"' -- alias import "$work/bad.csv"
printf 'name\nc1\n' >"$work/bad.csv"
expect 1 import_csv_needs_a_header '"name" is none of key' -- alias import --on-error skip "$work/bad.csv"
expect 1 import_of_a_missing_file 'missing' -- alias import "$work/missing"
expect 1 import_to_a_full_disk 'cannot write /dev/full' -- alias import --output /dev/full --format keys \
	"$work/keys"
for bad in '--format xml' '--batch 0' '--batch x' '--on-error go' '--resume' '--job='; do
	# shellcheck disable=SC2086
	expect 2 "import_refuses_${bad// /_}" '' -- alias import $bad
done
expect 0 import_progress '100 %' -- alias import --progress "$work/all.csv"
expect 0 import_shows_no_progress_to_a_file '' -- alias import "$work/all.csv"
holds import_showed_no_progress [ ! -s "$work/err" ]

# ---- stores ----
expect 1 reverse_without_a_store 'there is no store of aliases at' -- alias reverse --store "$work/none.db" 1
holds reverse_makes_no_store [ ! -e "$work/none.db" ]
expect 1 get_of_a_directory_as_store 'is no regular file' -- alias get --store "$work" a
expect 1 get_of_no_store 'no store of aliases' -- alias get --store "$work/keys" a
holds get_leaves_other_files_alone [ "$(cat "$work/keys")" = "$(printf 'k1\nk2')" ]
expect 0 get_makes_a_store_without_sfd '' -- alias get --socket "$work/none" --store "$work/own.db" \
	--layout twitter --machine-id $past --created 1600000000000 a
expect 0 get_knows_without_sfd '' -- alias get --socket "$work/none" a b
expect 1 get_needs_sfd_for_a_new_key "$work/none" -- alias get --socket "$work/none" unheard-of
expect 1 get_needs_sfd_for_a_new_store "$work/none" -- alias get --socket "$work/none" --store "$work/x.db" a
(
	unset SFD_ALIAS_STORE
	export XDG_STATE_HOME=$work/state-home HOME=$work/home
	if [ "$(id -u)" -ne 0 ]; then
		"$SFCTL_BIN" alias get a && [ -e "$work/state-home/sfd/alias.db" ] || exit 1
		unset XDG_STATE_HOME
		"$SFCTL_BIN" alias get a && [ -e "$work/home/.local/state/sfd/alias.db" ]
	elif command -v setpriv >/dev/null; then
		# another user, who may still read a build in a private directory
		as_user=(setpriv --reuid 54321 --clear-groups --inh-caps +dac_override
			--ambient-caps +dac_override)
		chmod 755 "$work" "$work/run"
		mkdir -m 777 "$work/state-home" "$work/home"
		"${as_user[@]}" "$SFCTL_BIN" alias get --layout twitter \
			--machine-id $past --created 1600000000000 a &&
			[ -e "$work/state-home/sfd/alias.db" ] || exit 1
		unset XDG_STATE_HOME
		"${as_user[@]}" "$SFCTL_BIN" alias get --layout twitter \
			--machine-id $past --created 1600000000000 a &&
			[ -e "$work/home/.local/state/sfd/alias.db" ]
	fi
) >"$work/out" 2>"$work/err"
holds get_has_a_default_store [ $? -eq 0 ]

# Of a store of another user, in a directory of his: root without its power over files.
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	mkdir "$work/theirs"
	"$SFCTL_BIN" alias get --layout twitter --machine-id $past --created 1600000000000 \
		--store "$work/theirs/a.db" a >/dev/null
	chown -R 54321 "$work/theirs"
	reader() {
		setpriv --bounding-set=-dac_override --inh-caps=-all "$SFCTL_BIN" "$@" >"$work/out" 2>"$work/err"
	}
	checks=$((checks + 2))
	reader alias get --store "$work/theirs/a.db" a && fail "get of a store that cannot be written must fail"
	holds get_that_cannot_write_tells_how_to_read grep -q -- '; --no-make looks up and writes nothing' "$work/err"
	reader alias get --layout twitter --store "$work/theirs/new.db" a && fail "get into another's directory must fail"
	holds get_of_a_new_store_says_permission_denied grep -q 'Permission denied' "$work/err"
fi

# ---- two at once ----
for n in 1 2; do
	seq -f "{\"key\":\"user-$n-%.0f\"}" 30000 >"$work/half$n.ndjson"
	"$SFCTL_BIN" alias import --batch 700 --store "$work/two.db" "$work/half$n.ndjson" \
		>"$work/half$n.out" 2>&1 &
	halves[n]=$!
done
holds two_imports_first wait "${halves[1]}"
holds two_imports_second wait "${halves[2]}"
expect 0 two_imports_export '' -- alias export --store "$work/two.db"
holds two_imports_made_all [ "$(jq -r .key "$work/out" | sort -u | wc -l)" -eq 60000 ]
holds two_imports_made_distinct_ids [ "$(jq -r .id "$work/out" | sort -u | wc -l)" -eq 60000 ]

# ---- killed, again and again ----
seq -f '{"key":"%.0f"}' 40000 >"$work/many.ndjson"
kills=0
: >"$work/acked"
while :; do
	before=$(wc -l <"$work/acked")
	"$SFCTL_BIN" alias import --resume --batch 250 --output "$work/acked" --store "$work/kill.db" \
		"$work/many.ndjson" >"$work/out" 2>"$work/err" &
	import=$!
	while kill -0 $import 2>/dev/null && [ "$(wc -l <"$work/acked")" -lt $((before + 2000)) ]; do
		sleep 0.01
	done
	kill -9 $import 2>/dev/null
	wait $import 2>/dev/null
	code=$?
	[ $code -eq 137 ] || break
	kills=$((kills + 1))
	# What was acknowledged is there, before the next run could put it there.
	"$SFCTL_BIN" alias export --store "$work/kill.db" | sort >"$work/there"
	grep '}$' "$work/acked" | sort >"$work/said"
	[ -z "$(comm -23 "$work/said" "$work/there")" ] || break
done
holds killed_import_came_to_its_end [ $code -eq 0 ]
holds killed_import_was_killed [ $kills -ge 3 ]
expect 0 killed_import_export '' -- alias export --store "$work/kill.db"
holds killed_import_made_all [ "$(jq -r .key "$work/out" | sort -un | wc -l)" -eq 40000 ]
holds killed_import_made_distinct_ids [ "$(jq -r .id "$work/out" | sort -u | wc -l)" -eq 40000 ]
sort "$work/out" >"$work/there"
holds killed_import_wrote_each_pair_once cmp <(sort "$work/acked") "$work/there"
# a line that a kill cut off does not spoil the next
printf '{"key":"1"}\n{"key":"2"}\n' >"$work/cut.ndjson"
expect 0 cut_output_first '' -- alias import --store "$work/cut.db" --output "$work/cut" "$work/cut.ndjson"
printf '{"key":"2","i' >>"$work/cut"
echo '{"key":"3"}' >>"$work/cut.ndjson"
expect 0 cut_output_second '' -- alias import --store "$work/cut.db" --resume --output "$work/cut" \
	"$work/cut.ndjson"
holds cut_output_is_whole jq -es 'map(.key) == ["1", "2", "3"]' "$work/cut"
# nor does a line that is not finished come twice
printf '{"key":"4"}' >>"$work/cut.ndjson"
expect 0 cut_output_third '1 records' -- alias import --store "$work/cut.db" --resume --output "$work/cut" \
	"$work/cut.ndjson"
printf '\n{"key":"5"}\n' >>"$work/cut.ndjson"
expect 0 cut_output_fourth '2 records: 1 aliases made' -- alias import --store "$work/cut.db" --resume \
	--output "$work/cut" "$work/cut.ndjson"
holds cut_output_has_each_once jq -es 'map(.key) == ["1", "2", "3", "4", "5"]' "$work/cut"
expect 0 cut_output_anew '5 records' -- alias import --store "$work/cut.db" --output "$work/cut" "$work/cut.ndjson"
holds cut_output_anew_has_each_once jq -es 'map(.key) == ["1", "2", "3", "4", "5"]' "$work/cut"

# ---- the output ----
# It cannot be written: what the store has by then comes with the next run.
(
	trap '' XFSZ
	ulimit -f 1024
	"$SFCTL_BIN" alias import --batch 1000 --store "$work/kill.db" --job full --output "$work/full" \
		<"$work/many.ndjson" >"$work/out" 2>"$work/err"
)
holds full_output_fails [ $? -eq 1 ]
holds full_output_says_so grep -q "cannot write $work/full: File too large" "$work/err"
in=$work/many.ndjson
expect 0 full_output_resumes '' -- alias import --resume --batch 1000 --store "$work/kill.db" --job full \
	--output "$work/full"
in=/dev/null
holds full_output_resumed_has_each_once cmp <(sort "$work/full") "$work/there"
holds full_output_resumed_read_only_what_was_left [ "$(sed 's/ .*//' "$work/out")" -lt 30000 ]
# CSV has its header once
printf 'key\n1\n2\n' >"$work/head.csv"
expect 0 csv_output_first '' -- alias import --store "$work/cut.db" --output "$work/head" "$work/head.csv"
printf '3\n' >>"$work/head.csv"
expect 0 csv_output_second '' -- alias import --store "$work/cut.db" --output "$work/head" --resume "$work/head.csv"
holds csv_output_is_whole [ "$(cut -d, -f1 "$work/head" | tr '\n' ' ')" = 'key 1 2 3 ' ]
# Only its own output is gone on with, and nothing else is cut.
cp "$work/cut" "$work/cut.copy"
expect 1 output_of_another_run_is_left 'is not as the last run left it' -- alias import --resume \
	--store "$work/cut.db" --output "$work/cut.copy" "$work/cut.ndjson"
holds output_of_another_run_is_unchanged cmp "$work/cut" "$work/cut.copy"
sed 's/"key":"1"/"key":"7"/' "$work/cut.copy" >"$work/edited" && cat "$work/edited" >"$work/cut"
expect 1 output_that_was_edited_is_left 'run without --resume' -- alias import --resume \
	--store "$work/cut.db" --output "$work/cut" "$work/cut.ndjson"
: >"$work/cut"
expect 1 output_that_was_emptied_is_refused 'is not as the last run left it' -- alias import --resume \
	--store "$work/cut.db" --output "$work/cut" "$work/cut.ndjson"
cp "$work/keys" "$work/letter"
expect 1 output_with_other_bytes_is_left 'bytes that no run of this job wrote' -- alias import --resume \
	--store "$work/cut.db" --format keys --output "$work/letter" "$work/keys"
holds output_with_other_bytes_is_unchanged cmp "$work/keys" "$work/letter"
expect 0 output_none '' -- alias import --store "$work/cut.db" --format keys "$work/keys"
expect 1 output_that_would_lack_pairs_is_refused 'the last run wrote no output' -- alias import --resume \
	--store "$work/cut.db" --format keys --output "$work/new" "$work/keys"
expect 0 output_stream_resumes '0 records' -- alias import --resume --store "$work/cut.db" --format keys \
	--output - "$work/keys"
# Neither the input nor the store is an output.
cp "$work/keys" "$work/keys.copy"
ln "$work/keys" "$work/keys.link"
expect 1 output_is_not_the_input 'is the input' -- alias import --format keys --output "$work/keys.link" "$work/keys"
holds output_leaves_the_input cmp "$work/keys" "$work/keys.copy"
"$SFCTL_BIN" alias export --store "$work/cut.db" >"$work/before"
for suffix in '' -wal -shm; do
	expect 1 "output_is_not_the_store$suffix" 'is a file of the store' -- alias import --format keys \
		--store "$work/cut.db" --output "$work/cut.db$suffix" "$work/keys"
done
"$SFCTL_BIN" alias export --store "$work/cut.db" >"$work/after"
holds output_leaves_the_store cmp "$work/before" "$work/after"

# ---- usage ----
expect 2 no_action 'no action given' -- alias
expect 2 unknown_action 'there is no action "frob"' -- alias frob
expect 2 export_refuses_arguments '' -- alias export what
expect 2 export_refuses_format '' -- alias export --format keys
expect 2 empty_store '' -- alias export --store ''
for action in '' get reverse import export; do
	# shellcheck disable=SC2086
	expect 0 "help_of_alias_$action" Examples -- alias $action --help
	holds "help_of_alias_${action}_has_80_columns" [ "$(awk 'length > 80' "$work/out" | wc -l)" -eq 0 ]
done
say 'never-seen'
expect 0 help_of_get_reads_nothing Examples -- alias get --help
expect 0 help_of_reverse_reads_nothing Examples -- alias reverse --help
in=/dev/null
checks=$((checks + 1))
"$SFCTL_BIN" alias export >/dev/full 2>"$work/err" && fail "export to a full disk must fail"

finish
