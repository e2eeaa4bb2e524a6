"""Equal kernels of a model share one function."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue


@dataclass(frozen=True)
class _Kernel:
    function: FuncOp

    @cached_property
    def contents(self) -> list[Hashable]:
        """All that the body says: kernels of one type are equal if these are."""
        return contents_of(self.function.body)


@dataclass
class SharedKernels:
    """The different kernels of a model."""

    count: int = 0
    _alike: dict[Hashable, list[_Kernel]] = field(default_factory=dict[Hashable, list[_Kernel]])

    def shared(self, function: FuncOp) -> FuncOp:
        """Return the kernel that equals `function`, which is `function` itself for the first of its kind."""
        kernel = _Kernel(function)
        # Most kernels differ from all others in their operations, so that contents are not collected.
        alike = self._alike.setdefault(_outline(function), [])
        for other in alike:
            if other.contents == kernel.contents:
                return other.function
        alike.append(kernel)
        self.count += 1
        return function


def _outline(function: FuncOp) -> Hashable:
    return function.function_type, tuple(op.name for op in function.body.walk())


def contents_of(region: Region, leaves_out: Callable[[Operation], bool] | None = None) -> list[Hashable]:
    """
    Return all that a region says; printing it would take longer.

    `leaves_out` says whether the attributes of an operation do not count.
    """
    found: list[Hashable] = []
    _add_contents(region, {}, found, leaves_out)
    return found


def _add_contents(
    region: Region,
    numbers: dict[SSAValue | Block, int],
    found: list[Hashable],
    leaves_out: Callable[[Operation], bool] | None,
) -> None:
    """Add the operations of a region, with a number for each value."""
    for block in region.blocks:
        numbers[block] = len(numbers)
    for block in region.blocks:
        for argument in block.args:
            numbers[argument] = len(numbers)
            found.append(argument.type)
        for op in block.ops:
            found.append((op.name, len(op.operands), len(op.results), len(op.regions)))
            found += [numbers[operand] for operand in op.operands]
            found += [numbers[successor] for successor in op.successors]
            if leaves_out is None or not leaves_out(op):
                # Attributes of floats are equal if their bits are: 0.0 and -0.0 differ.
                found += (*op.properties.items(), *op.attributes.items())
            for result in op.results:
                numbers[result] = len(numbers)
                found.append(result.type)
            for inner in op.regions:
                _add_contents(inner, numbers, found, leaves_out)
