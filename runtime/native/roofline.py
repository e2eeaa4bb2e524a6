"""
Machine peaks of the roofline model: FLOP/s and memory bandwidth, measured with loops of LLVM IR.

Bandwidth is measured at the working-set size of a kernel, so that a kernel whose data fit a cache is held
against the bandwidth of that cache.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from threading import Barrier

import numpy as np

from xonnc.aligned_arrays import aligned_empty
from xonnc.runtime.native.jit import Code, machine_code
from xonnc.runtime.native.step_report import ProfileLine
from xonnc.targets.cpu import CpuTarget

ACCUMULATORS = 20
"""Independent accumulators: enough to hide the latency of FMA, few enough for 32 vector registers."""

ACCUMULATORS_16_REGISTERS = 12
"""Accumulators with 16 vector registers."""

UNROLL = 8
"""Vectors moved by one loop iteration."""

INT8_PRODUCTS = "int8_products"
"""The loop of int8 dot products, if the processor has them."""

MIN_WORKING_SET, MAX_WORKING_SET = 1 << 14, 1 << 28
"""Working sets for which the bandwidth is measured: within the first cache, and far beyond the last."""

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


def _product_loop(name: str, vector: str, call: str, accumulators: int) -> str:
    """
    A loop of `count` iterations with one multiply-add for each accumulator.

    In `call`, the instruction, `{state}` is the accumulator.
    """
    phis = [f"%s{i} = phi {vector} [ %first, %0 ], [ %r{i}, %loop ]" for i in range(accumulators)]
    steps = [f"%r{i} = {call.format(state=f'%s{i}')}" for i in range(accumulators)]
    stores = [
        f"%p{i} = getelementptr {vector}, ptr %target, i64 {i}\n  store {vector} %r{i}, ptr %p{i}"
        for i in range(accumulators)
    ]
    lines = [
        f"%factor = load {vector}, ptr %source",
        f"%second = getelementptr {vector}, ptr %source, i64 1",
        f"%first = load {vector}, ptr %second",
        "br label %loop",
        "loop:",
        "%at = phi i64 [ 0, %0 ], [ %next, %loop ]",
        *phis,
        *steps,
        "%next = add i64 %at, 1",
        "%more = icmp slt i64 %next, %count",
        "br i1 %more, label %loop, label %done",
        "done:",
        *stores,
    ]
    return LOOP_TEMPLATE.format(name=name, body="\n".join(f"  {line}" for line in lines))


def _copy_loop(name: str, vector: str, moved: Sequence[str]) -> str:
    """`count` passes over `size` bytes; an iteration moves `UNROLL` vectors by the instructions `moved`."""
    lines = [
        "br label %pass",
        "pass:",
        "%number = phi i64 [ 0, %0 ], [ %following, %passed ]",
        "br label %loop",
        "loop:",
        "%at = phi i64 [ 0, %pass ], [ %next, %loop ]",
        "%from = getelementptr i8, ptr %source, i64 %at",
        "%to = getelementptr i8, ptr %target, i64 %at",
        *(line.format(i=i) for i in range(UNROLL) for line in moved),
        f"%end = getelementptr {vector}, ptr null, i64 {UNROLL}",
        "%step = ptrtoint ptr %end to i64",
        "%next = add i64 %at, %step",
        "%more = icmp slt i64 %next, %size",
        "br i1 %more, label %loop, label %passed",
        "passed:",
        "%following = add i64 %number, 1",
        "%again = icmp slt i64 %following, %count",
        "br i1 %again, label %pass, label %done",
        "done:",
    ]
    return LOOP_TEMPLATE.format(name=name, body="\n".join(f"  {line}" for line in lines))


@dataclass(frozen=True)
class _Loops:
    """The compiled loops of a processor."""

    code: Code
    lanes: int
    """32-bit elements of a vector."""
    accumulators: int
    fastest: dict[tuple[str, int, int], float] = field(default_factory=dict[tuple[str, int, int], float])
    """Best throughput so far by loop, bytes and threads: other processes may slow down a measurement."""


@cache
def _loops(vector_bytes: int, registers: int, int8_dot: str) -> _Loops:
    lanes = vector_bytes // 4
    accumulators = ACCUMULATORS if registers >= 32 else ACCUMULATORS_16_REGISTERS
    vector, integers = f"<{lanes} x float>", f"<{lanes} x i32>"
    read = [
        f"%a{{i}} = getelementptr {vector}, ptr %from, i64 {{i}}",
        f"%v{{i}} = load volatile {vector}, ptr %a{{i}}",
    ]
    write = [
        f"%b{{i}} = getelementptr {vector}, ptr %to, i64 {{i}}",
        f"store volatile {vector} %v{{i}}, ptr %b{{i}}",
    ]
    fma = f"call {vector} @llvm.fma.v{lanes}f32({vector} {{state}}, {vector} %factor, {vector} %first)"
    texts = [
        f"declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})",
        _product_loop("products", vector, fma, accumulators),
        _copy_loop("reading", vector, read),
        _copy_loop("copying", vector, [*read, *write]),
    ]
    names = ["products", "reading", "copying"]
    if int8_dot:
        dot = f"call {integers} @{int8_dot}({integers} {{state}}, {integers} %factor, {integers} %first)"
        texts.append(f"declare {integers} @{int8_dot}({integers}, {integers}, {integers})")
        texts.append(_product_loop(INT8_PRODUCTS, integers, dot, accumulators))
        names.append(INT8_PRODUCTS)
    code = Code(machine_code("\n".join(texts)), dict.fromkeys(names))
    return _Loops(code, lanes, accumulators)


class MachinePeaks:
    """
    The peaks of this machine, of several threads together.

    Each call measures once more (some 0.1 s); the best figure of all measurements counts.
    """

    def __init__(self, processor: CpuTarget) -> None:
        """Compile the loops for a processor, which must be that of this machine."""
        self._loops = _loops(processor.vector_bytes, processor.registers, processor.int8_dot)

    def flops(self, threads: int) -> float:
        """Return float32 operations in a second; a multiply-add counts as two."""
        return self._products("products", 2, threads)

    def int8_operations(self, threads: int) -> float:
        """
        Return int8 operations in a second; a multiply-add counts as two.

        Without dot products of int8, it is the peak of float32.
        """
        if INT8_PRODUCTS not in self._loops.code.entries:
            return self.flops(threads)
        return self._products(INT8_PRODUCTS, 8, threads)

    def bytes_per_second(self, size: int, threads: int, *, writes: bool) -> float:
        """Return the bandwidth of a copy (`writes`) or a read of a working set of `size` bytes."""
        round_ = 4 * self._loops.lanes * UNROLL
        parts = 2 * threads if writes else threads
        buffer_bytes = max(1, size // parts // round_) * round_
        name, moved = ("copying", 2 * buffer_bytes) if writes else ("reading", buffer_bytes)
        return self._best(name, size, threads, buffer_bytes, moved)

    def _products(self, name: str, operations: int, threads: int) -> float:
        work = operations * self._loops.lanes * self._loops.accumulators
        return self._best(name, 0, threads, 4096, work)

    def _best(self, name: str, size: int, threads: int, buffer_bytes: int, work: float) -> float:
        found = _fastest(self._loops.code.entries[name], buffer_bytes, work, threads)
        fastest = self._loops.fastest
        fastest[name, size, threads] = max(found, fastest.get((name, size, threads), 0.0))
        return fastest[name, size, threads]


@dataclass(frozen=True)
class LeastTime:
    """The time of a step at the peaks of the machine, in seconds; 0 where its work is none or unknown."""

    multiplying: float
    moving: float

    @property
    def seconds(self) -> float:
        """The longer of both."""
        return max(self.multiplying, self.moving)

    @property
    def bound(self) -> str:
        """What limits the step: `multiply`, `bytes`, or nothing that is known."""
        if not self.seconds:
            return ""
        return "multiply" if self.multiplying > self.moving else "bytes"


def least_times(lines: Sequence[ProfileLine], processor: CpuTarget, threads: int) -> list[LeastTime]:
    """
    Return the least time of each step on this machine.

    The bandwidth is that of a working set of the next power of two, in whatever cache holds it.
    """
    peaks = MachinePeaks(processor)

    @cache
    def operations(is_int8: bool) -> float:
        return peaks.int8_operations(threads) if is_int8 else peaks.flops(threads)

    @cache
    def bandwidth(size: int, writes: bool) -> float:
        return peaks.bytes_per_second(size, threads, writes=writes)

    found: list[LeastTime] = []
    for line in lines:
        moved = line.read_bytes + line.written_bytes
        size = min(max(MIN_WORKING_SET, 1 << moved.bit_length()), MAX_WORKING_SET)
        multiplying = 2 * line.multiplications / operations(line.is_int8) if line.multiplications else 0.0
        moving = moved / bandwidth(size, 4 * line.written_bytes > moved) if moved else 0.0
        found.append(LeastTime(multiplying, moving))
    return found


def _fastest(entry: Callable[[int], None], buffer_bytes: int, work: float, threads: int) -> float:
    """Work per second of all threads together, each on `buffer_bytes` bytes of its own."""
    barrier = Barrier(threads)

    def one(_: int) -> float:
        source, target = aligned_empty(buffer_bytes), aligned_empty(buffer_bytes)
        source[:] = 0
        target[:] = 0
        table = np.asarray([1, source.ctypes.data, target.ctypes.data, buffer_bytes], np.int64)
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
