"""Code that runs the steps of a model with several threads (`pool.ll`)."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

from xonnc.lowering.native_program import KernelCall, Steps

TEXT = Path(__file__).with_name("pool.ll")

SPINS = 20_000
"""How often a thread looks for a next run before it sleeps: about a millisecond."""

CHUNKS = 4
"""Parts of a step for each thread: those that are held up leave the rest to others."""

SMALLEST = 32 * 1024
"""Bytes of buffers below which a step is done before another thread has taken a part."""

X86, ARM = "call void @llvm.x86.sse2.pause()", "call void @llvm.aarch64.hint(i32 1)"
PAUSES = {"x86_64": X86, "AMD64": X86, "aarch64": ARM, "arm64": ARM}
"""What tells a core that it waits, by the machine's name."""


def pool_text(steps: Steps, threads: int) -> str:
    """LLVM IR of the pool for so many threads, of tables of steps, and of the functions that run them."""
    pause = PAUSES.get(platform.machine(), "fence acquire")
    text = TEXT.read_text().replace("OTHERS", str(threads - 1)).replace("THREADS", str(threads))
    text = text.replace("SPINS", str(SPINS))
    text = text.replace("PAUSE", pause)
    return "\n".join([text, *(_table(name, row, threads) for name, row in steps)])


def step_name(name: str, place: int) -> str:
    """The function of one step of a row."""
    return f"{name}_step_{place}"


def _table(name: str, row: Sequence[KernelCall], threads: int) -> str:
    chunks = [_chunk(step, threads) for step in row]
    lines: list[str] = []
    for place, (step, chunk) in enumerate(zip(row, chunks, strict=True)):
        # One thread goes on by itself as long as no other has a part.
        waits = int(place + 1 == len(row) or chunk > 0 or chunks[place + 1] > 0)
        function = step_name(name, place)
        lines.append(f"  %step {{ ptr @{function}, i64 {step.turns}, i64 {chunk}, i64 {waits} }}")
    body = ",\n".join(lines)
    return (
        f"@{name}_steps = internal constant [{len(row)} x %step] [\n{body}\n]\n"
        f"define void @{name}(ptr %table) {{\n"
        f"  call void @pool_run(ptr @{name}_steps, i64 {len(row)}, ptr %table)\n  ret void\n}}\n"
    )


def _chunk(step: KernelCall, threads: int) -> int:
    """Turns that a thread takes at a time; 0 where one does all."""
    if step.turns < 2 or step.size < SMALLEST:
        return 0
    return max(1, step.turns // (CHUNKS * threads))
