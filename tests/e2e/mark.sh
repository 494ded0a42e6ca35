#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sfctl mark: what it shows and sets, and a machine id that moves from one host to another. Two
# hosts are two state directories, and as root two mount namespaces with a machine-id each.
# Environment: SFD_BIN, SFCTL_BIN.
. "$(dirname "$0")/../support/command_line.sh"
state=$work/state
layout='t41 n10 s12 epoch=1577836800000'

# a runway that nobody has to wait for after a crash
cat >"$work/sfd.conf" <<EOF
[stream default]
layout = $layout
machine_id = 656
runway_ms = 200
EOF

stop_sfd() {
	kill "$sfd"
	wait "$sfd"
	sfd=
}

# set_mark CODE NAME TEXT ARGUMENT...: of the stream default with machine id 656
set_mark() {
	local code=$1 name=$2 text=$3
	shift 3
	expect "$code" "$name" "$text" -- mark set --state-dir "$state" --layout "$layout" --machine-id 656 "$@"
}

# stop_there: the sfd on the other host, which runs below others
stop_there() {
	kill "$("$SFCTL_BIN" stats --json | jq .pid)"
	wait "$there"
}

# tick_of ID, in the layout of the test
tick_of() { echo $(($1 >> 22)); }

# ahead SECONDS: a time to come
ahead() { date -u -d "@$(($(date +%s) + $1))" +%FT%TZ; }

# ---- show ----
expect 1 show_without_a_directory '--state-dir' -- mark show --state-dir "$work/none"
start_sfd -c "$work/sfd.conf"
last=$("$SFCTL_BIN" next -n 1000 | tail -n 1)
expect 0 show_while_sfd_runs "in use by sfd, pid $sfd" -- mark show --state-dir "$state"
expect 0 show_json '' -- mark show --state-dir "$state" --json
holds show_json_has_it_all jq -e --argjson pid "$sfd" '.pid == $pid and .in_use and (.marks | length == 1)
	and (.marks[0] | .stream == "default" and .machine_ids == [656] and .format == "snowflake"
	and .starts == 1 and (.tick | test("^[0-9]+$")) and (.boot_id | length == 36)
	and (.records | map(.state) == ["whole", "whole"]))' "$work/out"
holds the_mark_of_a_running_sfd_lies_above_its_ids [ "$(jq -r '.marks[0].tick' "$work/out")" -gt "$(tick_of "$last")" ]
set_mark 1 set_while_sfd_runs_is_refused "in use by another sfd, pid $sfd" --above-time "$(ahead 60)"
expect 1 set_elsewhere_while_sfd_runs_is_refused 'machine id 656 is in use on this host' \
	-- mark set --state-dir "$work/elsewhere" --layout "$layout" --machine-id 656 --above-time "$(ahead 60)"
expect 1 adopt_while_sfd_runs_is_refused "pid $sfd" -- mark adopt --state-dir "$state"
# FC-10, on one host: a copy of the directory of a running sfd
cp -a "$state" "$work/copy"
checks=$((checks + 1))
timeout 20 "$SFD_BIN" -c "$work/sfd.conf" --runtime-dir "$work/run2" --state-dir "$work/copy" 2>"$work/err"
[ $? -eq 1 ] && grep -q 'machine id 656 is in use on this host' "$work/err" ||
	fail second_sfd_from_a_copy_on_the_same_host_is_refused_fc10
stop_sfd
expect 0 show_after_a_stop 'no sfd is using it' -- mark show --state-dir "$state"
holds show_says_how_to_set_it_elsewhere grep -q -- '--machine-id 656' "$work/out"
expect 0 show_of_a_stream '' -- mark show --state-dir "$state" --stream default --json
holds show_of_a_stream_is_its_mark jq -e '.marks | map(.stream) == ["default"]' "$work/out"
for json in '' --json; do
	# shellcheck disable=SC2086 # an option or none
	expect 1 "show_of_another_stream$json" "there is no mark of stream other in $state:" \
		-- mark show --state-dir "$state" --stream other $json
done
holds show_of_another_stream_is_no_json [ ! -s "$work/out" ]
mkdir "$work/nothing"
expect 0 show_of_an_empty_directory 'no sfd is using it' -- mark show --state-dir "$work/nothing"

# ---- show, of files that are not as they should be ----
mkdir "$work/bad"
cp "$state/default.mark" "$work/bad/half.mark"
printf '\001' | dd of="$work/bad/half.mark" bs=1 seek=30 conv=notrunc status=none
cp "$state/default.mark" "$work/bad/old.mark"
# a whole record of version 0: CRC32 of 16 bytes at their end
perl -e 'sub crc { my $c = 0xffffffff; for (unpack "C*", shift) { $c ^= $_;
	$c = $c & 1 ? $c >> 1 ^ 0xedb88320 : $c >> 1 for 1 .. 8 } $c ^ 0xffffffff }
	my $r = "SFDMARK1" . pack("VV", 0, 24) . "\0" x 4; print $r . pack("V", crc($r))' >"$work/old"
dd if="$work/old" of="$work/bad/old.mark" bs=1 conv=notrunc status=none
echo 'machine_id = 656' >"$work/bad/text.mark"
head -c 600 "$state/default.mark" >"$work/bad/cut.mark"
: >"$work/bad/empty.mark"
expect 1 show_of_bad_files '' -- mark show --state-dir "$work/bad" --json
holds show_tells_them_apart jq -e '[.marks[] | {key: .file, value: (.records | map(.state))}] | from_entries == {
	"half.mark": ["damaged", "whole"], "old.mark": ["other-version", "whole"],
	"text.mark": ["foreign", "empty"], "cut.mark": ["damaged", "empty"],
	"empty.mark": ["empty", "empty"]}' "$work/out"
holds show_adds_the_lead_of_a_damaged_record jq -e '.marks[] | select(.file == "half.mark")
	| .is_damaged and (.tick | tonumber) == (.records[1].tick | tonumber) + 20000' "$work/out"
expect 1 show_of_bad_files_as_text '1 foreign, 2 empty' -- mark show --state-dir "$work/bad"

# ---- set: what it refuses ----
before=$(cat "$state/default.mark" | md5sum)
for bad in '--above-tick 0' '--above-tick x' '--above-tick 99999999999999' '--above-id 12x' \
	'--above-time yesterday' '--above-time 0' "--above-id $((last + 4096))" ''; do
	# shellcheck disable=SC2086 # an option and its value
	set_mark 2 "set_refuses_${bad// /_}" '' $bad
done
set_mark 2 set_refuses_two_bounds only --above-tick 1 --above-id "$last"
set_mark 2 set_refuses_a_name_that_is_no_stream name --above-id "$last" --stream ../x
expect 2 set_needs_a_layout layout -- mark set --state-dir "$state" --machine-id 656 --above-id "$last"
expect 2 set_needs_a_machine_id machine -- mark set --state-dir "$state" --layout "$layout" --above-id "$last"
expect 2 set_of_ulids_takes_no_machine_id '' -- mark set --state-dir "$state" --layout ulid --machine-id 1 --above-tick 1
set_mark 1 set_never_lowers_a_mark 'may be given a second time' --above-tick 1000
set_mark 1 set_refuses_the_far_future 'more than a day ahead' --above-time "$(ahead 100000)"
expect 1 set_with_another_layout_is_refused 'had layout' -- mark set --state-dir "$state" \
	--layout twitter --machine-id 656 --above-time "$(ahead 60)"
holds refusals_leave_the_mark_as_it_was [ "$(cat "$state/default.mark" | md5sum)" = "$before" ]

# ---- set: what comes of it ----
set_mark 0 set_above_a_time 'sfd will start above tick' --above-time "$(ahead 3)"
above=$(sed 's/.*above tick \([0-9]*\),.*/\1/' "$work/out")
start_sfd -c "$work/sfd.conf"
# the runtime record of this boot says less, and must not outvote the mark
next=$("$SFCTL_BIN" next)
holds sfd_starts_above_a_mark_set_by_hand [ "$(tick_of "$next")" -gt "$above" ]
kill -9 "$sfd" && wait "$sfd" 2>/dev/null
sfd=
rm "$SFD_SOCKET" # or start_sfd would take it for that of the next
set_mark 0 set_after_a_crash '' --above-time "$(ahead 120)" --json
above=$(jq -r .tick "$work/out")
start_sfd -c "$work/sfd.conf"
holds sfd_starts_above_a_mark_set_after_a_crash [ "$(tick_of "$("$SFCTL_BIN" next)")" -gt "$above" ]
stop_sfd
set_mark 0 set_with_force_lowers '' --above-tick 1000 --force
expect 0 set_with_force_is_seen 'tick 1000,' -- mark show --state-dir "$state"

# ---- set: for another machine id than before ----
set_mark 0 set_of_the_same_machine_id_moves_nothing '' --above-time "$(ahead 60)" --json
holds set_of_the_same_machine_id_says_so jq -e 'has("moved") and .moved == null' "$work/out"
set_other() { # NAME TEXT ID ARGUMENT...
	local name=$1 text=$2 id=$3
	shift 3
	expect 0 "$name" "$text" -- mark set --state-dir "$state" --layout "$layout" --machine-id "$id" \
		--above-time "$(ahead 60)" "$@"
}
before=$(jq -r .tick "$work/out")
set_other set_of_another_machine_id_says_what_it_moved 'moved default.mark to default.656.mark: ' 658
holds set_of_another_machine_id_says_nothing_else [ "$(cat "$work/out" "$work/err" | wc -l)" -eq 2 ]
set_other set_of_another_machine_id_json '' 659 --json
holds set_json_says_what_it_moved jq -e '.moved == {from: "default.mark", to: "default.658.mark"}' "$work/out"
"$SFCTL_BIN" mark show --state-dir "$state" --json >"$work/out"
holds what_was_moved_is_the_old_mark jq -e --arg tick "$before" '.marks[] | select(.file == "default.656.mark")
	| .tick == $tick and .machine_ids == [656]' "$work/out"
set_mark 0 set_back_to_the_first_machine_id 'moved default.mark to default.659.mark: ' --above-time "$(ahead 60)"

# ---- formats ----
wide() {
	local format=$1
	expect 0 "set_above_a_$format" '' -- mark set --state-dir "$work/wide" --stream "$format" --layout "$@" --json
	jq -r .tick "$work/out"
}
holds set_above_a_ulid [ "$(wide ulid --above-id 01ARZ3NDEKTSV4RRFFQ69G5FAV)" = 1469922850259 ]
holds set_above_a_uuid7 [ "$(wide uuid7 --above-id 01890a5d-ac96-774b-bcce-b302099a8057)" = 1688096058518 ]
holds set_above_an_objectid [ "$(wide objectid --above-id 507f1f77bcf86cd799439011)" = 1350508407 ]
hound=$("$SFCTL_BIN" encode --format hound --machine 0242ac110002 --client 7 --time 1500000000.25)
holds set_above_a_hound [ "$(wide hound --machine-id 0x0242ac110002 --above-id "$hound")" = 1500000000251 ]
cat >"$work/wide.conf" <<EOF
[stream ulid]
format = ulid
EOF
expect 0 set_above_a_time_of_ulids '' -- mark set --state-dir "$work/state" --stream ulid --layout ulid \
	--above-time "$(ahead 30)" --json
above=$(jq -r .tick "$work/out")
start_sfd -c "$work/wide.conf"
"$SFCTL_BIN" next --stream ulid >"$work/ulid"
expect 0 decode_a_ulid '' -- decode --json "$(cat "$work/ulid")"
holds sfd_starts_above_a_mark_of_ulids_set_by_hand jq -e --argjson above "$above" '.[0].unix_ms > $above' "$work/out"
stop_sfd

# ---- the whole move: the old host stops, and the new one starts above it ----
start_sfd --machine-id 657 --layout "$layout"
"$SFCTL_BIN" next -n 100000 | tail -n 1 >"$work/last"
stop_sfd
"$SFCTL_BIN" mark show --state-dir "$state" --stream default | awk -v RS= '/machine id +657/' >"$work/shown"
state=$work/new
# the lines that show gives for it, as they are
sed -n '/elsewhere/,$ { s/elsewhere//; p }' "$work/shown" |
	sed "s|sfctl mark set|'$SFCTL_BIN' mark set --state-dir '$state'|" >"$work/move.sh"
holds the_command_that_show_gives_works bash "$work/move.sh"
"$SFD_BIN" --machine-id 657 --layout "$layout" --runtime-dir "$work/run" --state-dir "$state" 2>"$work/sfd.log" &
sfd=$!
for _ in $(seq 200); do
	"$SFCTL_BIN" stats >/dev/null 2>&1 && break
	sleep 0.05
done
"$SFCTL_BIN" next >"$work/first"
holds first_id_of_the_new_host_lies_above_the_last_of_the_old [ "$(cat "$work/first")" -gt "$(cat "$work/last")" ]
stop_sfd

# ---- a copy of the state directory on another host ----
other_host() { # command...: on a host with another machine-id
	unshare -m bash -c 'mount --bind "$0" /etc/machine-id && exec "$@"' "$work/machine-id" "$@"
}
echo 0123456789abcdef0123456789abcdef >"$work/machine-id"
if [ -s /etc/machine-id ] && other_host true 2>/dev/null; then
	checks=$((checks + 3))
	sfd_there=("$SFD_BIN" --machine-id 657 --layout "$layout" --runtime-dir "$work/run" --state-dir "$state")
	other_host timeout 20 "${sfd_there[@]}" >"$work/out" 2>"$work/err"
	[ $? -eq 1 ] || fail start_from_a_copy_on_another_host_is_refused_fc10
	grep -q 'sfctl mark adopt' "$work/err" || fail refusal_of_a_copy_names_the_remedy_fc10
	grep -q "host $(uname -n)" "$work/err" || fail refusal_of_a_copy_names_the_host_fc10
	checks=$((checks + 2))
	other_host "$SFCTL_BIN" mark set --state-dir "$state" --layout "$layout" --machine-id 657 \
		--above-time "$(ahead 60)" >"$work/out" 2>"$work/err" && fail set_in_a_copy_is_refused_fc10
	other_host "$SFCTL_BIN" mark adopt --state-dir "$state" >"$work/out" 2>"$work/err" ||
		fail adopt_of_a_copy_fc10
	: >"$work/out"
	other_host timeout 20 "${sfd_there[@]}" 2>"$work/err" &
	there=$!
	for _ in $(seq 200); do
		"$SFCTL_BIN" stats >/dev/null 2>&1 && break
		sleep 0.05
	done
	"$SFCTL_BIN" next >"$work/second" 2>"$work/err"
	holds adopted_copy_goes_on_above_fc10 [ "$(cat "$work/second")" -gt "$(cat "$work/first")" ]
	stop_there
	checks=$((checks + 1))
	timeout 20 "${sfd_there[@]}" 2>"$work/err" && fail start_after_the_copy_was_adopted_is_refused_fc10
	grep -q 'sfctl mark adopt' "$work/err" || fail start_after_the_copy_was_adopted_is_refused_fc10
	# formats whose IDs carry no machine id are kept apart by chance, on clones too
	checks=$((checks + 1))
	other_host timeout 20 "$SFD_BIN" --format ulid --runtime-dir "$work/run" --state-dir "$state" 2>"$work/err" &
	there=$!
	for _ in $(seq 200); do
		"$SFCTL_BIN" next >"$work/out" 2>/dev/null && break
		sleep 0.05
	done
	[ -s "$work/out" ] || fail start_of_ulids_from_a_copy_fc10
	stop_there
else
	echo "SKIP start_from_a_copy_on_another_host_is_refused_fc10: needs root and a machine-id"
fi

finish
