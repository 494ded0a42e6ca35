#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A real Prometheus scrapes a real sfd through sfctl exporter: the values it stores, types and units,
# the alert rules, the dashboard's queries, and an sfd that goes away and comes back.
# Environment: SFD_BIN, SFCTL_BIN.
. "$(dirname "$0")/../support/command_line.sh"
. "$(dirname "$0")/../support/exporter.sh"
here=$(readlink -f "$(dirname "$0")")
files=$here/../../tools/exporter
: >"$work/out" && : >"$work/err"

# ---- sfd with two streams, exporter, Prometheus ----
cp "$files/alerts.yaml" "$here/exporter/alerts_test.yaml" "$work"
cat >"$work/sfd.conf" <<'EOF'
[stream default]
layout = twitter
machine_id = 872-873
[stream documents]
format = ulid
EOF
start_sfd -c "$work/sfd.conf"
holds exporter_starts start_exporter --listen 127.0.0.1:0
[ -n "${url:-}" ] || finish || exit
target=${url#http://} target=${target%/metrics}
cat >"$work/prometheus.yaml" <<EOF
global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}
rule_files: [alerts.yaml]
scrape_configs:
  - job_name: sfd
    static_configs: [{targets: ['$target']}]
EOF
holds configuration_is_correct promtool check config "$work/prometheus.yaml"

# serves: Prometheus is ready
serves() { curl -sf --max-time 5 "$api/-/ready"; }
start_prometheus() {
	for _ in 1 2 3 4 5; do # until a port is free
		api=http://127.0.0.1:$((20000 + RANDOM % 10000))
		prometheus --config.file="$work/prometheus.yaml" --storage.tsdb.path="$work/tsdb" \
			--web.listen-address="${api#http://}" --log.level=warn 2>"$work/prometheus.log" &
		prometheus=$!
		until_true eval 'serves || ! kill -0 $prometheus'
		kill -0 $prometheus 2>/dev/null && serves && return
	done
	cp "$work/prometheus.log" "$work/err"
	return 1
}
holds prometheus_starts start_prometheus

# ---- the rules by themselves; meanwhile Prometheus finds its target ----
holds rules_are_correct promtool check rules "$work/alerts.yaml"
promtool test rules "$work/alerts_test.yaml" >"$work/out" 2>"$work/err"
status=$?
holds rules_fire_when_they_should [ $status -eq 0 ]
sed -n 's/^ *- alert: //p' "$work/alerts.yaml" >"$work/alerts"
while read -r alert; do
	holds "${alert}_is_tested" grep -q "alertname: $alert\$" "$work/alerts_test.yaml"
done <"$work/alerts"

# ask EXPRESSION: its samples in $work/out; fails when there is none
ask() {
	curl -sS --max-time 20 --data-urlencode "query=$1" "$api/api/v1/query" >"$work/out" 2>"$work/err" &&
		jq -e '.status == "success" and (.data.result | length > 0)' "$work/out" >/dev/null
}
# gives EXPRESSION VALUE: it has one sample
gives() { ask "$1" && [ "$(jq -r '.data.result | if length == 1 then .[0].value[1] else "" end' \
	"$work/out")" = "$2" ]; }

holds target_is_up until_true gives 'up{job="sfd"}' 1
holds sfd_is_up until_true gives sfd_up 1
"$SFCTL_BIN" next -n 12345 >"$work/ids"
"$SFCTL_BIN" next --stream documents -n 54 >>"$work/ids"
claimed=$("$SFCTL_BIN" stats --json | jq '.streams[0].counters.ids_claimed')
holds counts_are_exact until_true gives 'sfd_ids_claimed_total{stream="default"}' "$claimed"
holds counts_of_other_streams_are_their_own until_true gives \
	'sfd_ids_claimed_total{stream="documents"}' 54
holds counts_only_rise gives 'resets(sfd_ids_claimed_total{stream="default"}[1m])' 0
holds shared_counts_are_there_once gives 'count(sfd_wakeups_total)' 1
holds machine_ids_are_there gives 'count(sfd_machine_id_info)' 2
holds runway_is_in_seconds ask \
	'sfd_runway_seconds > 0.5 * sfd_runway_full_seconds and sfd_runway_seconds <= 5'
# only OpenMetrics tells units, so that is what was negotiated
curl -sS "$api/api/v1/targets/metadata" >"$work/out" 2>"$work/err"
is_known_as() { # METRIC TYPE UNIT
	jq -e --arg m "$1" --arg t "$2" --arg u "$3" '.data[] | select(.metric == $m) |
		.type == $t and .unit == $u and (.help | length > 0)' "$work/out"
}
holds type_counter is_known_as sfd_ids_claimed counter ''
holds type_gauge_with_unit is_known_as sfd_runway_seconds gauge seconds
holds type_ratio is_known_as sfd_capacity_used_ratio gauge ratio
holds type_info is_known_as sfd_build info ''
holds type_stateset is_known_as sfd_state stateset ''
holds type_histogram is_known_as sfd_exporter_ask_seconds histogram seconds
holds every_family_has_help jq -e '[.data[] | select(.metric | startswith("sfd_"))] |
	length > 50 and all(.help != "")' "$work/out"

# ---- the dashboard, and what it and the rules ask for ----
curl -sS --max-time 20 "$api/api/v1/label/__name__/values" | jq -r '.data[]' >"$work/names"
{ jq -r '.. | .expr? // empty' "$files/dashboard.json"; sed '/^ *#/d' "$files/alerts.yaml"; } |
	grep -oE '\bsfd_[a-z0-9_]+' | sort -u >"$work/asked"
# labels of state sets have the names of metrics, too
holds everything_asked_for_is_served [ -z "$(comm -23 "$work/asked" <(sort "$work/names"))" ]
comm -23 "$work/asked" <(sort "$work/names") >"$work/out"
holds much_is_asked_for [ "$(wc -l <"$work/asked")" -ge 30 ]
holds dashboard_panels_do_not_overlap jq -e '[.panels[] | .gridPos as $g |
	range($g.y; $g.y + $g.h) as $y | range($g.x; $g.x + $g.w) as $x | [$x, $y]] |
	length == (unique | length) and all(.[0] < 24)' "$files/dashboard.json"
holds dashboard_ids_differ jq -e '[.panels[].id] | length == (unique | length)' "$files/dashboard.json"
jq -r '.. | .expr? // empty' "$files/dashboard.json" |
	sed 's/\$instance/.*/g; s/\$stream/.*/g; s/\$__rate_interval/10s/g' >"$work/expressions"
"$SFCTL_BIN" next -n 100 >/dev/null
while read -r expression; do
	holds "dashboard_$expression" until_true ask "$expression"
done < <(sed '/ < 60$/d' "$work/expressions")
curl -sS "$api/api/v1/rules" >"$work/out"
holds rules_are_evaluated jq -e --argjson n "$(wc -l <"$work/alerts")" '[.data.groups[].rules[]] |
	length == $n and all(.health != "err")' "$work/out"
checks=$((checks + 1))
# whether its clock is synchronised is the host's matter
ask 'ALERTS{alertname!="SfdClockUnsynchronised",alertstate="firing"}' && fail "no alert while all is well"

# ---- a client writes where it must not: every claim word, and the floor ----
for fd in "/proc/$sfd/fd"/*; do
	[[ $(readlink "$fd") = *memfd:*default*claims* ]] && claims=$fd
done
overwrite() { dd "of=$claims" conv=notrunc status=none "$@"; }
holds words_are_overwritten overwrite iflag=fullblock bs=4096 seek=1 \
	count=$(($(stat -Lc %s "$claims") / 4096 - 1)) < <(tr '\0' '\377' </dev/zero)
holds floor_is_overwritten overwrite bs=1 seek=128 < <(printf '\377\377\377\377\377\0\0\0')
holds alert_of_overwritten_words until_true ask \
	'ALERTS{alertname="SfdClaimWordsOverwritten",alertstate="firing",stream="default"}'
holds alert_of_the_floor until_true ask 'ALERTS{alertname="SfdFloorOverwritten",stream="default"}'
holds no_alert_of_the_other_stream gives 'count(ALERTS{stream="documents"}) or vector(0)' 0

# ---- sfd goes away, and comes back ----
kill "$sfd" && wait "$sfd"
holds sfd_is_away until_true gives sfd_up 0
holds exporter_is_not gives 'up{job="sfd"}' 1
no_ids() { ! ask 'sfd_ids_claimed_total'; }
holds its_numbers_end until_true no_ids
holds alert_is_pending until_true ask 'ALERTS{alertname="SfdAway",alertstate="pending"}'
start_sfd -c "$work/sfd.conf"
holds sfd_is_back until_true gives sfd_up 1
no_alert() { ! ask 'ALERTS{alertname!="SfdClockUnsynchronised"}'; }
holds alerts_are_over until_true no_alert
holds restart_is_counted until_true ask 'sfd_restarts_total{stream="default"} == 1'
holds exporter_ends_cleanly stop_exporter
holds exporter_is_away until_true gives 'up{job="sfd"}' 0

finish
