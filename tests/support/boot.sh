#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A host of the test's own for `source`: systemd as PID 1 in new namespaces, on a copy of this
# root that is thrown away, with nothing in it but a journal and what the test installs. Changes
# nothing outside: /proc/sys is read-only there, the cgroups are its own.
# Also run by itself, as the two stages on the way there.

# Into a cgroup of its own, which the host then takes for the root of all.
boot_stage_cgroup() { # work
	local work=$1
	mount --make-rprivate / && mkdir -p "$work/cgroup" &&
		mount -t cgroup2 cgroup2 "$work/cgroup" && mkdir "$work/cgroup/${work##*/}" &&
		echo $$ >"$work/cgroup/${work##*/}/cgroup.procs" || exit 1
	exec unshare --pid --fork --kill-child --mount --cgroup --uts --ipc bash "$0" boot_stage_root "$work"
}

boot_stage_root() { # work; PID 1
	local work=$1 root=$1/fs/root device directory unit
	set -e
	mkdir -p "$work/fs"
	mount -t tmpfs tmpfs "$work/fs"
	mkdir "$work/fs/upper" "$work/fs/work" "$root"
	cp -a "$work/files/." "$work/fs/upper"
	mount -t overlay overlay -o "lowerdir=/,upperdir=$work/fs/upper,workdir=$work/fs/work" "$root"
	mount -t proc proc "$root/proc"
	mount --bind "$root/proc/sys" "$root/proc/sys"
	mount -o remount,bind,ro "$root/proc/sys"
	mount -t tmpfs -o mode=755 tmpfs "$root/run"
	mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
	mount -t tmpfs -o mode=755 tmpfs "$root/dev"
	for device in null zero full random urandom tty; do
		: >"$root/dev/$device"
		mount --bind "/dev/$device" "$root/dev/$device"
	done
	mkdir "$root/dev/pts" "$root/dev/shm"
	ln -s pts/ptmx "$root/dev/ptmx"
	: >"$root/etc/fstab"
	# Nothing that this root would start by itself, but a journal, users and directories.
	for directory in /etc/systemd/system /usr/lib/systemd/system; do
		mkdir -p "$root$directory/sysinit.target.wants"
		mount -t tmpfs tmpfs "$root$directory/sysinit.target.wants"
	done
	for unit in sockets.target timers.target local-fs.target systemd-journald-audit.socket; do
		ln -sf /dev/null "$root/etc/systemd/system/$unit"
	done
	[ ! -d "$root/usr/lib/systemd/system-generators" ] ||
		mount -t tmpfs tmpfs "$root/usr/lib/systemd/system-generators"
	for unit in systemd-journald systemd-tmpfiles-setup; do
		ln -s "/lib/systemd/system/$unit.service" \
			"$root/etc/systemd/system/sysinit.target.wants/$unit.service"
	done
	mkdir -p "$root/mnt"
	cd "$root"
	pivot_root . mnt
	umount -l /mnt
	exec env -i container=sfd-test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		/lib/systemd/systemd --system --log-target=journal --unit=basic.target
}

# boot WORK: boots; the files in WORK/files are laid over the root. Sets boot_pid and pid1.
boot() {
	unshare --mount bash "${BASH_SOURCE[0]}" boot_stage_cgroup "$1" </dev/null >"$1/boot.log" 2>&1 &
	boot_pid=$!
	for _ in $(seq 300); do
		pid1=$(pgrep -P "$boot_pid" | head -n 1)
		[ "$(cat "/proc/${pid1:-0}/comm" 2>/dev/null)" = systemd ] &&
			host systemctl is-active --quiet basic.target 2>/dev/null && return
		kill -0 "$boot_pid" 2>/dev/null || break
		sleep 0.1
	done
	return 1
}

# host command...: runs it there
host() { timeout -k 1 60 nsenter -t "$pid1" -a env -C / "$@" </dev/null; }

# power_off WORK
power_off() {
	[ -z "${pid1:-}" ] || kill -KILL "$pid1" 2>/dev/null
	[ -z "${boot_pid:-}" ] || wait "$boot_pid" 2>/dev/null
	unshare --mount bash -c 'mount --make-rprivate / && mkdir -p "$1/cgroup" &&
		mount -t cgroup2 cgroup2 "$1/cgroup" &&
		find "$1/cgroup/${1##*/}" -depth -type d -exec rmdir {} \;' bash "$1" 2>/dev/null
}

[ "${BASH_SOURCE[0]}" != "$0" ] || "$@"
