"""A compiled model: its values, where they lie, and its steps in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Tensors: TypeAlias = "npt.NDArray[np.generic] | tuple[npt.NDArray[np.generic], ...] | None"
"""A tensor, a sequence of tensors, or an optional that is empty."""

Run: TypeAlias = Callable[[Sequence[Tensors]], Sequence[Tensors]]
"""A function of tensors."""

Dictionary: TypeAlias = "dict[int | str, int | float | str]"
"""A map of ai.onnx.ml."""

Held: TypeAlias = "Tensors | Dictionary | tuple[npt.NDArray[np.generic] | Dictionary, ...]"
"""Tensors as above, or a map, or a sequence of maps."""


Setting: TypeAlias = "int | float | str | Sequence[int | float | str] | None"
"""An attribute of an operator."""


ALIGNMENT = 64
"""Bytes; a line of the cache, and the widest vector: where things in the arena begin."""

MOST_BYTES = 1 << 47
"""Of anything: as much as programs have addresses on most processors."""


def aligned(size: int) -> int:
    """Bytes up to where the next thing in the arena may begin."""
    return -(-size // ALIGNMENT) * ALIGNMENT


class Place(Enum):
    """Where a value lies."""

    INPUT = "input"
    CONSTANT = "constant"
    ARENA = "arena"
    """In the one allocation that all steps share."""
    OUTPUT = "output"
    """In an array of its own, made for each run."""
    HELD = "held"
    """A Python object: a tensor of unknown size, a sequence."""
    SIZE = "size"
    """In the table itself: a number that the run computes."""


@dataclass(frozen=True)
class Formula:
    """
    How a run computes a size: by an operator, of other sizes before it.

    `dim` is of an input and an axis, `number` of a number; `add`, `mul`, `floordiv`, `min` and
    `max` are of two values.
    """

    operator: str
    operands: tuple[int, ...]


@dataclass(frozen=True)
class Requirement:
    """Two sizes that are equal, or inputs do not fit; `what` has the size that was found."""

    found: int
    expected: int
    what: str


@dataclass
class Value:
    """Something that steps read or write; `shape` and `dtype` are `None` where only a run tells."""

    place: Place
    shape: tuple[int, ...] | None
    dtype: np.dtype[np.generic] | None
    offset: int = 0
    """Bytes from the start of the arena."""
    constant: npt.NDArray[np.generic] | None = None
    same_as: int | None = None
    """The value whose memory this one is, in another shape."""
    shift: int = 0
    """Bytes from the start of that value."""
    formula: Formula | None = None
    """Of a size."""
    open_shape: tuple[int, ...] | None = None
    """The sizes, which are values too, of what has some that a run computes."""

    @property
    def size(self) -> int:
        """Bytes."""
        return (
            0 if self.shape is None or self.dtype is None else int(np.prod(self.shape)) * self.dtype.itemsize
        )


@dataclass(frozen=True)
class Check:
    """
    What must hold behind a step: the two numbers that `value` holds lie between `least` and `most`.

    If one does not, the run fails with `message`, in which `{}` stands for it.
    """

    value: int
    least: int
    most: int
    message: str
    is_declared: bool = False
    """Whether it holds if what the model declares of a shape does."""


@dataclass(frozen=True)
class NativeStep:
    """Kernels that run in a row: a function that takes the table of all values' pointers."""

    function: str
    kernels: Sequence[str]
    checks: Sequence[Check] = ()
    node: str = ""
    """The ONNX node whose work it does, if that is one."""


@dataclass(frozen=True)
class HostStep:
    """One operator that the reference evaluator computes."""

    operator: str
    node: str
    reason: str
    run: Run
    reads: Sequence[int]
    writes: Sequence[int]
    model: Callable[[], bytes] | None = None
    """The operator as an ONNX model, for who stores the program; `None` if it is no operator of ONNX."""


@dataclass(frozen=True)
class Body:
    """A part that a step runs with inputs of its own and then with values `captured` from around."""

    program: Program
    captured: Sequence[int]


@dataclass(frozen=True)
class SessionStep:
    """
    An operator that the session does itself: control flow over bodies, lists of tensors, strings, maps.

    `reads` are its operands in order, `None` where absent.
    """

    operator: str
    node: str
    settings: Mapping[str, Setting]
    reads: Sequence[int | None]
    writes: Sequence[int | None]
    bodies: Sequence[Body] = ()


@dataclass(frozen=True)
class Port:
    """An input or output: its name, its value, and what feeds must be (`None`: anything)."""

    name: str
    value: int
    shape: tuple[int | None, ...] | None
    dtype: np.dtype[np.generic] | None

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether arrays of a shape fit."""
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

    values: list[Value] = field(default_factory=list[Value])
    steps: list[Step] = field(default_factory=list["Step"])
    inputs: list[Port] = field(default_factory=list[Port])
    outputs: list[Port] = field(default_factory=list[Port])
    arena: int = 0
    """Bytes."""
    requirements: list[Requirement] = field(default_factory=list[Requirement])
    blocks: list[list[int]] = field(default_factory=list[list[int]])
    """Parts of the arena of a program with open sizes: the values that lie in each, one at a time."""

    @property
    def is_open(self) -> bool:
        """Whether a run computes sizes."""
        return any(value.place is Place.SIZE for value in self.values)

    def every_step(self) -> Iterator[Step]:
        """All steps, those of bodies too."""
        for step in self.steps:
            yield step
            if isinstance(step, SessionStep):
                for body in step.bodies:
                    yield from body.program.every_step()

    def root_of(self, place: int) -> int:
        """The value whose memory a value is."""
        while (same := self.values[place].same_as) is not None:
            place = same
        return place

    def shift_of(self, place: int) -> int:
        """Bytes from the start of the memory that a value is in to where it begins."""
        shift = 0
        while (same := self.values[place].same_as) is not None:
            shift += self.values[place].shift
            place = same
        return shift


Step: TypeAlias = NativeStep | HostStep | SessionStep
