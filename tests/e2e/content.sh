#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sfctl content-id from the command line, without an sfd: values, JSON, exit codes, usage errors, and
# the rules of libclient/content/README.md against a second program that was written from them.
# Environment: SFCTL_BIN. The last line counts like Check's.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
vectors=$here/../vectors/coola.json
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export SFD_SOCKET=$work/none
checks=0
failures=0

fail() {
	failures=$((failures + 1))
	printf 'content.sh:F: %s\n' "$1"
	sed 's/^/     /' "$work/out" "$work/err" | head -n 6
}
# expect CODE NAME [TEXT of stdout or stderr] -- arguments of sfctl content-id; stdin comes from $in
in=/dev/null
expect() {
	local code=$1 name=$2 text=$3 got
	shift 4
	checks=$((checks + 1))
	timeout 30 "$SFCTL_BIN" content-id "$@" <"$in" >"$work/out" 2>"$work/err"
	got=$?
	[ $got -eq "$code" ] || {
		fail "$name: exit code $got, not $code"
		return
	}
	[ -z "$text" ] || grep -qF -- "$text" "$work/out" "$work/err" || fail "$name: no \"$text\""
}
# holds NAME command...: the command succeeds
holds() {
	local name=$1
	shift
	checks=$((checks + 1))
	"$@" >/dev/null 2>"$work/err" || fail "$name"
}
say() { printf '%b' "$1" >"$work/in" && in=$work/in; }
# prints NAME TEXT: stdout is exactly this
prints() { holds "$1" cmp "$work/out" <(printf '%b' "$2"); }

# ---- bytes ----
printf hello >hello
printf hello >again
: >empty
seq 300000 >large
hello=$("$SFCTL_BIN" content-id <hello)
in=hello
expect 0 stdin_gives_the_id_only '' --
prints stdin_gives_the_id_only_and_a_newline "$hello\n"
holds the_id_has_64_digits [ "$(grep -cE '^[0-9a-f]{64}$' "$work/out")" -eq 1 ]
expect 0 dash_is_stdin '' -- -
prints dash_has_its_name "$hello  -\n"
in=/dev/null
expect 0 files_in_order '' -- hello empty again
prints files_have_their_names "$hello  hello\n$("$SFCTL_BIN" content-id <empty)  empty\n$hello  again\n"
expect 0 coola_bytes_are_blake2b '' -- --profile coola --length 128 large
holds coola_bytes_agree_with_b2sum cmp "$work/out" <(b2sum large)
expect 0 coola_1_1_bytes_are_the_same '' -- --profile coola-1.1 --length 128 large
holds coola_1_1_bytes_agree_with_b2sum cmp "$work/out" <(b2sum large)
for bytes in 1 4096 65536; do
	dd if=large bs=$bytes count=2000 status=none | "$SFCTL_BIN" content-id >"$work/piped"
	head -c $((2000 * bytes)) large | "$SFCTL_BIN" content-id >"$work/whole"
	holds "pieces_of_${bytes}_give_the_same" cmp "$work/piped" "$work/whole"
done
expect 0 length_8_is_the_beginning "$(printf '%.8s' "$hello")  hello" -- --length 8 hello
printf hello >"$work/$(printf 'a\nb\\c')"
expect 0 odd_name '' -- "$(printf 'a\nb\\c')"
prints odd_name_is_escaped "\\\\$hello  a\\\\nb\\\\\\\\c\n"

# ---- JSON documents ----
say '{"b":2,"a":1}'
expect 0 coola_json 8cdf48729ca0eeb6e039ce3c6e6d77b3c9df8f1d27e6cfb9c28e682201372e37 -- \
	--input json --profile coola
expect 0 coola_1_1_json a3ecbdde9e227bcdae038eb86746b0fccb90939d8e7eeac55513423219ffa02f -- \
	--input json --profile coola-1.1
expect 0 uuid5 3a325a6e-132a-5836-8707-9a79a3c5d5fa -- --input json --profile coola --uuid5
say '{"a":1}'
expect 0 uuid5_of_another_namespace 2efd0b37-2927-5ddf-85ca-d6810fe110f1 -- --input json \
	--profile coola --uuid5 --namespace 6ba7b810-9dad-11d1-80b4-00c04fd430c8
say ' { "a" : 1 } '
expect 0 json_white_space '' -- --input json
spaced=$(cat "$work/out")
say '{"a":1}'
expect 0 json_white_space_does_not_count "$spaced" -- --input json
in=/dev/null

# ---- both rules against the other program ----
mkdir rows
jq -r '.content_json[].json | select(. != "NaN") | @json' "$vectors" | {
	n=100
	while read -r text; do
		n=$((n + 1))
		jq -jn --argjson text "$text" '$text' >"rows/$n"
	done
}
# infinite in coola, refused in sfd-1
infinite=$(grep -lE '^-?1e400$' rows/*)
printf '["%s", "%s", "%s"]' "$(head -c 65536 large | tr '\n' ' ')" "$(head -c 65535 large | tr '\n' ' ')" \
	"$(head -c 200000 large | tr '\n' ' ')" >rows/long
holds there_are_over_100_documents [ "$(find rows -type f | wc -l)" -gt 100 ]
for profile in coola coola-1.1; do
	for length in 64 128 20; do
		python3 "$here/content_rule.py" $profile $length rows/* >"$work/want"
		expect 0 "documents_$profile" '' -- --input json --profile $profile --length $length rows/*
		holds "documents_${profile}_${length}_agree_with_the_rule" cmp "$work/out" "$work/want"
	done
done
# shellcheck disable=SC2086
rm $infinite
for length in 64 128 20; do
	python3 "$here/content_rule.py" sfd-1 $length rows/* >"$work/want"
	expect 0 documents_sfd-1 '' -- --input json --length $length rows/*
	holds "documents_sfd-1_${length}_agree_with_the_rule" cmp "$work/out" "$work/want"
done

# ---- JSON output ----
expect 0 json_output '' -- --json hello empty
holds json_output_has_an_object_each jq -e --arg id "$hello" 'length == 2 and .[0] == {file: "hello",
	profile: "sfd-1", input: "bytes", id: $id} and .[1].file == "empty"' "$work/out"
expect 0 json_output_of_stdin '' -- --json --uuid5 --profile coola
holds json_output_of_stdin_has_the_uuid jq -e '.[0] == {file: "-", profile: "coola", input: "bytes",
	uuid5: "188b5522-b13a-5cd1-abee-4f6053399c1a",
	namespace: "2b6f6a52-6e83-4b1b-9e3a-0a2e9b2d9c6a"}' "$work/out"
printf hello >"$(printf 'not\xffutf8')"
expect 1 json_output_of_a_name_that_is_not_utf8 'not UTF-8' -- --json "$(printf 'not\xffutf8')" hello
holds json_output_goes_on_behind_it jq -e 'length == 1 and .[0].file == "hello"' "$work/out"
expect 1 json_output_of_nothing missing -- --json missing
holds json_output_of_nothing_is_an_empty_array jq -e '. == []' "$work/out"

# ---- errors ----
mkdir directory
expect 1 errors_are_per_file 'cannot read missing: No such file' -- hello missing directory again
prints errors_leave_the_rest "$hello  hello\n$hello  again\n"
expect 1 errors_name_the_directory 'cannot read directory: Is a directory' -- directory
# refuses NAME TEXT DOCUMENT: as a document it has no ID, and the one behind it has
printf '{}' >fine
refuses() {
	printf '%b' "$3" >bad
	expect 1 "$1" "$2" -- --input json bad fine
	holds "$1_goes_on" grep -qE '^[0-9a-f]{64}  fine$' "$work/out"
}
refuses json_key_twice 'bad: JSON, byte 13: a map has a key twice' '{"a":1,"a":2}'
refuses json_nan 'bad: JSON, byte 2' '[NaN]'
refuses json_empty 'bad: the JSON document is empty' ''
refuses json_two_documents 'trailing garbage' '{}\n{}\n'
refuses json_cut 'premature EOF' '{"a":[1'
refuses json_lone_surrogate 'byte 8: the high half' '"\\ud800"'
refuses json_not_utf8 'byte 2: text is not UTF-8' '"\xff"'
refuses json_deep 'deeper than 512' "$(printf '[%.0s' $(seq 513))"
refuses json_beyond_a_double 'beyond a double' '[1e400]'

# ---- usage ----
for length in 0 1 3 63 127 129 130 -2 x '' 18446744073709551616; do
	expect 2 "usage_length_$length" 'even number from 2 to 128' -- --length "$length" hello
done
expect 2 usage_profile 'sfd-1, coola or coola-1.1' -- --profile coola-2
expect 2 usage_input 'bytes or json' -- --input yaml
expect 2 usage_namespace_alone '--namespace is for --uuid5' -- \
	--namespace 6ba7b810-9dad-11d1-80b4-00c04fd430c8
expect 2 usage_namespace namespace -- --uuid5 --namespace 6ba7b810
expect 2 usage_uuid5_with_length 'leave --length out' -- --uuid5 --length 64
expect 2 usage_option '' -- --frobnicate
expect 0 help_ends_with_examples Examples -- --help
holds help_has_80_columns [ "$(awk 'length > 80' "$work/out" | wc -l)" -eq 0 ]
checks=$((checks + 2))
"$SFCTL_BIN" content-id hello >/dev/full 2>"$work/err" && fail "a full disk must fail"
timeout 20 "$SFCTL_BIN" content-id <&- >"$work/out" 2>"$work/err"
[ $? -eq 1 ] || fail "a closed stdin must fail, and not hang"

echo "$((100 * (checks - failures) / checks))%: Checks: $checks, Failures: $failures, Errors: 0"
[ $failures -eq 0 ]
