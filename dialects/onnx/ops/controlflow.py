"""Branches and loops; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import RecursiveMemoryEffect

from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.regions import branches, loop_body, scan_body
from xonnc.dialects.onnx.checks.shapes import single_element
from xonnc.dialects.onnx.constraints import INT_ARRAY_ATTR, INT_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class IfOp(OnnxOp):
    """The results of one of two branches."""

    name = "onnx.If"

    OP_TYPE: ClassVar = "If"
    SINCE: ClassVar = 1

    B: ClassVar = types("B", "i1")
    V: ClassVar = types(
        "V",
        "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string "
        "seq<i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes "
        "string> opt<i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN "
        "complexes string seq<i1 ints uints floats bf16 complexes string>>",
    )

    cond = operand_def(B)

    outputs = var_result_def(V.independent.one_or_more)

    then_branch = region_def("single_block")
    else_branch = region_def("single_block")

    traits = traits_def(RecursiveMemoryEffect(), Checks(branches, single_element("cond")))


@irdl_op_definition
class LoopOp(OnnxOp):
    """Iterations of the body until trip count or condition end them; scan outputs are stacked."""

    name = "onnx.Loop"

    OP_TYPE: ClassVar = "Loop"
    SINCE: ClassVar = 1

    I_TYPES: ClassVar = types("I", "i64")
    B: ClassVar = types("B", "i1")
    V: ClassVar = types(
        "V",
        "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string "
        "seq<i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes "
        "string> opt<i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN "
        "complexes string seq<i1 ints uints floats bf16 complexes string>>",
    )

    M = operand_def(I_TYPES.optional)
    cond = operand_def(B.optional)
    v_initial = var_operand_def(V.independent)

    v_final_and_scan_outputs = var_result_def(V.independent.one_or_more)

    body = region_def("single_block")

    traits = traits_def(
        RecursiveMemoryEffect(), Checks(loop_body, single_element("M"), single_element("cond"))
    )


@irdl_op_definition
class ScanOp(OnnxOp):
    """Iterations of the body over slices of the inputs; scan outputs are stacked."""

    name = "onnx.Scan"

    OP_TYPE: ClassVar = "Scan"
    SINCE: ClassVar = 9

    V: ClassVar = types(
        "V", "i1 ints uints int4s int2s floats bf16 float8s f8E8M0FNU f4E2M1FN complexes string"
    )

    initial_state_and_scan_inputs = var_operand_def(V.independent.one_or_more)

    final_state_and_scan_outputs = var_result_def(V.independent.one_or_more)

    body = region_def("single_block")

    num_scan_inputs = prop_def(INT_ATTR)
    scan_input_axes = opt_prop_def(INT_ARRAY_ATTR)
    scan_input_directions = opt_prop_def(INT_ARRAY_ATTR)
    scan_output_axes = opt_prop_def(INT_ARRAY_ATTR)
    scan_output_directions = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(RecursiveMemoryEffect(), Checks(scan_body))


@irdl_op_definition
class ScanV8Op(OnnxOp):
    """
    Iterations of the body over slices of the inputs; scan outputs are stacked.

    As of opset 8. The first dimension is a batch, each with its own length.
    """

    name = "onnx.ScanV8"

    OP_TYPE: ClassVar = "Scan"
    SINCE: ClassVar = 8
    UNTIL: ClassVar = 9

    I_TYPES: ClassVar = types("I", "i64")
    V: ClassVar = types("V", "i1 ints uints floats complexes string")

    sequence_lens = operand_def(I_TYPES.optional)
    initial_state_and_scan_inputs = var_operand_def(V.independent.one_or_more)

    final_state_and_scan_outputs = var_result_def(V.independent.one_or_more)

    body = region_def("single_block")

    directions = opt_prop_def(INT_ARRAY_ATTR)
    num_scan_inputs = prop_def(INT_ATTR)

    traits = traits_def(RecursiveMemoryEffect(), Checks(scan_body))


OPS: tuple[type[OnnxOp], ...] = (
    IfOp,
    LoopOp,
    ScanOp,
    ScanV8Op,
)
