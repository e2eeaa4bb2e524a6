"""Modules that a pass of the back end cannot take: a line for each, never a traceback."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.cf import Cf
from xdsl.parser import Parser

from xonnc.errors import XonncError
from xonnc.lowering.dla.dla_allocate import DlaAllocate
from xonnc.lowering.dla.dla_resolve_views import DlaResolveViews
from xonnc.lowering.dla.dla_schedule import DlaSchedule
from xonnc.lowering.dla_to_loadable.emit_loadable import loadable_of
from xonnc.targets import load_target

SDP = '"dla.sdp"(%x) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}>'
HERE = '!dla.surface<tensor<1x8x4x4xf16>, "input_0" at 0, line 128, surface 512>'
THERE = '!dla.surface<tensor<1x8x4x4xf16>, "output_0" at 0, line 128, surface 512>'


def parsed(context: Context, text: str) -> ModuleOp:
    if context.get_optional_op("cf.br") is None:
        context.load_dialect(Cf)
    return Parser(context, text).parse_module()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            """func.func @f(%x: tensor<1x8xf32>) {
                 %y = "onnx.Relu"(%x) : (tensor<1x8xf32>) -> tensor<1x8xf32>
                 func.return }""",
            "@f: onnx.Relu is not a DLA operation; run convert-onnx-to-dla first",
        ),
        ("func.func @f() { cf.br ^end ^end: func.return }", "@f: a network of the DLA is one block, found 2"),
        ("func.func private @f()", "@f: a network of the DLA is one block, found 0"),
        (
            f"""func.func @f(%x: tensor<1x8x4x4xf32>) {{
                  %y = {SDP} : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
                  func.return }}""",
            "@f: tensor<1x8x4x4xf32> (the engines hold f16, i16 or i8)",
        ),
    ],
)
def test_no_networks(text: str, message: str, context: Context):
    for pass_type in (DlaResolveViews, DlaSchedule, DlaAllocate):
        with pytest.raises(XonncError) as caught:
            pass_type().apply(context, parsed(context, text))
        assert str(caught.value) == message


def test_a_second_allocation(context: Context):
    module = parsed(
        context,
        f"""func.func @f(%x: tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16> {{
              %y = {SDP} : (tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16>
              func.return %y : tensor<1x8x4x4xf16> }}""",
    )
    DlaAllocate().apply(context, module)
    with pytest.raises(XonncError, match="the module has memory objects already"):
        DlaAllocate().apply(context, module)


def test_cubes_marked_for_an_on_chip_memory_that_is_too_small(context: Context):
    marked = f"{SDP} {{cvsram}} : (tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16>"
    module = parsed(
        context,
        f"""func.func @f(%x: tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16> {{
              %y = {marked}
              %z = {marked.replace("%x", "%y").replace("{cvsram} ", "")}
              func.return %z : tensor<1x8x4x4xf16> }}""",
    )
    with pytest.raises(XonncError) as caught:
        DlaAllocate().apply(context, module)
    assert str(caught.value) == (
        "the cubes marked 'cvsram' take 512 bytes; the on-chip memory of nv_full has 0"
    )


def memory(name: str, role: str, size: int = 512) -> str:
    return f'"dla.memory"() <{{role = "{role}", size = {size} : i64, sym_name = "{name}"}}> : () -> ()\n'


BODY = f"func.func @f(%x: {HERE}) -> {THERE} {{ %y = {SDP} : ({HERE}) -> {THERE} func.return %y : {THERE} }}"
INPUT, OUTPUT = memory("input_0", "input"), memory("output_0", "output")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"""func.func @f(%x: tensor<1x8x4x4xf16>) {{
                  %y = {SDP} : (tensor<1x8x4x4xf16>) -> tensor<1x8x4x4xf16>
                  func.return }}""",
            "tensor<1x8x4x4xf16> has no address; run dla-allocate first",
        ),
        (OUTPUT + BODY, f'{HERE} ends at 512, but memory "input_0" is not there'),
        (
            memory("input_0", "input", 511) + OUTPUT + BODY,
            f'{HERE} ends at 512, but memory "input_0" has 511 bytes',
        ),
        (
            memory("input_1", "input") + INPUT + OUTPUT + BODY,
            'memory "input_1" has 0 inputs or outputs; it must have one',
        ),
        (
            INPUT
            + OUTPUT
            + f"""func.func @f(%x: {HERE}, %w: !dla.packed<tensor<8x8x1x1xf16>, "input_0" at 0, size 128>) {{
                %a = "dla.conv"(%x, %w) <{{dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
                strides = array<i64: 1, 1>}}> : ({HERE}, !dla.packed<tensor<8x8x1x1xf16>, "input_0" at 0,
                size 128>) -> !dla.flow<tensor<1x8x4x4xf32>> %y = "dla.sdp"(%a) <{{operandSegmentSizes =
                array<i32: 1, 0, 0, 0>}}> : (!dla.flow<tensor<1x8x4x4xf32>>) -> {THERE}
              func.return }}""",
            "a dla.conv has no banks of the convolution buffer; run dla-split first",
        ),
        (
            INPUT
            + OUTPUT
            + f"""func.func @f(%x: {HERE}) -> {THERE} {{
              %y = "dla.pdp"(%x) <{{kernel = array<i64: 1, 1>, mode = "max", pads = array<i64: 0, 0, 0, 0>,
                                    split_num = 3 : i64, strides = array<i64: 1, 1>}}> : ({HERE}) -> {THERE}
              func.return %y : {THERE} }}""",
            "dla.pdp: split_num 3 leaves a piece without one of the 4 columns; use a smaller one",
        ),
    ],
)
def test_no_loadables(text: str, message: str, context: Context):
    module = parsed(context, text)
    with pytest.raises(XonncError) as caught:
        loadable_of(module, load_target("nv_full"))
    assert str(caught.value) == message


def test_a_network_by_hand_becomes_a_loadable(context: Context):
    loadable = loadable_of(parsed(context, INPUT + OUTPUT + BODY), load_target("nv_full"))
    assert [tensor.name for tensor in loadable.tensors] == ["input_0", "output_0"]
