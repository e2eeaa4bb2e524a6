"""`onnx-cse-with-node-name`: common subexpression elimination that ignores node names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.elements import DisposableElementsAttr, elements_array
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.rewriting.patterns import Array
from xonnc.transforms.cse import erase_dead, merge_equal

SAMPLES = 8
"""Elements sampled along each of two axes of a constant before a full comparison."""


@dataclass(frozen=True)
class OnnxCseWithNodeName(ModulePass):
    """
    Merge nodes that compute the same: equal operators on equal operands, names ignored.

    The remaining node keeps its name. Constants of equal elements are merged first. Custom operators are not
    merged, since they may be nondeterministic.
    """

    name = "onnx-cse-with-node-name"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Merge equal ops in `op`."""
        merge(op)


def merge(module: ModuleOp) -> int:
    """Erase dead ops and merge equal ones; return the number of ops merged."""
    erase_dead(module)
    _share([op for op in module.walk() if isinstance(op, ConstantOp)])
    return merge_equal(module)


def _share(constants: Iterable[ConstantOp]) -> None:
    """Give constants of equal elements one attribute; attributes of the pool compare by identity."""
    by_sample: defaultdict[tuple[Attribute, bytes], list[ConstantOp]] = defaultdict(list)
    by_type: defaultdict[Attribute, list[ConstantOp]] = defaultdict(list)
    for constant in constants:
        if constant.value is not None:
            by_type[constant.output.type].append(constant)
    for type_, alike in by_type.items():
        if len(alike) == 1:
            continue
        for constant in alike:
            if (sample := _sample(constant)) is not None:
                by_sample[type_, sample].append(constant)
    for alike in by_sample.values():
        unique: list[ConstantOp] = []
        for constant in alike:
            twin = next((one for one in unique if _same(one, constant)), None)
            if twin is None:
                unique.append(constant)
            else:
                constant.value = twin.value


def _sample(constant: ConstantOp) -> bytes | None:
    """Return some elements of a constant without evaluating all pending ones; `None` for strings."""
    if not isinstance(constant.value, DisposableElementsAttr):
        array = _array(constant)
        return None if array is None else array[_spread(array.shape)].tobytes()
    if constant.value.dtype == np.object_:
        return None
    return constant.value.sample(_spread(constant.value.shape)).tobytes()


def _spread(shape: Sequence[int]) -> tuple[slice, ...]:
    """Return sample indices along the two longest axes, in the middle of the others."""
    longest = sorted(range(len(shape)), key=lambda axis: -shape[axis])[:2]
    return tuple(
        slice(None, None, max(1, size // SAMPLES)) if axis in longest else slice(size // 2, size // 2 + 1)
        for axis, size in enumerate(shape)
    )


def _array(constant: ConstantOp) -> Array | None:
    """Return the elements; `None` for strings, which have no bytes of their own."""
    array = None if constant.value is None else elements_array(constant.value)
    return None if array is None or array.dtype == np.object_ else array


def _same(a: ConstantOp, b: ConstantOp) -> bool:
    """Return whether two constants of one type are equal bit by bit: NaNs may be, 0 and -0 are not."""
    if a.value is b.value:
        return True
    first, second = _array(a), _array(b)
    assert first is not None
    assert second is not None
    return np.array_equal(_bytes(first), _bytes(second))


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
