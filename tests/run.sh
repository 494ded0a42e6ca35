#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Everything that must hold on a clean checkout: installs what is missing, builds with both
# compilers, checks style, runs every suite plain and under the sanitizers, and tries the product
# as a newcomer would. The last line is "N passed, N failed, N skipped".
# usage: bash tests/run.sh [--quick]     --quick: one build, one run of the suites
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."

quick=false
case "${1:-}" in
"") ;;
--quick) quick=true ;;
*)
	echo "usage: bash tests/run.sh [--quick]" >&2
	exit 2
	;;
esac

passed=0
failed=0
skipped=0
work=$(mktemp -d)
chmod 755 "$work" # an sfd that has given up root finds its program there
trap 'jobs -p | xargs -r kill 2>/dev/null; rm -rf "$work"' EXIT

say() { printf '== %s\n' "$*"; }

report() { # name log seconds status
	if [ "$4" -eq 0 ]; then
		passed=$((passed + 1))
		echo "ok   $1 ($3 s)"
	else
		failed=$((failed + 1))
		echo "FAIL $1 ($3 s)"
		tail -n 40 "$2" | sed 's/^/     /'
	fi
}

# One check that either passes or fails as a whole; its output is shown when it fails.
check() { # name command...
	local name=$1 log="$work/log" begin=$SECONDS status=0
	shift
	"$@" >"$log" 2>&1 || status=$?
	report "$name" "$log" $((SECONDS - begin)) $status
}

# The same beside what follows, on what that leaves of the CPUs; reported by checks_end.
background=()
check_begin() { # name command...
	local log="$work/background-${#background[@]}"
	background+=("$1")
	shift
	{
		begin=$SECONDS status=0
		renice -n 19 -p "$BASHPID" >/dev/null # a check may be a function: nice knows none
		"$@" >"$log" 2>&1 || status=$?
		echo $((SECONDS - begin)) $status >"$log.end"
	} &
}
checks_end() {
	local i seconds status
	wait
	for i in "${!background[@]}"; do
		read -r seconds status <"$work/background-$i.end"
		report "${background[$i]}" "$work/background-$i" "$seconds" "$status"
	done
	background=()
}

# Runs a build's suites, those that allow it two at a time, and adds up what Check and the scripts
# report.
suites() { # build-dir label meson-test-arguments...
	local build=$1 label=$2 log begin=$SECONDS
	shift 2
	log="$build/meson-logs/testlog.txt"
	say "suites: $label"
	if ! meson test -C "$build" --no-rebuild --num-processes 2 --verbose "$@" >"$work/suite" 2>&1; then
		grep -E '^(Ok|Fail|Expected Fail|Unexpected Pass|Skipped|Timeout):' "$work/suite" || true
		grep -aE ':[FE]:|TIMEOUT|FAIL|Sanitizer|runtime error' "$work/suite" | head -n 60
		# A suite that died without a count must not pass unseen.
		failed=$((failed + $(grep -cE '^ *[0-9]+/[0-9]+ .* (FAIL|TIMEOUT|ERROR)' "$work/suite" || true)))
	fi
	[ -f "$log" ] || failed=$((failed + 1))
	local sum
	sum=$(awk '
		match($0, /Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+/) {
			split(substr($0, RSTART, RLENGTH), n, /[^0-9]+/)
			p += n[2] - n[3] - n[4]; f += n[3] + n[4]
		}
		/^SKIP / { s++; print > "/dev/stderr" }
		END { print p + 0, f + 0, s + 0 }' "$work/suite")
	# shellcheck disable=SC2086
	set -- $sum
	[ "$1" -gt 0 ] || { echo "no test ran"; failed=$((failed + 1)); }
	passed=$((passed + $1))
	failed=$((failed + $2))
	skipped=$((skipped + $3))
	echo "     $label: $1 passed, $2 failed, $3 skipped ($((SECONDS - begin)) s)"
	awk '/vectors: [0-9]+ rows/ { for (i = 1; i < NF; i++) if ($i == "vectors:") n += $(i + 1) }
		END { print "     vectors: " n + 0 " rows run" }' "$work/suite"
}

build() { # dir compiler options...
	local dir=$1 compiler=$2
	shift 2
	CC=$compiler meson setup "$dir" --werror "$@" && meson compile -C "$dir"
}

bash tools/deps.sh test || exit 1

# On a busy machine a test is not hanging after Check's 4 s; the suites have limits of their own.
export CK_TIMEOUT_MULTIPLIER=10

if ! $quick; then
	say "style, beside the suites"
	check_begin "clang-format" bash tests/style/format.sh
	check_begin "sources: licences, sizes, atomics" bash tests/style/sources.sh
	# every source is compiled by clang below; the linter only needs to know how
	CC=clang meson setup "$work/clang" >/dev/null 2>&1
	check_begin "clang-tidy" bash tests/style/tidy.sh "$work/clang"
fi
say "builds"
if $quick; then
	tested="$work/gcc"
	check "gcc build, warnings are errors" build "$tested" gcc
	suites "$tested" "gcc"
else
	# the product as users build it, and once more with its tests
	tested="$work/coverage"
	check "gcc build, warnings are errors" build "$work/gcc" gcc -Dtests=disabled
	check "gcc build with tests and coverage" build "$tested" gcc -Db_coverage=true -Dbench=false
	check "coverage of every user" bash tests/coverage.sh --prepare "$work/coverage"
	# beside the suites, which often wait
	check_begin "model, every interleaving" bash tests/model/run.sh
	check_begin "clang build with ASan and UBSan, warnings are errors" build "$work/asan" clang \
		--buildtype=debugoptimized -Db_sanitize=address,undefined -Db_lundef=false -Dfuzz=true
	suites "$work/coverage" "gcc"
	check "line coverage, at least 90 %" bash tests/coverage.sh "$work/coverage"
	sed -n '/^line coverage/s/^/     /p' "$work/log"
fi
check "chaos finds planted faults" env BUILD_DIR="$tested" bash tests/chaos.sh --self-test
check "chaos, 30 seconds" env BUILD_DIR="$tested" bash tests/chaos.sh 30
if ! $quick; then
	say "as a newcomer"
	check "install, link, symbols, headers" bash tests/install.sh "$work/gcc"
	check "quickstart" bash tests/quickstart.sh
	say "beside them"
	checks_end
	say "sanitizers and fuzzers"
	check_begin "TSan build" build "$work/tsan" clang --buildtype=debugoptimized \
		-Db_sanitize=thread -Db_lundef=false -Dbench=false
	suites "$work/asan" "ASan and UBSan" --timeout-multiplier 4 --no-suite long
	checks_end
	check_begin "fuzzers, 20 seconds each" bash tests/fuzz/run.sh "$work/asan"
	# what has but one thread cannot race, and the tools start what the other suites do
	suites "$work/tsan" "TSan" --timeout-multiplier 6 --no-suite one-thread --no-suite tool \
		--no-suite long
	checks_end
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
