; Threads that share out the turns of kernels (spec/cpu-performance.md §4, Threads).
;
; All threads go through the same steps. A step's turns are taken in chunks from one counter; behind it all
; wait for each other. Between runs they look out for the next one for a while, then sleep.

%step = type { ptr, i64, i64, i64 } ; function, turns, turns of a chunk (0: one thread does all), whether to wait

@pool_steps = internal global ptr null
@pool_count = internal global i64 0
@pool_table = internal global ptr null
@pool_run_number = internal global i32 0, align 64
@pool_sleepers = internal global i32 0, align 64
@pool_next = internal global i64 0, align 64
@pool_arrived = internal global i32 0, align 64
@pool_phase = internal global i32 0, align 64
@pool_ends = internal global i32 0
@pool_started = internal global i32 0
@pool_handles = internal global [THREADS x ptr] zeroinitializer
@pool_lock = internal global [128 x i8] zeroinitializer, align 64
@pool_bell = internal global [128 x i8] zeroinitializer, align 64

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(ptr, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @sched_yield()

; Waits until all threads are here; the last sets the counter of turns back.
define internal void @pool_wait() {
  %phase = load atomic i32, ptr @pool_phase acquire, align 4
  %before = atomicrmw add ptr @pool_arrived, i32 1 acq_rel
  %is_last = icmp eq i32 %before, OTHERS
  br i1 %is_last, label %last, label %look
last:
  store atomic i32 0, ptr @pool_arrived monotonic, align 4
  store atomic i64 0, ptr @pool_next monotonic, align 8
  %following = add i32 %phase, 1
  store atomic i32 %following, ptr @pool_phase release, align 4
  ret void
look:
  %turn = phi i32 [ 0, %0 ], [ %next, %again ]
  %now = load atomic i32, ptr @pool_phase acquire, align 4
  %is_over = icmp ne i32 %now, %phase
  br i1 %is_over, label %done, label %stay
stay:
  PAUSE
  %next = add i32 %turn, 1
  %is_long = icmp ugt i32 %next, 4000
  br i1 %is_long, label %yield, label %again
yield:
  call i32 @sched_yield()
  br label %again
again:
  br label %look
done:
  ret void
}

; All steps of a run, as thread %id.
define internal void @pool_work(i32 %id) {
  %steps = load ptr, ptr @pool_steps
  %count = load i64, ptr @pool_count
  %table = load ptr, ptr @pool_table
  %is_first = icmp eq i32 %id, 0
  br label %head
head:
  %at = phi i64 [ 0, %0 ], [ %following, %behind ]
  %is_over = icmp eq i64 %at, %count
  br i1 %is_over, label %done, label %step
step:
  %function_at = getelementptr %step, ptr %steps, i64 %at, i32 0
  %turns_at = getelementptr %step, ptr %steps, i64 %at, i32 1
  %chunk_at = getelementptr %step, ptr %steps, i64 %at, i32 2
  %waits_at = getelementptr %step, ptr %steps, i64 %at, i32 3
  %function = load ptr, ptr %function_at
  %turns = load i64, ptr %turns_at
  %chunk = load i64, ptr %chunk_at
  %waits = load i64, ptr %waits_at
  %is_alone = icmp eq i64 %chunk, 0
  br i1 %is_alone, label %alone, label %take
alone:
  br i1 %is_first, label %all, label %end
all:
  call void %function(ptr %table, i64 0, i64 %turns)
  br label %end
take:
  %first = atomicrmw add ptr @pool_next, i64 %chunk acq_rel
  %is_left = icmp slt i64 %first, %turns
  br i1 %is_left, label %part, label %end
part:
  %beyond = add i64 %first, %chunk
  %fits = icmp slt i64 %beyond, %turns
  %last = select i1 %fits, i64 %beyond, i64 %turns
  call void %function(ptr %table, i64 %first, i64 %last)
  br label %take
end:
  %must_wait = icmp ne i64 %waits, 0
  br i1 %must_wait, label %wait, label %behind
wait:
  call void @pool_wait()
  br label %behind
behind:
  %following = add i64 %at, 1
  br label %head
done:
  ret void
}

; What a thread does from its start to its end; its argument is its number.
define internal ptr @pool_thread(ptr %argument) {
  %id_wide = ptrtoint ptr %argument to i64
  %id = trunc i64 %id_wide to i32
  br label %outer
outer:
  %known = phi i32 [ 0, %0 ], [ %found, %worked ]
  br label %look
look:
  %turn = phi i32 [ 0, %outer ], [ %next, %stay ]
  %now = load atomic i32, ptr @pool_run_number acquire, align 4
  %is_new = icmp ne i32 %now, %known
  br i1 %is_new, label %work, label %stay
stay:
  PAUSE
  %next = add i32 %turn, 1
  %is_long = icmp ugt i32 %next, SPINS
  br i1 %is_long, label %sleep, label %look
sleep:
  call i32 @pthread_mutex_lock(ptr @pool_lock)
  atomicrmw add ptr @pool_sleepers, i32 1 seq_cst
  br label %check
check:
  %seen = load atomic i32, ptr @pool_run_number seq_cst, align 4
  %is_rung = icmp ne i32 %seen, %known
  br i1 %is_rung, label %wake, label %doze
doze:
  call i32 @pthread_cond_wait(ptr @pool_bell, ptr @pool_lock)
  br label %check
wake:
  atomicrmw sub ptr @pool_sleepers, i32 1 seq_cst
  call i32 @pthread_mutex_unlock(ptr @pool_lock)
  br label %work
work:
  %found = load atomic i32, ptr @pool_run_number acquire, align 4
  %ends = load i32, ptr @pool_ends
  %is_end = icmp ne i32 %ends, 0
  br i1 %is_end, label %done, label %run
run:
  call void @pool_work(i32 %id)
  br label %worked
worked:
  br label %outer
done:
  ret ptr null
}

; Tells all threads that there is something new.
define internal void @pool_ring() {
  atomicrmw add ptr @pool_run_number, i32 1 seq_cst
  %sleepers = load atomic i32, ptr @pool_sleepers seq_cst, align 4
  %all_awake = icmp eq i32 %sleepers, 0
  br i1 %all_awake, label %done, label %ring
ring:
  call i32 @pthread_mutex_lock(ptr @pool_lock)
  call i32 @pthread_cond_broadcast(ptr @pool_bell)
  call i32 @pthread_mutex_unlock(ptr @pool_lock)
  br label %done
done:
  ret void
}

; Starts the threads; gives how many there are with the caller, which must be all.
define i32 @pool_start() {
  call i32 @pthread_mutex_init(ptr @pool_lock, ptr null)
  call i32 @pthread_cond_init(ptr @pool_bell, ptr null)
  br label %head
head:
  %id = phi i64 [ 1, %0 ], [ %following, %made ]
  %is_over = icmp uge i64 %id, THREADS
  br i1 %is_over, label %done, label %make
make:
  %handle = getelementptr ptr, ptr @pool_handles, i64 %id
  %argument = inttoptr i64 %id to ptr
  %error = call i32 @pthread_create(ptr %handle, ptr null, ptr @pool_thread, ptr %argument)
  %is_bad = icmp ne i32 %error, 0
  br i1 %is_bad, label %done, label %made
made:
  %following = add i64 %id, 1
  br label %head
done:
  %number = trunc i64 %id to i32
  store i32 %number, ptr @pool_started
  ret i32 %number
}

; Ends the threads and waits for them.
define void @pool_stop() {
  store i32 1, ptr @pool_ends
  call void @pool_ring()
  %number = load i32, ptr @pool_started
  %count = zext i32 %number to i64
  br label %head
head:
  %id = phi i64 [ 1, %0 ], [ %following, %join ]
  %is_over = icmp uge i64 %id, %count
  br i1 %is_over, label %done, label %join
join:
  %handle_at = getelementptr ptr, ptr @pool_handles, i64 %id
  %handle = load ptr, ptr %handle_at
  call i32 @pthread_join(ptr %handle, ptr null)
  %following = add i64 %id, 1
  br label %head
done:
  ret void
}

; Runs steps on the buffers of a table with all threads.
define internal void @pool_run(ptr %steps, i64 %count, ptr %table) {
  store ptr %steps, ptr @pool_steps
  store i64 %count, ptr @pool_count
  store ptr %table, ptr @pool_table
  call void @pool_ring()
  call void @pool_work(i32 0)
  ret void
}
