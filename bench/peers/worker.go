// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sfd authors

// Peers: Go packages of Debian. A worker as worker.h describes; it cannot fork, for Go cannot.
// Builds with GO111MODULE=off GOPATH=/usr/share/gocode.
package main

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	gofrs "github.com/gofrs/uuid"
	google "github.com/google/uuid"
	"github.com/oklog/ulid"
	"github.com/rogpeppe/fastuuid"
	"github.com/rs/xid"
	"github.com/segmentio/ksuid"
)

const (
	idSize  = 32
	warmNs  = 20_000_000
	chunkNs = 20_000
)

type record = [idSize]byte

// Takes `count` IDs into ids[0], ids[1], ..., or all into ids[0] with a mask of 0.
type runFunc func(count int, ids []record, mask int)

// Each opens what the process needs; the threads share it.
var ways = map[string]func() runFunc{
	"google_v1": func() runFunc {
		return func(count int, ids []record, mask int) {
			for i := 0; i < count; i++ {
				id := google.Must(google.NewUUID())
				copy(ids[i&mask][:], id[:])
			}
		}
	},
	"google_v4": func() runFunc {
		return func(count int, ids []record, mask int) {
			for i := 0; i < count; i++ {
				id := google.New()
				copy(ids[i&mask][:], id[:])
			}
		}
	},
	"gofrs_v7": func() runFunc {
		return func(count int, ids []record, mask int) {
			for i := 0; i < count; i++ {
				id := gofrs.Must(gofrs.NewV7())
				copy(ids[i&mask][:], id[:])
			}
		}
	},
	"fastuuid": func() runFunc {
		generator := fastuuid.MustNewGenerator()
		return func(count int, ids []record, mask int) {
			for i := 0; i < count; i++ {
				id := generator.Next()
				copy(ids[i&mask][:], id[:])
			}
		}
	},
	"ulid": func() runFunc {
		entropy := ulid.Monotonic(rand.Reader, 0)
		var mutex sync.Mutex // the entropy is not for several threads
		return func(count int, ids []record, mask int) {
			for i := 0; i < count; i++ {
				mutex.Lock()
				id := ulid.MustNew(ulid.Now(), entropy)
				mutex.Unlock()
				copy(ids[i&mask][:], id[:])
			}
		}
	},
	"xid": func() runFunc {
		return func(count int, ids []record, mask int) {
			for i := 0; i < count; i++ {
				id := xid.New()
				copy(ids[i&mask][:], id[:])
			}
		}
	},
	"ksuid": func() runFunc {
		return func(count int, ids []record, mask int) {
			for i := 0; i < count; i++ {
				id := ksuid.New()
				copy(ids[i&mask][:], id[:])
			}
		}
	},
}

func clock(id int) int64 {
	var now syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, uintptr(id), uintptr(unsafe.Pointer(&now)), 0)
	return now.Nano()
}

func monotonicNs() int64 { return clock(1) }
func cpuNs() int64       { return clock(2) }

// What the command line asks for.
type order struct {
	run    runFunc
	counts bool // amount is a number of IDs, not a time in ns
	amount int64
	cap    int // of the IDs that a thread collects; 0: none are collected
}

// A thread's part.
type part struct {
	ids        []record
	mask       int
	chunk      int
	taken      int
	begin, end int64
}

// The time since the program began, without a system call.
var began = time.Now()

func sinceNs() int64 { return int64(time.Since(began)) }

func (p *part) prepare(o *order) {
	p.ids = make([]record, 1)
	until := sinceNs() + warmNs
	for p.chunk = 1; ; {
		start := sinceNs()
		o.run(p.chunk, p.ids, 0)
		now := sinceNs()
		if now-start < chunkNs/2 {
			p.chunk *= 2
		}
		if now >= until {
			break
		}
	}
	if o.cap > 0 {
		p.ids = make([]record, o.cap)
		for i := range p.ids {
			p.ids[i][0] = 1 // its pages are there now
		}
		clear := make([]record, 1)
		for i := range p.ids {
			p.ids[i] = clear[0]
		}
		p.mask = -1
	}
}

func (p *part) nextChunk(o *order, now int64) int {
	limit := o.cap
	if o.counts {
		limit = int(o.amount)
	} else if now-p.begin >= o.amount {
		return 0
	}
	if limit > 0 && limit-p.taken < p.chunk {
		return limit - p.taken
	}
	return p.chunk
}

func (p *part) work(o *order) {
	p.begin = sinceNs()
	p.end = p.begin
	for {
		count := p.nextChunk(o, p.end)
		if count == 0 {
			return
		}
		o.run(count, p.ids[p.taken&p.mask:], p.mask)
		p.taken += count
		p.end = sinceNs()
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "worker.go:", err)
	os.Exit(1)
}

func meet() {
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		fail(err)
	}
}

func save(path string, parts []part) {
	file, err := os.Create(path)
	if err != nil {
		fail(err)
	}
	for i := range parts {
		for j := range parts[i].ids[:parts[i].taken] {
			if parts[i].ids[j] == (record{}) {
				fail(fmt.Errorf("an ID is missing"))
			}
		}
		data := unsafe.Slice(&parts[i].ids[0][0], parts[i].taken*idSize)
		if _, err := file.Write(data); err != nil {
			fail(err)
		}
	}
	if err := file.Close(); err != nil {
		fail(err)
	}
}

func runThreads(o *order, threads int) ([]part, int64) {
	parts := make([]part, threads)
	var ready, done sync.WaitGroup
	gate := make(chan struct{})
	ready.Add(threads)
	done.Add(threads)
	for i := range parts {
		go func(p *part) {
			runtime.LockOSThread()
			p.prepare(o)
			ready.Done()
			<-gate
			p.work(o)
			done.Done()
		}(&parts[i])
	}
	ready.Wait()
	meet()
	cpu := cpuNs()
	close(gate)
	done.Wait()
	return parts, cpuNs() - cpu
}

func report(parts []part, cpu int64) {
	ids := 0
	rate := 0.0
	for _, p := range parts {
		ids += p.taken
		rate += float64(p.taken) / float64(p.end-p.begin)
	}
	offset := monotonicNs() - sinceNs()
	fmt.Printf("{\"ids\":%d,\"ns\":%g,\"per_second\":%g,\"cpu_ns\":%d,\"begin_ns\":%d,\"end_ns\":%d}\n",
		ids, float64(len(parts))/rate, rate*1e9, cpu, parts[0].begin+offset, parts[0].end+offset)
}

func number(text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		fail(err)
	}
	return value
}

func main() {
	start := monotonicNs()
	arguments := os.Args[1:]
	var open func() runFunc
	if len(arguments) > 1 {
		open = ways[arguments[0]]
	}
	if open == nil || len(arguments) == 3 {
		fmt.Fprintln(os.Stderr, "usage: worker WAY first|time|count|collect ...")
		os.Exit(2)
	}
	mode := arguments[1]
	o := order{run: open(), counts: mode == "count"}
	if mode == "first" {
		o.run(1, make([]record, 1), 0)
		fmt.Printf("{\"start_ns\":%d,\"first_ns\":%d}\n", start, monotonicNs())
		return
	}
	o.amount = number(arguments[3])
	if !o.counts {
		o.amount *= 1_000_000
	}
	if mode == "collect" {
		o.cap = int(number(arguments[4]))
	}
	parts, cpu := runThreads(&o, int(number(arguments[2])))
	if o.cap > 0 {
		save(arguments[5], parts)
	}
	report(parts, cpu)
}
