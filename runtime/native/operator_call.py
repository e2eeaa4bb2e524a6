"""Operands, attributes and bodies of an operator that the session runs in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypeGuard

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.native.program import RuntimeValue, SessionStep

Array: TypeAlias = npt.NDArray[np.generic]

BodyFunction: TypeAlias = Callable[[Sequence[RuntimeValue]], Sequence[RuntimeValue]]
"""Run a body on its inputs; the results are new arrays."""

Implementation: TypeAlias = Callable[["OperatorCall"], Sequence[RuntimeValue]]
"""Compute an operator: one result for each output that it may have."""

PrepareImplementation: TypeAlias = Callable[["OperatorAttributes"], Implementation]
"""Prepare what depends on the attributes of an operator alone, once for all its calls."""


_NONE: Mapping[int, Array] = {}


class OperatorAttributes:
    """The attributes of an operator, with defaults, and its constant operands."""

    def __init__(self, step: SessionStep, constants: Mapping[int, Array] | None = None) -> None:
        self.step = step
        self.constants = constants or _NONE
        """The operands that are the same in each run, by number."""

    def fail(self, message: str) -> XonncError:
        """Return an error that names the node."""
        return XonncError(f"{self.step.node or self.step.operator}: {message}")

    def int_attribute(self, name: str, default: int = 0) -> int:
        """Return an integer attribute."""
        value = self.step.attributes.get(name, default)
        return value if isinstance(value, int) else default

    def int_list_attribute(self, name: str, count: int) -> list[int]:
        """Return an attribute of `count` integers; zeros if it is absent."""
        found = self.list_attribute(name)
        return [0] * count if found is None else [int(each) for each in found]

    def list_attribute(self, name: str) -> Sequence[int | float | str] | None:
        """Return a list attribute; `None` if it is absent."""
        value = self.step.attributes.get(name)
        return None if value is None or isinstance(value, int | float | str) else value

    def string_attribute(self, name: str, default: str = "") -> str:
        """Return a string attribute."""
        value = self.step.attributes.get(name)
        return value if isinstance(value, str) else default


class OperatorCall(OperatorAttributes):
    """An operator with the values of its operands."""

    def __init__(
        self, step: SessionStep, operands: Sequence[RuntimeValue], runners: Sequence[BodyFunction]
    ) -> None:
        # Not by `super`, which takes a third of a microsecond of a model that runs for ten.
        self.step, self.operands, self.bodies, self.constants = step, operands, runners, _NONE
        self.reads = step.reads

    def has_operand(self, number: int) -> bool:
        """Whether an optional operand is present."""
        return number < len(self.step.reads) and self.step.reads[number] is not None

    def array(self, number: int) -> Array:
        """Return a tensor operand."""
        operand = self.operands[number]
        if isinstance(operand, np.ndarray):
            return operand
        raise self.fail(f"operand {number} is not a tensor")

    def arrays(self) -> list[Array]:
        """Return all operands, which must be tensors."""
        return [self.array(number) for number in range(len(self.operands))]

    def tensors(self) -> tuple[Array, ...]:
        """Return the tensors of operand 0, a sequence."""
        operand = self.operands[0]
        if not isinstance(operand, tuple):
            raise self.fail("operand 0 is not a sequence")
        found = [each for each in operand if isinstance(each, np.ndarray)]
        if len(found) != len(operand):
            raise self.fail("operand 0 is not a sequence of tensors")
        return tuple(found)

    def string_array(self, number: int) -> npt.NDArray[np.object_]:
        """Return a string tensor operand; byte strings are decoded as UTF-8."""
        return string_tensor(self.strings(number), self.array(number).shape)

    def strings(self, number: int) -> list[str]:
        """Return the elements of a string tensor operand in row-major order, decoded as UTF-8."""
        flat: list[object] = self.array(number).ravel().tolist()
        if _are_strings(flat):
            return flat
        try:
            return [
                each if isinstance(each, str) else each.decode() if isinstance(each, bytes) else str(each)
                for each in flat
            ]
        except UnicodeDecodeError as error:
            raise self.fail(f"the string {error.object[:40]!r} is not UTF-8 text") from error

    def integer(self, number: int, default: int) -> int:
        """Return a scalar integer operand."""
        return int(self.array(number).item(0)) if self.has_operand(number) else default

    def integers(self, number: int) -> list[int] | None:
        """Return an operand that is a vector of integers; `None` if it is absent."""
        return self.array(number).astype(np.int64).ravel().tolist() if self.has_operand(number) else None

    def axis(self, rank: int, default: int = 0) -> int:
        """Return the attribute `axis`, normalised to 0 … rank - 1; the rank may be known only at run time."""
        return self.normalize_axis(self.int_attribute("axis", default), rank)

    def optional_axis(self, rank: int) -> int | None:
        """Return the attribute `axis`, normalised; `None` if it is absent."""
        return self.axis(rank) if "axis" in self.step.attributes else None

    def normalize_axis(self, axis: int, rank: int) -> int:
        """Normalise an axis to 0 … rank - 1."""
        if not -rank <= axis < rank:
            raise self.fail(f"axis {axis} is out of range for rank {rank}: allowed are {-rank} to {rank - 1}")
        return axis % rank

    def sequence_index(self, position: int, count: int) -> int:
        """Normalise an index into a sequence of `count` tensors; negative ones count from the end."""
        found = position + count if position < 0 else position
        if not 0 <= found < count:
            raise self.fail(f"position {position} is not among {count} tensors")
        return found


def _are_strings(values: list[object]) -> TypeGuard[list[str]]:
    return set(map(type, values)) == {str}


def string_tensor(texts: Sequence[str], shape: Sequence[int]) -> npt.NDArray[np.object_]:
    """Return strings as a tensor of a shape."""
    return np.fromiter(texts, np.object_, len(texts)).reshape(tuple(shape))
