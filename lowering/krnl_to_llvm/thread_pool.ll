; Threads that share out the turns of kernels (docs/internals/cpu-kernels.md §4, Threads).
;
; A step is published as one number: the step's own number from bit 32 on, from bit 16 on the parts that were
; taken from the end, below BIAS and the parts that nobody has taken yet. Who subtracts 1 and finds more than
; BIAS has taken a part, and the step cannot end before it is done. Who finishes the last part does the steps
; that are for one thread and publishes the next. So nobody waits for a thread that the system has put aside,
; unless it has a part. Without parts to take, threads look out for some time, then sleep.
;
; Every other thread takes parts from the end, so that two threads do the same parts of a step in each run, and
; find weights in the caches of their own cores.

%step = type { ptr, i64, i64, i64 } ; function, turns, turns of a part, parts (0: for one thread)

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

; Gives out the next number, with so many parts, and wakes who sleeps.
define internal void @pool_publish(i64 %parts) {
  %old = load atomic i64, ptr @pool_claim monotonic, align 8
  %number = lshr i64 %old, 32
  %following = add i64 %number, 1
  %above = shl i64 %following, 32
  %below = add i64 %parts, BIAS
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

; Does steps for one thread from %first on; publishes the next that has parts, or says that the run is over.
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
  %turns_at = getelementptr %step, ptr %steps, i64 %at, i32 1
  %parts_at = getelementptr %step, ptr %steps, i64 %at, i32 3
  %parts = load i64, ptr %parts_at
  %is_alone = icmp eq i64 %parts, 0
  br i1 %is_alone, label %alone, label %publish
alone:
  %function = load ptr, ptr %function_at
  %turns = load i64, ptr %turns_at
  call void %function(ptr %table, i64 0, i64 %turns)
  %following = add i64 %at, 1
  br label %head
publish:
  store i64 %at, ptr @pool_at
  store atomic i64 0, ptr @pool_done monotonic, align 8
  call void @pool_publish(i64 %parts)
  ret void
over:
  store atomic i32 1, ptr @pool_over release, align 4
  ret void
}

; Takes a part and does it; gives the number of the step if there was none to take, else -1. %taken is what is
; added to what was published: -1, or 65535 to take from the end.
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
  %turns_at = getelementptr %step, ptr %steps, i64 %at, i32 1
  %size_at = getelementptr %step, ptr %steps, i64 %at, i32 2
  %parts_at = getelementptr %step, ptr %steps, i64 %at, i32 3
  %function = load ptr, ptr %function_at
  %turns = load i64, ptr %turns_at
  %size = load i64, ptr %size_at
  %parts = load i64, ptr %parts_at
  %shifted = lshr i64 %claim, 16
  %behind = and i64 %shifted, 65535
  %before_left = sub i64 %parts, %left
  %ahead = sub i64 %before_left, %behind
  %above_behind = sub i64 %parts, %behind
  %from_end = sub i64 %above_behind, 1
  %is_ahead = icmp slt i64 %taken, 0
  %part = select i1 %is_ahead, i64 %ahead, i64 %from_end
  %first = mul i64 %part, %size
  %beyond = add i64 %first, %size
  %fits = icmp slt i64 %beyond, %turns
  %last = select i1 %fits, i64 %beyond, i64 %turns
  call void %function(ptr %table, i64 %first, i64 %last)
  %before = atomicrmw add ptr @pool_done, i64 1 acq_rel
  %now = add i64 %before, 1
  %is_last = icmp eq i64 %now, %parts
  br i1 %is_last, label %advance, label %done
advance:
  %next = add i64 %at, 1
  call void @pool_advance(i64 %next)
  br label %done
done:
  ret i64 -1
}

; What a thread does from its start to its end.
define internal ptr @pool_thread(ptr %argument) {
  %taken = ptrtoint ptr %argument to i64
  br label %take
take:
  %number = call i64 @pool_take(i64 %taken)
  %has_worked = icmp eq i64 %number, -1
  br i1 %has_worked, label %take, label %idle
idle:
  ; The number may be the one by which the end was published: no other follows it.
  %ended = load atomic i32, ptr @pool_ends acquire, align 4
  %is_ended = icmp ne i32 %ended, 0
  br i1 %is_ended, label %done, label %look
look:
  %turn = phi i32 [ 0, %idle ], [ %next, %stay ]
  %claim = load atomic i64, ptr @pool_claim acquire, align 8
  %found = lshr i64 %claim, 32
  %is_new = icmp ne i64 %found, %number
  br i1 %is_new, label %take, label %stay
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

; Writes how many turns a step has, which a place of the table tells, and what follows from it.
define internal void @pool_settle(ptr %steps, i64 %at, ptr %table, i64 %place) {
  %slot = getelementptr ptr, ptr %table, i64 %place
  %turns = load i64, ptr %slot
  %share = udiv i64 %turns, PARTS
  %size = call i64 @llvm.umax.i64(i64 %share, i64 1)
  %over = add i64 %turns, %size
  %beyond = sub i64 %over, 1
  %several = udiv i64 %beyond, %size
  %is_one = icmp ult i64 %turns, 2
  %parts = select i1 %is_one, i64 0, i64 %several
  %turns_at = getelementptr %step, ptr %steps, i64 %at, i32 1
  %size_at = getelementptr %step, ptr %steps, i64 %at, i32 2
  %parts_at = getelementptr %step, ptr %steps, i64 %at, i32 3
  store i64 %turns, ptr %turns_at
  store i64 %size, ptr %size_at
  store i64 %parts, ptr %parts_at
  ret void
}

declare i64 @llvm.umax.i64(i64, i64)

; Runs steps on the buffers of a table with all threads; the caller is one of them.
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
  %turn = phi i32 [ 0, %take ], [ %next, %again ]
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
  %next = add i32 %turn, 1
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

; Ends the threads and waits for them.
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
