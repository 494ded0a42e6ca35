# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Sourced after command_line.sh by tests of sfctl trace: traces that run beside a client which does
# what it is told. Environment: TRACE_CLIENT.

client_pid=
trace_pid=

# soon command...: within 10 s
soon() {
	for _ in $(seq 1000); do
		"$@" && return
		sleep 0.01
	done
	return 1
}

# start_client [command...]: the client that ask() talks to; the command executes it
start_client() {
	coproc CLIENT { exec "$@" "$TRACE_CLIENT" 2>"$work/client.err"; }
	client_pid=$CLIENT_PID
	to_client=${CLIENT[1]}
	from_client=${CLIENT[0]}
	hear
}
hear() {
	local reply
	read -r -t 20 -u "$from_client" reply && [ "$reply" = ok ]
}

# ask COMMANDS: returns when the client has done them
ask() { echo "$*" >&"$to_client" && hear; }

stop_client() {
	exec {to_client}>&-
	wait "$client_pid" 2>/dev/null
	client_pid=
}

# begin_trace arguments of sfctl trace...: returns when it has begun; what it prints is in $work/out
# and $work/err
begin_trace() {
	"$SFCTL_BIN" trace "$@" --verbose >"$work/out" 2>"$work/err" &
	trace_pid=$!
	soon trace_has_begun
}
trace_has_begun() {
	grep -q '^sfctl trace: tracing ' "$work/err" || ! kill -0 "$trace_pid" 2>/dev/null
}

# end_trace: as an interrupt does
end_trace() {
	kill -INT "$trace_pid" 2>/dev/null
	wait "$trace_pid"
}

# probes_of FILE PROVIDER: names of its probes; needs no more than readelf
probes_of() {
	readelf -n "$1" | awk -v provider="$2" '
		$1 == "Provider:" { is_its = $2 == provider }
		$1 == "Name:" && is_its { print $2 }' | sort -u
}

# documented PROVIDER: names of its probes in the manual
documented() {
	sed -n "/^## Provider \`$1\`/,/^## [^P]/p" "$PROBES_MANUAL" |
		awk 'NR > 1 && /^## Provider/ { exit } { print }' | sed -n 's/^| `\([a-z_]*\)` .*/\1/p' | sort
}
