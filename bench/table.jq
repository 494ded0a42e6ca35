# SPDX-License-Identifier: MIT
# Prints bench/run.sh's results as tables of less than 80 columns. The goals are information: no
# exit status hangs on them.

def left($n): tostring | .[:$n] | . + " " * ($n - length);
def right($n): tostring | " " * ($n - length) + .;
def fixed($digits): # a number with so many decimals
  pow(10; $digits) as $unit | (. * $unit | round) as $scaled |
  ($scaled / $unit | floor | tostring) +
  if $digits == 0 then ""
  else "." + ($scaled % $unit | tostring | "0" * ($digits - length) + .) end;
def cell($digits; $width): if . == null then "-" else fixed($digits) end | right($width);
def rate: . / 1e6 | cell(1; 10);

"\(.machine.cpu), \(.machine.cpus) CPUs, \(.machine.kernel)",
"\(.build.compiler)",
"\(.build.options)",
"commit \(.build.commit)",
"\(.date), load \(.machine.load_at_end)",
"",
("ns, one thread" | left(26)) + ("median" | right(10)) + ("least" | right(10)) +
  ("greatest" | right(10)) + ("  layout"),
(.programs[] | select(.question == "fetch") |
  "  \(.name | left(24))\(.ns | cell(2; 10))\(.least_ns | cell(2; 10))" +
  "\(.greatest_ns | cell(2; 10))  \(.layout)"),
"",
("ns, wide IDs as text" | left(26)) + ("median" | right(10)) + ("least" | right(10)) +
  ("greatest" | right(10)),
(.programs[] | select(.question == "formats") |
  "  \(.name | left(24))\(.ns | cell(2; 10))\(.least_ns | cell(2; 10))" +
  "\(.greatest_ns | cell(2; 10))"),
"",
("two cores" | left(26)) + ("ns each" | right(10)) + ("least" | right(10)) +
  ("M/s all" | right(10)) + ("  layout"),
(.programs[] | select(.question == "contention") |
  "  \(.name | left(24))\(.ns | cell(2; 10))\(.least_ns | cell(2; 10))" +
  "\(.per_second | rate)  \(.layout)"),
"",
("sfctl bench" | left(11)) + ("PxT" | right(5)) + ("ns per ID" | right(10)) +
  ("M IDs/s" | right(10)) + ("p50" | right(8)) + ("p99" | right(8)) + ("p99.9" | right(9)) +
  ("dup" | right(5)) + ("  layout"),
(.sfctl_bench[] |
  "  \(.mode | left(9))\("\(.processes)x\(.threads)" | right(5))\(.ns_per_id | cell(2; 10))" +
  "\(.ids_per_second | rate)\(.p50_ns | cell(0; 8))\(.p99_ns | cell(0; 8))" +
  "\(.p999_ns | cell(0; 9))\(.duplicates | cell(0; 5))  \(.layout)"),
"",
("whole commands" | left(46)) + ("median s" | right(10)) + ("MB/s in" | right(10)),
(.commands[] |
  "  \(.command | left(44))\(.median_s | cell(3; 10))" +
  "\(if .input_bytes > 0 then .input_bytes / .median_s / 1e6 else null end | cell(0; 10))"),
"",
("goals: ratios (median of the rounds'), ns" | left(46)) + ("measured" | right(10)) +
  ("goal" | right(10)),
(.goals[] |
  "  \(.what | left(44))\(.value | cell(2; 10))" +
  (if has("at_most") then "<= \(.at_most | fixed(2))"
   elif has("at_least") then ">= \(.at_least | fixed(2))"
   else "-" end | right(10)) +
  (if has("met") then if .met then "  met" else "  missed" end else "" end))
