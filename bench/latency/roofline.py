"""
What this processor can do at most: products and sums, and bytes moved, by loops of a few instructions.

Times of kernels are compared with these (docs/internals/cpu-kernels.md §4.1), for as many bytes as they
read and write.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from threading import Barrier

import numpy as np

from xonnc.native import resolve_processor
from xonnc.runtime.native.instance import aligned_empty
from xonnc.runtime.native.jit import Code, machine_code

ACCUMULATORS = 20
"""Sums at once: enough to hide how long an instruction takes, few enough for registers."""

ACCUMULATORS_16_REGISTERS = 12
"""The same where a processor has 16 registers."""

UNROLL = 8
"""Vectors that a turn of a loop moves."""

LOOP_SECONDS, REPETITIONS = 0.004, 9
"""How long a loop runs, and how often: the fastest counts."""

LOOP_TEMPLATE = """
define void @{name}(ptr %table) {{
  %count = load i64, ptr %table
  %source_at = getelementptr i64, ptr %table, i64 1
  %source = load ptr, ptr %source_at
  %target_at = getelementptr i64, ptr %table, i64 2
  %target = load ptr, ptr %target_at
  %size_at = getelementptr i64, ptr %table, i64 3
  %size = load i64, ptr %size_at
{body}
  ret void
}}
"""


def _fma_loop(vector: str, accumulators: int) -> str:
    """`count` turns of `accumulators` vectors multiplied and added each."""
    phis = [f"%s{i} = phi {vector} [ %first, %0 ], [ %r{i}, %turn ]" for i in range(accumulators)]
    steps = [
        f"%r{i} = call {vector} @llvm.fma({vector} %s{i}, {vector} %factor, {vector} %first)"
        for i in range(accumulators)
    ]
    stores = [
        f"%p{i} = getelementptr {vector}, ptr %target, i64 {i}\n  store {vector} %r{i}, ptr %p{i}"
        for i in range(accumulators)
    ]
    lines = [
        f"%factor = load {vector}, ptr %source",
        f"%second = getelementptr {vector}, ptr %source, i64 1",
        f"%first = load {vector}, ptr %second",
        "br label %turn",
        "turn:",
        "%at = phi i64 [ 0, %0 ], [ %next, %turn ]",
        *phis,
        *steps,
        "%next = add i64 %at, 1",
        "%more = icmp slt i64 %next, %count",
        "br i1 %more, label %turn, label %done",
        "done:",
        *stores,
    ]
    return LOOP_TEMPLATE.format(name="products", body="\n".join(f"  {line}" for line in lines))


def _copy_loop(name: str, vector: str, moved: Sequence[str]) -> str:
    """`count` times over `size` bytes, of which each turn moves some vectors, as `moved` says of one."""
    lines = [
        "br label %pass",
        "pass:",
        "%number = phi i64 [ 0, %0 ], [ %following, %passed ]",
        "br label %turn",
        "turn:",
        "%at = phi i64 [ 0, %pass ], [ %next, %turn ]",
        "%from = getelementptr i8, ptr %source, i64 %at",
        "%to = getelementptr i8, ptr %target, i64 %at",
        *(line.format(i=i) for i in range(UNROLL) for line in moved),
        f"%end = getelementptr {vector}, ptr null, i64 {UNROLL}",
        "%step = ptrtoint ptr %end to i64",
        "%next = add i64 %at, %step",
        "%more = icmp slt i64 %next, %size",
        "br i1 %more, label %turn, label %passed",
        "passed:",
        "%following = add i64 %number, 1",
        "%again = icmp slt i64 %following, %count",
        "br i1 %again, label %pass, label %done",
        "done:",
    ]
    return LOOP_TEMPLATE.format(name=name, body="\n".join(f"  {line}" for line in lines))


@cache
def _code() -> tuple[Code, int, int]:
    """The loops, floats in a vector, and sums at once."""
    processor = resolve_processor("cpu")
    lanes = processor.vector_bytes // 4
    accumulators = ACCUMULATORS if processor.registers >= 32 else ACCUMULATORS_16_REGISTERS
    vector = f"<{lanes} x float>"
    read = [
        f"%a{{i}} = getelementptr {vector}, ptr %from, i64 {{i}}",
        f"%v{{i}} = load volatile {vector}, ptr %a{{i}}",
    ]
    write = [
        f"%b{{i}} = getelementptr {vector}, ptr %to, i64 {{i}}",
        f"store volatile {vector} %v{{i}}, ptr %b{{i}}",
    ]
    texts = [
        f"declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})",
        _fma_loop(vector, accumulators).replace("@llvm.fma(", f"@llvm.fma.v{lanes}f32("),
        _copy_loop("reading", vector, read),
        _copy_loop("copying", vector, [*read, *write]),
    ]
    names = {"products": None, "reading": None, "copying": None}
    return Code(machine_code("\n".join(texts)), names), lanes, accumulators


_FASTEST: dict[tuple[str, int, int], float] = {}
"""By loop, bytes and threads: the most that was ever measured, since others may compute at the same time."""


def peak_flops(threads: int) -> float:
    """Multiplications and additions of f32 in a second, measured once more."""
    code, lanes, accumulators = _code()
    found = _fastest(code.entries["products"], 4096, 2 * lanes * accumulators, threads)
    return _most(("products", 0, threads), found)


def peak_bytes_per_second(size: int, threads: int, *, writes: bool) -> float:
    """Bytes read and written in a second by loops over `size` bytes: half of them copied, or all read."""
    code, lanes, _ = _code()
    round_ = 4 * lanes * UNROLL
    parts = 2 * threads if writes else threads
    held = max(1, size // parts // round_) * round_
    name = "copying" if writes else "reading"
    found = _fastest(code.entries[name], held, 2 * held if writes else held, threads)
    return _most((name, size, threads), found)


def _most(key: tuple[str, int, int], found: float) -> float:
    _FASTEST[key] = max(found, _FASTEST.get(key, 0.0))
    return _FASTEST[key]


def _fastest(entry: Callable[[int], None], held: int, work: float, threads: int) -> float:
    """Work a second of all threads together; each has memory of its own, `held` bytes to read and write."""
    barrier = Barrier(threads)

    def one(_: int) -> float:
        source, target = aligned_empty(held), aligned_empty(held)
        source[:] = 0
        target[:] = 0
        table = np.asarray([1, source.ctypes.data, target.ctypes.data, held], np.int64)
        count = 1
        while _seconds(entry, table, count) < LOOP_SECONDS:
            count *= 2
        best = 0.0
        for _ in range(REPETITIONS):
            barrier.wait()
            best = max(best, work * count / _seconds(entry, table, count))
        return best

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(one, range(threads)))


def _seconds(
    entry: Callable[[int], None], table: np.ndarray[tuple[int], np.dtype[np.int64]], count: int
) -> float:
    table[0] = count
    begun = time.perf_counter()
    entry(table.ctypes.data)
    return time.perf_counter() - begun
