#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sfd authors
"""Measures the workers that a manifest names, all beside each other, and prints JSON.

The manifest is what bench/peers.sh writes: one JSON object a worker, one a line, with name, command,
environment, the server's pid (0: none), "link" (a symbolic link and where it must point), and
"fork" (null, or why the worker cannot). In rounds: every worker is measured once, in every shape,
before any is measured again. A worker that fails is reported and left out from then on.
"""
import argparse
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

SHAPES = {"one_thread": (1, 1), "two_threads": (1, 2), "two_processes": (2, 1)}
# Longest time that a worker may take for anything; and beyond its time, after a fork.
PATIENCE_S = 20
PATIENCE_FORK_S = 3
# Spawns for the first ID: so many a round, or as many as fit.
FIRST_SPAWNS = 20
FIRST_NS = 100_000_000
# IDs taken under strace: this many ns of them.
TRACED_NS = 20_000_000
TRACED_MOST_SLOW = 10_000
TRACED_LEAST = 1000
SLOW_NS = 100
# Two workers' time together, of the time of the first; how often to try for that.
OVERLAP_WANTED = 0.5
TRIES = 5


class Failed(Exception):
    """A worker failed; says how."""


class Worker:
    """A running worker."""

    def __init__(self, entry, arguments, cpus, before=()):
        self.errors = tempfile.TemporaryFile(mode="w+")
        command = [*before, *entry["command"], *arguments]
        try:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                env=os.environ | entry.get("env", {}),
                start_new_session=True,  # a child that it forks ends with it
                preexec_fn=lambda: os.sched_setaffinity(0, cpus),
            )
        except OSError as error:
            self.errors.close()
            raise Failed(f"cannot run {command[0]}: {error.strerror}") from error
        self.buffer = b""

    def line(self, patience_s):
        """The next line that it prints."""
        until = time.monotonic() + patience_s
        while b"\n" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise Failed(f"it hangs: nothing for {patience_s} s")
            some = os.read(self.process.stdout.fileno(), 65536)
            if not some:
                self.process.wait()
                self.errors.seek(0)
                said = " ".join(self.errors.read().split())
                raise Failed(said or f"it ended with {self.process.returncode}")
            self.buffer += some
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def go(self):
        """The word that it waits for."""
        try:
            self.process.stdin.write(b"go\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise Failed("it ended before it was told to go") from error

    def end(self):
        """Waits for its end, or brings it about when it is late."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            self.process.wait(1)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()
        self.errors.close()


def cpus_for(index, processes):
    """The CPUs of one of so many processes: one each, from the last, or all for one alone."""
    cpus = sorted(os.sched_getaffinity(0), reverse=True)
    return {cpus[index % len(cpus)]} if processes > 1 else set(cpus)


def server_tasks(pid):
    """All threads of a server and of the processes under it."""
    pids = [pid]
    for parent in pids:
        for task in os.listdir(f"/proc/{parent}/task"):
            with open(f"/proc/{parent}/task/{task}/children", encoding="ascii") as file:
                pids += map(int, file.read().split())
    return {(pid, task) for pid in pids for task in os.listdir(f"/proc/{pid}/task")}


def server_cpu_ns(tasks):
    """CPU time that these have had; one that is gone counts no more."""
    total = 0
    for pid, task in tasks:
        try:
            with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return total


def point(entry):
    """Lets the worker's symbolic link point to its server."""
    if entry.get("link"):
        name, target = entry["link"]
        os.symlink(target, name + ".new")
        os.replace(name + ".new", name)


def run(entry, processes, arguments, before=(), patience_s=PATIENCE_S):
    """Runs worker processes side by side. Returns their reports, and the server's CPU time."""
    workers = []
    point(entry)
    try:
        for index in range(processes):
            mine = [str(one).replace("%", str(index)) for one in arguments]
            workers.append(Worker(entry, mine, cpus_for(index, processes), before))
        for worker in workers:
            if worker.line(PATIENCE_S) != "ready":
                raise Failed("it said something else than ready")
        tasks = server_tasks(entry["server"]) if entry.get("server") else set()
        server = server_cpu_ns(tasks)
        for worker in workers:
            worker.go()
        reports = [json.loads(worker.line(patience_s)) for worker in workers]
        return reports, server_cpu_ns(tasks) - server
    finally:
        for worker in workers:
            worker.end()


def overlap(reports):
    """The part of the shorter run that both were in."""
    both = min(r["end_ns"] for r in reports) - max(r["begin_ns"] for r in reports)
    shorter = min(r["end_ns"] - r["begin_ns"] for r in reports)
    return max(0, both) / shorter


def measure_time(entry, shape, window_ms):
    """One measurement of one shape."""
    processes, threads = SHAPES[shape]
    reports, server = run(entry, processes, ["time", threads, window_ms])
    ids = sum(report["ids"] for report in reports)
    rate = sum(report["per_second"] for report in reports)
    return {
        "ids": ids,
        "ns": processes * threads / rate * 1e9,
        "per_second": rate,
        "cpu_ns": sum(report["cpu_ns"] for report in reports) / ids,
        "server_cpu_ns": server / ids,
        "overlap": overlap(reports),
    }


def measure_first(entry):
    """First IDs of fresh processes: ns since main() began, and since the spawn."""
    samples = []
    point(entry)
    until = time.monotonic_ns() + FIRST_NS
    command = [*entry["command"], "first"]
    environment = os.environ | entry.get("env", {})
    while len(samples) < FIRST_SPAWNS and (not samples or time.monotonic_ns() < until):
        read, write = os.pipe()
        begin = time.monotonic_ns()
        pid = os.posix_spawn(
            command[0],
            command,
            environment,
            file_actions=[(os.POSIX_SPAWN_DUP2, write, 1), (os.POSIX_SPAWN_CLOSE, read)],
        )
        os.close(write)
        with open(read, encoding="utf-8") as file:
            said = file.read()
        if os.waitpid(pid, 0)[1] != 0:
            raise Failed("it gave no first ID")
        report = json.loads(said)
        samples.append((report["first_ns"] - report["start_ns"], report["first_ns"] - begin))
    return samples


def traced(entry, count, path):
    """How often which system call was made by a whole run of about `count` IDs."""
    before = ["strace", "-f", "-c", "-qq", "-U", "name,calls", "-o", path]
    reports, _ = run(entry, 1, ["count", 1, count], before)
    with open(path, encoding="utf-8") as file:
        calls = {name: int(n) for name, n in re.findall(r"^(\w+) +(\d+)$", file.read(), re.M)}
    calls.pop("total", None)
    return reports[0]["ids"], calls


def measure_syscalls(entry, ns, directory):
    """System calls of the worker an ID: a run of N IDs is taken off one of about 2 N."""
    count = max(TRACED_LEAST, int(TRACED_NS / ns))
    if ns > SLOW_NS:
        count = min(count, TRACED_MOST_SLOW)
    path = os.path.join(directory, "strace")
    ids, calls = traced(entry, count, path)
    more_ids, more_calls = traced(entry, 2 * count, path)
    by_name = {
        name: (more_calls.get(name, 0) - calls.get(name, 0)) / (more_ids - ids)
        for name in sorted(calls | more_calls)
    }
    by_name = {name: each for name, each in by_name.items() if each > 0}
    return {"ids": more_ids - ids, "per_id": sum(by_name.values()), "by_name": by_name}


def count_duplicates(counter, files):
    """What the counter says of these files, which are removed."""
    done = subprocess.run([counter, *files], check=True, capture_output=True, text=True)
    for file in files:
        os.remove(file)
    return json.loads(done.stdout)


def measure_unique(entry, shape, settings, directory):
    """IDs that were given twice in one run of a shape."""
    processes, threads = SHAPES[shape]
    path = os.path.join(directory, "ids.%")
    best = None
    for _ in range(TRIES):
        arguments = ["collect", threads, settings.collect_ms, settings.collect_ids, path]
        reports, _ = run(entry, processes, arguments)
        files = [path.replace("%", str(i)) for i in range(processes)]
        result = count_duplicates(settings.duplicates, files) | {"overlap": overlap(reports)}
        if best is None or result["overlap"] > best["overlap"]:
            best = result
        if best["overlap"] >= OVERLAP_WANTED:
            break
    return best


def measure_fork(entry, settings, directory):
    """IDs that were given twice by a process that forks and goes on in both."""
    if entry.get("fork"):
        return {"none": entry["fork"]}
    path = os.path.join(directory, "ids")
    arguments = ["fork", 1, settings.collect_ms, settings.collect_ids, path]
    try:
        run(entry, 1, arguments, patience_s=PATIENCE_FORK_S + settings.collect_ms / 1000)
    except Failed as failure:
        return {"fails": str(failure)}
    return count_duplicates(settings.duplicates, [path, path + ".child"])


def median(values):
    """The middle one, the upper of two."""
    return sorted(values)[len(values) // 2]


def summary(rounds):
    """Medians of the rounds of a shape, and all of them."""
    result = {key: median([r[key] for r in rounds]) for key in rounds[0]}
    result["ids"] = sum(r["ids"] for r in rounds)
    return result | {
        "rounds": len(rounds),
        "round_ns": [r["ns"] for r in rounds],
        "round_per_second": [r["per_second"] for r in rounds],
    }


class Bench:
    """All workers, and what was measured of them."""

    def __init__(self, settings, directory):
        self.settings = settings
        self.directory = directory
        self.left_out = []
        with open(settings.manifest, encoding="utf-8") as file:
            self.entries = [json.loads(line) for line in file]
        shapes = list(SHAPES) if len(os.sched_getaffinity(0)) > 1 else ["one_thread"]
        for entry in self.entries:
            entry["first_samples"] = []
            entry["shapes"] = {shape: [] for shape in shapes}

    def each(self, what, measure):
        """Does something with every worker; one that fails is left out from then on."""
        print(f"   {what}", file=sys.stderr)
        for entry in list(self.entries):
            try:
                measure(entry)
            except Failed as failure:
                print(f"   {entry['name']} fails: {failure}", file=sys.stderr)
                self.entries.remove(entry)
                self.left_out.append({"name": entry["name"], "reason": f"it failed: {failure}"})

    def round(self, entry):
        """One round of one worker."""
        for shape, rounds in entry["shapes"].items():
            rounds.append(measure_time(entry, shape, self.settings.window_ms))
        entry["first_samples"] += measure_first(entry)

    def syscalls(self, entry):
        """What strace counts."""
        ns = median([r["ns"] for r in entry["shapes"]["one_thread"]])
        try:
            entry["syscalls"] = measure_syscalls(entry, ns, self.directory)
        except Failed as failure:
            entry["syscalls"] = {"fails": str(failure)}

    def unique(self, entry):
        """What is given twice."""
        entry["unique"] = {
            shape: measure_unique(entry, shape, self.settings, self.directory)
            for shape in entry["shapes"]
        }
        entry["unique"]["after_fork"] = measure_fork(entry, self.settings, self.directory)

    def measure(self):
        """Everything."""
        for n in range(self.settings.rounds):
            self.each(f"round {n + 1} of {self.settings.rounds}", self.round)
        self.each("system calls", self.syscalls)
        self.each("duplicates", self.unique)

    def result(self):
        """What was measured, as JSON has it."""
        for entry in self.entries:
            first = entry.pop("first_samples")
            entry["first"] = {
                "since_main_ns": median([sample[0] for sample in first]),
                "since_spawn_ns": median([sample[1] for sample in first]),
                "samples": len(first),
            }
            entry |= {shape: summary(rounds) for shape, rounds in entry.pop("shapes").items()}
        return {"peers": self.entries, "left_out": self.left_out}


def main():
    """Measures what the command line says."""
    parser = argparse.ArgumentParser(description="Measures the workers of a manifest.")
    parser.add_argument("manifest")
    parser.add_argument("--duplicates", required=True, help="the program that counts them")
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--window-ms", type=int, required=True, help="of one measurement")
    parser.add_argument("--collect-ms", type=int, required=True, help="the same, for duplicates")
    parser.add_argument("--collect-ids", type=int, required=True, help="most of them a thread")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        bench = Bench(settings, directory)
        bench.measure()
    json.dump(bench.result(), sys.stdout)
    print()


main()
