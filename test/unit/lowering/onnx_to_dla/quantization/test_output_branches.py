"""Concatenations at outputs whose operands one scale does not fit."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xonnc.dialects.onnx.locations import node_name
from xonnc.formats.nvdla.calibration import Range
from xonnc.lowering.onnx_to_dla.quantization.keep_float import computing_ops, stays_float
from xonnc.lowering.onnx_to_dla.quantization.output_branches import separate_output_branches

WIDE, NARROW, TALL = "tensor<1x4x2xf32>", "tensor<1x2x2xf32>", "tensor<1x6x2xf32>"

DETECTOR = f"""
    %a = "onnx.Neg"(%x) : ({WIDE}) -> {WIDE} loc("boxes")
    %b = "onnx.Sigmoid"(%s) : ({NARROW}) -> {NARROW} loc("scores")
    %c = "onnx.Concat"(%a, %b) {{axis = 1 : si64}} : ({WIDE}, {NARROW}) -> {TALL} loc("join")
"""

RANGES = {"boxes": Range(0, 320), "scores": Range(0, 1)}


def module_of(context: Context, body: str, result: str, type_: str) -> ModuleOp:
    text = f"""func.func @f(%x: {WIDE}, %s: {NARROW}) -> ({type_}) {{
        {body} onnx.Return {result} : {type_} }}"""
    return Parser(context, text).parse_module()


def floats(module: ModuleOp) -> list[str]:
    return [node_name(op) for op in computing_ops(module) if stays_float(op)]


def test_boxes_and_scores_are_joined_in_float_with_what_follows(context: Context):
    turned = "tensor<1x2x6xf32>"
    view = f'%y = "onnx.Transpose"(%c) {{perm = [0, 2, 1]}} : ({TALL}) -> {turned} loc("turn")'
    module = module_of(context, DETECTOR + view, "%y", turned)
    assert separate_output_branches(module, RANGES) == 2
    assert floats(module) == ["join", "turn"]


def test_levels_of_joined_branches(context: Context):
    """The outer operands are alike, but each is a concatenation of unequal ones."""
    long = "tensor<1x6x4xf32>"
    outer = f'%y = "onnx.Concat"(%c, %z) {{axis = 2 : si64}} : ({TALL}, {TALL}) -> {long} loc("levels")'
    other = DETECTOR.replace("%c", "%z").replace("%a", "%d").replace("%b", "%e").replace('"join"', '"second"')
    module = module_of(context, DETECTOR + other + outer, "%y", long)
    ranges = {**RANGES, "join": Range(0, 320), "second": Range(0, 300)}
    assert separate_output_branches(module, ranges) == 3
    assert floats(module) == ["join", "second", "levels"]


@pytest.mark.parametrize(
    "ranges",
    [
        {"boxes": Range(0, 8), "scores": Range(0, 1)},
        {"boxes": Range(0, 320)},
        {"boxes": Range(0, 320), "scores": Range(-320, 0)},
    ],
    ids=["three bits", "unknown", "as large"],
)
def test_branches_that_one_scale_fits(ranges: dict[str, Range], context: Context):
    module = module_of(context, DETECTOR, "%c", TALL)
    assert separate_output_branches(module, ranges) == 0
    assert floats(module) == []


def test_concatenations_that_others_read_stay(context: Context):
    more = f'%y = "onnx.Neg"(%c) : ({TALL}) -> {TALL} loc("last")'
    for body, result, type_ in (
        (DETECTOR + more, "%y", TALL),
        (DETECTOR + more, "%c, %y", f"{TALL}, {TALL}"),
    ):
        assert separate_output_branches(module_of(context, body, result, type_), RANGES) == 0
