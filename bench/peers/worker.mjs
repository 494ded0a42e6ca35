// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sfd authors
// Peers: packages of npm. A worker as worker.h describes; it cannot fork, for Node cannot. Threads are
// worker_threads, each with a module of its own.
const startNs = process.hrtime.bigint();

import { appendFileSync, readSync, writeFileSync } from "node:fs";
import { webcrypto } from "node:crypto";
import { Worker, isMainThread, parentPort, workerData } from "node:worker_threads";

globalThis.crypto ??= webcrypto; // not there by itself before Node 19

const ID_SIZE = 32;
const WARM_NS = 200_000_000n; // the compiler has seen the loop by then
const CHUNK_NS = 20_000n;
const MACHINE = 7;

// Each returns a function that returns the next ID: a string, a BigInt or a Buffer.
const ways = {
  async sapphire() {
    const { Snowflake } = await import("@sapphire/snowflake");
    const snowflake = new Snowflake(1288834974657n);
    snowflake.workerId = MACHINE;
    snowflake.processId = 0;
    return () => snowflake.generate();
  },
  async nodejs_snowflake() {
    const { default: module } = await import("nodejs-snowflake");
    const snowflake = new module.Snowflake({ custom_epoch: 1288834974657, instance_id: MACHINE });
    return () => snowflake.getUniqueID();
  },
  async flake_idgen() {
    const { default: FlakeId } = await import("flake-idgen");
    const flake = new FlakeId({ id: MACHINE, epoch: 1288834974657 });
    return () => {
      for (;;) {
        try {
          return flake.next();
        } catch {
          // the tick is used up: the package says so, and gives an ID in the next one
        }
      }
    };
  },
  async ulid() {
    const { monotonicFactory } = await import("ulid");
    return monotonicFactory();
  },
  async uuid_v1() {
    const { v1 } = await import("uuid");
    return v1;
  },
  async uuid_v4() {
    const { v4 } = await import("uuid");
    return v4;
  },
  async uuid_v7() {
    const { v7 } = await import("uuid");
    return v7;
  },
  async uuidv7() {
    const { uuidv7 } = await import("uuidv7");
    return uuidv7;
  },
};

let kept; // what an ID goes into when nobody collects it

function collect(ids, index, id) {
  const at = index * ID_SIZE;
  if (typeof id === "string") ids.latin1Write(id.replaceAll("-", ""), at, ID_SIZE);
  else if (typeof id === "bigint") ids.writeBigUInt64LE(id, at);
  else id.copy(ids, at);
}

function take(next, count) {
  for (let i = 0; i < count; i++) kept = next();
}

function takeInto(next, count, ids, from) {
  for (let i = 0; i < count; i++) collect(ids, from + i, next());
}

// Finds how many IDs a chunk has, while the compiler warms up.
function calibrate(next) {
  const until = process.hrtime.bigint() + WARM_NS;
  let chunk = 1;
  for (;;) {
    const start = process.hrtime.bigint();
    take(next, chunk);
    const now = process.hrtime.bigint();
    if (now - start < CHUNK_NS / 2n) chunk *= 2;
    if (now >= until) return chunk;
  }
}

function work(next, order, chunk, ids) {
  const begin = process.hrtime.bigint();
  const limit = order.mode === "count" ? order.amount : order.cap || Infinity;
  const window = order.mode === "count" ? null : BigInt(order.amount) * 1_000_000n;
  let now = begin;
  let taken = 0;
  while (taken < limit && (window === null || now - begin < window)) {
    const count = Math.min(chunk, limit - taken);
    if (ids) takeInto(next, count, ids, taken);
    else take(next, count);
    taken += count;
    now = process.hrtime.bigint();
  }
  return { taken, begin, end: now };
}

// A thread's part. `go` returns when it may begin.
async function part(order, go) {
  const next = await ways[order.way]();
  const ids = order.cap ? Buffer.alloc(order.cap * ID_SIZE) : null;
  const chunk = calibrate(next);
  await go();
  const result = work(next, order, chunk, ids);
  if (ids) result.ids = ids.subarray(0, result.taken * ID_SIZE);
  return result;
}

function meet() {
  process.stdout.write("ready\n");
  if (readSync(0, Buffer.alloc(16)) === 0) process.exit(1);
}

async function runThreads(order) {
  let cpu;
  let parts;
  if (order.threads === 1) {
    parts = [
      await part(order, () => {
        meet();
        cpu = process.cpuUsage();
      }),
    ];
  } else {
    const gate = new Int32Array(new SharedArrayBuffer(4));
    const workers = Array.from(
      { length: order.threads },
      () => new Worker(new URL(import.meta.url), { workerData: { order, gate } }),
    );
    const message = (worker) => new Promise((done, fail) => worker.once("message", done).once("error", fail));
    await Promise.all(workers.map(message));
    const results = workers.map(message);
    meet();
    cpu = process.cpuUsage();
    Atomics.store(gate, 0, 1);
    Atomics.notify(gate, 0);
    parts = await Promise.all(results);
  }
  cpu = process.cpuUsage(cpu);
  return { parts, cpuNs: (cpu.user + cpu.system) * 1000 };
}

async function main() {
  const [way, mode, threads, amount, cap, path] = process.argv.slice(2);
  if (!(way in ways) || !["first", "time", "count", "collect"].includes(mode)) {
    process.stderr.write("usage: worker.mjs WAY first|time|count|collect ...\n");
    process.exit(2);
  }
  if (mode === "first") {
    const next = await ways[way]();
    kept = next();
    const now = process.hrtime.bigint();
    process.stdout.write(`{"start_ns":${startNs},"first_ns":${now}}\n`);
    return;
  }
  const order = { way, mode, threads: Number(threads), amount: Number(amount), cap: Number(cap ?? 0) };
  const { parts, cpuNs } = await runThreads(order);
  let ids = 0;
  let rate = 0;
  parts.forEach((one, i) => {
    ids += one.taken;
    rate += one.taken / Number(one.end - one.begin);
    if (order.cap) (i ? appendFileSync : writeFileSync)(path, one.ids);
  });
  process.stdout.write(
    `{"ids":${ids},"ns":${parts.length / rate},"per_second":${rate * 1e9},"cpu_ns":${cpuNs},` +
      `"begin_ns":${parts[0].begin},"end_ns":${parts[0].end}}\n`,
  );
}

if (isMainThread) {
  await main();
} else {
  const { order, gate } = workerData;
  parentPort.postMessage(
    await part(order, () => {
      parentPort.postMessage("ready");
      Atomics.wait(gate, 0, 0);
    }),
  );
}
