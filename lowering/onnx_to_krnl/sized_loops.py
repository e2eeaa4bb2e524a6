"""
Loops whose sizes follow from the number of the iteration, which native code unrolls.

tf2onnx writes crops of images as a Loop whose body slices from `i` to `i + 1`. In the body these sizes are
dynamic, so that the session would run the loop; in a copy of the body for one iteration they are constants.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.tensor import ShapeOp, SizeOp
from xonnc.dialects.onnx.types import NONE, static_shape
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import may_be_cut
from xonnc.lowering.onnx_to_krnl.planning.shape_inputs import shape_determining_operands
from xonnc.rewriting.driver import apply_rules
from xonnc.transforms.rules.unroll_loops import unrolling
from xonnc.transforms.unroll_loops_onnx import UnrollLoops

MAX_OPS = 512
"""Limit of ops that such a loop may become: the session takes some 20 µs for each, a kernel far less."""


def unroll_sized_loops(module: ModuleOp, context: Context) -> bool:
    """Unroll the loops of a constant trip count with such sizes; return whether there were any."""
    rules = unrolling(MAX_OPS).guarded(["UnrollLoop"], sizes_follow_from_iterations)
    return apply_rules(module, context, rules, pass_name=UnrollLoops.name).changed


def sizes_follow_from_iterations(root: Operation) -> str | None:
    """A dynamic size of the body depends on the number of the iteration, and none on data."""
    body = root.regions[0].block
    by_iteration, known = set[SSAValue]((body.args[0],)), set[SSAValue]()
    is_sized = False
    for op in body.ops:
        if not isinstance(op, OnnxOp) or op.regions or may_be_cut(op):
            return f"{op.name} in the body may have sizes that depend on data"
        if isinstance(op, YieldOp):
            continue
        if any(result.type != NONE and static_shape(result.type) is None for result in op.results):
            sizes = [value for value in shape_determining_operands(op) if not _is_constant(value)]
            if any(value not in known and value not in by_iteration for value in sizes):
                return f"{op.name} in the body has sizes that depend on data"
            is_sized |= any(value in by_iteration for value in sizes)
        read = [value for value in op.operands if not _is_constant(value)]
        if isinstance(op, ConstantOp | ShapeOp | SizeOp) or all(value in known for value in read):
            known.update(op.results)
        elif all(value in known or value in by_iteration for value in read):
            by_iteration.update(op.results)
    return None if is_sized else "no size in the body depends on the number of the iteration"


def _is_constant(value: SSAValue) -> bool:
    return value.type == NONE or isinstance(value.owner, ConstantOp)
