"""A compiled model: its values, their storage, and the steps that run in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

TensorOrSequence: TypeAlias = "npt.NDArray[np.generic] | tuple[npt.NDArray[np.generic], ...] | None"
"""A tensor, a sequence of tensors, or an optional that is empty."""

TensorFunction: TypeAlias = Callable[[Sequence[TensorOrSequence]], Sequence[TensorOrSequence]]
"""Compute outputs from inputs."""

OnnxMap: TypeAlias = "dict[int | str, int | float | str]"
"""A map of ai.onnx.ml: integer or string keys."""

RuntimeValue: TypeAlias = "TensorOrSequence | OnnxMap | tuple[npt.NDArray[np.generic] | OnnxMap, ...]"
"""Any value of a run: tensors as above, a map, or a sequence of maps."""


AttributeValue: TypeAlias = "int | float | str | Sequence[int | float | str] | None"
"""An attribute of an operator."""


ALIGNMENT = 64
"""
Alignment of buffers in the arena, in bytes.

A cache line and the widest vector have 64 bytes, so that no aligned vector access crosses a line.
"""

MAX_BYTES = 1 << 47
"""Limit for the size of a tensor or arena in bytes: the user address space of x86-64 and AArch64."""


def aligned(size: int) -> int:
    """Round a size in bytes up to a multiple of `ALIGNMENT`."""
    return -(-size // ALIGNMENT) * ALIGNMENT


class Storage(Enum):
    """The storage class of a value's elements."""

    INPUT = "input"
    CONSTANT = "constant"
    ARENA = "arena"
    """In the arena, the one allocation that all steps share."""
    OUTPUT = "output"
    """In a new array for each run, which the caller then owns."""
    OBJECT = "held"
    """A Python object: a tensor of data-dependent shape, a sequence or a map."""
    SIZE = "size"
    """In the pointer table itself: a dimension (an integer) that each run computes."""


@dataclass(frozen=True)
class SizeExpr:
    """
    An expression for a dimension, in terms of dimensions that come before it.

    Operands of `dim` are an input and an axis, of `number` a constant; `add`, `mul`, `floordiv`, `min` and
    `max` take the indices of two values.
    """

    operator: str
    operands: tuple[int, ...]


@dataclass(frozen=True)
class SizeConstraint:
    """Two dimensions that must be equal for inputs to be valid; `description` names the first in messages."""

    actual: int
    expected: int
    description: str


@dataclass
class ProgramValue:
    """A value that steps read or write; `shape` and `dtype` are `None` if not known statically."""

    storage: Storage
    shape: tuple[int, ...] | None
    dtype: np.dtype[np.generic] | None
    offset: int = 0
    """Offset in the arena in bytes."""
    constant: npt.NDArray[np.generic] | None = None
    alias_of: int | None = None
    """Index of the value whose memory this one shares, as a view."""
    alias_offset: int = 0
    """Offset of the view in that value, in bytes."""
    size_expr: SizeExpr | None = None
    """The expression that computes it, for `Storage.SIZE`."""
    dynamic_shape: tuple[int, ...] | None = None
    """The indices of the values that are its dimensions, if some are dynamic."""

    @property
    def size(self) -> int:
        """Size in bytes; 0 if not known statically."""
        return (
            0 if self.shape is None or self.dtype is None else int(np.prod(self.shape)) * self.dtype.itemsize
        )


@dataclass(frozen=True)
class RangeCheck:
    """
    A check after a step: both integers in `value` (a minimum and a maximum) are in `[low, high]`.

    Otherwise the run fails with `message`, in which `{}` is replaced by the integer out of range.
    """

    value: int
    low: int
    high: int
    message: str
    is_declared: bool = False
    """Whether it can fail only if a shape that the model declares is wrong."""


@dataclass(frozen=True)
class NativeStep:
    """Consecutive kernel calls, compiled as one function of the table of pointers to all values."""

    function: str
    kernels: Sequence[str]
    checks: Sequence[RangeCheck] = ()
    nodes: Sequence[str] = ()
    """The ONNX nodes that a step with a single kernel computes, the last one first."""
    reads: Sequence[int] = ()
    """Values that a step with a single kernel reads."""
    writes: Sequence[int] = ()
    """Values that a step with a single kernel writes."""

    @property
    def node(self) -> str:
        """The node that names it, if it has a single kernel."""
        return self.nodes[0] if self.nodes else ""


@dataclass(frozen=True)
class HostStep:
    """An operator without native code, computed by the ONNX reference evaluator."""

    operator: str
    node: str
    reason: str
    run: TensorFunction
    reads: Sequence[int]
    writes: Sequence[int]
    model: Callable[[], bytes] | None = None
    """Serialise the operator as an ONNX model; `None` if it is no ONNX operator."""


@dataclass(frozen=True)
class BodyProgram:
    """The body of a control-flow operator; its inputs are its arguments, then the `captured` outer values."""

    program: Program
    captured: Sequence[int]


@dataclass(frozen=True)
class SessionStep:
    """
    An operator that the session runs in Python: control flow over bodies, sequences, strings, maps.

    `reads` are the indices of its operands in order, `None` for an absent optional operand.
    """

    operator: str
    node: str
    attributes: Mapping[str, AttributeValue]
    reads: Sequence[int | None]
    writes: Sequence[int | None]
    bodies: Sequence[BodyProgram] = ()


@dataclass(frozen=True)
class TensorSpec:
    """An input or output: its name, the index of its value, shape and type (`None` for any)."""

    name: str
    value: int
    shape: tuple[int | None, ...] | None
    dtype: np.dtype[np.generic] | None

    def accepts(self, shape: tuple[int, ...]) -> bool:
        """Whether an array of this shape is valid for the input."""
        if self.shape is None or shape == self.shape:
            return True
        if len(shape) != len(self.shape):
            return False
        for size, expected in zip(shape, self.shape, strict=True):
            if expected is not None and expected != size:
                return False
        return True


@dataclass
class Program:
    """A compiled model."""

    values: list[ProgramValue] = field(default_factory=list[ProgramValue])
    steps: list[ProgramStep] = field(default_factory=list["ProgramStep"])
    inputs: list[TensorSpec] = field(default_factory=list[TensorSpec])
    outputs: list[TensorSpec] = field(default_factory=list[TensorSpec])
    arena: int = 0
    """Size of the arena in bytes; 0 if it depends on dynamic shapes."""
    constraints: list[SizeConstraint] = field(default_factory=list[SizeConstraint])
    blocks: list[list[int]] = field(default_factory=list[list[int]])
    """Blocks of the arena of a program with dynamic shapes: the values that use each, one after the other."""
    shareable: dict[int, int] = field(default_factory=dict[int, int])
    """Outputs that may be written to the memory of an input, as indices of values."""

    @property
    def is_dynamic(self) -> bool:
        """Whether the program has dynamic shapes."""
        return any(value.storage is Storage.SIZE for value in self.values)

    def walk_steps(self) -> Iterator[ProgramStep]:
        """Iterate over all steps, including those of bodies."""
        for step in self.steps:
            yield step
            if isinstance(step, SessionStep):
                for body in step.bodies:
                    yield from body.program.walk_steps()

    def root_of(self, index: int) -> int:
        """Return the value that owns the memory of a value, following aliases."""
        while (source := self.values[index].alias_of) is not None:
            index = source
        return index

    def alias_offset_of(self, index: int) -> int:
        """Return the offset of a value in the memory of its root, in bytes."""
        offset = 0
        while (source := self.values[index].alias_of) is not None:
            offset += self.values[index].alias_offset
            index = source
        return offset


ProgramStep: TypeAlias = NativeStep | HostStep | SessionStep
