"""What a step of the session's own is given: its operands, attributes and bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.native.program import Held, SessionStep

Array: TypeAlias = npt.NDArray[np.generic]

Runner: TypeAlias = Callable[[Sequence[Held]], Sequence[Held]]
"""Runs a body on its inputs; gives its results in arrays of their own."""

Perform: TypeAlias = Callable[["Call"], Sequence[Held]]
"""What the session does for an operator: the results of a call, one for each that it may have."""

Prepare: TypeAlias = Callable[["Settings"], Perform]
"""Finds what follows from the attributes of an operator alone, once for all its calls."""


class Settings:
    """The attributes of a step."""

    def __init__(self, step: SessionStep) -> None:
        self.step = step

    def fail(self, message: str) -> XonncError:
        """An error that names the node."""
        return XonncError(f"{self.step.node or self.step.operator}: {message}")

    def setting(self, name: str, default: int = 0) -> int:
        """An attribute that is an integer."""
        value = self.step.settings.get(name, default)
        return value if isinstance(value, int) else default

    def settings(self, name: str, count: int) -> list[int]:
        """An attribute of many integers; zeros where it is not given."""
        found = self.listed(name)
        return [0] * count if found is None else [int(each) for each in found]

    def listed(self, name: str) -> Sequence[int | float | str] | None:
        """An attribute that is a list; `None` if it is absent."""
        value = self.step.settings.get(name)
        return None if value is None or isinstance(value, int | float | str) else value

    def text(self, name: str, default: str = "") -> str:
        """An attribute that is a string."""
        value = self.step.settings.get(name)
        return value if isinstance(value, str) else default


class Call(Settings):
    """A step with what it reads."""

    def __init__(self, step: SessionStep, held: Sequence[Held], runners: Sequence[Runner]) -> None:
        super().__init__(step)
        self.held, self.runners = held, runners

    def is_there(self, number: int) -> bool:
        """Whether an operand was given."""
        return number < len(self.step.reads) and self.step.reads[number] is not None

    def array(self, number: int) -> Array:
        """An operand that is a tensor."""
        held = self.held[number]
        if not isinstance(held, np.ndarray):
            raise self.fail(f"operand {number} is no tensor")
        return held

    def arrays(self) -> list[Array]:
        """All operands, which are tensors."""
        return [self.array(number) for number in range(len(self.held))]

    def tensors(self) -> tuple[Array, ...]:
        """The first operand, a sequence."""
        held = self.held[0]
        if not isinstance(held, tuple):
            raise self.fail("operand 0 is no sequence")
        found = [each for each in held if isinstance(each, np.ndarray)]
        if len(found) != len(held):
            raise self.fail("operand 0 is no sequence of tensors")
        return tuple(found)

    def texts(self, number: int) -> npt.NDArray[np.object_]:
        """An operand that is a tensor of strings; bytes are UTF-8."""
        return text_array(self.strings(number), self.array(number).shape)

    def strings(self, number: int) -> list[str]:
        """The elements of an operand that is a tensor of strings, row by row; bytes are UTF-8."""
        flat: list[object] = self.array(number).reshape(-1).tolist()
        try:
            return [
                each if isinstance(each, str) else each.decode() if isinstance(each, bytes) else str(each)
                for each in flat
            ]
        except UnicodeDecodeError as error:
            raise self.fail(f"the string {error.object[:40]!r} is not UTF-8 text") from error

    def integer(self, number: int, default: int) -> int:
        """An operand that is one integer."""
        return int(self.array(number).reshape(-1)[0]) if self.is_there(number) else default

    def integers(self, number: int) -> list[int] | None:
        """An operand that is a row of integers; `None` if it is absent."""
        return [int(each) for each in self.array(number).reshape(-1)] if self.is_there(number) else None

    def axis(self, rank: int, default: int = 0) -> int:
        """The attribute `axis` counted from the start; only a run may know how many axes there are."""
        return self.axis_of(self.setting("axis", default), rank)

    def optional_axis(self, rank: int) -> int | None:
        """The attribute `axis` counted from the start; `None` if it is absent."""
        return self.axis(rank) if "axis" in self.step.settings else None

    def axis_of(self, axis: int, rank: int) -> int:
        """An axis counted from the start."""
        if not -rank <= axis < rank:
            raise self.fail(f"axis {axis} is not one of {rank}")
        return axis % rank

    def place(self, position: int, count: int) -> int:
        """A position from the start, or below 0 from the end."""
        found = position + count if position < 0 else position
        if not 0 <= found < count:
            raise self.fail(f"position {position} is not among {count} tensors")
        return found


def text_array(texts: Sequence[str], shape: Sequence[int]) -> npt.NDArray[np.object_]:
    """Strings as a tensor."""
    array = np.empty(len(texts), np.object_)
    array[:] = texts
    return array.reshape(tuple(shape))
