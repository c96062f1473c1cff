/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A wake-up is never lost (core/sched.c, core/vcpu.c): block(), vcpu_wake(), sched_notify(), idle_until(),
 * has_work(), vcpu_request() and the loop of vcpu_run(). One CPU with one vCPU, whose guest halts or stays in
 * its code as it likes; two others that each post something to it once, one by vcpu_request(), the other by
 * vcpu_wake() alone, which is enough when the vCPU is to see it after it has halted. Each pair of "store, then look" is
 * closed by a full barrier on both sides; no x86 test notices when vcpu_wake() loses its own, since a locked
 * instruction stands before it there, nor that of sched_notify(), which is the exchange itself.
 *
 * It must not happen that the CPU idles, or stays in the guest, for good while a post is not yet served: that
 * is an end state that is not valid.
 *
 * HOLDS wake
 * TWIN block_no_barrier: -DNO_BLOCK_MB
 * TWIN wake_no_barrier: -DNO_WAKE_MB
 * TWIN idle_no_barrier: -DNO_IDLE_MB
 * TWIN notify_not_ordered: -DNO_NOTIFY_ORDER
 * TWIN enter_no_barrier: -DNO_ENTER_MB
 * TWIN request_no_barrier: -DNO_REQUEST_MB
 * TWIN request_no_kick: -DNO_KICK
 * TWIN block_no_second_look: -DNO_LOOK
 * TWIN idle_with_interrupts_on: -DIRQS_ON
 */
#define POSTERS 2

mtype = { RUNNABLE, RUNNING, BLOCKED };

mtype run_state = RUNNING;
bit in_guest; /* vcpu->mode */
bit idle; /* run_queue.idle */
bit kick; /* an interrupt is pending at the CPU */
bit posted[POSTERS]; /* vcpu->requests and the words of posted interrupts: a bit each */
bit served[POSTERS];

#define PENDING	(posted[0] || posted[1])
#define ALL_SERVED (served[0] && served[1])

/* Stores under way; a barrier waits until they are seen. Of the CPU: run_state, mode, idle. */
bit late_blocked, late_mode, late_idle;
bit late_post[POSTERS];

active proctype late()
{
end:
	do
	:: atomic { late_blocked -> run_state = BLOCKED; late_blocked = 0 }
	:: atomic { late_mode -> in_guest = 1; late_mode = 0 }
	:: atomic { late_idle -> idle = 1; late_idle = 0 }
	:: atomic { late_post[0] -> posted[0] = 1; late_post[0] = 0 }
	:: atomic { late_post[1] -> posted[1] = 1; late_post[1] = 0 }
	od
}
#define CPU_BARRIER (!late_blocked && !late_mode && !late_idle)

/* --- The vCPU's CPU ------------------------------------------------------------------------------ */

/* What was posted is served, all at once: requests are taken by one exchange. */
inline serve()
{
	atomic {
		served[0] = served[0] || posted[0];
		served[1] = served[1] || posted[1];
		posted[0] = 0;
		posted[1] = 0
	}
}

inline block()
{
	late_blocked = 1;
#ifndef NO_BLOCK_MB
	CPU_BARRIER;
#endif
#ifndef NO_LOOK
	if
	:: PENDING ->
	   CPU_BARRIER; /* a CPU sees its own store */
	   if /* vcpu_wake() of its own */
	   :: atomic { run_state == BLOCKED -> run_state = RUNNABLE }
	   :: run_state != BLOCKED /* another was first */
	   fi
	:: !PENDING
	fi
#endif
}

/* Until it has served something, or halts. */
inline vcpu_run()
{
	do
	:: late_mode = 1;
#ifndef NO_ENTER_MB
	   CPU_BARRIER;
#endif
	   if
	   :: PENDING -> CPU_BARRIER; in_guest = 0; serve()
	   :: !PENDING ->
	      if
	      :: skip -> /* the guest stays until it is interrupted */
		 kick || served[0];
		 kick = 0
	      :: skip -> /* the guest halts */
		 CPU_BARRIER;
		 in_guest = 0;
		 break
	      fi;
	      CPU_BARRIER;
	      in_guest = 0
	   fi
	od
}

inline idle_until()
{
	/* Interrupts are off from here on: a kick stays pending. */
	late_idle = 1;
#ifndef NO_IDLE_MB
	CPU_BARRIER;
#endif
	if
	:: run_state == RUNNABLE
	:: run_state != RUNNABLE ->
#ifdef IRQS_ON
	   kick = 0;
#endif
	   kick || ALL_SERVED /* arch_cpu_idle() */
	fi;
	CPU_BARRIER;
	idle = 0;
	kick = 0
}

active proctype cpu()
{
	do
	:: vcpu_run();
	   block();
	   /* sched_turn(), pick() */
	   do
	   :: atomic { run_state == RUNNABLE -> run_state = RUNNING }; break
	   :: run_state != RUNNABLE -> idle_until()
	   :: ALL_SERVED -> goto done
	   od
	:: ALL_SERVED -> break
	od;
done:
	skip
}

/* --- Whoever posts ------------------------------------------------------------------------------- */

/* vcpu_request(): the bit, then a kick out of the guest, then vcpu_wake(). */
active [POSTERS] proctype poster()
{
	byte me = _pid - 2;
	bit seen_idle, looked;

	late_post[me] = 1;
	if
	:: me == 0 ->
#ifndef NO_REQUEST_MB
	   !late_post[me];
#endif
#ifndef NO_KICK
	   if
	   :: in_guest -> kick = 1
	   :: !in_guest
	   fi
#endif
	:: else
	fi;
#ifndef NO_WAKE_MB
	!late_post[me];
#endif
#ifdef NO_NOTIFY_ORDER
	seen_idle = idle; /* ahead of the exchange */
	looked = 1;
#endif
	if
	:: run_state != BLOCKED
	:: atomic { run_state == BLOCKED -> run_state = RUNNABLE };
	   if
	   :: looked
	   :: else -> seen_idle = idle
	   fi;
	   if
	   :: seen_idle -> kick = 1
	   :: else
	   fi
	fi
}
