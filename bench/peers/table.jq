# SPDX-License-Identifier: MIT
# Prints bench/peers.sh's results as tables of less than 80 columns. The goals are information: no
# exit status hangs on them.

def left($n): tostring | .[:$n] | . + " " * ($n - length);
def right($n): tostring | " " * ($n - length) + .;
def fixed($digits): # a number with so many decimals
  pow(10; $digits) as $unit | (. * $unit | round) as $scaled |
  ($scaled / $unit | floor | tostring) +
  if $digits == 0 then ""
  else "." + ($scaled % $unit | tostring | "0" * ($digits - length) + .) end;
def number: # with as many digits as are worth reading
  if . == null then "-" elif . == 0 then "0" elif . < 0.1 then fixed(4) elif . < 10 then fixed(2) elif . < 100 then fixed(1) else fixed(0) end;
def cell($width): number | right($width);
def heading($first): . as $columns | ($first | left(22)) + ($columns | map(right(9)) | join(""));
def duplicates: if . == null then "-" elif .none then "no fork" elif .fails then "fails" else
  .duplicates end | right(9);

"\(.machine.cpu), \(.machine.cpus) CPUs, \(.machine.kernel)",
"\(.build.compiler), \(.build.flags)",
"commit \(.build.commit)",
"\(.date), load \(.machine.load)",
"medians of \(.settings.rounds) interleaved rounds of \(.settings.window_ms) ms",
"",
(["1 thread", "threads", "procs", "M/s one", "M/s two"] | heading("ns an ID of a worker")) +
  "  layout",
(.peers[] | (.name | left(22)) + (.one_thread.ns | cell(9)) + (.two_threads.ns | cell(9)) +
  (.two_processes.ns | cell(9)) + (.one_thread.per_second / 1e6 | cell(9)) +
  (.two_processes.per_second | if . then . / 1e6 else . end | cell(9)) + "  \(.layout[:10])"),
"",
(["CPU ns", "server", "CPU two", "sys/1000", "first us", "spawned"] | heading("per ID")),
(.peers[] | (.name | left(22)) + (.one_thread.cpu_ns | cell(9)) +
  (.one_thread.server_cpu_ns | cell(9)) +
  (.two_processes | if . then .cpu_ns + .server_cpu_ns else . end | cell(9)) +
  (.syscalls.per_id | if . then . * 1e3 else . end | cell(9)) +
  (.first.since_main_ns / 1e3 | cell(9)) + (.first.since_spawn_ns / 1e3 | cell(9))),
"  CPU ns: of the worker, of its server, and of both and two workers",
"  sys/1000: system calls of the worker for 1000 IDs (strace -f -c: a run of 2 N",
"  IDs, less one of N)",
"  first us: the first ID of a fresh process, since main(), and since its spawn",
"",
(["1 thread", "threads", "procs", "fork", "IDs"] | heading("duplicates")) + "  safe by",
(.peers[] | (.name | left(22)) + (.unique.one_thread | duplicates) +
  (.unique.two_threads | duplicates) + (.unique.two_processes | duplicates) +
  (.unique.after_fork | duplicates) +
  ((.unique.two_processes // .unique.one_thread).ids | tostring | right(9)) +
  "  \(.safe_by)"),
"  IDs: of both processes, which share a machine id where there is one",
(.peers[] | select(.unique.after_fork.fails?) |
  "  \(.name) fails after a fork: \(.unique.after_fork.fails | .[:60])"),
"",
"measured, and the version",
(.peers[] | select(.version != "") | "  \(.name | left(22)) \(.version)"),
"",
(if .left_out == [] then "nothing was left out" else
  "left out", (.left_out[] | "  \(.name): \(.reason)") end),
"",
("goals: ratios" | left(50)) + ("measured" | right(10)) + ("goal" | right(9)),
(.goals[] |
  "  \(.what | left(48))\(.value | cell(10))" +
  (if has("at_most") then "<= \(.at_most | number)"
   elif has("at_least") then ">= \(.at_least | number)"
   elif has("below") then "< \(.below | number)"
   else "-" end | right(9)) +
  (if has("met") then if .met then "  met" else "  missed" end else "" end),
  "    layout \(.layout), cap \(.cap)",
  (if .peer_layout then "    the peer: \(.peer_layout), cap \(.peer_cap); " +
    "by CPU time \(.cpu_value | number)" else empty end))
