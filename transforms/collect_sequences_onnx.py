"""
`collect-sequences-onnx`: replace sequences and tensors that a Loop appends to by scan outputs.

```mlir
%s = "onnx.SequenceEmpty"() : () -> !onnx.Seq<tensor<2xf32>>
%l = "onnx.Loop"(%m, %c, %s) ({
^bb0(%i: …, %go: …, %list: …):
  %longer = "onnx.SequenceInsert"(%list, %x, %none) : …
  onnx.Yield %go, %longer : …
}) : …
%y = "onnx.ConcatFromSequence"(%l) {axis = 0 : si64, new_axis = 1 : si64} : …
```

becomes a Loop with a scan output, which is `%y`. TorchScript exports list appends in this form. Likewise a
carried tensor that nothing reads but the Concat that makes it longer, which would copy it in each iteration:

```mlir
%y = "onnx.Loop"(%m, %c, %x) ({
^bb0(%i: …, %go: …, %all: …):
  %longer = "onnx.Concat"(%all, %row) <{axis = 0 : si64}> : …
  onnx.Yield %go, %longer : …
}) : …
```

becomes a Loop with the scan output `%row`, and a Concat of `%x` and its rows. A ConcatFromSequence of tensors
whose sizes differ stays, but gets the rank and the sizes that they have in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Block, OpResult, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from xonnc.dialects.onnx.ops.controlflow import LoopOp
from xonnc.dialects.onnx.ops.sequence import ConcatFromSequenceOp, SequenceEmptyOp, SequenceInsertOp
from xonnc.dialects.onnx.ops.tensor import ConcatOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, static_shape, tensor_type
from xonnc.rewriting.editing import erase
from xonnc.rewriting.onnx import Concat, Reshape, Transpose
from xonnc.transforms.rules.op_builder import OpBuilder
from xonnc.transforms.shape_inference_onnx import infer


@dataclass(frozen=True)
class CollectSequences(ModulePass):
    """Replace sequences and tensors to which a Loop appends one tensor per iteration by scan outputs."""

    name = "collect-sequences-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        collect_sequences(op)


def collect_sequences(module: ModuleOp) -> bool:
    """Rewrite all loops of a module that append to sequences or tensors; return whether there were any."""
    found = [op for op in module.walk() if isinstance(op, ConcatFromSequenceOp)]
    loops = [op for op in module.walk() if isinstance(op, LoopOp)]
    has_sequences = any([_rewritten(op) for op in found])
    has_tensors = any([_is_collected(op) for op in loops if op.parent is not None])
    return has_sequences or has_tensors


def _rewritten(concat: ConcatFromSequenceOp) -> bool:
    sequence = concat.input_sequence
    loop = sequence.owner
    if not isinstance(loop, LoopOp) or not isinstance(sequence, OpResult) or sequence.uses.get_length() != 1:
        return False
    position = sequence.index
    if position >= len(loop.v_initial) or not isinstance(loop.v_initial[position].owner, SequenceEmptyOp):
        return False
    insert = _insert(loop.body.block, position)
    shape = None if insert is None else static_shape(insert.tensor.type)
    axis = concat.axis.value.data
    is_new = bool(concat.new_axis.value.data)
    if insert is not None and shape is None:
        return _gets_rank(concat, insert.tensor, axis, is_new)
    if insert is None or shape is None or not (is_new or (shape and 0 not in shape)):
        return False
    rank = len(shape) + is_new
    if not -rank <= axis < rank:
        return False
    stacked = _stack(loop, position, insert, insert.tensor, shape)
    made = _placed(OpBuilder(concat), stacked, shape, axis % rank, is_new)
    concat.concat_result.replace_all_uses_with(made)
    empty = loop.v_initial[position].owner
    erase(concat)
    erase(loop)
    if isinstance(empty, SequenceEmptyOp) and not empty.output.uses.get_length():
        erase(empty)
    return True


def _gets_rank(concat: ConcatFromSequenceOp, tensor: SSAValue, axis: int, is_new: bool) -> bool:
    """
    Give the result the rank and the sizes that all tensors of the sequence have, if it has no rank yet.

    The sequence starts without elements, so that its type says nothing of their shapes.
    """
    if is_ranked(concat.concat_result.type) or not is_ranked(tensor.type):
        return False
    shape = list(tensor.type.get_shape())
    rank = len(shape) + is_new
    if not -rank <= axis < rank:
        return False
    shape[axis % rank : axis % rank + (not is_new)] = [DYNAMIC_INDEX]
    Rewriter.replace_value_with_new_type(
        concat.concat_result, tensor_type(tuple(shape), tensor.type.element_type)
    )
    return True


def _insert(body: Block, index: int) -> SequenceInsertOp | None:
    """
    Return the SequenceInsert on a carried sequence, if neither the sequence nor its result has another use.
    """
    carried, end = body.args[index + 2], body.last_op
    assert end is not None
    insert = end.operands[index + 1].owner
    if not isinstance(insert, SequenceInsertOp) or insert.input_sequence is not carried:
        return None
    is_alone = carried.uses.get_length() == 1 and insert.output_sequence.uses.get_length() == 1
    return insert if is_alone and insert.parent is body and insert.position.type == NONE else None


def _is_collected(loop: LoopOp) -> bool:
    """Replace the first carried tensor that only grows, and then the others; whether there was one."""
    for position in range(len(loop.v_initial)):
        appended = _appended(loop.body.block, position)
        shape = None if appended is None else static_shape(appended.inputs[1].type)
        if appended is None or not shape or 0 in shape:
            continue
        axis = appended.axis.value.data
        if not -len(shape) <= axis < len(shape):
            continue
        initial, result = loop.v_initial[position], loop.results[position]
        stacked = _stack(loop, position, appended, appended.inputs[1], shape)
        builder = OpBuilder(loop)
        rows = _placed(builder, stacked, shape, axis % len(shape), False)
        made = builder(Concat, initial, rows, axis=axis)
        result.replace_all_uses_with(made)
        erase(loop)
        after = stacked.owner
        assert isinstance(after, LoopOp)
        _is_collected(after)
        return True
    return False


def _appended(body: Block, index: int) -> ConcatOp | None:
    """Return the Concat that appends to a carried tensor, if nothing else reads the tensor or the result."""
    carried, end = body.args[index + 2], body.last_op
    assert end is not None
    concat = end.operands[index + 1].owner
    if not isinstance(concat, ConcatOp) or concat.parent is not body or len(concat.inputs) != 2:
        return None
    is_alone = carried.uses.get_length() == 1 and concat.concat_result.uses.get_length() == 1
    return concat if is_alone and concat.inputs[0] is carried else None


def _stack(
    loop: LoopOp, index: int, insert: SequenceInsertOp | ConcatOp, tensor: SSAValue, shape: Sequence[int]
) -> SSAValue:
    """Create a Loop that has the appended tensor as a scan output; return that output."""
    body = loop.body.block
    end = body.last_op
    assert end is not None
    end.operands = [each for number, each in enumerate(end.operands) if number != index + 1] + [tensor]
    insert.detach()
    insert.erase()
    body.erase_arg(body.args[index + 2])
    element = element_type(tensor.type)
    assert element is not None
    remaining = [result for number, result in enumerate(loop.results) if number != index]
    made = LoopOp.create(
        operands=[each for number, each in enumerate(loop.operands) if number != index + 2],
        result_types=[*(result.type for result in remaining), tensor_type((DYNAMIC_INDEX, *shape), element)],
        regions=[loop.detach_region(loop.body)],
    )
    made.location = loop.location
    assert loop.parent is not None
    loop.parent.insert_op_before(made, loop)
    infer(made)
    for old, new in zip(remaining, made.results, strict=False):
        old.replace_all_uses_with(new)
    return made.results[-1]


def _placed(builder: OpBuilder, stacked: SSAValue, shape: Sequence[int], axis: int, is_new: bool) -> SSAValue:
    """Return the stacked tensors along a new axis, or concatenated along one of theirs."""
    order = [*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1)]
    made = builder(Transpose, stacked, perm=order) if axis else stacked
    if is_new:
        return made
    return builder(Reshape, made, builder.ints(*shape[:axis], -1, *shape[axis + 1 :]), allowzero=0)
