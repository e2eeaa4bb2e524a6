"""The thread pool of compiled models (`thread_pool.ll`), and the tables of parallel steps that it runs."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

from xonnc.lowering.native.read_program import KernelCall

TEXT = Path(__file__).with_name("thread_pool.ll")

SPIN_ITERATIONS = 20_000
"""Polls for the next step before an idle thread sleeps: about a millisecond."""

BIAS = 1 << 15
"""
Bias of the 16-bit counter of chunks left, which threads decrement before they know whether a chunk is left.

It exceeds any number of threads, so that the field does not underflow into its neighbour; at half of the
range it leaves 32,767 for the chunks.
"""

CHUNKS_PER_THREAD = 4
"""Chunks of a step per thread: a thread that is delayed leaves more of them to others (load balancing)."""

MIN_PARALLEL_BYTES = 32 * 1024
"""Total buffer size below which a step is finished before another thread could take a chunk."""

X86, ARM = "call void @llvm.x86.sse2.pause()", "call void @llvm.aarch64.hint(i32 1)"
PAUSES = {"x86_64": X86, "AMD64": X86, "aarch64": ARM, "arm64": ARM}
"""The instruction that hints a spin-wait loop to the core, by machine name."""


def thread_pool_ir(steps: Sequence[tuple[str, Sequence[KernelCall]]], threads: int) -> str:
    """Return LLVM IR of the pool, of the tables of steps, and of the functions that run these."""
    pause = PAUSES.get(platform.machine(), "fence acquire")
    text = TEXT.read_text().replace("THREADS", str(threads))
    text = text.replace("SPINS", str(SPIN_ITERATIONS)).replace("BIAS", str(BIAS))
    text = text.replace("PAUSE", pause).replace("PARTS", str(CHUNKS_PER_THREAD * threads))
    return "\n".join([text, *(_table(name, sequence, threads) for name, sequence in steps)])


def step_name(name: str, index: int) -> str:
    """Return the name of the function for one step of a sequence."""
    return f"{name}_step_{index}"


def _table(name: str, sequence: Sequence[KernelCall], threads: int) -> str:
    lines: list[str] = []
    dynamic_steps: list[str] = []
    for index, step in enumerate(sequence):
        # Rounded down, so that a step of enough iterations has at least this many chunks, and at most twice
        # as many.
        size = max(1, step.iterations // (CHUNKS_PER_THREAD * threads))
        parts = (
            0
            if step.is_sequential or step.iterations < 2 or step.buffer_bytes < MIN_PARALLEL_BYTES
            else -(-step.iterations // size)
        )
        lines.append(
            f"  %step {{ ptr @{step_name(name, index)}, i64 {step.iterations}, i64 {size}, i64 {parts} }}"
        )
        if step.iterations_parameter is not None and not step.is_sequential:
            dynamic_steps.append(
                f"  call void @pool_settle(ptr @{name}_steps, i64 {index}, ptr %table, "
                f"i64 {step.iterations_parameter})\n"
            )
    body = ",\n".join(lines)
    # Dynamic numbers of iterations are written to the table before each run, so it cannot be constant.
    kind = "global" if dynamic_steps else "constant"
    return (
        f"@{name}_steps = internal {kind} [{len(sequence)} x %step] [\n{body}\n]\n"
        f"define void @{name}(ptr %table) {{\n{''.join(dynamic_steps)}"
        f"  call void @pool_run(ptr @{name}_steps, i64 {len(sequence)}, ptr %table)\n  ret void\n}}\n"
    )
