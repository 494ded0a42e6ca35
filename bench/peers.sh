#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Measures sfd beside everything that a user could pick instead and that Debian or npm has: libuuid
# through uuidd, Redis, PostgreSQL, packages of npm, Go, Rust and Python, and words in shared memory.
# For each: ns, CPU time and system calls an ID, by one thread, two threads and two processes; the
# first ID of a fresh process; and the duplicates of two processes and after a fork. Installs what is
# missing, starts servers of its own in a temporary directory, and stops them. Prints tables. Wants
# an otherwise idle machine, and root for uuidd.
# usage: bash bench/peers.sh [--rounds N] [--quick] [--json FILE] [BUILDDIR]
#   --rounds N   medians of so many rounds; 9 by default, in about five minutes
#   --quick      one short round
#   --json FILE  everything that was measured; default: BUILDDIR/bench/peers.json
#   BUILDDIR     build/bench by default, which is made when missing
set -euo pipefail
usage() {
	echo "usage: bash bench/peers.sh [--rounds N] [--quick] [--json FILE] [BUILDDIR]" >&2
	exit 2
}
rounds=9 window_ms=80 collect_ms=200 collect_ids=500000
json='' chosen=''
while [ $# -gt 0 ]; do
	case "$1" in
	-h | --help)
		sed -n '3,13s/^# //p' "$0"
		exit 0
		;;
	--rounds)
		[[ ${2:-} =~ ^[1-9][0-9]{0,3}$ ]] || usage
		rounds=$2
		shift
		;;
	--quick) rounds=1 window_ms=20 collect_ms=50 collect_ids=100000 ;;
	--json)
		[ -n "${2:-}" ] || usage
		json=$(readlink -m "$2")
		shift
		;;
	-*) usage ;;
	*)
		[ -z "$chosen" ] || usage
		chosen=$(readlink -m "$1")
		;;
	esac
	shift
done
cd "$(dirname "$(readlink -f "$0")")/.."
build=${chosen:-$PWD/build/bench}
json=${json:-$build/bench/peers.json}
roomy='t41 n1 s22'

work=$(mktemp -d)
chmod 711 "$work" # servers that are not root find their directories there
servers=()
uuidd_directory=/run/uuidd # where libuuid looks; nothing can change that
made_directory=false
cleanup() {
	local pid
	for pid in "${servers[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	[ ! -L $uuidd_directory/request ] || [[ $(readlink $uuidd_directory/request) != "$work"/* ]] ||
		rm -f $uuidd_directory/request
	! $made_directory || rmdir $uuidd_directory
	rm -rf "$work"
}
trap cleanup EXIT

# ---- the manifest, and what is not in it ----
leave_out() { # NAME REASON
	echo "   left out: $1: $2" >&2
	jq -nc --arg name "$1" --arg reason "$2" '{name: $name, reason: $reason}' >>"$work/left_out"
}
# What the next `peer` lines have in common; a server and an environment are set by `start`.
kind='' safe='' version='' layout='' cap='' fork='' server=0 link=null variables='{}'
peer() { # NAME COMMAND...
	jq -nc --arg name "$1" --arg kind "$kind" --arg safe "$safe" --arg version "$version" \
		--arg layout "$layout" --arg cap "$cap" --arg fork "$fork" \
		--argjson server "$server" --argjson link "$link" --argjson env "$variables" \
		'{name: $name, kind: $kind, safe_by: $safe, version: $version, layout: $layout,
			cap: $cap, fork: (if $fork == "" then null else $fork end), server: $server,
			link: $link, env: $env, command: $ARGS.positional}' \
		--args "${@:2}" >>"$work/manifest"
}
debian() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null || echo none; }
: >"$work/left_out"

# ---- build ----
echo "== preparing" >&2
bash tools/deps.sh peers >&2 ||
	echo "bench: not all packages could be installed; going on with those that are there" >&2
for command in meson jq python3 strace; do
	command -v $command >/dev/null || {
		echo "bench: $command is missing: install it, or run: bash tools/deps.sh peers" >&2
		exit 1
	}
done
[ -f "$build/build.ninja" ] || meson setup "$build" --buildtype=release -Doptimization=2 \
	-Dtests=disabled -Dbench=true >"$work/setup.log" 2>&1 || {
	cat "$work/setup.log" >&2
	exit 1
}
{ meson configure "$build" -Dbench=true && meson compile -C "$build"; } >"$work/compile.log" 2>&1 || {
	tail -n 30 "$work/compile.log" >&2
	exit 1
}
program() { echo "$build/bench/peers/$1"; }
mkdir -p "$build/bench/others"
others=$build/bench/others

# ---- servers ----
as() { # USER COMMAND...: becomes it, as that user where this is root; the pid stays
	if [ "$(id -u)" -ne 0 ]; then
		exec "${@:2}"
	fi
	exec setpriv --reuid "$1" --regid "$1" --init-groups "${@:2}"
}
until_there() { # PID PATH: waits for a socket
	for _ in $(seq 200); do
		[ -S "$2" ] && return
		kill -0 "$1" 2>/dev/null || return 1
		sleep 0.05
	done
	return 1
}
batch() { # COMMAND...: the largest batch that this worker of libuuid asks uuidd for
	local bytes
	bytes=$(echo go | strace -f -qq -xx -e trace=write "${@}" count 1 5000000 2>&1 >/dev/null |
		sed -nE 's/.*write\([0-9]+, "\\x04\\x(..)\\x(..)\\x(..)\\x(..)", 5\).*/0x\4\3\2\1/p' |
		sort | tail -n 1)
	[ -n "$bytes" ] && echo "$((bytes))" || echo "an unknown number of"
}
home_of() { # NAME USER: a directory for a server
	mkdir "$work/$1"
	[ "$(id -u)" -ne 0 ] || chown "$2" "$work/$1"
}
start_sfd() { # NAME LAYOUT "MACHINE_ID..."
	local machine
	for machine in $3; do # the first that is free on this host
		printf '[stream default]\nlayout = %s\nmachine_id = %s\n[stream uuid7]\nformat = uuid7\n' \
			"$2" "$machine" >"$work/$1.conf"
		"$build/daemon/sfd" --config "$work/$1.conf" --runtime-dir "$work/$1" \
			--state-dir "$work/$1.state" 2>"$work/$1.log" &
		server=$!
		servers+=("$server")
		until_there "$server" "$work/$1/sfd.sock" && return
	done
	echo "bench: sfd did not start with layout $2:" >&2
	cat "$work/$1.log" >&2
	exit 1
}

start_sfd roomy "$roomy" "0 1"
kind=own safe='the host' version="$("$build/daemon/sfd" --version)"
variables=$(jq -nc --arg socket "$work/roomy/sfd.sock" '{SFD_SOCKET: $socket}')
layout=$roomy cap='4,194,304,000 IDs/s'
peer 'sf_next inline' "$(program peer_sfd)" next
peer 'sf_next called' "$(program peer_sfd_called)" next
peer 'sf_next_ordered' "$(program peer_sfd)" ordered
peer 'sf_fill of 1000' "$(program peer_sfd)" fill
variables=$(jq -c '. + {SFD_STREAM: "uuid7"}' <<<"$variables")
layout=uuid7 cap='2^30 IDs/ms'
peer 'sf_next128 inline' "$(program peer_sfd)" next128
start_sfd twitter twitter '1023 1022 1021'
variables=$(jq -nc --arg socket "$work/twitter/sfd.sock" '{SFD_SOCKET: $socket}')
layout='41/10/12' cap='4,096,000 IDs/s: 244 ns an ID'
peer 'sf_next 41/10/12' "$(program peer_sfd)" next

server=0 kind=yardstick safe='the host' version='' layout='counter' cap='none'
for row in 'lock xadd:xadd' 'lock xadd of 1000:ranges' 'compare-and-swap:cas'; do
	variables=$(jq -nc --arg word "$work/${row#*:}" '{PEERS_WORD: $word}')
	peer "${row%:*}" "$(program peer_words)" "${row#*:}"
done
layout='41/10/12' cap='4,096,000 IDs/s: 244 ns an ID'
variables=$(jq -nc --arg word "$work/shared" '{PEERS_WORD: $word}')
peer 'Snowflake, shared' "$(program peer_words)" shared
safe='nothing' variables='{}'
peer 'Snowflake, own' "$(program peer_words)" own

kind=peer layout='UUID'
start_uuidd() { # NAME OPTION...: and points libuuid to it
	home_of "$1" uuidd
	as uuidd uuidd --no-fork --no-pid --socket "$work/$1/request" "${@:2}" >"$work/$1.log" 2>&1 &
	server=$!
	servers+=("$server")
	link=$(jq -nc --arg name $uuidd_directory/request --arg to "$work/$1/request" '[$name, $to]')
	until_there "$server" "$work/$1/request" || {
		leave_out "libuuid time" "uuidd did not start: $(tail -n 1 "$work/$1.log")"
		return 1
	}
	ln -sfn "$work/$1/request" $uuidd_directory/request
	version="libuuid $(debian libuuid1), up to $(batch "$(program peer_libuuid)" time) IDs at once from uuidd"
}
safe='uuidd' cap='10 M IDs/s, beyond them the clock sequence'
if ! command -v uuidd >/dev/null; then
	leave_out 'libuuid time' 'uuidd (package uuid-runtime) is not installed'
elif [ -S $uuidd_directory/request ]; then
	server=$(pgrep -xo uuidd || echo 0)
	version="libuuid $(debian libuuid1), up to $(batch "$(program peer_libuuid)" time) IDs at once from uuidd"
	peer 'libuuid time' "$(program peer_libuuid)" time
	leave_out 'libuuid time, cont' 'a uuidd of the system serves, and there can be one'
elif [ "$(id -u)" -ne 0 ]; then
	leave_out 'libuuid time' "no uuidd serves, and only root may make $uuidd_directory"
else
	[ -d $uuidd_directory ] || { mkdir $uuidd_directory && made_directory=true; }
	start_uuidd uuidd && peer 'libuuid time' "$(program peer_libuuid)" time
	start_uuidd uuidd_cont --cont-clock && peer 'libuuid time, cont' "$(program peer_libuuid)" time
fi
version="libuuid $(debian libuuid1)" server=0 link=null safe='chance' cap='none'
peer 'libuuid random' "$(program peer_libuuid)" random

safe='the server' layout='counter' cap='none'
if ! command -v redis-server >/dev/null || [ ! -x "$(program peer_redis)" ]; then
	leave_out 'Redis' 'redis-server or libhiredis-dev is not installed'
else
	home_of redis redis
	as redis redis-server --port 0 --unixsocket "$work/redis/socket" --unixsocketperm 777 \
		--save '' --appendonly no --dir "$work/redis" >"$work/redis.log" 2>&1 &
	server=$!
	servers+=("$server")
	variables=$(jq -nc --arg socket "$work/redis/socket" '{PEERS_REDIS: $socket}')
	version="Redis $(debian redis-server), hiredis $(debian libhiredis-dev), nothing saved"
	if until_there "$server" "$work/redis/socket"; then
		peer 'Redis INCR' "$(program peer_redis)" incr
		peer 'Redis INCRBY 100' "$(program peer_redis)" incrby100
		peer 'Redis INCRBY 1000' "$(program peer_redis)" incrby1000
	else
		leave_out 'Redis' "it did not start: $(tail -n 1 "$work/redis.log")"
	fi
fi

postgres=$(find /usr/lib/postgresql -path '*/bin/postgres' 2>/dev/null | sort -V | tail -n 1)
start_postgres() {
	local bin=${postgres%/*}
	home_of postgres postgres
	(cd "$work/postgres" && as postgres "$bin/initdb" --pgdata "$work/postgres/data" \
		--username postgres --auth trust) >"$work/postgres.log" 2>&1 || return 1
	(cd "$work/postgres" && as postgres "$bin/postgres" -D "$work/postgres/data" \
		-k "$work/postgres" -c listen_addresses='') >>"$work/postgres.log" 2>&1 &
	server=$!
	servers+=("$server")
	until_there "$server" "$work/postgres/.s.PGSQL.5432" || return 1
	for _ in $(seq 100); do # the socket is there before it answers
		"$bin/psql" -qh "$work/postgres" -U postgres -c 'CREATE SEQUENCE id' \
			>>"$work/postgres.log" 2>&1 && return
		sleep 0.05
	done
	return 1
}
if [ -z "$postgres" ] || [ ! -x "$(program peer_postgres)" ]; then
	leave_out 'PostgreSQL' 'postgresql or libpq-dev is not installed'
elif start_postgres; then
	variables=$(jq -nc --arg where "host=$work/postgres user=postgres" '{PEERS_POSTGRES: $where}')
	version="PostgreSQL $("$postgres" --version | cut -d ' ' -f 3-), initdb's configuration"
	peer 'nextval' "$(program peer_postgres)" nextval
	peer 'nextval, 1000 a query' "$(program peer_postgres)" nextval1000
else
	leave_out 'PostgreSQL' "it did not start: $(tail -n 1 "$work/postgres.log")"
fi

# ---- libraries of other languages ----
server=0 variables='{}'
copy_newer() { # FILE...: into the folder where they are built or run
	cp -ru "$@" "$others/"
}
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	leave_out 'packages of npm' 'node or npm is not installed'
elif ! { copy_newer bench/peers/package.json bench/peers/worker.mjs && npm install \
	--prefix "$others" --no-package-lock --ignore-scripts --no-audit --no-fund; } \
	>"$work/npm.log" 2>&1; then
	leave_out 'packages of npm' "npm install failed: $(grep -m 1 'npm ERR\|npm error' "$work/npm.log")"
else
	fork='Node cannot fork'
	node=$(command -v node)
	while IFS=: read -r name way package safe layout cap; do
		version="$package $(jq -r .version "$others/node_modules/$package/package.json"), Node $(node --version)"
		peer "npm $name" "$node" "$others/worker.mjs" "$way"
	done <<-'EOF'
		sapphire/snowflake:sapphire:@sapphire/snowflake:nothing:41/5/5/12:4,096,000 IDs/s, not kept
		nodejs-snowflake:nodejs_snowflake:nodejs-snowflake:nothing:42/12/10:1,024,000 IDs/s: 977 ns an ID
		flake-idgen:flake_idgen:flake-idgen:nothing:41/10/12:4,096,000 IDs/s: 244 ns an ID
		ulid:ulid:ulid:chance:ULID:none
		uuid v1:uuid_v1:uuid:chance:UUID:none
		uuid v4:uuid_v4:uuid:chance:UUID:none
		uuid v7:uuid_v7:uuid:chance:UUID:none
		uuidv7:uuidv7:uuidv7:chance:UUID:none
	EOF
fi

cap=none fork='' layout=UUID
if [ -x /usr/bin/python3 ]; then
	version="Debian's Python $(/usr/bin/python3 -c 'import platform; print(platform.python_version())')"
	safe=chance
	peer 'Python uuid4' /usr/bin/python3 "$PWD/bench/peers/worker.py" uuid4
	uuidd_entry=$(jq -sc '[.[] | select(.name == "libuuid time")][0] // {} | [.server, .link]' "$work/manifest")
	if [ "$uuidd_entry" != '[null,null]' ]; then
		safe=uuidd server=$(jq .[0] <<<"$uuidd_entry") link=$(jq -c .[1] <<<"$uuidd_entry")
		peer 'Python uuid1' /usr/bin/python3 "$PWD/bench/peers/worker.py" uuid1
	else
		leave_out 'Python uuid1' 'no uuidd serves'
	fi
else
	leave_out 'Python uuid' "Debian's python3 is not installed"
fi

server=0 link=null fork='Go cannot fork'
if ! command -v go >/dev/null; then
	leave_out 'Go packages' 'Go (package golang-go) is not installed'
elif ! { copy_newer bench/peers/worker.go && GO111MODULE=off GOFLAGS='' GOPATH=/usr/share/gocode \
	go build -o "$others/worker_go" "$others/worker.go"; } >"$work/go.log" 2>&1; then
	leave_out 'Go packages' "they do not build: $(tail -n 1 "$work/go.log")"
else
	go_version=$(go version | cut -d ' ' -f 3)
	while IFS=: read -r name way package layout safe cap; do
		version="$package $(debian "golang-github-$package-dev"), $go_version"
		peer "Go $name" "$others/worker_go" "$way"
	done <<-'EOF'
		google/uuid v1:google_v1:google-uuid:UUID:chance:10 M IDs/s
		google/uuid v4:google_v4:google-uuid:UUID:chance:none
		gofrs/uuid v7:gofrs_v7:gofrs-uuid:UUID:chance:none
		fastuuid:fastuuid:rogpeppe-fastuuid:192 bits:chance:none
		oklog/ulid:ulid:oklog-ulid:ULID:chance:none
		rs/xid:xid:rs-xid:96 bits:the pid:16,777,216 IDs/s
		ksuid:ksuid:segmentio-ksuid:KSUID:chance:none
	EOF
fi
leave_out 'Go Snowflakes' 'Debian has none: golang-snowflake is a transport of Tor'

fork='' layout=UUID safe=chance cap=none
if ! command -v cargo >/dev/null; then
	leave_out 'Rust crates' 'cargo is not installed'
elif ! { copy_newer bench/peers/rust && RUSTFLAGS='--cfg uuid_unstable' cargo build --offline --quiet \
	--release --manifest-path "$others/rust/Cargo.toml" --target-dir "$others/rust/target" \
	--config 'source.crates-io.replace-with="debian"' \
	--config 'source.debian.directory="/usr/share/cargo/registry"'; } >"$work/cargo.log" 2>&1; then
	leave_out 'Rust crates' "they do not build: $(grep -m 1 ^error "$work/cargo.log")"
else
	version="uuid $(debian librust-uuid-dev), $(rustc --version | cut -d ' ' -f 1-2)"
	for way in v1 v4 v7; do
		peer "Rust uuid $way" "$others/rust/target/release/worker" $way
	done
fi
leave_out 'Rust ULIDs and Snowflakes' 'Debian has none'

# ---- measure ----
load_before=$(cut -d ' ' -f 1-3 /proc/loadavg)
echo "== measuring $(wc -l <"$work/manifest") rows (load ${load_before%% *}, best below 0.1)" >&2
python3 bench/peers/measure.py "$work/manifest" --duplicates "$(program duplicates)" \
	--rounds "$rounds" --window-ms $window_ms --collect-ms $collect_ms \
	--collect-ids $collect_ids >"$work/measured"
command=$(jq -r '[.[] | select(.file | endswith("peer_sfd.c"))][0].command' \
	"$build/compile_commands.json")
command=${command#ccache }
mkdir -p "$(dirname "$json")"
jq -n -f bench/peers/report.jq --slurpfile measured "$work/measured" \
	--slurpfile left_out "$work/left_out" \
	--arg cpu "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)" \
	--arg cpus "$(nproc)" \
	--arg kernel "$(uname -sr)" \
	--arg compiler "$(${command%% *} --version | head -n 1)" \
	--arg flags "$(tr ' ' '\n' <<<"$command" | grep -E '^-(O|f[^d]|m|std|D)' | tr '\n' ' ')" \
	--arg commit "$(git rev-parse HEAD 2>/dev/null || echo none)" \
	--arg date "$(date -u +%FT%TZ)" \
	--arg load "$load_before, at the end $(cut -d ' ' -f 1-3 /proc/loadavg)" \
	--argjson settings "{\"rounds\": $rounds, \"window_ms\": $window_ms,
		\"collect_ms\": $collect_ms, \"collect_ids\": $collect_ids}" >"$json"
jq -r -f bench/peers/table.jq "$json"
echo
echo "results: $json"
