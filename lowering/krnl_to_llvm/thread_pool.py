"""Code that runs the steps of a model with several threads (`thread_pool.ll`)."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

from xonnc.lowering.native.read_program import KernelCall

TEXT = Path(__file__).with_name("thread_pool.ll")

SPINS = 20_000
"""How often a thread looks for a next run before it sleeps: about a millisecond."""

BIAS = 1 << 15
"""More than there are threads, so that no number of parts left falls below zero; half of 16 bits."""

PARTS = 4
"""Parts of a step for each thread: those that are held up leave the rest to others."""

SMALLEST = 32 * 1024
"""Bytes of buffers below which a step is done before another thread has taken a part."""

X86, ARM = "call void @llvm.x86.sse2.pause()", "call void @llvm.aarch64.hint(i32 1)"
PAUSES = {"x86_64": X86, "AMD64": X86, "aarch64": ARM, "arm64": ARM}
"""What tells a core that it waits, by the machine's name."""


def pool_text(steps: Sequence[tuple[str, Sequence[KernelCall]]], threads: int) -> str:
    """LLVM IR of the pool for so many threads, of tables of steps, and of the functions that run them."""
    pause = PAUSES.get(platform.machine(), "fence acquire")
    text = TEXT.read_text().replace("THREADS", str(threads))
    text = text.replace("SPINS", str(SPINS)).replace("BIAS", str(BIAS))
    text = text.replace("PAUSE", pause).replace("PARTS", str(PARTS * threads))
    return "\n".join([text, *(_table(name, row, threads) for name, row in steps)])


def step_name(name: str, place: int) -> str:
    """The function of one step of a row."""
    return f"{name}_step_{place}"


def _table(name: str, row: Sequence[KernelCall], threads: int) -> str:
    lines: list[str] = []
    settled: list[str] = []
    for place, step in enumerate(row):
        size = max(1, step.iterations // (PARTS * threads))
        parts = 0 if step.iterations < 2 or step.buffer_bytes < SMALLEST else -(-step.iterations // size)
        lines.append(
            f"  %step {{ ptr @{step_name(name, place)}, i64 {step.iterations}, i64 {size}, i64 {parts} }}"
        )
        if step.iterations_parameter is not None:
            settled.append(
                f"  call void @pool_settle(ptr @{name}_steps, i64 {place}, ptr %table, "
                f"i64 {step.iterations_parameter})\n"
            )
    body = ",\n".join(lines)
    # How many iterations there are is written before each run where only a run tells.
    kind = "global" if settled else "constant"
    return (
        f"@{name}_steps = internal {kind} [{len(row)} x %step] [\n{body}\n]\n"
        f"define void @{name}(ptr %table) {{\n{''.join(settled)}"
        f"  call void @pool_run(ptr @{name}_steps, i64 {len(row)}, ptr %table)\n  ret void\n}}\n"
    )
