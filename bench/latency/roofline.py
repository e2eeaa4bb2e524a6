"""
Machine peaks of the roofline model: FLOP/s and memory bandwidth, measured with loops of LLVM IR.

Bandwidth is measured at the working-set size of a kernel, so that a kernel whose data fit a cache is held
against the bandwidth of that cache.
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
"""Independent accumulators: enough to hide the latency of FMA, few enough for 32 vector registers."""

ACCUMULATORS_16_REGISTERS = 12
"""Accumulators with 16 vector registers."""

UNROLL = 8
"""Vectors moved by one loop iteration."""

LOOP_SECONDS, REPETITIONS = 0.004, 9
"""Least duration of a loop, and repetitions; the best one counts."""

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
    """A loop of `count` iterations with one FMA for each accumulator."""
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
    """`count` passes over `size` bytes; an iteration moves `UNROLL` vectors by the instructions `moved`."""
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
    """The compiled loops, float lanes of a vector, and the number of accumulators."""
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
"""Best throughput so far by loop, bytes and threads: other processes may slow down a measurement."""


def peak_flops(threads: int) -> float:
    """Best float32 FLOP/s of all measurements, of which this call adds one."""
    code, lanes, accumulators = _code()
    found = _fastest(code.entries["products"], 4096, 2 * lanes * accumulators, threads)
    return _most(("products", 0, threads), found)


def peak_bytes_per_second(size: int, threads: int, *, writes: bool) -> float:
    """Bandwidth in bytes/s of a copy (`writes`) or a read of a working set of `size` bytes."""
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
    """Work per second of all threads together, each on `held` bytes of its own."""
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
