"""
What nodes cost on the CPU and on NVDLA, and tensors that go from one to the other.

The placement of nodes and the selection of those to keep in float compare the same costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.multiplications import multiplications
from xonnc.dialects.onnx.types import static_shape
from xonnc.lowering.dla_to_loadable.stages import CompiledLoadable
from xonnc.targets import NvdlaTarget

CPU_RATE = 2**18 * 10
"""Multiplications of the CPU in a millisecond: those of one core with vectors."""

CPU_WEIGHTS = 2**19
"""Weights, floats there, that the CPU reads from memory in a millisecond."""

TRANSFER = 2**18
"""
The cost of a tensor that enters or leaves a partition on the DLA, in multiplications on the CPU: about 0.1 ms
for a submission of its own.
"""

TRANSFER_OF_ELEMENT = 16
"""The cost of each of its elements, which is converted and moved between layouts."""

CONVERSION_BYTES = 3
"""Bytes that an element moves from INT8 to FP16 or back."""

PASS_CYCLES = 63
"""Cycles of an SDP pass besides its elements and the latency (docs/internals/nvdla-hardware.md §9.4)."""


def elements(value: SSAValue) -> int:
    """Return the elements of a tensor, 0 for one of unknown shape."""
    return prod(static_shape(value.type) or (0,))


def transfer_of(value: SSAValue) -> int:
    """Return the cost of a tensor that enters or leaves the DLA, in multiplications."""
    return TRANSFER + TRANSFER_OF_ELEMENT * elements(value)


def transfers_saved(op: Operation) -> int:
    """Return how many tensors may be transferred for the time that the CPU takes to multiply in `op`."""
    return multiplications(op) // transfer_of(op.results[0])


def cpu_milliseconds(op: Operation) -> float:
    """
    Return the time of the CPU for a node.

    A product of few rows takes as long as its second factor takes to arrive.
    """
    count = multiplications(op)
    weights = elements(op.operands[1]) if count else 0
    return max((count + sum(map(elements, op.results))) / CPU_RATE, weights / CPU_WEIGHTS)


def transfer_milliseconds(value: SSAValue) -> float:
    """Return the time of a tensor that enters or leaves the DLA."""
    return transfer_of(value) / CPU_RATE


def conversion_milliseconds(value: SSAValue, target: NvdlaTarget) -> float:
    """Return the time of a tensor that goes from INT8 to FP16 or back on the DLA: a pass of the SDP."""
    count = elements(value)
    moved = CONVERSION_BYTES * count / target.bytes_per_cycle
    cycles = max(count / target.sdp_elements_per_cycle, moved) + target.memory_latency_cycles + PASS_CYCLES
    return cycles / (target.clock_mhz * 1000)


def dla_milliseconds(compiled: Iterable[CompiledLoadable], target: NvdlaTarget) -> Mapping[str, float]:
    """Return the time of each node's layers by the cycle model; those merged into another's have none."""
    found: dict[str, float] = {}
    for one in compiled:
        for layer in one.report.layers:
            milliseconds = layer.cycles / (target.clock_mhz * 1000)
            found[layer.node] = found.get(layer.node, 0.0) + milliseconds
    return found


def is_faster_on_cpu(op: Operation, milliseconds: float) -> bool:
    """Whether the CPU takes less than `milliseconds` for a node, with a transfer to it and one back."""
    return cpu_milliseconds(op) + 2 * transfer_milliseconds(op.results[0]) < milliseconds
