"""Sequences of tensors; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import Pure, RecursiveMemoryEffect

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.elements import result_has_dtype, same_element
from xonnc.dialects.onnx.checks.regions import mapped_body
from xonnc.dialects.onnx.checks.shapes import holds_one
from xonnc.dialects.onnx.checks.values import axis_in_range, integer_in, sequence_split
from xonnc.dialects.onnx.constraints import INT_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class ConcatFromSequenceOp(OnnxOp):
    """The tensors of a sequence one after the other along `axis`, or a new one."""

    name = "onnx.ConcatFromSequence"

    OP_TYPE: ClassVar = "ConcatFromSequence"
    SINCE: ClassVar = 11

    S: ClassVar = types("S", "seq<i1 ints uints floats complexes string>")
    T: ClassVar = types("T", "i1 ints uints floats complexes string")

    input_sequence = operand_def(S)

    concat_result = result_def(T)

    axis = prop_def(INT_ATTR)
    new_axis = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            same_element(
                "input_sequence",
                "concat_result",
                "Element types of the tensor in seqence and output have to be the same",
            ),
            integer_in("new_axis", 0, 1),
        ),
    )


@irdl_op_definition
class SequenceAtOp(OnnxOp):
    """The tensor of a sequence at `position`, from the end if it is negative."""

    name = "onnx.SequenceAt"

    OP_TYPE: ClassVar = "SequenceAt"
    SINCE: ClassVar = 11

    S: ClassVar = types("S", "seq<i1 ints uints floats complexes string>")
    I_TYPES: ClassVar = types("I", "i32 i64")
    T: ClassVar = types("T", "i1 ints uints floats complexes string")

    input_sequence = operand_def(S)
    position = operand_def(I_TYPES)

    tensor = result_def(T)

    traits = traits_def(
        Pure(),
        Checks(
            same_element(
                "input_sequence",
                "tensor",
                "Element types of the tensor in seqence and output have to be the same",
            ),
            holds_one("position"),
        ),
    )


@irdl_op_definition
class SequenceConstructOp(OnnxOp):
    """The inputs as a sequence."""

    name = "onnx.SequenceConstruct"

    OP_TYPE: ClassVar = "SequenceConstruct"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i1 ints uints floats complexes string")
    S: ClassVar = types("S", "seq<i1 ints uints floats complexes string>")

    inputs = var_operand_def(T.one_or_more)

    output_sequence = result_def(S)

    traits = traits_def(Pure())


@irdl_op_definition
class SequenceEmptyOp(OnnxOp):
    """A sequence of no tensors."""

    name = "onnx.SequenceEmpty"

    OP_TYPE: ClassVar = "SequenceEmpty"
    SINCE: ClassVar = 11

    S: ClassVar = types("S", "seq<i1 ints uints floats complexes string>")

    output = result_def(S)

    dtype = opt_prop_def(INT_ATTR)

    traits = traits_def(
        Pure(),
        Checks(
            result_has_dtype(
                "dtype", "output", text="SequenceEmpty getDtype() does not match the output type"
            )
        ),
    )


@irdl_op_definition
class SequenceEraseOp(OnnxOp):
    """A sequence without its tensor at `position`, the last one by default."""

    name = "onnx.SequenceErase"

    OP_TYPE: ClassVar = "SequenceErase"
    SINCE: ClassVar = 11

    S: ClassVar = types("S", "seq<i1 ints uints floats complexes string>")
    I_TYPES: ClassVar = types("I", "i32 i64")

    input_sequence = operand_def(S)
    position = operand_def(I_TYPES.optional)

    output_sequence = result_def(S)

    traits = traits_def(Pure(), Checks(holds_one("position")))


@irdl_op_definition
class SequenceInsertOp(OnnxOp):
    """A sequence with one more tensor at `position`, at the end by default."""

    name = "onnx.SequenceInsert"

    OP_TYPE: ClassVar = "SequenceInsert"
    SINCE: ClassVar = 11

    S: ClassVar = types("S", "seq<i1 ints uints floats complexes string>")
    T: ClassVar = types("T", "i1 ints uints floats complexes string")
    I_TYPES: ClassVar = types("I", "i32 i64")

    input_sequence = operand_def(S)
    tensor = operand_def(T)
    position = operand_def(I_TYPES.optional)

    output_sequence = result_def(S)

    traits = traits_def(
        Pure(),
        Checks(
            same_element(
                "input_sequence",
                "tensor",
                "Element types of the tensor in seqence and input have to be the same",
            ),
            holds_one("position"),
        ),
    )


@irdl_op_definition
class SequenceLengthOp(OnnxOp):
    """The number of tensors in a sequence."""

    name = "onnx.SequenceLength"

    OP_TYPE: ClassVar = "SequenceLength"
    SINCE: ClassVar = 11

    S: ClassVar = types("S", "seq<i1 ints uints floats complexes string>")
    I_TYPES: ClassVar = types("I", "i64")

    input_sequence = operand_def(S)

    length = result_def(I_TYPES)

    traits = traits_def(Pure())


@irdl_op_definition
class SequenceMapOp(OnnxOp):
    """The results of the body for each element of the sequences."""

    name = "onnx.SequenceMap"

    OP_TYPE: ClassVar = "SequenceMap"
    SINCE: ClassVar = 17

    S: ClassVar = types("S", "seq<i1 ints uints floats complexes string>")
    V: ClassVar = types(
        "V", "i1 ints uints floats complexes string seq<i1 ints uints floats complexes string>"
    )

    input_sequence = operand_def(S)
    additional_inputs = var_operand_def(V.independent)

    out_sequence = var_result_def(S.independent.one_or_more)

    body = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect(), Checks(mapped_body))


@irdl_op_definition
class SplitToSequenceOp(OnnxOp):
    """The parts of the input along `axis`, as a sequence."""

    name = "onnx.SplitToSequence"

    OP_TYPE: ClassVar = "SplitToSequence"
    SINCE: ClassVar = 11

    T: ClassVar = types("T", "i1 ints uints floats bf16 complexes string")
    I_TYPES: ClassVar = types("I", "i32 i64")
    S: ClassVar = types("S", "seq<i1 ints uints floats bf16 complexes string>")

    input = operand_def(T)
    split = operand_def(I_TYPES.optional)

    output_sequence = result_def(S)

    axis = prop_def(INT_ATTR, int_attr(0))
    keepdims = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(), Checks(axis_in_range("axis", "input"), integer_in("keepdims", 0, 1), sequence_split)
    )


OPS: tuple[type[OnnxOp], ...] = (
    ConcatFromSequenceOp,
    SequenceAtOp,
    SequenceConstructOp,
    SequenceEmptyOp,
    SequenceEraseOp,
    SequenceInsertOp,
    SequenceLengthOp,
    SequenceMapOp,
    SplitToSequenceOp,
)
