#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the subcommands of sfctl have in common: answers that come at once, and global options.
# Environment: SFCTL_BIN.
. "$(dirname "$0")/../support/command_line.sh"
export SFD_SOCKET=$work/nobody.sock # no sfd answers there
ulid=01GZG7PCSPVHF0S44W7G5RE071

# ---- answers come at once from a slow pipe ----
mkfifo "$work/to" "$work/from"
# at_once NAME WORD ANSWER -- arguments of sfctl: a word's answer comes before the input goes on
at_once() {
	local name=$1 word=$2 answer=$3 said=
	shift 4
	timeout 60 "$SFCTL_BIN" "$@" <"$work/to" >"$work/from" 2>"$work/err" &
	exec 7>"$work/to" 8<"$work/from"
	for _ in 1 2; do
		printf '%b' "$word" >&7
		IFS= read -r -t 20 said <&8
		[[ $said = id\ * ]] && IFS= read -r -t 20 said <&8
		: >"$work/out"
		holds "$name" [ "$said" = "$answer" ]
	done
	exec 7>&- 8<&-
	wait $!
}
row="$ulid ulid      2023-05-03T07:19:43.158Z 1683098383158"
at_once decode_answers_at_once "$ulid\n" "$row" -- decode
at_once convert_answers_at_once '255\n' 00000000000000ff -- convert --to hex
at_once convert_answers_bytes_at_once '\0\0\0\0\0\0\0\07' 7 -- convert --from bin --to decimal
at_once shard_answers_at_once '175928847299117063\n' 4 -- shard 16 --layout discord
at_once checksum_verify_answers_at_once '16JD\n' yes -- checksum verify
seq 100000 >"$work/in"
checks=$((checks + 1))
# what a process has waited for counts as its own, where the kernel counts
writes=$(bash -c '"$SFCTL_BIN" convert --to decimal <"$0" >/dev/null
	sed -n "s/^syscw: //p" /proc/$$/io' "$work/in")
[ "${writes:-0}" -le 500 ] || fail "a file must cost no write a line, not $writes"

# ---- global options: a help shows those that do something, and the others are refused ----
while read -r command options; do
	for option in socket stream json; do
		name="${command//:/_}_$option" value=
		[ $option = json ] || value=x
		# shellcheck disable=SC2086 # a command with its action; an option with its value
		if [[ " $options " = *" $option "* ]]; then
			expect 0 "${name}_is_in_the_help" " --$option " -- ${command//:/ } --help
		else
			expect 0 "${name}_help" Usage -- ${command//:/ } --help
			holds "${name}_is_not_in_the_help" [ "$(grep -c -- "^  --$option " "$work/out")" -eq 0 ]
			expect 2 "${name}_is_refused_behind" "--$option changes nothing" \
				-- ${command//:/ } --$option $value
			expect 2 "${name}_is_refused_in_front" "--$option changes nothing" \
				-- --$option $value ${command//:/ }
		fi
	done
done <<EOF
next socket stream json
decode socket stream json
encode socket stream json
convert json
range socket stream json
sort
shard socket stream json
checksum:new json
checksum:verify json
content-id json
stamp socket stream
mark:show stream json
mark:set stream json
mark:adopt
stats socket stream json
doctor socket stream json
bench socket stream json
EOF
SFD_STREAM=x SFD_SOCKET=x prints what_the_environment_says_is_no_option 00000000000000ff -- convert --to hex 255

finish
