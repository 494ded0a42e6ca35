# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced after command_line.sh by tests of sfctl exporter: one that runs, and what its answers say.
exporter=
trap 'for pid in $sfd $exporter ${prometheus:-}; do kill -CONT $pid; kill $pid; wait $pid; done 2>/dev/null
	rm -rf "$work"' EXIT

# start_exporter [OPTION...]: sets exporter (its pid) and url; fails when it does not serve
start_exporter() {
	"$SFCTL_BIN" exporter "$@" 2>"$work/exporter.log" &
	exporter=$!
	until_true grep -q serving "$work/exporter.log" || return
	url=$(sed -n 's/^sfctl exporter: serving //p' "$work/exporter.log")
}

# stop_exporter: cleanly, or it fails
stop_exporter() {
	kill -TERM "$exporter"
	wait "$exporter"
	local status=$?
	exporter=
	return $status
}

# until_true command...: looks again until it is, for a minute
until_true() {
	local end=$((SECONDS + 60))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return
		sleep 0.05
	done
}

openmetrics='Accept: application/openmetrics-text;version=1.0.0'

# scrape [OPTION of curl...]: into $work/out; fails unless the status is 200
scrape() { curl -sS --fail --max-time 20 -o "$work/out" "$@" "$url" 2>"$work/err"; }

# value NAME{LABELS} [FILE]: of a sample
value() { awk -v name="$1" 'index($0, name " ") == 1 { print $NF; n++ } END { exit n != 1 }' "${2:-$work/out}"; }

# is_sample NAME{LABELS} VALUE: in the last scrape
is_sample() { [ "$(value "$1")" = "$2" ]; }
