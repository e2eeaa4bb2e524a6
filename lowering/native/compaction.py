"""
Compaction analysis: which smaller result a kernel may write over an operand that dies, front to back.

A loop nest may do so if it runs in order, on one thread, and

1. each iteration stores behind all that earlier ones stored, in row-major order;
2. each load of an iteration is at the address that it stores to, or behind it.

Then no store is to an element that a later iteration loads: such a load is behind the later store, which is
behind this one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue

from xonnc.dialects.krnl.loops import DefineLoopsOp, IterateOp
from xonnc.dialects.krnl.memory import CallOp, LoadOp, StoreOp, shape_of
from xonnc.dialects.krnl.types import is_buffer

Affine: TypeAlias = Mapping[SSAValue | None, int]
"""A sum of induction variables, each times a number; `None` stands for 1."""


def may_compact(call: CallOp, kernel: FuncOp, target: int, source: int) -> bool:
    """Whether a kernel, if it runs in order, may write parameter `target` over the front of `source`."""
    arguments = kernel.body.block.args
    written, read = arguments[target], arguments[source]
    if not _is_smaller(written.type, read.type):
        return False
    nest = _Nest.of(call, kernel)
    if nest is None:
        return False
    accesses = [op for op in nest.op.body.block.ops if isinstance(op, LoadOp | StoreOp)]
    inside = {op for op in accesses if op.memref in (written, read)}
    if {use.operation for each in (written, read) for use in each.uses} != inside:
        return False
    loads = [op for op in accesses if isinstance(op, LoadOp) and op.memref is read]
    stores = [op for op in accesses if isinstance(op, StoreOp) and op.memref is written]
    if len(stores) != 1 or len(inside) != len(loads) + 1:
        return False
    (store,) = stores
    to = nest.address(store)
    return (
        to is not None
        and nest.increases(to)
        and all(
            load.is_before_in_block(store)
            and (address := nest.address(load)) is not None
            and nest.least(_minus(address, to)) >= 0
            for load in loads
        )
    )


def _is_smaller(written: Attribute, read: Attribute) -> bool:
    """Whether a buffer has less elements than another, of the same type, both of static row-major shapes."""
    if not is_buffer(written) or not is_buffer(read) or written.element_type != read.element_type:
        return False
    shapes = written.get_shape(), read.get_shape()
    return DYNAMIC_INDEX not in (*shapes[0], *shapes[1]) and _count(shapes[0]) < _count(shapes[1])


def _count(shape: Sequence[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


@dataclass(frozen=True)
class _Nest:
    """The loop nest that is all of a kernel: its induction variables, outermost first, from 0 to a size."""

    op: IterateOp
    sizes: Mapping[SSAValue, int]

    @classmethod
    def of(cls, call: CallOp, kernel: FuncOp) -> _Nest | None:
        """Return the loop nest of a kernel in which a call runs all iterations, or None."""
        entry = kernel.body.block
        kept = (arith.ConstantOp, DefineLoopsOp, ReturnOp)
        loops = [op for op in entry.ops if not isinstance(op, kept)]
        nest = loops[0] if len(loops) == 1 else None
        if not isinstance(nest, IterateOp) or nest.returned:
            return None
        bounds = nest.input_loops()
        if [loop for loop, _, _ in bounds] != list(nest.optimized_loops):
            return None
        has_range = call.iterations is not None
        range_ = tuple(entry.args[-2:]) if has_range else ()
        sizes: dict[SSAValue, int] = {}
        for variable, (_, lower, upper) in zip(nest.body.block.args, bounds, strict=True):
            if has_range and (lower, upper) == range_:
                assert call.iterations is not None
                upper = call.iterations.value.data
            elif lower != 0:
                return None
            if not isinstance(upper, int):
                return None
            sizes[variable] = upper
        return cls(nest, sizes)

    def address(self, access: LoadOp | StoreOp) -> Affine | None:
        """Return the row-major address of an access, in elements; None if it is not affine."""
        total: dict[SSAValue | None, int] = {}
        step = 1
        for index, size in reversed(list(zip(access.indices, shape_of(access.memref), strict=True))):
            terms = self._affine(index)
            if terms is None:
                return None
            for variable, factor in terms.items():
                total[variable] = total.get(variable, 0) + step * factor
            step *= size
        return total

    def _affine(self, index: SSAValue) -> Affine | None:
        if index in self.sizes:
            return {index: 1}
        owner = index.owner
        match owner:
            case arith.ConstantOp(value=IntegerAttr(value=number)):
                return {None: number.data}
            case arith.AddiOp() | arith.MuliOp():
                left, right = self._affine(owner.lhs), self._affine(owner.rhs)
                if left is None or right is None:
                    return None
                if isinstance(owner, arith.AddiOp):
                    return _plus(left, right, 1)
                number, other = (left, right) if set(left) <= {None} else (right, left)
                return _scaled(other, number.get(None, 0)) if set(number) <= {None} else None
            case _:
                return None

    def increases(self, address: Affine) -> bool:
        """Whether each iteration has a higher address than the one before."""
        inner = 0
        for variable, size in reversed(list(self.sizes.items())):
            factor = address.get(variable, 0)
            if size > 1 and factor <= inner:
                return False
            inner += factor * (size - 1)
        return True

    def least(self, value: Affine) -> int:
        """Return the least value over all iterations."""
        return value.get(None, 0) + sum(
            min(0, value.get(variable, 0) * (size - 1)) for variable, size in self.sizes.items()
        )


def _plus(left: Affine, right: Affine, factor: int) -> Affine:
    return {
        variable: left.get(variable, 0) + factor * right.get(variable, 0) for variable in {**left, **right}
    }


def _minus(left: Affine, right: Affine) -> Affine:
    return _plus(left, right, -1)


def _scaled(value: Affine, factor: int) -> Affine:
    return {variable: factor * each for variable, each in value.items()}
