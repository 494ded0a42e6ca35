# SPDX-License-Identifier: MIT
# SPDX-FileCopyrightText: The sfd authors
"""Peer: Python's uuid. A worker as worker.h describes."""
import time

START_NS = time.monotonic_ns()

import os
import sys
import threading
import uuid

ID_SIZE = 32
WARM_NS = 20_000_000
CHUNK_NS = 20_000
BEFORE_FORK = 1000
WAYS = {"uuid1": uuid.uuid1, "uuid4": uuid.uuid4}


class Part:
    """A thread's part of an order."""

    def __init__(self, next_id, mode, amount, cap):
        self.next_id = next_id
        self.limit = amount if mode == "count" else cap
        self.window = None if mode == "count" else amount * 1_000_000
        self.ids = [] if cap else None
        self.taken = 0
        self.chunk = 1
        self.calibrate()

    def calibrate(self):
        """Finds how many IDs a chunk has."""
        until = time.monotonic_ns() + WARM_NS
        now = 0
        while now < until:
            start = time.monotonic_ns()
            for _ in range(self.chunk):
                self.next_id()
            now = time.monotonic_ns()
            if now - start < CHUNK_NS / 2:
                self.chunk *= 2

    def take(self, count):
        """Takes so many."""
        next_id = self.next_id
        if self.ids is None:
            for _ in range(count):
                next_id()
        else:
            self.ids.extend([next_id().bytes for _ in range(count)])
        self.taken += count

    def work(self):
        """Takes IDs until the order is carried out."""
        self.begin = self.end = time.monotonic_ns()
        while self.window is None or self.end - self.begin < self.window:
            count = min(self.chunk, self.limit - self.taken) if self.limit else self.chunk
            if count == 0:
                break
            self.take(count)
            self.end = time.monotonic_ns()

    def save(self, path, mode):
        """Writes what was collected."""
        with open(path, mode) as file:
            file.write(b"".join(one.ljust(ID_SIZE, b"\0") for one in self.ids))


def meet():
    """Says that it is ready, and waits for the word to go."""
    print("ready", flush=True)
    if not sys.stdin.readline():
        sys.exit(1)


def report(parts, cpu_ns):
    """One JSON object."""
    rate = sum(part.taken / (part.end - part.begin) for part in parts)
    print(
        f'{{"ids":{sum(part.taken for part in parts)},"ns":{len(parts) / rate},'
        f'"per_second":{rate * 1e9},"cpu_ns":{cpu_ns},'
        f'"begin_ns":{parts[0].begin},"end_ns":{parts[0].end}}}'
    )


def run_threads(parts, path):
    """The order, on as many threads as there are parts."""
    threads = [threading.Thread(target=part.work) for part in parts]
    meet()
    cpu = time.process_time_ns()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cpu = time.process_time_ns() - cpu
    for i, part in enumerate(parts):
        if part.ids is not None:
            part.save(path, "ab" if i else "wb")
    report(parts, cpu)


def run_fork(part, path):
    """Takes some IDs, forks, and goes on in both processes."""
    meet()
    part.take(BEFORE_FORK)
    child = os.fork()
    if child == 0:
        part.ids.clear()
        part.work()
        part.save(path + ".child", "wb")
        os._exit(0)
    part.work()
    if os.waitpid(child, 0)[1] != 0:
        sys.exit("the child failed")
    part.save(path, "wb")
    report([part], 0)


def main():
    """What the command line asks for."""
    arguments = sys.argv[1:]
    if len(arguments) < 2 or arguments[0] not in WAYS:
        print("usage: worker.py WAY first|time|count|collect|fork ...", file=sys.stderr)
        sys.exit(2)
    next_id = WAYS[arguments[0]]
    mode = arguments[1]
    if mode == "first":
        next_id()
        print(f'{{"start_ns":{START_NS},"first_ns":{time.monotonic_ns()}}}')
        return
    threads, amount = int(arguments[2]), int(arguments[3])
    cap, path = (int(arguments[4]), arguments[5]) if len(arguments) > 4 else (0, None)
    parts = [Part(next_id, mode, amount, cap) for _ in range(threads)]
    if mode == "fork":
        run_fork(parts[0], path)
    else:
        run_threads(parts, path)


main()
