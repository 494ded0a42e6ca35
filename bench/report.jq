# SPDX-License-Identifier: MIT
# Merges what bench/run.sh measured into one object, and works out what the goals are about and
# whether they are met. A ratio is the median of the rounds' ratios: both sides of one round were
# measured within a fraction of a second. A value without a goal is there to compare.

def median: sort | .[length / 2 | floor];
def row($name): first($programs[] | select(.layout != "twitter" and .name == $name)) // null;
def rounds($a; $b; $field):
  if $a == null or $b == null then null
  else [range($a.rounds) as $i | $a[$field][$i] / $b[$field][$i]] | median end;
def ratio($a; $b): rounds(row($a); row($b); "round_ns");
def gain($a; $b): rounds(row($a); row($b); "round_per_second");
def ns($name): row($name) | if . == null then null else .ns end;
def judged:
  if .value == null or (has("at_most") or has("at_least") | not) then .
  else .met = (.value <= (.at_most // infinite) and .value >= (.at_least // 0)) end;

{
  machine: {cpu: $cpu, cpus: ($cpus | tonumber), kernel: $kernel, load_at_end: $load},
  build: {compiler: $compiler, options: $options, flags: $flags, commit: $commit},
  date: $date,
  layouts: {roomy: $roomy, twitter: "twitter"},
  goals: [
    {what: "next inline / bare increment", value: ratio("next_inline"; "increment"),
      at_most: 3},
    {what: "next called / uncontended xadd", value: ratio("next_called"; "xadd"),
      at_most: (3.5 / 2.4)},
    {what: "fill of 1000 / storing a counter", value: ratio("fill_1000"; "store_1000"),
      at_most: 1.5},
    {what: "fill of 100000 / storing a counter", value: ratio("fill_100000"; "store_100000"),
      at_most: 1.5},
    {what: "next, two processes / one", value: gain("next_two_processes"; "next_one"),
      at_least: 1.9},
    {what: "next, two threads / one", value: gain("next_two_threads"; "next_one"),
      at_least: 1.9},
    {what: "ordered / xadd, uncontended", value: ratio("next_ordered"; "xadd"),
      at_most: 2.5},
    {what: "ordered / xadd, two processes",
      value: ratio("ordered_two_processes"; "xadd_two_processes"), at_most: 1.5},
    {what: "ordered / xadd, two threads",
      value: ratio("ordered_two_threads"; "xadd_two_threads"), at_most: 1.5},
    ("ulid", "uuid7", "objectid" |
      {what: "next128 inline, \(.) / next inline",
        value: ratio("next128_\(.)"; "next_inline"), at_most: 1.5},
      {what: "next128 ordered, \(.) / next ordered",
        value: ratio("next128_ordered_\(.)"; "next_ordered")},
      {what: "fill128 of 1000, \(.) / storing",
        value: ratio("fill128_1000_\(.)"; "store128_1000")}),
    ("ulid", "uuid" |
      {what: "\(.) as text, ns", value: ns("\(.)_format"), at_most: 25}),
    ("ulid", "uuid", "objectid", "hound" |
      {what: "\(.) as text / memcpy", value: ratio("\(.)_format"; "memcpy_\(.)")}),
    {what: "uuid as text / libuuid", value: ratio("uuid_format"; "libuuid_unparse_lower"),
      at_most: 1},
    {what: "ulid as text / libuuid", value: ratio("ulid_format"; "libuuid_unparse_lower"),
      at_most: 1},
    {what: "uuid from text / libuuid", value: ratio("uuid_parse"; "libuuid_parse")}
    | judged
  ],
  programs: $programs,
  sfctl_bench: $sfctl,
  commands: $commands
}
