"""
`assign-precision-onnx`: compute nodes of a quantized network in FP16 where the engines can and INT8 does not
suffice.

These are nodes that stay in float (`dla.keep_float`), and those that the lowering refuses in INT8 but not in
FP16. The attribute `dla.precision` says so:

```mlir
%y = "onnx.LRN"(%x) {dla.precision = "fp16"}
```
QDQ pairs that the compiler inserted between such nodes are removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.elements import DisposablePool, drop_attributes
from xonnc.dialects.onnx.ops.builtin import ReturnOp
from xonnc.dialects.onnx.ops.quantization import QuantizeLinearOp
from xonnc.lowering.onnx_to_dla.builders.node_precision import (
    clear_precision,
    mixes_precisions,
    runs_in_fp16,
    set_fp16,
)
from xonnc.lowering.onnx_to_dla.builders.operator_builder import FP16_LOWERINGS
from xonnc.lowering.onnx_to_dla.builders.qdq_pairs import is_quantized
from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import AtBoundary, Refusal, lower_network
from xonnc.lowering.onnx_to_dla.quantization.keep_float import computing_ops, stays_float
from xonnc.lowering.placement.fp16_overflow import overflows
from xonnc.lowering.placement.remove_qdq_pairs import Pair, remove_qdq_pairs
from xonnc.targets import NvdlaTarget, load_target


@dataclass(frozen=True)
class AssignPrecisionOnnx(ModulePass):
    """
    Compute nodes of a quantized network in FP16 that stay in float or that INT8 cannot express.

    Nothing changes for targets without FP16.
    """

    name = "assign-precision-onnx"

    target: str = "nv_full"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        assign_precision(op, load_target(self.target))


def assign_precision(module: ModuleOp, target: NvdlaTarget) -> None:
    """Set the attribute `dla.precision` of nodes that run in FP16, if `module` is quantized."""
    if not mixes_precisions(target) or not is_quantized(module):
        return
    ops = computing_ops(module)
    excluded = {op for op in ops if type(op) not in FP16_LOWERINGS} | overflows(ops).keys()
    for op in ops:
        if stays_float(op) and op not in excluded:
            set_fp16(op)
    _assign_refused(module, target, excluded)
    remove_qdq_pairs(module, _is_between_reals)


def _assign_refused(module: ModuleOp, target: NvdlaTarget, excluded: set[Operation]) -> None:
    """
    Compute in FP16 what is refused in INT8, with the nodes that no pair separates from it; what is refused in
    FP16 too keeps the precision of the network.

    Each round lowers a copy and changes the precision of a node, at most twice in all: it ends.
    """
    changed = True
    while changed:
        changed = False
        for op in _refused(module, target):
            if op in excluded:
                continue
            if not runs_in_fp16(op):
                changed = True
                for each in _unit(op) - excluded:
                    set_fp16(each)
            elif not stays_float(op):
                changed = True
                excluded.add(op)
                clear_precision(op)


def _unit(op: Operation) -> set[Operation]:
    """Return the nodes that no QDQ pair separates from `op`, an engine's pass in INT8, and `op`."""
    found, worklist = {op}, [op]
    while worklist:
        one = worklist.pop()
        makers = [value.owner for value in one.operands]
        readers = [use.operation for result in one.results for use in result.uses]
        for each in (*makers, *readers):
            if isinstance(each, Operation) and type(each) in FP16_LOWERINGS and each not in found:
                found.add(each)
                worklist.append(each)
    return found


def _refused(module: ModuleOp, target: NvdlaTarget) -> list[Operation]:
    """Return the nodes of `module` that the target refuses in their precisions."""
    copy = module.clone()
    originals: dict[Operation, Operation] = dict(zip(computing_ops(copy), computing_ops(module), strict=True))
    _, refusals = lower_network(copy, target, DisposablePool())
    found = [originals[op] for refusal in refusals for op in _subjects(refusal) if op in originals]
    drop_attributes(copy)
    return list(dict.fromkeys(found))


def _subjects(refusal: Refusal) -> Iterator[Operation]:
    """Yield the operator that a refusal is about; of a QuantizeLinear, whose pass it ends."""
    about = refusal.about.op if isinstance(refusal.about, AtBoundary) else refusal.about
    if isinstance(about, QuantizeLinearOp):
        about = about.x.owner
    if isinstance(about, Operation):
        yield about


def _is_between_reals(pair: Pair) -> bool:
    """Whether a pair separates nodes in FP16 from each other, or from an input or output of the network."""
    quantize, dequantize = pair
    maker = quantize.x.owner
    readers = [use.operation for use in dequantize.y.uses]
    are_real = [runs_in_fp16(maker), *map(runs_in_fp16, readers)]
    are_ends = [isinstance(maker, Block), *(isinstance(reader, ReturnOp) for reader in readers)]
    return any(are_real) and all(real or end for real, end in zip(are_real, are_ends, strict=True))
