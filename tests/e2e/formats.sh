#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# IDs of every format at the command line: taken, guessed, decoded, converted, sorted, refused.
# Environment: SFD_BIN, SFCTL_BIN.
. "$(dirname "$0")/../support/command_line.sh"
cat >"$work/sfd.conf" <<'EOF'
[stream default]
layout = twitter
machine_id = 645
[stream ulid]
format = ulid
[stream uuid7]
format = uuid7
[stream objectid]
format = objectid
[stream hound]
format = hound
machine_id = 02:42:ac:11:00:02
EOF
nobody=$work/nobody.sock # no sfd answers there
ulid=01GZG7PCSPVHF0S44W7G5RE071
uuid7=018e3f04-0218-7f62-8f86-6a3cfe5a42fb
objectid=5fd0f17e8e840df1c9687f37
hound=41d7370d6847e6b400000242ac1100021234000000ee

# json NAME FILTER -- arguments of sfctl: what comes out satisfies jq's filter
json() {
	local name=$1 filter=$2
	shift 3
	expect 0 "$name" '' -- "$@"
	holds "${name}_says_so_in_json" jq -e "$filter" "$work/out"
}

# ---- decode, without a daemon ----
export SFD_SOCKET=$nobody
for case in upper lower; do
	word=$ulid
	[ $case = lower ] && word=${ulid,,}
	filter=".[0] | .id == \"$ulid\" and .format == \"ulid\" and .unix_ms == 1683098383158
		and .time == \"2023-05-03T07:19:43.158Z\" and (.hex | test(\"^[0-9a-f]{32}$\"))"
	json "decode_ulid_${case}_argument_fc44" "$filter" -- decode --json "$word"
	say "$word\n"
	json "decode_ulid_${case}_stdin_fc44" "$filter" -- decode --json
	expect 0 "decode_ulid_${case}_table_fc44" "$ulid" -- decode
	holds "decode_ulid_${case}_table_shows_the_time_fc44" grep -qF 2023-05-03T07:19:43.158Z "$work/out"
	in=/dev/null
	json "decode_ulid_${case}_as_ulid_fc44" "$filter" -- decode --json --format ulid "$word"
	prints "convert_ulid_${case}_fc44" $ulid -- convert --to text "$word"
done
expect 1 decode_refuses_a_ulid_of_130_bits_fc42 'character 1' -- decode 80000000000000000000000000
prints decode_of_the_last_ulid_fc42 7ZZZZZZZZZZZZZZZZZZZZZZZZZ -- convert --to text 7zzzzzzzzzzzzzzzzzzzzzzzzz
expect 1 decode_refuses_u_in_a_ulid_fc43 'character 10' -- decode 01ARZ3NDEUTSV4RRFFQ69G5FAV

uuid=6ba7b810-9dad-11d1-80b4-00c04fd430c8
while IFS= read -r word; do
	expect 1 "decode_refuses_uuid_${word}_fc46" '"' -- decode -- "$word"
	expect 1 "decode_refuses_as_uuid_${word}_fc46" '"' -- decode --format uuid -- "$word"
done <<EOF
-$uuid-
0${uuid}1
"$uuid"
 $uuid 

ffff
{$uuid}
urn:uuid:$uuid
EOF
expect 1 decode_takes_a_hyphen_for_a_word_fc46 'character 1 is' -- decode -$uuid-
json decode_takes_a_uuid_in_either_case_fc46 ".[0].id == \"$uuid\" and .[0].version == 1" \
	-- decode --json ${uuid^^}
refuse_uuid() { # TEXT, first wrong character
	expect 1 "decode_refuses_${1}_fc47" "character $2 " -- decode -- "$1"
	say "$1\n"
	expect 1 "decode_refuses_${1}_from_stdin_fc47" "character $2 " -- decode
	in=/dev/null
}
refuse_uuid 53-8aeb5878a9-4d9b-b0dfc-ec2f0e7f8f8 3
refuse_uuid 6ba7b8109-dad-11d1-80b4-00c04fd430c8 9
refuse_uuid 6ba7b810-9dad-11d1-80b400c04fd430c8- 24
refuse_uuid ------------------------------------ 1

json decode_uuid4_has_no_time_fc48 '.[0] | .format == "uuid" and .version == 4 and .time == null
	and .unix_ms == null' -- decode --json e86160d3-beff-443c-b9b5-1f8197ccb12e
json decode_uuid7_fc48 '.[0] | .format == "uuid7" and .version == 7 and .unix_ms == 1710454211096
	and .time == "2024-03-14T22:10:11.096Z"' -- decode --json $uuid7
json decode_uuid_of_another_variant_fc48 '.[0] | .format == "uuid" and .version == null
	and .time == null and (.note | test("variant"))' -- decode --json ${uuid7/-8f86-/-cf86-}
json decode_nil_and_max_uuid_fc48 'map(.note) == ["nil", "max"] and all(.time == null)' \
	-- decode --json 00000000-0000-0000-0000-000000000000 FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF
expect 0 decode_nil_uuid_in_the_table_fc48 nil -- decode 00000000-0000-0000-0000-000000000000
expect 1 decode_refuses_uuid4_as_uuid7_fc48 '' -- decode --format uuid7 \
	e86160d3-beff-443c-b9b5-1f8197ccb12e

json decode_objectids_beyond_31_bits_fc49 'map(.time) == ["2038-01-19T03:14:07.000Z",
	"2038-01-19T03:14:08.000Z", "2106-02-07T06:28:15.000Z"] and .[2].unix_s == 4294967295' -- decode \
	--json 7fffffff0000000000000000 800000000000000000000000 ffffffff0000000000000000
expect 1 encode_refuses_second_4294967296_fc49 4294967295 -- encode --format objectid --time 4294967296000
expect 1 encode_refuses_second_minus_1_fc49 '[0,4294967295]' -- encode --format objectid --time -1
for word in 123456789012 JGL-24423/TL 5fd0f17e8e840dg1c9687f37 ${objectid^^}; do
	expect 1 "decode_refuses_objectid_${word}_fc50" '' -- decode --format objectid "$word"
done
for word in JGL-24423/TL 5fd0f17e8e840dg1c9687f37 ${objectid^^}; do
	expect 1 "decode_refuses_${word}_fc50" '' -- decode "$word"
done
json decode_objectid_fc50 '.[0].time == "2020-12-09T15:47:10.000Z"' -- decode --json $objectid

json decode_hound '.[0] | .format == "hound" and .seconds == "1557935521.123456" and
	.unix_ms == 1557935521123 and .machine == "0242ac110002" and .client == 4660 and .sequence == 0' \
	-- decode --json $hound
json decode_hound_in_upper_case ".[0].id == \"$hound\"" -- decode --json ${hound^^}
bad_sum=${hound%ee}ef
expect 1 decode_refuses_a_hound_id_of_a_wrong_sum 'or give --no-checksum' -- decode "$bad_sum"
holds decode_names_a_hound_id_of_a_wrong_sum_once [ "$(grep -o "$bad_sum" "$work/err" | wc -l)" -eq 1 ]
expect 1 convert_refuses_a_hound_id_of_a_wrong_sum 'typing error' -- convert --to hex "$bad_sum"
holds convert_names_no_option_that_it_has_not [ "$(grep -c skip "$work/err")" -eq 0 ]
for guess in '' '--format hound'; do
	# shellcheck disable=SC2086 # an option and its value
	json "decode_unchecked_hound_of_a_wrong_sum_$guess" ".[0] | .id == \"$bad_sum\" and .client == 4660
		and .note == \"wrong checksum\"" -- decode --json --no-checksum $guess "$bad_sum"
done
expect 0 decode_unchecked_hound_in_the_table 'sequence=0 wrong checksum' -- decode --no-checksum "$bad_sum"
json decode_unchecked_hound_of_a_right_sum '.[0].note == null' -- decode --json --no-checksum $hound
expect 1 decode_unchecked_still_refuses_other_lengths 'not an ID' -- decode --no-checksum "${hound}00"
expect 1 decode_unchecked_still_refuses_other_digits 'character 44' -- decode --no-checksum "${hound%e}g"
json decode_keeps_the_millisecond_of_a_hound_id '.[0].unix_ms == 2160000000123' -- decode --json \
	"$("$SFCTL_BIN" encode --format hound --machine 1 --client 2 --time 2160000000123)"

while read -r word names; do
	expect 1 "decode_says_what_${word}_could_be" "could be $names" -- decode "$word"
	holds "decode_says_how_to_say_what_${word}_is" grep -qF -- --format "$work/err"
done <<EOF
161d8192c8d7a002 hex
0x10 hex
1C7C1JB4DF802 base32
4hYemNrAYM7 base58 or base62
0tiZqAomlYg base62
1C7C1JB4DF802Z base32check
EOF
for format in base32:1C7C1JB4DF802 base58:4hYemNrAYM7 base62:1tiZqAomlYg hex:161d8192c8d7a002 \
	base32check:1C7C-1JB4-DF80-2Z decimal20:01593572310593806338 decimal19:1593572310593806338; do
	json "decode_${format%:*}" '.[0].id == "1593572310593806338" and .[0].node == 378' \
		-- decode --json --layout twitter --format "${format%:*}" "${format#*:}"
done
json decode_hex_is_format_hex '.[0].node == 378' -- decode --json --layout twitter --hex 161d8192c8d7a002
expect 2 decode_refuses_format 'is not decimal' -- decode --format roman MCMXCIX
expect 2 decode_refuses_a_wide_layout 'no layout of 64-bit IDs' -- decode --layout ulid 5

expect 0 decode_mixed_formats '' -- decode --layout twitter 1593572310593806338 $ulid $uuid7 $objectid $hound
holds decode_gives_five_rows_and_a_head [ "$(wc -l <"$work/out")" -eq 6 ]
holds decode_aligns_the_rows awk 'index($0, $2) != 46 { exit 1 }' "$work/out"
expect 1 decode_number_without_layout_or_sfd ambiguous -- decode 1593572310593806338 $ulid
holds decode_names_presets_that_fit grep -qF 'twitter (2022-11-18T11:50:20.644Z)' "$work/err"
holds decode_goes_on_after_an_ambiguous_word grep -q "^$ulid" "$work/out"
expect 1 decode_refuses_beyond_64_bits_fc53 'larger than 64 bits' -- decode 14755887168818983731200
say '1593572310593806338 \0001\n'
expect 1 decode_takes_a_nul_for_no_blank '?' -- decode --layout twitter
in=/dev/null
json decode_gives_strings_fc57 '.[0].id == "1785223470585921538"' \
	-- decode --json --layout twitter 1785223470585921538

# ---- encode ----
json encode_ulid '.format == "ulid" and .unix_ms == 1469922850259' \
	-- encode --json --format ulid --time 2016-07-30T23:54:10.259Z
json encode_uuid7 '.format == "uuid7" and .version == 7 and .unix_ms == 1469922850259' \
	-- encode --json --format uuid7 --time 1469922850259
json encode_objectid '.format == "objectid" and .unix_s == 1469922850' \
	-- encode --json --format objectid --time 1469922850259
json encode_is_of_now_without_a_time '.unix_ms / 1000 - now | fabs < 60' -- encode --json --format ulid
holds encode_tails_are_random [ "$("$SFCTL_BIN" encode --format ulid --time 0)" != \
	"$("$SFCTL_BIN" encode --format ulid --time 0)" ]
prints encode_hound $hound -- encode --format hound --time 1557935521.123456 --machine 0242ac110002 \
	--client 4660
expect 1 encode_refuses_a_late_ulid '281474976710655' -- encode --format ulid --time 281474976710656
expect 1 encode_refuses_a_wide_hound_sequence 65536 -- encode --format hound --machine 1 --client 1 \
	--sequence 65536
expect 1 encode_refuses_hound_times_before_1970 1970 -- encode --format hound --machine 1 --client 1 --time -1
expect 2 encode_refuses_half_a_hound_id missing -- encode --format hound --machine 1
expect 2 encode_refuses_a_node_of_a_ulid '--node' -- encode --format ulid --node 1
expect 2 encode_refuses_a_machine_of_a_snowflake '--machine' -- encode --layout twitter --time 0 --machine 1
expect 2 encode_refuses_wide_clients 65536 -- encode --format hound --machine 1 --client 65536
prints encode_takes_an_address_as_sfd_conf_does $hound -- encode --format hound --time 1557935521.123456 \
	--machine 02:42:AC:11:00:02 --client 4660
for bad in 02:42:ac:11:00 02:42:ac:11:00:0 02:42:ac:11:00:02: 02-42-ac-11-00-02 0x:42:ac:11:00:02 \
	02:42:ac:11:0002: 2:42:ac:11:00:002; do
	expect 2 "encode_refuses_address_$bad" 'an address such as' -- encode --format hound --client 1 \
		--machine "$bad"
done
expect 2 encode_refuses_machine_text 0242zz -- encode --format hound --machine 0242zz --client 1
expect 2 encode_refuses_min_with_max '' -- encode --layout twitter --time 1704067200000 --min --max
expect 2 encode_refuses_format '' -- encode --format guid

# ---- convert ----
while read -r to text; do
	prints "convert_to_${to}_fc54" "$text" -- convert --to "$to" 1800774833102905344
	prints "convert_from_${to}_fc54" 1800774833102905344 -- convert --from "$to" --to decimal "$text"
done <<EOF
decimal 1800774833102905344
decimal20 01800774833102905344
decimal19 1800774833102905344
hex 18fda32b778fe000
base32 1HZD35DVRZR00
base58 5BSdAHnbAs9
base62 291ZCmHJVhY
EOF
prints convert_to_base32check_fc45 1C7C1JB4DF802Z -- convert --to base32check 1593572310593806338
for word in '' 0291ZCmHJVhY LygHa16AHYG zzzzzzzzzzz; do
	expect 1 "convert_refuses_base62_${word}_fc55" '' -- convert --from base62 --to decimal "$word"
done
for id in $ulid $uuid7 $objectid $hound; do
	prints "convert_text_of_$id" "$id" -- convert --to text "$id"
	hex=$("$SFCTL_BIN" convert --to hex "$id")
	format=$("$SFCTL_BIN" decode --json "$id" | jq -r '.[0].format')
	prints "convert_${format}_from_hex" "$id" -- convert --from hex --format "$format" --to text "$hex"
	printf '%s\n' "$id" "$id" | "$SFCTL_BIN" convert --to bin >"$work/bin"
	holds "convert_${format}_to_bytes" [ "$(od -An -v -tx1 "$work/bin" | tr -d ' \n')" = "$hex$hex" ]
	in=$work/bin
	prints "convert_${format}_from_bytes" "$id
$id" -- convert --from bin --format "$format" --to text
	head -c -1 "$work/bin" >"$work/cut"
	in=$work/cut
	expect 1 "convert_${format}_refuses_bytes_that_end_in_the_middle" 'in the middle' \
		-- convert --from bin --format "$format" --to text
	in=/dev/null
done
printf '\0\0\0\0\0\0\1\0' >"$work/bin"
in=$work/bin
prints convert_64_bits_from_bytes 256 -- convert --from bin --to decimal
in=/dev/null
prints convert_uuid4_from_hex e86160d3-beff-443c-b9b5-1f8197ccb12e \
	-- convert --from hex --format uuid --to text e86160d3beff443cb9b51f8197ccb12e
expect 1 convert_refuses_uuid4_as_uuid7 '' -- convert --from hex --format uuid7 --to text \
	e86160d3beff443cb9b51f8197ccb12e
expect 1 convert_refuses_hex_of_another_length 'needs 32' -- convert --from hex --format ulid --to text ff
expect 1 convert_refuses_other_digits 'character 1' -- convert --from hex --format objectid --to text \
	g00000000000000000000000
expect 1 convert_goes_on_after_a_bad_word nonsense -- convert --to hex 1 nonsense 2
holds convert_gave_both_results [ "$(wc -l <"$work/out")" -eq 2 ]
expect 1 convert_refuses_a_ulid_in_base62 'no 64-bit ID' -- convert --to base62 $ulid
expect 1 convert_refuses_decimal19_beyond_63_bits decimal20 -- convert --to decimal19 9223372036854775808
expect 1 convert_refuses_a_guess 'base58 or base62' -- convert --to decimal 4hYemNrAYM7
holds convert_says_how_to_say_it grep -qF -- --from "$work/err"
json convert_gives_strings_fc57 '. == ["01785223470585921538", "00000000000000000007"]' \
	-- convert --json --to decimal20 1785223470585921538 7
expect 2 convert_needs_a_target '--to' -- convert 1
expect 2 convert_refuses_target '' -- convert --to octal 1
expect 2 convert_refuses_source '' -- convert --from octal --to hex 1
expect 2 convert_refuses_format_alone '' -- convert --format ulid --to hex 1
expect 2 convert_refuses_notations_as_formats '' -- convert --from hex --format base62 --to hex 1
expect 2 convert_refuses_bytes_as_arguments '' -- convert --from bin --to hex 1
expect 2 convert_refuses_bytes_as_json '' -- convert --json --to bin 1

prints convert_goes_from_one_128_bit_format_to_the_other $ulid -- convert --from hex --format ulid --to text \
	"$("$SFCTL_BIN" convert --to hex $ulid | "$SFCTL_BIN" convert --from hex --format uuid --to text |
		"$SFCTL_BIN" convert --to hex)"
# all digits, so a number unless it is said what they are
digits=$("$SFCTL_BIN" convert --to base58 656356768)
holds convert_can_give_digits_only [ "$digits" = 11111211111 ]
prints convert_takes_digits_for_a_decimal 11111211111 -- convert --to decimal "$digits"
prints convert_goes_back_when_told 656356768 -- convert --from base58 --to decimal "$digits"

# ---- sort ----
say '999999999999999999\n1000000000000000000\n7\n254360814063058944'
prints sort_by_value_fc56 '7
254360814063058944
999999999999999999
1000000000000000000' -- sort
prints sort_reverse_fc56 '1000000000000000000
999999999999999999
254360814063058944
7' -- sort --reverse
padded=$("$SFCTL_BIN" convert --to decimal20 <"$work/in" | LC_ALL=C sort)
holds padded_decimals_sort_as_text_fc56 [ "$padded" = \
	"$("$SFCTL_BIN" sort <"$work/in" | "$SFCTL_BIN" convert --to decimal20)" ]
say '10 b\nx\n9,a\n\n10 a\n010;c\n9\tz\n-5\nx\n'
prints sort_mixed_lines_are_stable_fc56 $'9,a\n9\tz\n10 b\n10 a\n010;c\n\n-5\nx\nx' -- sort
prints sort_unique_keeps_the_first $'9,a\n10 b\n\n-5\nx' -- sort -u
say '2\n1\n'
cp "$work/in" "$work/one"
say '3'
cp "$work/in" "$work/other"
prints sort_several_files $'1\n2\n3\n3' -- sort "$work/other" - "$work/one"
in=/dev/null
prints sort_of_nothing '' -- sort
expect 1 sort_of_a_missing_file missing -- sort "$work/missing"
expect 1 sort_of_a_directory '' -- sort "$work"
expect 2 sort_refuses_json '' -- sort --json
"$SFCTL_BIN" sort <&- >"$work/out" 2>"$work/err"
holds sort_of_a_closed_stdin_fails grep -q 'cannot read stdin' "$work/err"

# ---- range ----
while read -r layout first last; do
	prints "range_${layout}_fc58" "first  $first
last   $last
after  $((first - 1))
before $((last + 1))" -- range --layout "$layout" --since 2024-01-01T00:00:00.000Z
	json "range_${layout}_as_strings_fc57" ".first == \"$first\" and .last == \"$last\"" \
		-- range --json --layout "$layout" --since 1704067200000 --until 1704067200001
done <<EOF
twitter 1741610183685046272 1741610183689240575
discord 1191168914227200000 1191168914231394303
EOF
json range_from_the_beginning_has_no_after '.first == "0" and .after == null and .before == "4194304"' \
	-- range --json --layout twitter --since 1288834974657
prints range_of_an_interval "first  1741610183685046272
last   $((1741610183685046272 + (10 << 22) - 1))
after  1741610183685046271
before $((1741610183685046272 + (10 << 22)))" -- range --layout twitter --since 1704067200000 \
	--until 1704067200010
prints range_of_one_ten_ms_tick "$(for name in first last after before; do
	printf '%-6s %s\n' $name "$("$SFCTL_BIN" range --layout sonyflake --since 1704067200000 \
		--until 1704067200010 --json | jq -r .$name)"
done)" -- range --layout sonyflake --since 1704067200007
prints range_ulid 'first  01HK153X000000000000000000
last   01HK153X00ZZZZZZZZZZZZZZZZ' -- range --format ulid --since 1704067200000
prints range_uuid7 'first  018cc251-f400-7000-8000-000000000000
last   018cc251-f401-7fff-bfff-ffffffffffff' -- range --format uuid7 --since 1704067200000 \
	--until 1704067200002
prints range_objectid 'first  659200800000000000000000
last   65920080ffffffffffffffff' -- range --format objectid --since 1704067200999
expect 1 range_refuses_an_empty_interval '' -- range --layout twitter --since 1704067200000 --until 1704067200000
expect 1 range_refuses_times_before_the_epoch '' -- range --layout twitter --since 0
expect 1 range_refuses_times_before_1970 '' -- range --format ulid --since -1
expect 1 range_refuses_the_end_of_time '' -- range --format ulid --since 9223372036854775807
expect 2 range_needs_since '--since' -- range --layout twitter
for time in --since --until; do
	expect 2 "range_says_what_a_day_lacks_$time" 'such as 2024-01-01T00:00:00Z' \
		-- range --layout twitter --since 1704067200000 $time 2024-01-01
done
expect 2 range_refuses_time_text '' -- range --layout twitter --since noon
expect 2 range_refuses_layout_with_format '' -- range --layout twitter --format ulid --since 1
expect 2 range_refuses_format '' -- range --format hound --since 1
expect 1 range_without_layout_or_sfd "$nobody" -- range --since 1

# ---- shard ----
prints shard_is_the_tick_modulo_n $((41944705796 % 16)) -- shard 16 --layout discord 175928847299117063
json shard_gives_strings_fc57 '. == [{"id": "175928847299117063", "shard": 2}]' \
	-- shard 3 --json --layout discord 175928847299117063
expect 1 shard_goes_on_after_a_bad_word x -- shard 4 --layout discord 175928847299117063 x 4194304
holds shard_gave_both_results [ "$(wc -l <"$work/out")" -eq 2 ]
expect 1 shard_refuses_what_the_layout_cannot_hold '' -- shard 4 --layout twitter 9223372036854775808
for bad in '' 0 -1 4294967296 x; do
	expect 2 "shard_refuses_${bad}_shards" '' -- shard "$bad" --layout discord 1
done
expect 2 shard_needs_their_number 'number of shards' -- shard --layout discord

# ---- checksum ----
expect 0 checksum_new '' -- checksum new -n 50
holds checksum_new_has_the_default_shape [ "$(grep -cE \
	'^([0-9A-HJKMNP-TV-Z]{4}-){3}[0-9A-HJKMNP-TV-Z]$' "$work/out")" -eq 50 ]
holds checksum_new_ids_are_distinct [ "$(sort -u "$work/out" | wc -l)" -eq 50 ]
cp "$work/out" "$work/ids"
in=$work/ids
expect 0 checksum_verify_takes_its_own '' -- checksum verify
holds checksum_verify_says_yes_to_each [ "$(grep -cx yes "$work/out")" -eq 50 ]
in=/dev/null
expect 0 checksum_new_of_another_shape '' -- checksum new --length 8 --group-size 3 --sep .
holds checksum_new_obeys grep -qE '^.{3}\..{3}\..{3}$' "$work/out"
expect 0 checksum_verify_of_another_shape yes -- checksum verify --sep . "$(cat "$work/out")"
json checksum_new_json 'length == 3 and all(length == 16)' -- checksum new --json -n 3
expect 0 checksum_new_of_the_longest '' -- checksum new --length 1024 --group-size 1 --sep ........
holds checksum_new_gives_all_of_it [ "$(wc -c <"$work/out")" -eq $((1025 + 1024 * 8 + 1)) ]
for id in 1C7C1JB4DF802Z 10\* 14u 16jd 1-6JD; do
	expect 0 "checksum_verify_takes_${id}_fc45" yes -- checksum verify "$id"
done
for id in 16J 16JC 61JD '' - Ü $'\xff' 'a b' ''; do
	expect 1 "checksum_verify_refuses_${id}_fc45" no -- checksum verify "$id"
	holds "checksum_verify_finds_no_error_in_${id}" [ ! -s "$work/err" ]
done
say '16JD\n\n16JD\r\nnonsense words\n'
expect 1 checksum_verify_reads_lines no -- checksum verify
holds checksum_verify_answers_each_line [ "$(tr '\n' , <"$work/out")" = yes,no,yes,no, ]
expect 1 checksum_verify_json '' -- checksum verify --json
holds checksum_verify_json_pairs_ids_with_answers jq -e '. == [{"id": "16JD", "valid": true},
	{"id": "", "valid": false}, {"id": "16JD", "valid": true},
	{"id": "nonsense words", "valid": false}]' "$work/out"
in=/dev/null
for bad in '--length 0' '--length 1025' '--group-size 0' '--sep I' '--sep a' '--sep 123456789' '-n 0' what; do
	# shellcheck disable=SC2086 # an option and its value
	expect 2 "checksum_new_refuses_${bad}" '' -- checksum new $bad
done
expect 2 checksum_needs_an_action 'new or verify' -- checksum

# ---- a daemon with streams of every format ----
start_sfd -c "$work/sfd.conf"
for case in default:8 ulid:16 uuid7:16 objectid:12 hound:22; do
	stream=${case%:*} bytes=${case#*:}
	expect 0 "next_${stream}_text" '' -- next --stream "$stream" -n 300
	holds "next_${stream}_gives_300_distinct" [ "$(sort -u "$work/out" | wc -l)" -eq 300 ]
	[ "$stream" = default ] || holds "next_${stream}_rises_as_text" env LC_ALL=C sort -c "$work/out"
	cp "$work/out" "$work/ids"
	in=$work/ids
	json "next_${stream}_ids_can_be_decoded" 'length == 300 and (map(.unix_ms) | . == sort)
		and (.[0].unix_ms / 1000 - now | fabs < 60)' -- decode --json
	in=/dev/null
	json "next_${stream}_json_fc57" 'length == 3 and all(type == "string")' \
		-- next --stream "$stream" -n 3 --json
	expect 0 "next_${stream}_ordered" '' -- next --stream "$stream" -n 3 --ordered
	expect 0 "next_${stream}_bin" '' -- next --stream "$stream" -n 5000 --format bin
	holds "next_${stream}_bin_is_nothing_but_ids" [ "$(wc -c <"$work/out")" -eq $((5000 * bytes)) ]
	cp "$work/out" "$work/bin"
	in=$work/bin
	format=$stream
	[ "$stream" = default ] && format=decimal
	expect 0 "next_${stream}_bin_can_be_read" '' -- convert --from bin --format "$format" --to text
	holds "next_${stream}_bin_gives_distinct_ids" [ "$(sort -u "$work/out" | wc -l)" -eq 5000 ]
	say '{}\n{"a":1}\n'
	expect 0 "stamp_$stream" '' -- stamp --stream "$stream"
	jq -r .id "$work/out" >"$work/ids"
	in=$work/ids
	expect 0 "stamp_${stream}_gives_ids" '' -- convert --to text
	holds "stamp_${stream}_gives_canonical_ids" cmp "$work/out" "$work/ids"
	in=/dev/null
done
expect 2 next_refuses_bytes_on_a_terminal_option_of_none 'is not text' -- next --format binary
checks=$((checks + 1))
script -qec "'$SFCTL_BIN' next --format bin" /dev/null </dev/null >"$work/out" 2>"$work/err"
[ $? -eq 2 ] && grep -q terminal "$work/out" || fail next_refuses_bytes_on_a_terminal
for format in text bin dec hex; do
	expect 2 "next_refuses_${format}_with_json" '--json means --format json' -- next --json --format $format
done
json next_json_twice_is_json 'length == 1' -- --json next --format json
for format in dec hex; do
	expect 0 "next_${format}_of_64_bits" '' -- next --format $format
	expect 2 "next_refuses_${format}_of_a_ulid" 'stream ulid holds ulid' -- next --stream ulid --format $format
done
expect 1 decode_of_a_number_on_a_wide_stream 'stream ulid of sfd holds ulid' -- decode --stream ulid 5
expect 1 encode_on_a_wide_stream 'holds no 64-bit IDs but ulid' -- encode --stream ulid --time 1704067200000
expect 1 shard_on_a_wide_stream 'holds no 64-bit IDs but uuid7' -- shard 4 --stream uuid7 1
expect 0 range_of_a_wide_stream 01HK153X00ZZZZZZZZZZZZZZZZ -- range --stream ulid --since 1704067200000
expect 1 range_of_a_hound_stream 'format hound (4) has no ranges' -- range --stream hound --since 1704067200000
expect 0 range_asks_sfd 1741610183689240575 -- range --since 1704067200000
expect 1 bench_of_a_wide_stream 'only streams of 64-bit IDs' -- bench --stream ulid --ids 1000
json stats_gives_ids_as_they_are '.streams | length == 5' -- stats --json

# ---- help ----
for command in convert checksum range shard sort decode encode stamp next; do
	expect 0 "${command}_help_ends_with_examples" Examples -- $command --help
	holds "${command}_help_has_80_columns" [ "$(awk 'length > 80' "$work/out" | wc -l)" -eq 0 ]
done
expect 0 convert_help_says_when_from_is_needed 'all digits' -- convert --help
expect 0 shard_help_says_why_there_is_one_shard 'All IDs of a tick' -- shard --help
expect 0 checksum_new_help Examples -- checksum new --help
expect 0 checksum_verify_help Examples -- checksum verify --help
checks=$((checks + 2))
"$SFCTL_BIN" sort "$work/ids" >/dev/full 2>"$work/err" && fail "a full disk must fail sort"
"$SFCTL_BIN" convert --to hex 1 >/dev/full 2>"$work/err" && fail "a full disk must fail convert"
finish
