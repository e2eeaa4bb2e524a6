"""
Inline ONNX function bodies of operators without a kernel.

The ONNX standard defines many operators by a function body of simpler ones (`CenterCropPad` is Slice and
Pad), specialised to the operand types of each node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, FunctionType, IntegerAttr, ModuleOp, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.generator import RangeOp
from xonnc.dialects.onnx.ops.preview import FlexAttentionOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked
from xonnc.errors import XonncError
from xonnc.formats.onnx.exporter import export_proto
from xonnc.formats.onnx.function_bodies import expand_to_body, has_function_body
from xonnc.formats.onnx.importer import import_proto
from xonnc.formats.onnx.op_versions import OP_TYPE, identity_of
from xonnc.transforms.decompose_flex_attention import decompose_flex_attention
from xonnc.transforms.model_opsets import opsets_of
from xonnc.transforms.optimization_levels import DEFAULT_PASSES, Passes
from xonnc.transforms.recompose_onnx import Recompose
from xonnc.transforms.simplify_onnx import Simplification

MAX_ROUNDS = 4
"""Nesting depth of function bodies: operators in a body may be functions themselves."""


OWN: Mapping[str, str] = {
    "FlexAttention": "Decomposed to matrix products and a softmax around its bodies, for static shapes."
}
"""Operators decomposed by code of this project instead of by their ONNX function body, and how."""

LEFT = (RangeOp,)
"""
Operators not inlined: the body of Range is a Loop, whose scan output the reference evaluator makes a column.
"""


def inline_standard_functions(
    module: ModuleOp, ctx: Context, is_selected: Callable[[Operation], bool], passes: Passes = DEFAULT_PASSES
) -> None:
    """
    Inline the function bodies of ops for which `is_selected` is true.

    The result is simplified by `passes`, which must not recompose the operator.
    """
    # Each round inlines one level: simplification in between infers the types that inner bodies depend on.
    for _ in range(MAX_ROUNDS):
        found = [
            op
            for op in module.walk()
            if isinstance(op, OnnxOp) and not isinstance(op, LEFT) and is_selected(op)
        ]
        # A list, not a generator: try every op, since each has its own types.
        if not sum([inline_body(op, module, ctx) for op in found]):
            return
        Simplification(module, ctx, passes - {Recompose.name}).run()


def inline_body(
    op: OnnxOp, module: ModuleOp, ctx: Context, prepare: Callable[[ModuleOp], None] | None = None
) -> bool:
    """
    Inline the function body of one op, if ONNX defines one; return whether it did.

    `prepare` may change the body before, as a module of its own; if it raises, the op is kept.
    """
    if isinstance(op, FlexAttentionOp):
        return decompose_flex_attention(op, DisposablePool.of(ctx))
    identity = identity_of(op)
    opset = dict(opsets_of(module) or ()).get(identity.domain if identity else "")
    if identity is None or opset is None or op.regions:
        return False
    # An operator of a newer opset than the model's: a contrib operator of onnxruntime that ONNX standardised
    # later, or one that a decomposition is written with.
    is_newer = OP_TYPE in op.attributes or opset < type(op).SINCE
    opset = max(opset, type(op).SINCE)
    if not has_function_body(identity.domain, identity.op_type, opset):
        return False
    read = list(dict.fromkeys(value for value in op.operands if value.type != NONE))
    if any(element_type(value.type) is None or not is_ranked(value.type) for value in read):
        return False
    try:
        model = export_proto(_alone(op, read, module, opset if is_newer else None))
        body = import_proto(expand_to_body(model, identity.domain, identity.op_type), ctx)
        body.verify()
    except (XonncError, VerifyException):
        # Not exportable in the opset of the model, or no body for these types: keep the op.
        return False
    if prepare is not None:
        prepare(body)
    _inline(op, read, body)
    return True


def _alone(op: Operation, read: list[SSAValue], module: ModuleOp, opset: int | None) -> ModuleOp:
    """Return a module with a copy of one op on operands of its own; in `opset`, or that of the model."""
    block = Block(arg_types=[value.type for value in read])
    values = dict[SSAValue, SSAValue](zip(read, block.args, strict=True))
    absent = NoValueOp()
    block.add_op(absent)
    values.update((value, absent.results[0]) for value in op.operands if value.type == NONE)
    made = op.clone(values)
    block.add_op(made)
    results = [result for result in made.results if result.type != NONE]
    block.add_op(ReturnOp.create(operands=results))
    type_ = FunctionType.from_lists([each.type for each in block.args], [each.type for each in results])
    opset_imports = module.attributes["onnx.opset_imports"]
    assert isinstance(opset_imports, DictionaryAttr)
    versions = dict(opset_imports.data)
    if opset is not None:
        versions = {domain: each for domain, each in versions.items() if domain != "ai.onnx"}
        versions[""] = IntegerAttr(opset, i64)
    imports = {"onnx.opset_imports": DictionaryAttr(versions)}
    return ModuleOp([FuncOp("node", type_, Region(block))], imports)


def _inline(op: Operation, read: list[SSAValue], body: ModuleOp) -> None:
    """Move the ops of a body before `op`, and replace the results of `op`."""
    function = next(each for each in body.ops if isinstance(each, FuncOp))
    block = function.body.block
    assert op.parent is not None
    location = derived(op.location)
    for argument, value in zip(list(block.args), read, strict=True):
        argument.replace_all_uses_with(value)
    for inner in list(block.ops):
        if isinstance(inner, ReturnOp):
            given = iter(list(inner.operands))
            inner.detach()
            inner.erase()
            for result in op.results:
                if result.type != NONE:
                    result.replace_all_uses_with(next(given))
        else:
            inner.detach()
            inner.location = location
            op.parent.insert_op_before(inner, op)
    op.detach()
    op.erase()
