"""Plans of convolutions that load beside each other, and rows that are read."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from xonnc.dialects.dla.engines import ConvOp
from xonnc.dialects.dla.storage import ConcatOp, ReshapeOp, SliceOp
from xonnc.lowering.dla.network_checks import blocks
from xonnc.lowering.dla.pipelined_plans import pipelined_plans
from xonnc.lowering.dla.rows_read import rows_read
from xonnc.lowering.dla_planning.convolution_tiling import ConvolutionPlan
from xonnc.targets import load_target


def parsed(context: Context, body: str, arguments: str, result: str) -> ModuleOp:
    text = f"func.func @main({arguments}) -> {result} {{\n{body}\n}}"
    return Parser(context, text).parse_module()


def conv(source: str, name: str, shape: str, weights: str, result: str, window: str) -> str:
    """A convolution and its pass."""
    return f"""
      %a{name} = "dla.conv"({source}, %w{name}) <{{dilations = array<i64: 1, 1>, {window}}}>
        : (tensor<1x{shape}xi8>, tensor<{weights}xi8>) -> !dla.flow<tensor<1x{result}xi32>>
      %{name} = "dla.sdp"(%a{name}) <{{operandSegmentSizes = array<i32: 1, 0, 0, 0>}}>
        : (!dla.flow<tensor<1x{result}xi32>>) -> tensor<1x{result}xi8>"""


SAME = "pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>"
SINGLE = "pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>"
STRIDED = "pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>"


def plans_of(module: ModuleOp, target: str = "nv_small") -> list[ConvolutionPlan]:
    (block,) = blocks(module)
    return list(pipelined_plans(block, load_target(target)).values())


def test_a_convolution_larger_than_the_buffer_loads_beside_itself(context: Context):
    body = conv("%x", "y", "64x56x56", "8x64x3x3", "8x56x56", SAME)
    module = parsed(
        context,
        f"{body}\nfunc.return %y : tensor<1x8x56x56xi8>",
        "%x: tensor<1x64x56x56xi8>, %wy: tensor<8x64x3x3xi8>",
        "tensor<1x8x56x56xi8>",
    )
    (plan,) = plans_of(module)
    # Two tiles fit the data banks at once, 448 entries a row.
    first, second = (tile.inputs for tile in plan.tiles[:2])
    assert (first + second) * 448 <= plan.data_banks * 512
    assert plan.weights_resident


def test_a_convolution_has_the_bank_split_of_the_one_before(context: Context):
    body = conv("%x", "a", "64x28x28", "64x64x3x3", "64x28x28", SAME)
    body += conv("%a", "y", "64x28x28", "64x64x1x1", "64x28x28", SINGLE)
    module = parsed(
        context,
        f"{body}\nfunc.return %y : tensor<1x64x28x28xi8>",
        "%x: tensor<1x64x28x28xi8>, %wa: tensor<64x64x3x3xi8>, %wy: tensor<64x64x1x1xi8>",
        "tensor<1x64x28x28xi8>",
    )
    first, second = plans_of(module)
    # 9 banks of weights for the first, of which the second needs one.
    assert (first.data_banks, first.weight_banks) == (second.data_banks, second.weight_banks)
    assert second.weight_banks >= 9
    assert len(first.tiles) > 1


def test_every_tile_gives_a_row_that_is_read(context: Context):
    body = conv("%x", "a", "64x29x28", "64x64x3x3", "64x29x28", SAME)
    body += """
      %s = "dla.slice"(%a) <{offsets = array<i64: 0, 0, 0>}>
        : (tensor<1x64x29x28xi8>) -> tensor<1x64x5x28xi8>"""
    body += conv("%s", "y", "64x5x28", "8x64x1x1", "8x5x28", SINGLE)
    module = parsed(
        context,
        f"{body}\nfunc.return %y : tensor<1x8x5x28xi8>",
        "%x: tensor<1x64x29x28xi8>, %wa: tensor<64x64x3x3xi8>, %wy: tensor<8x64x1x1xi8>",
        "tensor<1x8x5x28xi8>",
    )
    first, _ = plans_of(module)
    assert all(tile.first_output < 5 for tile in first.tiles)


def test_rows_read_through_views(context: Context):
    body = """
      %r = "dla.reshape"(%x) : (tensor<1x8x8x4xi8>) -> tensor<1x8x4x8xi8>
      %s = "dla.slice"(%r) <{offsets = array<i64: 0, 0, 0>}> : (tensor<1x8x4x8xi8>) -> tensor<1x8x4x4xi8>"""
    body += conv("%s", "a", "8x4x4", "8x8x1x1", "8x2x2", STRIDED)
    body += """
      %c = "dla.concat"(%a, %a) <{axis = 2 : i64}>
        : (tensor<1x8x2x2xi8>, tensor<1x8x2x2xi8>) -> tensor<1x8x4x2xi8>
      %i = "dla.concat"(%z, %z) <{axis = 2 : i64, is_interleaved}>
        : (tensor<1x8x2x2xi8>, tensor<1x8x2x2xi8>) -> tensor<1x8x4x2xi8>
      %p = "dla.slice"(%i) <{offsets = array<i64: 0, 1, 0>}> : (tensor<1x8x4x2xi8>) -> tensor<1x8x1x2xi8>
      %q = "dla.slice"(%c) <{offsets = array<i64: 0, 3, 0>}> : (tensor<1x8x4x2xi8>) -> tensor<1x8x1x2xi8>
      %y = "dla.sdp"(%p) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}>
        : (tensor<1x8x1x2xi8>) -> tensor<1x8x1x2xi8>
      %v = "dla.sdp"(%q) <{operandSegmentSizes = array<i32: 1, 0, 0, 0>}>
        : (tensor<1x8x1x2xi8>) -> tensor<1x8x1x2xi8>
      func.return %y, %v : tensor<1x8x1x2xi8>, tensor<1x8x1x2xi8>"""
    module = parsed(
        context,
        body,
        "%x: tensor<1x8x8x4xi8>, %wa: tensor<8x8x1x1xi8>, %z: tensor<1x8x2x2xi8>",
        "(tensor<1x8x1x2xi8>, tensor<1x8x1x2xi8>)",
    )
    (block,) = blocks(module)
    found = {type(op): op for op in block.ops if isinstance(op, ReshapeOp | ConvOp)}
    reshape, convolution = found[ReshapeOp], found[ConvOp]
    # Rows 0 and 2 of the slice are rows 0 and 4 of the source of the reshape.
    assert rows_read(reshape.operands[0]) == {0, 4}
    assert rows_read(convolution.operands[0]) == {0, 2}
    concat, interleaved = (op for op in block.ops if isinstance(op, ConcatOp))
    assert rows_read(concat.operands[0]) == {1}
    assert rows_read(interleaved.operands[0]) == {0}
    assert rows_read(next(op for op in block.ops if isinstance(op, SliceOp)).result) == {0, 2}
