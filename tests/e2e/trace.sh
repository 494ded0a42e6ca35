#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sfctl trace and the probes, on a real sfd and a client that does as it is told: what is counted is
# what was done, nothing stays behind, and what is missing is named.
# Environment: SFD_BIN, SFCTL_BIN, CLIENT_LIB, TRACE_CLIENT, PROBES_MANUAL.
. "$(dirname "$0")/../support/command_line.sh"
. "$(dirname "$0")/../support/traces.sh"
chmod 755 "$work" # for other users

# ---- the list of probes ----
same_probes() { diff <(documented "$2") <(probes_of "$1" "$2") >&2 && [ -n "$(documented "$2")" ]; }
if [ -n "$(probes_of "$CLIENT_LIB" sfclient)" ]; then
	holds manual_lists_the_probes_of_libsfclient same_probes "$CLIENT_LIB" sfclient
	holds manual_lists_the_probes_of_sfd same_probes "$SFD_BIN" sfd
else
	echo "SKIP trace: built without probes"
fi

# ---- usage ----
expect 2 trace_what 'latency, beat, control or syscalls' -- trace
expect 2 trace_unknown 'there is no trace "nothing"' -- trace nothing
expect 2 trace_two 'one argument too many' -- trace beat latency
for bad in --pid=0 --pid=x --pid=4294967296 --seconds=0 --seconds=604801 --sample=0; do
	expect 2 "trace_refuses_$bad" 'is not a number from 1 to' -- trace latency $bad
done
expect 2 trace_syscalls_wants_a_pid '--pid is missing' -- trace syscalls
expect 0 trace_help '3 something that tracing needs' -- trace --help

# ---- can this host trace? ----
"$SFCTL_BIN" trace latency --seconds 1 --json >"$work/out" 2>"$work/err"
code=$?
if [ $code -eq 3 ]; then
	echo "SKIP trace: $(head -n 1 "$work/err")"
	checks=$((checks + 1))
	[ -s "$work/err" ] || fail "nothing says what is missing"
	finish
	exit
fi
checks=$((checks + 1))
[ $code -eq 0 ] || fail "trace of whatever runs here: exit code $code"
holds trace_has_percentiles jq -e '.paths.fast | has("p50_ns") and has("p99_9_ns")' "$work/out"

start_sfd --machine-id 771 --layout 't39 n10 s14 epoch=1704067200000'
start_client

# ---- the semaphore ----
# where it is in the client
base=$(awk -v file="$(readlink -f "$CLIENT_LIB")" '$6 == file && $3 ~ /^0+$/ { print $1; exit }' \
	"/proc/$client_pid/maps")
offset=$(readelf -n "$CLIENT_LIB" | awk '
	$1 == "Name:" { is_it = $2 == "fetch" }
	$1 == "Location:" && is_it { print $NF; exit }')
semaphore=$((0x${base%-*} + offset))
semaphore_is() { # a condition of [
	[ "$(dd if="/proc/$client_pid/mem" bs=2 count=1 iflag=skip_bytes skip=$semaphore 2>/dev/null |
		od -An -tu2)" "$@" ]
}
holds semaphore_is_down_before_fc75 semaphore_is -eq 0
for i in $(seq 20); do
	begin_trace latency --pid "$client_pid"
	holds "semaphore_is_up_${i}_fc75" semaphore_is -gt 0
	if [ $((i % 10)) -eq 9 ]; then
		kill -KILL $trace_pid
		wait $trace_pid 2>/dev/null
		holds "semaphore_is_down_after_sigkill_${i}_fc75" soon semaphore_is -eq 0
	else
		end_trace || fail "trace $i"
		holds "semaphore_is_down_${i}_fc75" semaphore_is -eq 0
	fi
done
holds client_goes_on ask 'single 1000'

# ---- what is counted ----
begin_trace latency --pid "$client_pid" --json
holds client_draws ask 'single 10000; batch 100 100; nap 20; single 1'
end_trace || fail "trace of known fetches"
holds totals_are_what_was_fetched_fc76 jq -e --argjson pid "$client_pid" \
	'([.paths[].ids] | add) == 10001 and .lost == 0 and (.processes | map(.pid) == [$pid])' "$work/out"
holds every_claim_is_timed_fc76 jq -e '.paths.claim | .ids == .count and .count > 0' "$work/out"
holds histogram_has_all jq -e '.paths.claim | ([.histogram[].count] | add) == .count' "$work/out"
holds percentiles_rise jq -e '.paths.claim | .p50_ns <= .p90_ns and .p90_ns <= .p99_ns and
	.p99_ns <= .p99_9_ns and .p99_9_ns <= .max_ns and .max_ns > 0' "$work/out"

# one_in N: of the fast fetches, that many were timed
one_in() { jq -e ".sample == $1 and (.paths.fast | .ids > 20000 and (.ids / $1 - .count | fabs) <= 2)" "$work/out"; }
begin_trace latency --pid "$client_pid" --json
ask 'spin 300'
end_trace || fail "trace of fast fetches"
holds one_in_1024_is_timed_fc76 one_in 1024
begin_trace latency --pid "$client_pid" --json --sample 3000
ask 'spin 300'
end_trace || fail "trace of a sample"
holds sample_is_rounded_up one_in 3072

begin_trace latency --json --stream other
ask 'single 5000; nap 20; single 1'
end_trace || fail "trace of a stream"
holds other_streams_are_left_out jq -e --argjson pid "$client_pid" \
	'[.processes[] | select(.pid == $pid)] == []' "$work/out"

# whoever starts while it runs
begin_trace latency --json --stream default
"$TRACE_CLIENT" < <(echo 'single 700; nap 20; single 1') >/dev/null &
late=$!
wait $late
end_trace || fail "trace of all"
holds late_comers_are_seen jq -e --argjson pid "$late" \
	'[.processes[] | select(.pid == $pid) | .paths[].ids] | add == 701' "$work/out"

# ---- text, picture ----
begin_trace latency --pid "$client_pid" --svg "$work/latency.svg"
ask 'single 5000; nap 20; single 1'
end_trace || fail "trace as text"
holds text_has_the_process grep -q "^process $client_pid, trace_client" "$work/out"
holds text_has_a_histogram grep -qE '^ +[0-9.]+ .s to +[0-9.]+ .s +[0-9]+ #' "$work/out"
holds text_is_narrow awk 'length > 79 { exit 1 }' "$work/out"
expect 1 picture_needs_a_folder '/nowhere/at.svg' \
	-- trace latency --pid "$client_pid" --seconds 1 --svg /nowhere/at.svg

# ---- system calls ----
begin_trace syscalls --pid "$client_pid" --json
ask 'single 5000'
end_trace || fail "trace of no calls"
holds no_system_call_between_fetches jq -e '.calls == 0 and .ids > 3000 and .intervals > 0 and
	.intervals == .intervals_without' "$work/out"
begin_trace syscalls --pid "$client_pid" --svg "$work/syscalls.svg" --json
ask 'single 5000; getppid 77; single 2000; nap 20; single 1'
end_trace || fail "trace of known calls"
holds system_calls_are_those_that_were_made jq -e '.by_name.getppid == 77 and .calls == 78 and
	.intervals - .intervals_without <= 2' "$work/out"

# ---- the beat ----
begin_trace beat --socket "$SFD_SOCKET" --json --svg "$work/beat.svg"
ask 'spin 400'
end_trace || fail "trace of the beat"
holds beat_is_that_sfds jq -e --argjson pid "$sfd" '.daemons | length == 1 and .[0].pid == $pid' "$work/out"
holds every_turn_is_told_of jq -e '.daemons[0] | .turns > 50 and .turns == .early + .late.count and
	.late.count == .timer.count + .overrun and .work.count == .turns and .late.p50_ns > 0' "$work/out"
begin_trace beat --pid "$sfd"
ask 'spin 300'
end_trace || fail "trace of the beat as text"
holds beat_text_has_its_parts grep -qE '^ready +[0-9]+ ' "$work/out"
holds beat_text_is_narrow awk 'length > 79 { exit 1 }' "$work/out"
expect 1 beat_needs_an_sfd_there 'no sfd listens' -- trace beat --seconds 1 --socket "$work/none"

# ---- the control channel, on both loops ----
# ask_sfd: 2 stats, as many clients, 2 attaches, one of them refused
ask_sfd() {
	"$SFCTL_BIN" stats && "$SFCTL_BIN" stats && "$SFCTL_BIN" next
	"$SFCTL_BIN" next --stream none || true
}
trace_control() { # NAME
	begin_trace control --socket "$SFD_SOCKET" --json
	ask_sfd >/dev/null 2>&1
	end_trace || fail "trace of requests, $1"
	holds "every_request_is_told_of_$1" jq -e '.types.stats.count == 2 and .types.attach.count == 2 and
		.types.attach.refused == 1 and .types.clients.count == 2 and .count == 6 and
		(.requests | length == 6 and all(.queue_ns != null and .service_ns > 0))' "$work/out"
}
trace_control io_uring
holds io_uring_has_completions jq -e '.polled == 0 and (.requests | any(.wake_ns != null))' "$work/out"
begin_trace control --pid "$sfd" --svg "$work/control.svg"
ask_sfd >/dev/null 2>&1
end_trace || fail "trace of requests as text"
holds control_text_has_a_line_each [ "$(grep -cE '^(stats|attach|clients) .* (ok|ENOENT)$' "$work/out")" -eq 6 ]
holds control_text_is_narrow awk 'length > 79 { exit 1 }' "$work/out"

mkdir "$work/poll"
cat >"$work/poll/sfd.conf" <<CONF
[daemon]
loop = poll
[stream default]
layout = t41 n10 s10
machine_id = 772
CONF
"$SFD_BIN" -c "$work/poll/sfd.conf" --runtime-dir "$work/poll/run" --state-dir "$work/poll/state" 2>"$work/poll/log" &
polling=$!
soon test -S "$work/poll/run/sfd.sock"
SFD_SOCKET=$work/poll/run/sfd.sock trace_control poll
holds poll_has_no_completions jq -e '.polled == 6 and (.requests | all(.wake_ns == null))' "$work/out"
kill $polling
wait $polling

# ---- the pictures ----
are_pictures() {
	python3 -c 'import sys
from xml.etree import ElementTree
for path in sys.argv[1:]:
    assert len(ElementTree.parse(path).findall("{http://www.w3.org/2000/svg}rect")) > 1, path' "$@"
}
holds pictures_are_svg are_pictures "$work"/{latency,syscalls,beat,control}.svg

# ---- whom not ----
expect 1 process_without_the_library "process $$ has no libsfclient" -- trace latency --pid $$ --seconds 1
expect 1 no_process 'there is no process' -- trace latency --pid 2147483647 --seconds 1
begin_trace latency --pid "$client_pid"
stop_client
holds trace_ends_with_its_process soon wait $trace_pid

# ---- other namespaces ----
if unshare --mount --pid --fork true 2>/dev/null; then
	cat >"$work/container" <<'CONTAINER'
mount --make-rprivate / && mount -t tmpfs tmpfs /mnt && mkdir /mnt/elsewhere || exit 1
cp -L "$1" /mnt/elsewhere/libsfclient.so.0
shift
LD_LIBRARY_PATH=/mnt/elsewhere exec "$@"
CONTAINER
	# its stdin and stdout are the client's
	start_client unshare --mount --pid --fork --kill-child sh "$work/container" "$CLIENT_LIB"
	outer=$(pgrep -P "$client_pid")
	begin_trace latency --pid "$outer" --json
	ask 'single 500; nap 20; single 1'
	end_trace || fail "trace of another namespace"
	holds client_of_another_namespace_fc77 jq -e --argjson pid "$outer" \
		'.processes | map(.pid) == [$pid] and ([.[0].paths[].ids] | add) == 501' "$work/out"
	rm "/proc/$outer/root/mnt/elsewhere/libsfclient.so.0"
	begin_trace latency --pid "$outer" --json
	ask 'single 600; nap 20; single 1'
	end_trace || fail "trace of a removed library"
	holds removed_library_is_traced_fc77 jq -e '[.paths[].ids] | add == 601' "$work/out"
	holds removed_library_is_told_of_fc77 \
		grep -q "process $outer still has a /mnt/elsewhere/libsfclient.so.0 that has been replaced" "$work/err"
	if command -v setpriv >/dev/null; then
		checks=$((checks + 1))
		setpriv --bounding-set=-all,+sys_admin,+sys_ptrace --inh-caps=-all \
			unshare --mount sh -c "mount -t tmpfs tmpfs /dev/shm && exec $SFCTL_BIN trace latency --pid $outer --seconds 1" \
			>"$work/out" 2>"$work/err" || true
		[ -s "$work/out" ] || grep -q CAP_CHECKPOINT_RESTORE "$work/err" || fail "removed_library_without_privilege_fc77"
	fi
	stop_client
else
	echo "SKIP trace: namespaces are not permitted here (FC-77)"
fi

# ---- what is missing is named ----
# lacks NAME TEXT command...: of a trace; one sentence, nothing of libbpf's, and its own exit code
lacks() {
	local name=$1 text=$2 code
	shift 2
	checks=$((checks + 1))
	"$@" "$SFCTL_BIN" trace latency --seconds 1 >"$work/out" 2>"$work/err"
	code=$?
	[ $code -eq 3 ] || fail "$name: exit code $code, not 3"
	grep -qF -- "$text" "$work/err" || fail "$name: no \"$text\""
	# a note is of another process of this host
	[ "$(grep -vc ': note: ' "$work/err")" -eq 1 ] || fail "$name: not one line"
}
# hiding PATH command...: an empty directory in its place
hiding() { unshare --mount sh -c 'mount --make-rprivate / && mount -t tmpfs tmpfs "$1" && shift && exec "$@"' sh "$@"; }
if unshare --mount true 2>/dev/null && command -v setpriv >/dev/null; then
	lacks no_type_information_fc78 CONFIG_DEBUG_INFO_BTF hiding /sys/kernel/btf
	lacks no_uprobes_fc78 CONFIG_UPROBE_EVENTS hiding /sys/bus/event_source/devices
	holds other_commands_go_on_fc78 hiding /sys/kernel/btf "$SFCTL_BIN" next
	drop() { setpriv --bounding-set="-all$1" --inh-caps=-all "${@:2}"; }
	lacks no_capability_fc79 'missing CAP_BPF and CAP_PERFMON (effective capabilities: 0)' drop ''
	lacks only_bpf_fc79 'missing CAP_PERFMON (effective capabilities: 8000000000)' drop ,+bpf
	lacks only_perfmon_fc79 'missing CAP_BPF (effective capabilities: 4000000000)' drop ,+perfmon
	lacks in_a_user_namespace_fc79 'this is a user namespace' unshare --user --map-root-user
	# some kernels do with these two
	echo 4 >"$work/paranoid"
	paranoid() {
		unshare --mount sh -c 'mount --bind "$1" /proc/sys/kernel/perf_event_paranoid && shift &&
			exec setpriv --bounding-set=-all,+bpf,+perfmon --inh-caps=-all "$@"' sh "$work/paranoid" "$@"
	}
	paranoid "$SFCTL_BIN" trace latency --seconds 1 >"$work/out" 2>"$work/err" ||
		lacks bpf_and_perfmon_fc79 'CAP_SYS_ADMIN (effective capabilities: c000000000, kernel.perf_event_paranoid: 4)' paranoid
	prlimit --memlock=65536 setpriv --bounding-set=-sys_resource "$SFCTL_BIN" trace latency --seconds 1 >"$work/out" 2>"$work/err" ||
		lacks little_locked_memory_fc79 'RLIMIT_MEMLOCK is 65536' prlimit --memlock=65536 setpriv --bounding-set=-sys_resource
else
	echo "SKIP trace: namespaces are not permitted here (FC-78, FC-79)"
fi

# ---- other tracers ----
if command -v bpftrace >/dev/null && bpftrace -e 'BEGIN { exit(); }' >/dev/null 2>&1; then
	start_client
	lines=()
	while read -r line; do
		lines+=("$(sed -e "s|/usr/local/lib/x86_64-linux-gnu/libsfclient.so.0|$(readlink -f "$CLIENT_LIB")|g" \
			-e "s|/usr/local/sbin/sfd|$SFD_BIN|g" <<<"$line")")
	done < <(sed -n 's/^    bpftrace -e /bpftrace -e /p' "$PROBES_MANUAL")
	holds manual_has_three_lines [ ${#lines[@]} -eq 3 ]
	for i in 0 1 2; do
		bash -c "exec env --default-signal=INT timeout -s INT 20 ${lines[$i]}" >"$work/bpftrace$i" 2>"$work/bpftrace$i.err" &
		tracers[i]=$!
	done
	attached() { [ "$(grep -l '^Attaching' "$work"/bpftrace[012] | wc -l)" -eq 3 ]; }
	holds bpftrace_attaches soon attached
	# it says so before it does so
	heard() { ask 'spin 100' && "$SFCTL_BIN" next >/dev/null && grep -q 'default: pid' "$work/bpftrace2"; }
	holds manuals_lines_see_attaches soon heard
	kill -INT "${tracers[@]}"
	wait "${tracers[@]}"
	holds manuals_lines_see_fetches grep -q '@fetches: [1-9]' "$work/bpftrace0"
	holds manuals_lines_see_claims grep -qE '@ids\[trace_client, [0-9]+, default\]' "$work/bpftrace1"
	holds manuals_lines_see_beats grep -q '@late_us:' "$work/bpftrace2"
	stop_client
else
	echo "SKIP trace: bpftrace is not here, or may not trace"
fi
finish
