# SPDX-License-Identifier: MIT
# Merges what bench/peers.sh measured into one object, and works out what the goals are about and
# whether they are met. A ratio of times is the median of the rounds' ratios. A value without a goal
# is there to compare.

def median: sort | .[length / 2 | floor];
$measured[0].peers as $peers |
def row($name): first($peers[] | select(.name == $name)) // null;
def rounds($a; $b; $shape; $field):
  if $a[$shape] == null or $b[$shape] == null then null
  else [range([$a[$shape].rounds, $b[$shape].rounds] | min) as $i |
    $a[$shape][$field][$i] / $b[$shape][$field][$i]] | median end;
def ratio($a; $b; $shape): rounds($a; $b; $shape; "round_ns");
# Peers that gave no ID twice, neither in one process nor in two at once.
def unique: .unique | [.one_thread, .two_threads, .two_processes] |
  all(. == null or .duplicates == 0);
def fastest($safe): [$peers[] | select(.kind == "peer" and unique and
  (.safe_by as $by | $safe | index($by)))] | min_by(.one_thread.ns);
fastest(["uuidd", "the server", "the pid"]) as $safe | fastest(["chance"]) as $chance |
# Time on a CPU, servers included, of medians: other load moves it less.
def cpu($entry; $shape): $entry[$shape] | if . then .cpu_ns + .server_cpu_ns else null end;
def against($peer; $own; $shape; $what; $least):
  {what: "\($peer.name // "no peer") / \($own), \($what)",
    value: ratio($peer; row($own); $shape), peer: $peer.name, own: $own,
    cpu_value: (cpu($peer; $shape) as $theirs | cpu(row($own); $shape) |
      if . and $theirs then $theirs / . else null end),
    layout: row($own).layout, cap: row($own).cap, peer_layout: $peer.layout, peer_cap: $peer.cap} +
  if $least then {at_least: $least} else {} end;
def wide($what; $value; $goal): {what: $what, value: $value, layout: row("sf_next inline").layout,
  cap: row("sf_next inline").cap} + $goal;
def gain: row("sf_next inline") as $next |
  if $next.two_processes == null then null
  else [range($next.two_processes.rounds) as $i |
    $next.two_processes.round_per_second[$i] / $next.one_thread.round_per_second[$i]] | median end;
def judged:
  if .value == null or (has("at_most") or has("at_least") or has("below") | not) then .
  else .met = (.value <= (.at_most // infinite) and .value >= (.at_least // 0) and
    .value < (.below // infinite)) end;

{
  machine: {cpu: $cpu, cpus: ($cpus | tonumber), kernel: $kernel, load: $load},
  build: {compiler: $compiler, flags: $flags, commit: $commit},
  date: $date,
  settings: $settings,
  ways: {
    time: "two threads, or two processes of one thread, each on a CPU of its own where the worker pins: COMMAND time THREADS \($settings.window_ms)",
    duplicates: "COMMAND collect THREADS \($settings.collect_ms) \($settings.collect_ids) FILE; COMMAND fork ...: records of 32 bytes, sorted and compared",
    syscalls: "strace -f -c of the worker: a run of N IDs taken off one of 2 N; a server's are not counted",
    cpu: "CLOCK_PROCESS_CPUTIME_ID of the workers; /proc/PID/task/*/schedstat of the server and all under it",
    first: "CLOCK_MONOTONIC: since the worker's main() or script began, and since its posix_spawn()"
  },
  fastest_safe: $safe.name,
  goals: [
    against($safe; "sf_next inline"; "one_thread"; "1 thread"; 10),
    against($safe; "sf_next inline"; "two_processes"; "2 processes"; 10),
    against($safe; "sf_next called"; "one_thread"; "1 thread"; 3),
    against($safe; "sf_next called"; "two_processes"; "2 processes"; 3),
    against($chance; "sf_next inline"; "one_thread"; "1 thread"; null),
    (row("sf_next inline").first.since_main_ns as $own |
      wide("first ID since main(): sf_next / \($safe.name)";
        if $safe then $own / $safe.first.since_main_ns else null end; {at_most: 1})),
    (row("sf_next inline").first.since_spawn_ns as $own |
      wide("first ID since spawn: sf_next / \($safe.name)";
        if $safe then $own / $safe.first.since_spawn_ns else null end; {})),
    wide("sf_next_ordered / lock xadd, 2 processes";
      ratio(row("sf_next_ordered"); row("lock xadd"); "two_processes"); {at_most: 1.5}),
    wide("sf_next_ordered / compare-and-swap, 2 processes";
      ratio(row("sf_next_ordered"); row("compare-and-swap"); "two_processes"); {below: 1}),
    wide("sf_next: IDs/s of two processes / one"; gain; {at_least: 1.9}),
    {what: "sf_next 41/10/12, two processes: ns / 244",
      value: (row("sf_next 41/10/12").two_processes.ns // null | if . then . / 488.28125 else . end),
      layout: row("sf_next 41/10/12").layout, cap: row("sf_next 41/10/12").cap}
    | judged
  ],
  peers: $peers,
  left_out: ($left_out + $measured[0].left_out)
}
