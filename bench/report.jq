# SPDX-License-Identifier: MIT
# Merges what bench/run.sh measured into one object, and works out the ratios. A ratio is the median
# of the rounds' ratios: both sides of one round were measured within a fraction of a second.

def median: sort | .[length / 2 | floor];
def row($layout; $name): first($programs[] | select(.layout == $layout and .name == $name)) // null;
def rounds($a; $b; $field):
  if $a == null or $b == null then null
  else [range($a.rounds) as $i | $a[$field][$i] / $b[$field][$i]] | median end;
def ratio($a; $b): rounds(row("wide"; $a); row("wide"; $b); "round_ns");
def gain($a; $b): rounds(row("wide"; $a); row("wide"; $b); "round_per_second");

{
  machine: {cpu: $cpu, cpus: ($cpus | tonumber), kernel: $kernel, load_at_end: $load},
  build: {compiler: $compiler, options: $options, flags: $flags, commit: $commit},
  date: $date,
  layouts: {wide: $wide, twitter: "twitter"},
  ratios: [
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
      value: ratio("ordered_two_threads"; "xadd_two_threads"), at_most: 1.5}
  ],
  programs: $programs,
  sfctl_bench: $sfctl,
  commands: $commands
}
