#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# sfctl exporter over HTTP: formats, values, limits, clients that are slow, an sfd that is stopped or
# away, Unix sockets, and a thousand scrapes that lose and leak nothing.
# Environment: SFD_BIN, SFCTL_BIN; SANITIZER, "none" unless memory is the sanitizer's.
. "$(dirname "$0")/../support/command_line.sh"
. "$(dirname "$0")/../support/exporter.sh"
start_sfd --machine-id 870-871 --layout twitter
: >"$work/out" && : >"$work/err"

# ---- usage ----
expect 0 help 'HOST:PORT, [IPV6]:PORT or unix:PATH' -- exporter --help
holds help_ends_with_examples grep -q Examples "$work/out"
holds help_has_80_columns [ "$(awk 'length > 80' "$work/out" | wc -l)" -eq 0 ]
holds help_has_the_socket_only [ "$(grep -cE '^  --(socket|stream|json) ' "$work/out")" -eq 1 ]
expect 2 refuses_stream '--stream changes nothing' -- --stream x exporter
expect 2 refuses_json '--json changes nothing' -- exporter --json
for bad in 9464 :9464 ::1:9464 127.0.0.1:x 127.0.0.1:65536 unix:; do
	expect 2 "refuses_listen_$bad" '' -- exporter --listen "$bad"
done
expect 2 refuses_mode 'not an octal number' -- exporter --listen "unix:$work/s" --mode 1000
expect 2 refuses_mode_of_a_port 'unix:PATH' -- exporter --listen 127.0.0.1:0 --mode 660
expect 2 refuses_arguments '' -- exporter 9464
expect 1 refuses_an_address_of_another_host 192.0.2.1 -- exporter --listen 192.0.2.1:0
# beside an sfctl that was built without it there is none
mkdir "$work/alone" && cp "$SFCTL_BIN" "$work/alone/sfctl"
libraries=$(ldd "$SFCTL_BIN" | sed -n 's|.*=> \(/.*\)/lib[^/]* .*|\1|p' | sort -u | paste -sd:)
LD_LIBRARY_PATH=$libraries SFCTL_BIN=$work/alone/sfctl \
	expect 1 says_that_it_was_not_built 'libmicrohttpd-dev' -- exporter

# ---- formats ----
"$SFCTL_BIN" next -n 1000 >/dev/null
holds starts start_exporter --listen 127.0.0.1:0
[ -n "${url:-}" ] || finish || exit
expect 1 refuses_a_port_in_use 'choose another with --listen' -- exporter \
	--listen "$(sed 's|http://\(.*\)/metrics|\1|' <<<"$url")"
holds text_is_the_default scrape -D "$work/head"
holds text_says_so grep -qix $'content-type: text/plain; version=0.0.4; charset=utf-8\r' "$work/head"
checks=$((checks + 1))
promtool check metrics <"$work/out" >"$work/said" 2>&1 || {
	cp "$work/said" "$work/err"
	fail "promtool check metrics"
}
holds openmetrics_when_asked_for scrape -D "$work/head" -H "$openmetrics"
holds openmetrics_says_so grep -qix \
	$'content-type: application/openmetrics-text; version=1.0.0; charset=utf-8\r' "$work/head"
# the strict parser of the standard's authors; Debian's python, for its packages
strict='import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
print(*sorted(f"{f.name} {f.type} {f.unit}" for f in parse(sys.stdin.read())), sep="\n")'
/usr/bin/python3 -c "$strict" <"$work/out" >"$work/families" 2>"$work/err"
holds openmetrics_passes_the_strict_parser [ "$(wc -l <"$work/families")" -gt 50 ]
for family in 'sfd_ids_claimed counter ' 'sfd_runway_seconds gauge seconds' 'sfd_build info ' \
	'sfd_state stateset ' 'sfd_exporter_ask_seconds histogram seconds' \
	'sfd_capacity_used_ratio gauge ratio'; do
	holds "family_${family// /_}" grep -qx "$family" "$work/families"
done
holds head_has_no_body [ "$(curl -sS -I "$url" | tr -d '\r' |
	sed -n '1p;/^$/,$p' | tr '\n' '|')" = 'HTTP/1.1 200 OK||' ]
status() { curl -sS --max-time 20 -o "$work/out" -D "$work/head" -w '%{http_code}' "$@" 2>"$work/err"; }
is_status() { [ "$(status "${@:2}")" = "$1" ]; }
holds query_is_ignored is_status 200 "$url?name[]=sfd_up" --globoff
for path in / /metric /metrics/; do
	holds "no_such_path_$path" is_status 404 --path-as-is "${url%/metrics}$path"
done
for method in POST TRACE FROBNICATE; do
	holds "no_such_method_$method" is_status 405 -X "$method" "$url"
	holds "allow_after_$method" grep -qix $'allow: GET, HEAD\r' "$work/head"
done
holds body_is_refused is_status 405 --data-binary "@$SFCTL_BIN" "$url"
holds large_headers_are_refused is_status 431 -H "x: $(head -c 20000 /dev/zero | tr '\0' x)" "$url"
holds goes_on_after_all_of_that scrape

# ---- values ----
stats() { "$SFCTL_BIN" stats --json >"$work/$1" 2>"$work/err"; }
stats before
scrape
stats after
# every counter of the list lies between two looks; gauges move as they like
checks=$((checks + 1))
jq -r '.streams[0].counters | keys[]' "$work/before" | while read -r name; do
	now=$(value "sfd_${name}_total{stream=\"default\"}" || value "sfd_${name}_total") || continue
	jq -en --arg now "$now" --arg name "$name" --slurpfile a "$work/before" --slurpfile b "$work/after" \
		'$a[0].streams[0].counters[$name] <= ($now | tonumber) and
		($now | tonumber) <= $b[0].streams[0].counters[$name]' >/dev/null &&
		echo "$name" >>"$work/seen" || echo "$name is $now" >>"$work/wrong"
done
touch "$work/wrong"
wanted=$(grep -c '(.*, counter, ' "$(dirname "$0")/../../shm/counters.def")
[ "$(wc -l <"$work/seen")" -eq "$wanted" ] && [ ! -s "$work/wrong" ] || {
	cat "$work/seen" "$work/wrong" >"$work/err"
	fail "counters lie between those of sfctl stats"
}
holds ids_are_exact is_sample 'sfd_ids_claimed_total{stream="default"}' 1000
holds gauges_are_there is_sample 'sfd_capacity_ids_per_second{stream="default"}' 8192000
holds machine_ids_are_there is_sample "sfd_machine_id_info{stream=\"default\",layout=\"t41 n10 s12 \
epoch=1288834974657 tick=1ms\",machine_id=\"871\"}" 1
holds build_is_there is_sample "sfd_build_info{version=\"$(jq -r .version "$work/after")\",loop=\"$(
	jq -r .loop "$work/after")\"}" 1

# ---- a thousand scrapes, while IDs are taken; a sanitizer sees a leak in fewer ----
[ "$SANITIZER" = none ] && many=1000 || many=100
resident() { sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$1/status"; }
descriptors() { ls "/proc/$1/fd" | wc -l; }
mkdir "$work/scrapes"
curl -sS -o /dev/null "$url?[1-100]" 2>"$work/err" # what is taken once is taken now
scrape
scrapes=$(value sfd_exporter_scrapes_total)
before="$(descriptors "$exporter") $(descriptors "$sfd")"
memory=$(resident "$exporter")
"$SFCTL_BIN" next -n 1000000000 >/dev/null 2>&1 &
taker=$!
stats before
curl -sS -H "$openmetrics" -o "$work/scrapes/#1" -w '%{http_code}\n' "$url?[1001-$((1000 + many))]" \
	>"$work/codes" 2>"$work/err"
stats after
kill $taker && wait $taker 2>/dev/null
grown=$(($(resident "$exporter") - memory))
holds scrapes_are_answered [ "$(grep -cx 200 "$work/codes")" -eq $many ]
holds scrapes_are_whole [ "$(tail -qn 1 "$work"/scrapes/* | grep -cx '# EOF')" -eq $many ]
jq '.streams[0].counters.ids_claimed' "$work/before" >"$work/claimed"
sed -n 's/^sfd_ids_claimed_total{stream="default"} //p' "$work"/scrapes/* >>"$work/claimed"
jq '.streams[0].counters.ids_claimed' "$work/after" >>"$work/claimed"
holds values_are_there [ "$(wc -l <"$work/claimed")" -eq $((many + 2)) ]
holds values_rise_between_those_of_stats sort -nc "$work/claimed"
holds ids_were_taken_meanwhile [ "$(sort -u "$work/claimed" | wc -l)" -gt 10 ]
scrape
holds no_scrape_is_lost is_sample sfd_exporter_scrapes_total $((scrapes + many + 1))
holds no_scrape_failed is_sample sfd_exporter_scrape_errors_total 0
holds every_scrape_was_timed is_sample sfd_exporter_ask_seconds_count $((scrapes + many + 1))
same_descriptors() { [ "$(descriptors "$exporter") $(descriptors "$sfd")" = "$before" ]; }
holds no_descriptor_is_leaked until_true same_descriptors
[ "$SANITIZER" != none ] || holds "no_memory_is_leaked_${grown}_kB" [ "$grown" -le 512 ]
holds sfd_has_nothing_to_complain_of [ "$(value sfd_requests_bad_total)$(
	value sfd_connections_refused_total)" = 00 ]

# ---- clients that send half a request, and one that does not read ----
trap '' PIPE
port=${url##*:} port=${port%/metrics}
slow=()
for _ in $(seq 400); do
	exec {fd}<>"/dev/tcp/127.0.0.1/$port" && slow+=("$fd")
	printf 'GET /metr' >&"$fd"
done
exec {fd}<>"/dev/tcp/127.0.0.1/$port" && slow+=("$fd")
(printf 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n') >&"$fd"
for i in 1 2 3; do
	holds "slow_clients_keep_nobody_out_$i" scrape --max-time 5
done
holds slow_clients_made_room [ "$(value sfd_exporter_connections_evicted_total)" -ge 100 ]
holds connections_are_limited [ "$(descriptors "$exporter")" -le 300 ]
for fd in "${slow[@]}"; do exec {fd}>&-; done
holds all_connections_end until_true same_descriptors

# ---- an sfd that is stopped, and one that is away ----
kill -STOP "$sfd"
begin=$SECONDS
for i in 1 2 3 4 5; do
	holds "stopped_sfd_is_no_failure_$i" scrape
	holds "stopped_sfd_is_down_$i" is_sample sfd_up 0
done
holds stopped_sfd_costs_seconds_in_all [ $((SECONDS - begin)) -le 7 ]
holds down_means_no_numbers [ "$(grep -c sfd_ids_claimed "$work/out")" -eq 0 ]
kill -CONT "$sfd"
is_up() { scrape && is_sample sfd_up 1; }
holds goes_on_by_itself until_true is_up
kill "$sfd" && wait "$sfd"
scrape
holds sfd_away_is_down is_sample sfd_up 0
holds scrape_errors_are_counted [ "$(value sfd_exporter_scrape_errors_total)" -ge 6 ]
start_sfd --machine-id 870-871 --layout twitter
holds finds_the_next_sfd until_true is_up
sed 's/^sfctl exporter: //; s/[:;].*//; s| /.*||; s/ http$//' "$work/exporter.log" >"$work/news"
holds log_has_each_news_once diff "$work/news" - <<'EOF'
serving
sfd did not answer within 2 s
sfd answers again
no sfd listens at
sfd answers again
EOF
holds ends_cleanly stop_exporter

# ---- Unix sockets, IPv6 ----
socket=$work/exporter.sock
holds listens_at_a_unix_socket start_exporter --listen "unix:$socket" --mode 600
holds unix_socket_has_its_mode [ "$(stat -c %a "$socket")" = 600 ]
url=http://localhost/metrics
holds unix_socket_serves scrape --unix-socket "$socket"
holds unix_socket_has_values is_sample sfd_up 1
expect 1 unix_socket_in_use 'somebody else listens' -- exporter --listen "unix:$socket"
expect 1 unix_socket_of_sfd 'somebody else listens' -- exporter --listen "unix:$SFD_SOCKET"
{ kill -KILL "$exporter" && wait "$exporter"; } 2>/dev/null
holds stale_unix_socket_is_left [ -S "$socket" ]
holds stale_unix_socket_gives_way start_exporter --listen "unix:$socket"
holds unix_socket_has_the_default_mode [ "$(stat -c %a "$socket")" = 660 ]
holds ends_cleanly_there stop_exporter
holds unix_socket_is_removed [ ! -e "$socket" ]
if [ -e /proc/net/if_inet6 ] && grep -q ' lo$' /proc/net/if_inet6; then
	holds listens_at_ipv6 start_exporter --listen '[::1]:0'
	holds ipv6_serves scrape --globoff
	holds ends_cleanly_on_ipv6 stop_exporter
fi

finish
