/* SPDX-License-Identifier: MIT */
/* SPDX-FileCopyrightText: The sfd authors */
/*
 * The protocol of shm/README.md: one statement for each access to shared memory or to a file, in
 * the order of shm/ring.h, daemon/engine.c, daemon/stream.c, libclient/take.c and ordered.c.
 * README.md beside this file says what the switches are, what is left out and why; run.sh runs it.
 */
#ifndef SLOTS
#define SLOTS 2 /* of a ring */
#endif
#ifndef RUNWAY
#define RUNWAY 1 /* ticks */
#endif
#ifndef CAP
#define CAP 2 /* counters of a tick */
#endif
#ifndef TICKS
#define TICKS 3 /* the layout's last tick */
#endif
#ifndef LIVES
#define LIVES 1 /* daemons, one after the other; the last one is not killed */
#endif
#ifndef SPREAD
#define SPREAD 0 /* sequence_start = spread: the largest start of a tick */
#endif
#if defined(SAME_TAG) || defined(BUG_NO_TAG)
#define TAG(t) 1 /* in every turn of the ring: 2^32 ticks later */
#else
#define TAG(t) (t)
#endif
#ifndef RANGES
#define RANGES 0 /* claimers that call sf_next and take ranges; the others sf_next_ordered */
#endif

#define CAPACITY(start) (CAP - (start))
#define ORDER(t, counter) ((t) * CAP + (counter))
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define MIN(a, b) ((a) < (b) -> (a) : (b))
#define SLOT(t) ((t) % SLOTS)

/* A view is a grants memfd: each daemon makes one. A memory is a claims memfd: each daemon's own,
 * unless the one before handed its over. */
typedef View {
	byte tick[SLOTS]; /* grants */
	byte start[SLOTS];
	byte horizon;
	byte memory;
};
typedef Memory {
	byte tag[SLOTS]; /* claim words */
	byte counter[SLOTS];
	byte floor;
};
View view[LIVES];
Memory memory[LIVES];
byte newest;     /* view that was handed out last */
bit ready;       /* and one was */
bit gone[LIVES]; /* the daemon takes no further step */

#if LIVES > 1
byte life;    /* which daemon runs, or is about to */
byte record;  /* runtime record: horizon */
#endif
#ifdef REBOOT
byte record_session;
byte mark; /* durable */
byte mark_session;
bit boot;
#endif
#ifdef CLOCK
/*
 * Time pages are 0, or 1 after a forward step. A page shows a moment past its ring's horizon from
 * the step on at which `level` comes down to it: an earlier one for a page that is ahead.
 */
byte page[LIVES];
byte record_page;
#ifdef STEPS
byte level[LIVES] = 2;
#else
byte level[LIVES] = 1;
#endif
byte opens[LIVES]; /* the page by which a ring opens: the record's at its start */

#define SHOWN(k, p) ((p) >= level[k])
#ifdef BUG_OPEN_AT_ONCE
#define IS_OPEN(k) true
#elif LIVES == 2
#define IS_OPEN(k) ((k) == 0 || SHOWN(0, opens[1]))
#elif defined(BUG_OPEN_BY_LAST)
#define IS_OPEN(k) ((k) == 0 || (k) == 1 && SHOWN(0, opens[1]) || (k) == 2 && SHOWN(1, opens[2]))
#else /* the record keeps the moment by which the ring of its daemon opens */
#define IS_OPEN(k)                                                                                 \
	((k) == 0 || SHOWN(0, opens[1]) && ((k) == 1 || SHOWN(1, opens[2])))
#endif
/* Its clients see a moment past the horizon. While its daemon lives, the clock says anything. */
#define IS_OVER(k) (gone[k] && SHOWN(k, page[k]))
#else
#define IS_OPEN(k) true
#define IS_OVER(k) false
#endif

/* What the properties look at. */
int given;    /* bit ORDER(tick, counter) */
byte highest; /* ORDER of the highest ID that was returned */
hidden byte given_twice, below_a_returned_id, cursor_went_back, counter_near_tag;

/* ---- the daemon ---- */

#if LIVES > 1
#define k life
#else
#define k 0
#endif
#define OWN view[k]
#define WORDS memory[view[k].memory]

#if LIVES > 1 && !defined(BUG_RECORD_LATE)
#define RECORD(t) record = t
#else
#define RECORD(t) skip
#endif
#if LIVES > 1
#define SKIPPED(t) low = t
#else
#define SKIPPED(t) skip
#endif
#if defined(REBOOT) && !defined(BUG_MARK_LATE)
#define LIMIT MIN(TICKS, mark)
#else
#define LIMIT TICKS
#endif
inline grant(t)
{
#if SPREAD > 0
	OWN.tick[SLOT(t)] = 0;
	if
	:: OWN.start[SLOT(t)] = 0
	:: OWN.start[SLOT(t)] = SPREAD
	fi;
#endif
	OWN.tick[SLOT(t)] = t
}

/* sf_shm_publish() */
inline publish_tick(t)
{
	if
#ifdef HANDOVER
	:: OWN.tick[SLOT(t)] == t -> /* given back by the daemon before: the same grant again */
#ifndef BUG_WORD_FIRST
		OWN.horizon = t;
#endif
#ifdef BUG_OTHER_GRANT
		grant(t)
#else
		skip
#endif
	:: OWN.tick[SLOT(t)] != t -> grant(t)
#else
	:: grant(t)
#endif
	fi;
	atomic { WORDS.tag[SLOT(t)] = TAG(t); WORDS.counter[SLOT(t)] = 0 }
}

/* sfd_engine_publish(): by a clock that may say anything, so from and to any tick in bounds. */
inline publish()
{
	atomic {
		tick = above + 1;
#ifndef STEADY
		do
		:: tick < LIMIT -> tick++; SKIPPED(tick) /* a forward step */
		:: break
		od;
#endif
		target = tick;
		do
		:: target < LIMIT && target < tick + RUNWAY -> target++
		:: break
		od;
		RECORD(target)
	}
	do
	:: tick <= target -> publish_tick(tick); tick++
	:: else -> break
	od;
#ifdef BUG_RECORD_LATE
	OWN.horizon = target;
	record = target;
#endif
	atomic { OWN.horizon = target; above = target; tick = 0; target = 0 }
#ifdef BUG_MARK_LATE
	mark = MAX(mark, above)
#endif
}

#ifdef STOP
/* sfd_engine_stop(), then the marks' last write. `target` is the last tick that is kept. */
inline stop()
{
	atomic {
		target = above;
		do
		:: target >= low && target + RUNWAY > above -> target--
		:: break
		od;
		tick = target + 1
	}
	do
	:: tick <= above ->
		atomic {
			if
			:: WORDS.counter[SLOT(tick)] != 0 -> target = tick
			:: else
			fi;
			WORDS.counter[SLOT(tick)] = WORDS.counter[SLOT(tick)] + CAP;
			tick++
		}
	:: else -> break
	od;
	OWN.horizon = target;
	record = target;
#ifdef REBOOT
	mark = target;
#endif
	gone[k] = 1
}
#endif

#if LIVES > 1
/* sfd_stream_open(). The files and the memory of the daemon before do not change meanwhile. */
inline begin()
{
	atomic {
#ifdef HANDOVER
		if
		:: k > 0 ->
			above = 0;
			do
			:: above < SLOTS ->
				OWN.tick[above] = view[k - 1].tick[above];
				OWN.start[above] = view[k - 1].start[above];
				above++
			:: else -> break
			od;
#ifdef BUG_COPIED_HORIZON
			above = view[k - 1].horizon;
#else
			above = MAX(view[k - 1].horizon, record);
#endif
			OWN.horizon = above
		:: else -> WORDS.floor = 1
		fi;
#else
#ifdef REBOOT
		if /* the record is exact if it and the mark agree on the session */
		:: record != 0 && record_session == mark_session -> above = record
		:: else -> above = MAX(record, mark)
		fi;
#else
		above = record;
#endif
		if
		:: above < TICKS - 1 -> above++ /* the clock is ahead of both */
		:: true
		fi;
		OWN.memory = k;
		OWN.horizon = above;
		WORDS.floor = above + 1;
#ifdef CLOCK
		opens[k] = record_page;
#endif
#endif
		low = above + 1
	}
#ifdef CLOCK
	record_page = 0;
#endif
#ifndef HANDOVER
	record = above;
#endif
#ifdef REBOOT
	atomic { mark = MAX(mark, MIN(TICKS, above + 1 + RUNWAY)); mark_session = k + 1 }
	record_session = k + 1;
#endif
	atomic { newest = k; ready = 1 }
}
#endif

#ifdef STEPS
/* show_clock() after a forward step: the record is never ahead of the ring. */
inline step_forward()
{
#ifdef BUG_RECORD_SHOWN_FIRST
	record_page = 1;
	page[k] = 1
#else
	page[k] = 1;
	record_page = 1
#endif
}
#endif

inline live()
{
#if LIVES > 1
	begin();
#else
	atomic { memory[0].floor = 1; ready = 1 }
#endif
	do
	:: above < LIMIT -> publish()
#ifdef REBOOT
	:: mark < MIN(TICKS, above + RUNWAY + 1) -> mark = MIN(TICKS, above + RUNWAY + 1)
#endif
#ifdef STOP
	:: k < LIVES - 1 && above >= low -> stop()
#endif
#ifdef STEPS
	:: k < LIVES - 1 && page[k] == 0 -> step_forward()
#endif
	od
}

active proctype Daemon()
{
	byte above; /* the engine's horizon */
	byte low;   /* every tick from here to `above` was published */
	byte tick, target;

#if LIVES > 1
	do
	:: { live() } unless {
		atomic { gone[k] -> above = 0; low = 0; tick = 0; target = 0; life++ }
	   }
	od
#else
	live()
#endif
}

#if LIVES > 1
#ifdef HANDOVER
#define CAN_END ready /* the first daemon must have something to hand over */
#else
#define CAN_END true
#endif
/* SIGKILL between any two steps of a daemon, and a loss of power. */
active proctype Killer()
{
	do
	:: d_step { life < LIVES - 1 && !gone[life] && CAN_END -> gone[life] = 1 }
#ifdef REBOOT
	:: d_step {
		life < LIVES - 1 && !gone[life] && !boot ->
		gone[life] = 1;
		boot = 1;
		record = 0;
		record_session = 0;
		ready = 0
	   }
#endif
	od
}
#endif

#ifdef CLOCK
/* CLOCK_MONOTONIC, as far as it matters: time passes the horizon of a ring whose daemon is gone. */
active proctype Time()
{
	do
	:: d_step { gone[0] && level[0] > 0 -> level[0]-- } /* that is the only order in it */
#if LIVES > 2
	:: d_step { gone[1] && level[1] > 0 -> level[1]-- }
#endif
	od
}
#endif

/* ---- the client ---- */

#undef k
#ifdef BUG_FLOOR_CLAMPED
#define TAKES_FLOOR_FOR_HOSTILE true
#else
#define TAKES_FLOOR_FOR_HOSTILE (!gone[v]) /* the beat has an owner */
#endif
#define GRANT view[v]
#define WORD memory[view[v].memory]
#define IS_TICK (GRANT.tick[SLOT(t)] == t)
#define IS_TAG (WORD.tag[SLOT(t)] == TAG(t))
#define COUNTER WORD.counter[SLOT(t)]
#define ORDERED (!takes_ranges)

/* The tick has nothing for us: the next one, as far as it is published, or the clock again. */
inline pass()
{
	c = 0;
	start = 0;
	n = 0;
#if LIVES == 1
	if
	:: t < h -> t++; goto look
	:: goto call
	fi
#else
	goto call /* where the clock may say t + 1 as well */
#endif
}

/* sf_shm_grant_read(), less its first look at the tick: more passes here than passes there. */
inline grant_read()
{
#if SPREAD > 0
	start = GRANT.start[SLOT(t)];
#endif
	atomic { if :: IS_TICK :: else -> pass() fi }
}

inline add()
{
#ifndef BUG_PLAIN_STORE
	c = COUNTER;
#endif
	right = IS_TAG;
	COUNTER = c + n;
	counter_near_tag = COUNTER > CAP - 1 + 4 + (LIVES > 1 -> CAP : 0);
	assert(!counter_near_tag)
}

/* Counters of a tick are ours: nobody else has them. */
inline take(counter)
{
	given_twice = (given >> ORDER(t, start + counter)) & 1;
	assert(!given_twice);
	given = given | (1 << ORDER(t, start + counter))
}

/* A call returns. */
inline give(id)
{
	if
#if RANGES > 0
	:: !ORDERED ->
		cursor_went_back = id <= last;
		assert(!cursor_went_back);
		last = id
#endif
#if RANGES < 2
	:: ORDERED -> /* `seen` is not below the cursor's own last ID */
		below_a_returned_id = id <= seen;
		assert(!below_a_returned_id)
#endif
	fi;
	highest = MAX(highest, id);
#ifdef CALLS
	returned++
#endif
}

inline forget()
{
	cached = 0;
	start = 0;
	c = 0;
	n = 0
}

inline calls()
{
	ready; /* a block cannot begin with a label */
call:
	atomic {
#ifdef CALLS
		ready && returned < CALLS;
#else
		ready;
#endif
		t = 0;
		h = 0;
		seen = 0;
		if
		:: v != newest -> v = newest; held = 0; forget() /* or a new cursor */
		:: v != LIVES
		fi;
#if RANGES > 0 && CAP > 1
		if
		:: !ORDERED && held != 0 -> give(held); held = 0; goto call
		:: !ORDERED -> held = 0 /* thrown away */
		:: ORDERED
		fi;
#endif
#if RANGES < 2
		if
		:: ORDERED -> seen = highest
#if RANGES > 0
		:: !ORDERED
#endif
		fi;
#ifdef REUSE
		if
		:: ORDERED && cached != 0 && !gone[v] -> t = cached; n = 1; goto again /* the beat stands */
		:: forget()
		fi;
#endif
#endif
		if
		:: IS_OPEN(v) && !IS_OVER(v)
		:: else -> goto call /* waits, or moves to the next ring */
		fi;
#ifdef CLOCK
	}
	atomic {
#endif
#ifdef BUG_NO_FLOOR
		t = 1
#else
		t = WORD.floor
#endif
	}
	atomic {
		h = GRANT.horizon;
		if
		:: t <= h
#ifdef HANDOVER
		:: t > h && TAKES_FLOOR_FOR_HOSTILE && h > 0 -> t = h
		:: t > h && !TAKES_FLOOR_FOR_HOSTILE -> goto call
#else
		:: t > h -> goto call /* nothing is published; waits, or moves */
#endif
		fi;
		do /* the clock says anything, but the floor holds */
		:: t < h -> t++
		:: break
		od;
#if LIVES > 1
		h = 0
#endif
	}
look:
	atomic {
		c = COUNTER;
		if
		:: IS_TAG
		:: else -> pass()
		fi;
#if SPREAD > 0
	}
	grant_read(); /* without a start, a filter only: what passes without it is more */
	atomic {
#endif
		if
		:: c < CAPACITY(start)
		:: else -> pass()
		fi;
#if !defined(BUG_PLAIN_STORE) && !defined(COARSE)
		c = 0;
#endif
		n = 1;
#if RANGES > 0 && CAP > 1
		if
		:: !ORDERED -> n = 2
		:: true
		fi;
#endif
#ifndef COARSE
	}
	atomic {
#endif
		add();
#ifdef BUG_NO_SECOND_LOOK
		right = 0
	}
#else
		if
		:: right -> right = 0
		:: else -> pass()
		fi
	}
	grant_read();
#endif
	atomic {
		if
		:: c < CAPACITY(start)
		:: else -> pass()
		fi;
#ifndef BUG_NO_FLOOR
		WORD.floor = MAX(WORD.floor, t); /* the swap that succeeds, or the load that sees more */
#endif
		take(c);
		give(ORDER(t, start + c));
#if RANGES > 0 && CAP > 1
		if
		:: n == 2 && c + 1 < CAPACITY(start) -> take(c + 1); held = ORDER(t, start + c + 1)
		:: else
		fi;
#endif
		c = 0;
		n = 0;
#ifdef REUSE
		if
		:: ORDERED && !gone[v] -> cached = t
		:: start = 0
		fi;
#else
		start = 0;
#endif
		goto call
	}
#ifdef REUSE
again:
	atomic { /* sf_next_ordered() from the tick of its last claim */
		if
		:: WORD.floor <= t
		:: else -> forget(); goto call
		fi
	}
	atomic {
		add();
		if
		:: right && c < CAPACITY(start) -> right = 0
		:: else -> right = 0; forget(); goto call
		fi
	}
	atomic {
		if
		:: IS_TICK -> take(c); give(ORDER(t, start + c)); c = 0; n = 0
		:: else -> forget()
		fi;
		goto call
	}
#endif
}

proctype Claimer(bit takes_ranges)
{
	byte v = LIVES; /* the cursor's view; LIVES: none yet */
	byte t;      /* tick that is claimed from */
	byte h;      /* horizon as read */
	byte c;      /* counter as read */
	byte n;      /* counters to take */
	byte start;  /* the grant's */
	byte seen;   /* `highest` when the call began */
	byte last;   /* ORDER of the cursor's last ID */
	byte held;   /* ORDER of the second ID of the range in hand; 0: none */
	byte cached; /* tick to claim from without a look; 0: none */
#ifdef CALLS
	byte returned;
#endif
	bit right;   /* the tag that an add saw */
#ifdef REBOOT
	bit booted;

	do
	:: { calls() } unless {
		atomic {
			boot != booted ->
			booted = boot;
			v = LIVES; t = 0; h = 0; last = 0; held = 0; seen = 0; right = 0;
			forget()
		}
	   }
	od
#else
	calls()
#endif
}

init
{
	atomic { run Claimer(RANGES > 0); run Claimer(RANGES > 1) }
}
