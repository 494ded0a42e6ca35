// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sfd authors
//! Peer: Debian's uuid crate. A worker as worker.h describes. Version 7 needs --cfg uuid_unstable.

use std::fs::File;
use std::io::Write;
use std::sync::{Arc, Barrier};
use std::{env, io, process, ptr, thread};
use uuid::Uuid;

const ID_SIZE: usize = 32;
const WARM_NS: i64 = 20_000_000;
const CHUNK_NS: i64 = 20_000;
const BEFORE_FORK: usize = 1000;
/// The machine id of version 1.
const NODE: [u8; 6] = [2, 0, 0, 0, 0, 7];

type Record = [u8; ID_SIZE];
/// Takes `count` IDs into ids[0], ids[1], ..., or all into ids[0] with a mask of 0.
type Run = fn(count: usize, ids: &mut [Record], mask: usize);

fn run<F: Fn() -> Uuid>(next: F, count: usize, ids: &mut [Record], mask: usize) {
    for i in 0..count {
        let id = next();
        // volatile: an ID that the next one overwrites is made all the same
        unsafe { ptr::write_volatile(ids[i & mask].as_mut_ptr().cast(), id.into_bytes()) };
    }
}

fn find(way: &str) -> Option<Run> {
    match way {
        "v1" => Some(|count, ids, mask| run(|| Uuid::now_v1(&NODE), count, ids, mask)),
        "v4" => Some(|count, ids, mask| run(Uuid::new_v4, count, ids, mask)),
        "v7" => Some(|count, ids, mask| run(Uuid::now_v7, count, ids, mask)),
        _ => None,
    }
}

fn clock(id: libc::clockid_t) -> i64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(id, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

fn now_ns() -> i64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// What the command line asks for.
#[derive(Clone)]
struct Order {
    run: Run,
    /// `amount` is a number of IDs, not a time in ns.
    counts: bool,
    amount: i64,
    /// Of the IDs that a thread collects; 0: none are collected.
    cap: usize,
}

/// A thread's part.
struct Part {
    order: Order,
    ids: Vec<Record>,
    mask: usize,
    chunk: usize,
    taken: usize,
    begin: i64,
    end: i64,
}

impl Part {
    fn new(order: &Order) -> Part {
        let mut part = Part {
            order: order.clone(),
            ids: vec![[1; ID_SIZE]; order.cap.max(1)],
            mask: if order.cap > 0 { usize::MAX } else { 0 },
            chunk: 1,
            taken: 0,
            begin: 0,
            end: 0,
        };
        let until = now_ns() + WARM_NS;
        loop {
            let start = now_ns();
            (order.run)(part.chunk, &mut part.ids, 0);
            let now = now_ns();
            if now - start < CHUNK_NS / 2 {
                part.chunk *= 2;
            }
            if now >= until {
                break;
            }
        }
        part.ids.fill([0; ID_SIZE]);
        part
    }

    fn take(&mut self, count: usize) {
        (self.order.run)(count, &mut self.ids[self.taken & self.mask..], self.mask);
        self.taken += count;
    }

    fn next_chunk(&self) -> usize {
        let limit = if self.order.counts {
            self.order.amount as usize
        } else if self.end - self.begin >= self.order.amount {
            return 0;
        } else {
            self.order.cap
        };
        if limit > 0 {
            self.chunk.min(limit - self.taken)
        } else {
            self.chunk
        }
    }

    fn work(&mut self) {
        self.begin = now_ns();
        self.end = self.begin;
        loop {
            let count = self.next_chunk();
            if count == 0 {
                return;
            }
            self.take(count);
            self.end = now_ns();
        }
    }

    fn save(&self, file: &mut File, from: usize) -> io::Result<()> {
        self.ids[from..self.taken].iter().try_for_each(|id| file.write_all(id))
    }
}

fn meet() -> io::Result<()> {
    println!("ready");
    let mut line = String::new();
    if io::stdin().read_line(&mut line)? == 0 {
        process::exit(1);
    }
    Ok(())
}

fn run_threads(order: &Order, threads: usize) -> io::Result<(Vec<Part>, i64)> {
    let gate = Arc::new(Barrier::new(threads + 1));
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            let (order, gate) = (order.clone(), gate.clone());
            thread::spawn(move || {
                let mut part = Part::new(&order);
                gate.wait(); // ready
                gate.wait(); // go
                part.work();
                part
            })
        })
        .collect();
    gate.wait();
    meet()?;
    let cpu = clock(libc::CLOCK_PROCESS_CPUTIME_ID);
    gate.wait();
    let parts = workers.into_iter().map(|worker| worker.join().expect("a thread")).collect();
    Ok((parts, clock(libc::CLOCK_PROCESS_CPUTIME_ID) - cpu))
}

fn run_fork(order: &Order, path: &str) -> io::Result<Vec<Part>> {
    let mut part = Part::new(order);
    meet()?;
    part.take(BEFORE_FORK);
    let child = unsafe { libc::fork() };
    if child < 0 {
        return Err(io::Error::last_os_error());
    }
    part.work();
    if child == 0 {
        let saved = File::create(format!("{path}.child"))
            .and_then(|mut file| part.save(&mut file, BEFORE_FORK));
        unsafe { libc::_exit(saved.is_err().into()) };
    }
    let mut status = 0;
    if unsafe { libc::waitpid(child, &mut status, 0) } < 0 || status != 0 {
        return Err(io::Error::new(io::ErrorKind::Other, "the child failed"));
    }
    part.save(&mut File::create(path)?, 0)?;
    Ok(vec![part])
}

fn report(parts: &[Part], cpu: i64) {
    let ids: usize = parts.iter().map(|part| part.taken).sum();
    let rate: f64 = parts.iter().map(|part| part.taken as f64 / (part.end - part.begin) as f64).sum();
    println!(
        "{{\"ids\":{ids},\"ns\":{},\"per_second\":{},\"cpu_ns\":{cpu},\"begin_ns\":{},\"end_ns\":{}}}",
        parts.len() as f64 / rate,
        rate * 1e9,
        parts[0].begin,
        parts[0].end
    );
}

fn main() -> io::Result<()> {
    let start = now_ns();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let run = arguments.first().and_then(|way| find(way));
    let (run, mode) = match (run, arguments.get(1)) {
        (Some(run), Some(mode)) => (run, mode.as_str()),
        _ => {
            eprintln!("usage: worker WAY first|time|count|collect|fork ...");
            process::exit(2);
        }
    };
    if mode == "first" {
        run(1, &mut [[0; ID_SIZE]], 0);
        println!("{{\"start_ns\":{start},\"first_ns\":{}}}", now_ns());
        return Ok(());
    }
    let number = |i: usize| arguments.get(i).map_or(0, |text| text.parse().expect("a number"));
    let counts = mode == "count";
    let amount = number(3) * if counts { 1 } else { 1_000_000 };
    let order = Order { run, counts, amount, cap: number(4) as usize };
    if mode == "fork" {
        report(&run_fork(&order, &arguments[5])?, 0);
        return Ok(());
    }
    let (parts, cpu) = run_threads(&order, number(2) as usize)?;
    if order.cap > 0 {
        let mut file = File::create(&arguments[5])?;
        parts.iter().try_for_each(|part| part.save(&mut file, 0))?;
    }
    report(&parts, cpu);
    Ok(())
}
