"""
Regions of a network that are elementwise functions of one tensor, within which nothing is quantized.

In int8 such a region becomes a single lookup table (`onnx_to_dla/table_lookup.py`). It starts at a quantized
value and ends where the paths from there join:

```mlir
%s = "onnx.Sigmoid"(%x)
%y = "onnx.Mul"(%x, %s)
```

or it is a function and the operators that follow it, each the only reader of the one before:

```mlir
%s = "onnx.Sqrt"(%x)
%t = "onnx.Add"(%s, %epsilon)
%y = "onnx.Reciprocal"(%t)
```
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, OpResult, SSAValue

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.math import DivOp, PowOp
from xonnc.dialects.onnx.types import NONE, static_shape
from xonnc.lowering.onnx_to_dla.builders.unary_functions import INT8_FUNCTIONS
from xonnc.lowering.onnx_to_dla.int8.table_lookup import BINARY_TABLE_OPS, is_elementwise

MIN_CHAIN = 2
"""Operators of a chain that is one region: of a single one nothing is left out."""


@dataclass(frozen=True)
class LookupRegion:
    """A function of `root`: the values computed between it and the only result."""

    root: SSAValue
    inner: frozenset[SSAValue]


def lookup_regions(block: Block) -> list[LookupRegion]:
    """Return the maximal regions of `block`: a region that ends earlier is part of a later one."""
    parents: dict[SSAValue, tuple[SSAValue, ...]] = {
        op.results[0]: found for op in block.ops if (found := computed_operands(op)) is not None
    }
    positions = {op: index for index, op in enumerate(block.ops)}
    regions: list[LookupRegion] = []
    taken: set[SSAValue] = set()
    for value, operands in reversed(parents.items()):
        if len(operands) < 2 or value in taken:
            continue
        region = _region(value, parents, positions)
        if region is not None:
            regions.append(region)
            taken |= region.inner
    ends = {op.results[0] for region in regions for value in region.inner for op in _readers(value)}
    for value in reversed(parents):
        if value not in taken and value not in ends and (region := _chain(value, parents)) is not None:
            regions.append(region)
            taken |= region.inner
    return regions


def computed_operands(op: Operation) -> tuple[SSAValue, ...] | None:
    """Return the operands of an elementwise operator without scalar constants; `None` for other operators."""
    if not isinstance(op, OnnxOp) or not is_elementwise(op):
        return None
    computed = tuple(
        dict.fromkeys(value for value in op.operands if value.type != NONE and not _is_number(value))
    )
    shapes = {static_shape(value.type) for value in (*computed, op.results[0])}
    return computed if computed and len(shapes) == 1 and None not in shapes else None


def _is_number(value: SSAValue) -> bool:
    shape = static_shape(value.type)
    is_constant = isinstance(value, OpResult) and isinstance(value.op, ConstantOp)
    return is_constant and shape is not None and all(size == 1 for size in shape)


def _region(
    value: SSAValue, parents: Mapping[SSAValue, Sequence[SSAValue]], positions: Mapping[Operation, int]
) -> LookupRegion | None:
    """Return the region that ends in `value`, from the nearest value that dominates all paths to it."""
    ancestors = sorted(_ancestors(value, parents), key=lambda each: _position(each, positions), reverse=True)
    for root in ancestors:
        inner = _between(root, value, parents)
        if inner is not None:
            operations = {each.owner for each in inner} | {value.owner}
            is_closed = all(use.operation in operations for each in inner for use in each.uses)
            if not is_closed or not any(_needs_table(op, parents) for op in operations):
                return None
            return LookupRegion(root, frozenset(inner | _behind(value, parents)))
    return None


def _chain(value: SSAValue, parents: Mapping[SSAValue, Sequence[SSAValue]]) -> LookupRegion | None:
    """Return the region of operators of one operand that ends in `value` and starts with a function."""
    path = [value]
    while len(parents.get(path[-1], ())) == 1:
        (operand,) = parents[path[-1]]
        path.append(operand)
        if not operand.has_one_use():
            break
    # What comes before the first function is part of the pass that quantizes its operand.
    while len(path) > 1 and not _is_function(path[-2].owner, parents):
        path.pop()
    return LookupRegion(path[-1], frozenset(path[1:-1])) if len(path) > MIN_CHAIN else None


def _is_function(op: Operation | Block, parents: Mapping[SSAValue, Sequence[SSAValue]]) -> bool:
    """Whether an operator of one operand needs a lookup table."""
    if isinstance(op, DivOp):
        return op.B in parents[op.C]
    return isinstance(op, PowOp) or _needs_table(op, parents)


def _readers(value: SSAValue) -> list[Operation]:
    return [use.operation for use in value.uses]


def _ancestors(value: SSAValue, parents: Mapping[SSAValue, Sequence[SSAValue]]) -> set[SSAValue]:
    result: set[SSAValue] = set()
    worklist = list(parents[value])
    while worklist:
        each = worklist.pop()
        if each not in result:
            result.add(each)
            worklist += parents.get(each, ())
    return result


def _position(value: SSAValue, positions: Mapping[Operation, int]) -> int:
    return positions[value.owner] if isinstance(value.owner, Operation) else -1


def _between(
    root: SSAValue, value: SSAValue, parents: Mapping[SSAValue, Sequence[SSAValue]]
) -> set[SSAValue] | None:
    """Return the values computed from `root` on the way to `value`, `None` if they need others."""
    result: set[SSAValue] = set()
    worklist = list(parents[value])
    while worklist:
        each = worklist.pop()
        if each is root or each in result:
            continue
        if each not in parents:
            return None
        result.add(each)
        worklist += parents[each]
    return result


def _needs_table(op: Operation | Block, parents: Mapping[SSAValue, Sequence[SSAValue]]) -> bool:
    """Whether an SDP pass cannot compute an operator on values that are not quantized."""
    if not isinstance(op, Operation):
        return False
    return type(op) in INT8_FUNCTIONS or (
        isinstance(op, BINARY_TABLE_OPS) and len(parents[op.results[0]]) > 1
    )


def _behind(value: SSAValue, parents: Mapping[SSAValue, Sequence[SSAValue]]) -> set[SSAValue]:
    """Return `value` and its successors as long as a single reader makes a function of it alone."""
    return set(_followed(value, parents))


def _followed(value: SSAValue, parents: Mapping[SSAValue, Sequence[SSAValue]]) -> Iterator[SSAValue]:
    while value.has_one_use():
        reader = next(iter(value.uses)).operation
        if not reader.results or parents.get(reader.results[0]) != (value,):
            return
        yield value
        value = reader.results[0]
