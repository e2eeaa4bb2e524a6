; A pool of threads that run chunks of the parallel ranges of kernels (docs/internals/cpu-kernels.md §4.3).
;
; The current step is published in one 64-bit atomic, @pool_claim:
;   bits 32 to 63  sequence number of the step
;   bits 16 to 31  number of chunks taken from the end
;   bits 0 to 15   BIAS + number of chunks left
; A thread takes a chunk by one fetch-and-add: it subtracts 1, and adds 1 to bits 16 to 31 if it takes from the end.
; If it finds more than BIAS in the low bits, the chunk is its own, and the step cannot end before the chunk is
; done: @pool_at and the table of steps do not change until then. If not, there was no chunk left; BIAS keeps the
; decrements of all threads from borrowing from bit 16. As one atomic holds sequence number and counters, a late
; thread takes a chunk of the current step or none, never one of a step that is over.
;
; The thread that finishes the last chunk of a step runs the sequential steps that follow and publishes the next
; parallel one. So no thread depends on another that the system has preempted, unless that holds a chunk. Idle
; threads poll SPINS times, then sleep on a condition variable.
;
; Every other thread takes chunks from the end, so that for two threads each gets the same chunks in every run, and
; finds weights in the caches of its own core.

%step = type { ptr, i64, i64, i64 } ; function, iterations, iterations of a chunk, chunks (0: sequential)

@pool_steps = internal global ptr null
@pool_count = internal global i64 0
@pool_table = internal global ptr null
@pool_at = internal global i64 0
@pool_claim = internal global i64 BIAS, align 64
@pool_done = internal global i64 0, align 64
@pool_over = internal global i32 1, align 64
@pool_sleepers = internal global i32 0, align 64
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

; Publishes the next step with a number of chunks, and wakes sleeping threads. The store of the claim and the load of
; the sleepers are sequentially consistent, as are the increment of the sleepers and the load of the claim in
; @pool_thread: one of the two sides sees the other, so that no wake-up is lost.
define internal void @pool_publish(i64 %chunks) {
  %old = load atomic i64, ptr @pool_claim monotonic, align 8
  %number = lshr i64 %old, 32
  %following = add i64 %number, 1
  %above = shl i64 %following, 32
  %below = add i64 %chunks, BIAS
  %claim = or i64 %above, %below
  store atomic i64 %claim, ptr @pool_claim seq_cst, align 8
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

; Runs sequential steps from %first on; publishes the next parallel step, or marks the run as over.
define internal void @pool_advance(i64 %first) {
  %steps = load ptr, ptr @pool_steps
  %count = load i64, ptr @pool_count
  %table = load ptr, ptr @pool_table
  br label %head
head:
  %at = phi i64 [ %first, %0 ], [ %following, %alone ]
  %is_over = icmp eq i64 %at, %count
  br i1 %is_over, label %over, label %step
step:
  %function_at = getelementptr %step, ptr %steps, i64 %at, i32 0
  %iterations_at = getelementptr %step, ptr %steps, i64 %at, i32 1
  %chunks_at = getelementptr %step, ptr %steps, i64 %at, i32 3
  %chunks = load i64, ptr %chunks_at
  %is_alone = icmp eq i64 %chunks, 0
  br i1 %is_alone, label %alone, label %publish
alone:
  %function = load ptr, ptr %function_at
  %iterations = load i64, ptr %iterations_at
  call void %function(ptr %table, i64 0, i64 %iterations)
  %following = add i64 %at, 1
  br label %head
publish:
  store i64 %at, ptr @pool_at
  store atomic i64 0, ptr @pool_done monotonic, align 8
  call void @pool_publish(i64 %chunks)
  ret void
over:
  store atomic i32 1, ptr @pool_over release, align 4
  ret void
}

; Takes a chunk and runs it; returns -1, or the sequence number of the step if there was no chunk left. %taken is the
; addend for the claim: -1, or 65535 (1 << 16, minus 1) to take from the end.
define internal i64 @pool_take(i64 %taken) {
  %claim = atomicrmw add ptr @pool_claim, i64 %taken acq_rel
  %low = and i64 %claim, 65535
  %left = sub i64 %low, BIAS
  %is_mine = icmp sgt i64 %left, 0
  br i1 %is_mine, label %work, label %none
none:
  %number = lshr i64 %claim, 32
  ret i64 %number
work:
  %steps = load ptr, ptr @pool_steps
  %table = load ptr, ptr @pool_table
  %at = load i64, ptr @pool_at
  %function_at = getelementptr %step, ptr %steps, i64 %at, i32 0
  %iterations_at = getelementptr %step, ptr %steps, i64 %at, i32 1
  %size_at = getelementptr %step, ptr %steps, i64 %at, i32 2
  %chunks_at = getelementptr %step, ptr %steps, i64 %at, i32 3
  %function = load ptr, ptr %function_at
  %iterations = load i64, ptr %iterations_at
  %size = load i64, ptr %size_at
  %chunks = load i64, ptr %chunks_at
  %shifted = lshr i64 %claim, 16
  %from_end_count = and i64 %shifted, 65535
  %before_left = sub i64 %chunks, %left
  %ahead = sub i64 %before_left, %from_end_count
  %remaining_above = sub i64 %chunks, %from_end_count
  %from_end = sub i64 %remaining_above, 1
  %is_ahead = icmp slt i64 %taken, 0
  %chunk = select i1 %is_ahead, i64 %ahead, i64 %from_end
  %first = mul i64 %chunk, %size
  %beyond = add i64 %first, %size
  %fits = icmp slt i64 %beyond, %iterations
  %last = select i1 %fits, i64 %beyond, i64 %iterations
  call void %function(ptr %table, i64 %first, i64 %last)
  %before = atomicrmw add ptr @pool_done, i64 1 acq_rel
  %now = add i64 %before, 1
  %is_last = icmp eq i64 %now, %chunks
  br i1 %is_last, label %advance, label %done
advance:
  %next = add i64 %at, 1
  call void @pool_advance(i64 %next)
  br label %done
done:
  ret i64 -1
}

; The main loop of a thread.
define internal ptr @pool_thread(ptr %argument) {
  %taken = ptrtoint ptr %argument to i64
  br label %take
take:
  %number = call i64 @pool_take(i64 %taken)
  %has_worked = icmp eq i64 %number, -1
  br i1 %has_worked, label %take, label %idle
idle:
  ; @pool_stop publishes one more sequence number; this may be it, and no other follows.
  %ended = load atomic i32, ptr @pool_ends acquire, align 4
  %is_ended = icmp ne i32 %ended, 0
  br i1 %is_ended, label %done, label %look
look:
  %spin = phi i32 [ 0, %idle ], [ %next, %stay ]
  %claim = load atomic i64, ptr @pool_claim acquire, align 8
  %found = lshr i64 %claim, 32
  %is_new = icmp ne i64 %found, %number
  br i1 %is_new, label %take, label %stay
stay:
  PAUSE
  %next = add i32 %spin, 1
  %is_long = icmp ugt i32 %next, SPINS
  br i1 %is_long, label %sleep, label %look
sleep:
  call i32 @pthread_mutex_lock(ptr @pool_lock)
  atomicrmw add ptr @pool_sleepers, i32 1 seq_cst
  br label %check
check:
  %seen = load atomic i64, ptr @pool_claim seq_cst, align 8
  %seen_number = lshr i64 %seen, 32
  %is_rung = icmp ne i64 %seen_number, %number
  br i1 %is_rung, label %wake, label %doze
doze:
  call i32 @pthread_cond_wait(ptr @pool_bell, ptr @pool_lock)
  br label %check
wake:
  atomicrmw sub ptr @pool_sleepers, i32 1 seq_cst
  call i32 @pthread_mutex_unlock(ptr @pool_lock)
  br label %take
done:
  ret ptr null
}

; Computes chunk size and number of chunks of a step whose number of iterations is dynamic, in a slot of the table.
define internal void @pool_settle(ptr %steps, i64 %at, ptr %table, i64 %place) {
  %slot = getelementptr ptr, ptr %table, i64 %place
  %iterations = load i64, ptr %slot
  %share = udiv i64 %iterations, PARTS
  %size = call i64 @llvm.umax.i64(i64 %share, i64 1)
  %over = add i64 %iterations, %size
  %beyond = sub i64 %over, 1
  %several = udiv i64 %beyond, %size
  %is_one = icmp ult i64 %iterations, 2
  %chunks = select i1 %is_one, i64 0, i64 %several
  %iterations_at = getelementptr %step, ptr %steps, i64 %at, i32 1
  %size_at = getelementptr %step, ptr %steps, i64 %at, i32 2
  %chunks_at = getelementptr %step, ptr %steps, i64 %at, i32 3
  store i64 %iterations, ptr %iterations_at
  store i64 %size, ptr %size_at
  store i64 %chunks, ptr %chunks_at
  ret void
}

declare i64 @llvm.umax.i64(i64, i64)

; Runs all steps on the buffers of a table with all threads, including the caller.
define internal void @pool_run(ptr %steps, i64 %count, ptr %table) {
  store ptr %steps, ptr @pool_steps
  store i64 %count, ptr @pool_count
  store ptr %table, ptr @pool_table
  store atomic i32 0, ptr @pool_over monotonic, align 4
  call void @pool_advance(i64 0)
  br label %check
check:
  %over = load atomic i32, ptr @pool_over acquire, align 4
  %is_over = icmp ne i32 %over, 0
  br i1 %is_over, label %done, label %take
take:
  %number = call i64 @pool_take(i64 -1)
  %has_worked = icmp eq i64 %number, -1
  br i1 %has_worked, label %check, label %look
look:
  %spin = phi i32 [ 0, %take ], [ %next, %again ]
  %claim = load atomic i64, ptr @pool_claim acquire, align 8
  %found = lshr i64 %claim, 32
  %is_new = icmp ne i64 %found, %number
  br i1 %is_new, label %take, label %stay
stay:
  %over_now = load atomic i32, ptr @pool_over acquire, align 4
  %is_over_now = icmp ne i32 %over_now, 0
  br i1 %is_over_now, label %done, label %pause
pause:
  PAUSE
  %next = add i32 %spin, 1
  %is_long = icmp ugt i32 %next, 1000
  br i1 %is_long, label %yield, label %again
yield:
  call i32 @sched_yield()
  br label %again
again:
  br label %look
done:
  ret void
}

; Starts up to THREADS threads; returns their number, including the caller. The caller of this function compares it to
; the number wanted.
define i32 @pool_start(i32 %wanted) {
  %limit = zext i32 %wanted to i64
  call i32 @pthread_mutex_init(ptr @pool_lock, ptr null)
  call i32 @pthread_cond_init(ptr @pool_bell, ptr null)
  br label %head
head:
  %id = phi i64 [ 1, %0 ], [ %following, %made ]
  %is_over = icmp uge i64 %id, %limit
  br i1 %is_over, label %done, label %make
make:
  %handle = getelementptr ptr, ptr @pool_handles, i64 %id
  %odd = and i64 %id, 1
  %end = shl i64 %odd, 16
  %taken = sub i64 %end, 1
  %argument = inttoptr i64 %taken to ptr
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

; Stops the threads and joins them.
define void @pool_stop() {
  store atomic i32 1, ptr @pool_ends release, align 4
  call void @pool_publish(i64 0)
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
