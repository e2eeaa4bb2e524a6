"""Plans of convolutions that load beside each other, and rows that are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from math import inf
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i64
from xdsl.parser import Parser

from xonnc.dialects.dla.engines import ConvOp, PdpOp
from xonnc.dialects.dla.storage import ConcatOp, ReshapeOp, SliceOp
from xonnc.formats.nvdla.cycles import Demand
from xonnc.formats.nvdla.timeline import Span, Timeline
from xonnc.lowering.dla.dla_split import split
from xonnc.lowering.dla.fused_layers import fused_layers
from xonnc.lowering.dla.network_checks import blocks
from xonnc.lowering.dla.pipelined_plans import PlannedLayers, cycles_of, pipelined_plans
from xonnc.lowering.dla.plan_sequence import PlanSequence, RowsDone, source_rows
from xonnc.lowering.dla.planned_layers import PlannedConvolution
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
    return list(pipelined_plans(block, load_target(target)).convolutions.values())


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


def pieces(context: Context, count: int) -> ModuleOp:
    """Equal convolutions of slices of one cube, whose results are joined, and one that reads them."""
    body, names = "", [f"p{index}" for index in range(count)]
    for index, name in enumerate(names):
        body += f"""
      %s{name} = "dla.slice"(%x) <{{offsets = array<i64: {8 * index}, 0, 0>}}>
        : (tensor<1x{8 * count}x56x56xi8>) -> tensor<1x8x56x56xi8>"""
        body += conv(f"%s{name}", name, "8x56x56", "8x8x3x3", "8x56x56", SAME)
    types = ", ".join("tensor<1x8x56x56xi8>" for _ in names)
    body += f"""
      %c = "dla.concat"({", ".join(f"%{name}" for name in names)}) <{{axis = 1 : i64}}>
        : ({types}) -> tensor<1x{8 * count}x56x56xi8>"""
    body += conv("%c", "y", f"{8 * count}x56x56", f"8x{8 * count}x1x1", "8x56x56", SINGLE)
    weights = ", ".join(f"%w{name}: tensor<8x8x3x3xi8>" for name in names)
    return parsed(
        context,
        f"{body}\nfunc.return %y : tensor<1x8x56x56xi8>",
        f"%x: tensor<1x{8 * count}x56x56xi8>, {weights}, %wy: tensor<8x{8 * count}x1x1xi8>",
        "tensor<1x8x56x56xi8>",
    )


def test_equal_pieces_are_planned_once(context: Context, monkeypatch: pytest.MonkeyPatch):
    added: list[int] = []
    add = Timeline.add

    def counted(self: Timeline, *args: Any) -> Span:
        added.append(1)
        return add(self, *args)

    monkeypatch.setattr(Timeline, "add", counted)
    tried: list[int] = []
    plans: list[ConvolutionPlan] = []
    for count in (4, 12, 20):
        added.clear()
        plans = plans_of(pieces(context, count))
        assert len(plans) == count + 1
        tried.append(len(added))
    # Each further piece tries at most 3 plans after 3 sequences, and adds 3.
    tiles = max(len(plan.tiles) for plan in plans)
    assert tried[2] - tried[1] <= 8 * (9 + 3) * tiles


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


def test_tiles_that_write_rows_of_a_view(context: Context):
    """Compared with the tiles that hold the elements of each row."""
    module = parsed(
        context,
        """
      %r = "dla.reshape"(%x) : (tensor<1x8x8x6xi8>) -> tensor<1x8x4x12xi8>
      %w = "dla.reshape"(%x) : (tensor<1x8x8x6xi8>) -> tensor<1x8x16x3xi8>
      %s = "dla.slice"(%x) <{offsets = array<i64: 0, 3, 0>}> : (tensor<1x8x8x6xi8>) -> tensor<1x8x5x6xi8>
      %c = "dla.concat"(%s, %x) <{axis = 2 : i64}>
        : (tensor<1x8x5x6xi8>, tensor<1x8x8x6xi8>) -> tensor<1x8x13x6xi8>
      %i = "dla.concat"(%x, %x) <{axis = 2 : i64, is_interleaved}>
        : (tensor<1x8x8x6xi8>, tensor<1x8x8x6xi8>) -> tensor<1x8x16x6xi8>
      func.return %x : tensor<1x8x8x6xi8>""",
        "%x: tensor<1x8x8x6xi8>",
        "tensor<1x8x8x6xi8>",
    )
    (block,) = blocks(module)
    (x,) = block.args
    sequence = PlanSequence(Timeline(load_target("nv_small")))
    tiles = [(0, 3), (3, 5), (5, 8)]
    sequence.done[x] = tuple(RowsDone(begin, end, step) for step, (begin, end) in enumerate(tiles))
    tile_of_row = np.repeat([0, 1, 2], [3, 2, 3])
    elements = np.repeat(tile_of_row, 6)
    rows = {
        "r": elements.reshape(4, 12),
        "w": elements.reshape(16, 3),
        "s": elements.reshape(8, 6)[3:],
        "c": np.concatenate([elements.reshape(8, 6)[3:], elements.reshape(8, 6)]),
        "i": elements.reshape(8, 6).repeat(2, axis=0),
    }
    for op, expected in zip([op for op in block.ops if op.results], rows.values(), strict=True):
        for begin, end in combinations(range(len(expected) + 1), 2):
            found = set(sequence.writers(source_rows(op.results[0], begin, end)))
            assert found == set(expected[begin:end].flat), (op, begin, end)


POOL = """
      %p = "dla.pdp"(%a) <{kernel = array<i64: 3, 3>, mode = "max", pads = array<i64: 1, 1, 0, 0>,
                           split_num = 1, strides = array<i64: 2, 2>}>
        : (tensor<1x64x56x56xi8>) -> tensor<1x64x28x28xi8>"""


def test_a_pooling_runs_beside_the_convolution_before(context: Context):
    body = conv("%x", "a", "64x56x56", "64x64x3x3", "64x56x56", SAME) + POOL
    module = parsed(
        context,
        f"{body}\nfunc.return %p : tensor<1x64x28x28xi8>",
        "%x: tensor<1x64x56x56xi8>, %wa: tensor<64x64x3x3xi8>",
        "tensor<1x64x28x28xi8>",
    )
    (block,) = blocks(module)
    ((_, tiles),) = pipelined_plans(block, load_target("nv_small")).pools.items()
    assert {tile.outputs for tile in tiles} <= {28 // len(tiles), 28 // len(tiles) + 1}
    split(module, load_target("nv_small"))
    module.verify()
    pools = [op for op in module.walk() if isinstance(op, PdpOp)]
    assert len(pools) == len(tiles) > 1
    # Only the first has padding above; each reads the rows that its windows reach.
    assert [op.pads.get_values()[0] for op in pools] == [1, *(0 for _ in tiles[1:])]
    assert [tile.inputs for tile in tiles] == [2 * tile.outputs + (tile is not tiles[0]) for tile in tiles]


def test_a_pooling_by_itself_is_not_tiled(context: Context):
    module = parsed(
        context,
        f"{POOL}\nfunc.return %p : tensor<1x64x28x28xi8>",
        "%a: tensor<1x64x56x56xi8>",
        "tensor<1x64x28x28xi8>",
    )
    (block,) = blocks(module)
    assert not pipelined_plans(block, load_target("nv_small")).pools


def shared(context: Context, between: str = "", last: str = "a") -> list[tuple[bool, bool]]:
    """Return whether each of two convolutions with the same weights keeps them, and uses those kept."""
    body = conv("%x", "a", "8x8x8", "8x8x1x1", "8x8x8", SINGLE) + between
    body += conv("%" + last, "y", "8x8x8", "8x8x1x1", "8x8x8", SINGLE).replace("%wy", "%wa")
    module = parsed(
        context,
        f"{body}\nfunc.return %y : tensor<1x8x8x8xi8>",
        "%x: tensor<1x8x8x8xi8>, %wa: tensor<8x8x1x1xi8>",
        "tensor<1x8x8x8xi8>",
    )
    split(module, load_target("nv_small"))
    banks = [op.banks.data for op in module.walk() if isinstance(op, ConvOp) and op.banks]
    return [(each.skip_weight_release, each.weight_reuse) for each in banks]


def test_weights_that_convolutions_in_a_row_share_are_loaded_once(context: Context):
    assert shared(context) == [(True, False), (False, True)]


def test_weights_do_not_stay_between_tasks(context: Context):
    power = """
      %p = "dla.power"(%a) <{power = 1.0 : f32, scale = 1.0 : f32, shift = 0.0 : f32}>
        : (tensor<1x8x8x8xi8>) -> tensor<1x8x8x8xi8>"""
    assert shared(context, power, "p") == [(False, False), (False, False)]


@pytest.mark.parametrize("target", ["nv_small", "nv_small_256", "nv_full"])
@pytest.mark.parametrize("size", [28, 56, 112])
def test_plans_are_those_of_a_search_that_leaves_none_out(
    size: int, target: str, context: Context, monkeypatch: pytest.MonkeyPatch
):
    image = f"64x{size}x{size}"
    body = conv("%x", "a", image, "64x64x3x3", image, SAME)
    body += conv("%a", "b", image, "96x64x1x1", f"96x{size}x{size}", SINGLE)
    body += conv("%b", "c", f"96x{size}x{size}", "64x96x3x3", image, SAME)
    body += conv("%a", "y", image, "64x64x3x3", image, SAME)
    module = parsed(
        context,
        f"{body}\nfunc.return %c, %y : tensor<1x{image}xi8>, tensor<1x{image}xi8>",
        f"%x: tensor<1x{image}xi8>, %wa: tensor<64x64x3x3xi8>, %wb: tensor<96x64x1x1xi8>,"
        " %wc: tensor<64x96x3x3xi8>, %wy: tensor<64x64x3x3xi8>",
        f"(tensor<1x{image}xi8>, tensor<1x{image}xi8>)",
    )
    tiles = Counter[str]()
    add = Timeline.add

    def counted(self: Timeline, demand: Demand, engines: Sequence[str], after: Sequence[int] = ()) -> Span:
        tiles[search] += 1
        return add(self, demand, engines, after)

    def unlimited(self: object, split: tuple[int, int]) -> float:
        return inf

    monkeypatch.setattr(Timeline, "add", counted)
    search = "short"
    found = plans_of(module, target)
    monkeypatch.setattr("xonnc.lowering.dla.pipelined_plans._EarliestEnds.limit", unlimited)
    search = "whole"
    assert found == plans_of(module.clone(), target)
    assert tiles["short"] < tiles["whole"]


def branches(context: Context) -> ModuleOp:
    """Convolutions of one cube, a pooling, a softmax that ends a task, and a sum of what they give."""
    shape, kernels = "32x28x28", "32x32x3x3"
    body = "".join(conv("%x", name, shape, kernels, shape, SAME) for name in "abc")
    body += f"""
      %p = "dla.pdp"(%a) <{{function = "MAX", kernel = array<i64: 3, 3>, {SAME}}}>
        : (tensor<1x{shape}xi8>) -> tensor<1x{shape}xi8>
      %e = "dla.softmax"(%b) <{{axis = 1 : i64}}> : (tensor<1x{shape}xi8>) -> tensor<1x{shape}xi8>"""
    body += "".join(
        conv(f"%{source}", name, shape, kernels, shape, SAME) for source, name in ("pd", "ef", "cg")
    )
    weights = ", ".join(f"%w{name}: tensor<{kernels}xi8>" for name in "abcdfg")
    results = ", ".join([f"tensor<1x{shape}xi8>"] * 3)
    return parsed(
        context,
        f"{body}\nfunc.return %d, %f, %g : {results}",
        f"%x: tensor<1x{shape}xi8>, {weights}",
        f"({results})",
    )


@pytest.mark.parametrize("target", ["nv_small", "nv_full"])
def test_another_order_goes_on_from_the_layers_that_it_shares(context: Context, target: str):
    (block,) = blocks(branches(context))
    layers, hardware = list(fused_layers(block)), load_target(target)
    planned, count = PlannedLayers(layers, hardware), len(layers)
    orders = [
        [*range(count)],
        *([*range(first), *reversed(range(first, count))] for first in range(0, count, 2)),
    ]
    for order in orders:
        # Choices are known for the block: a copy has none.
        (copy,) = blocks(branches(context))
        others = list(fused_layers(copy))
        assert planned.cycles_of(order) == cycles_of([others[index] for index in order], hardware)
    assert planned.cycles == cycles_of(layers, hardware)


def share_weights(convolutions: Sequence[ConvOp]) -> None:
    """Let the second convolution have the weights of the first."""
    convolutions[1].operands[1] = convolutions[0].weights


def read_another(convolutions: Sequence[ConvOp]) -> None:
    """Let the last convolution read what the one before it gives: the pooling, then the sum."""
    convolutions[5].operands[0] = convolutions[4].source


def read_other_rows(convolutions: Sequence[ConvOp]) -> None:
    """Let the fifth convolution read the lower rows of two cubes together, in place of the upper ones."""
    rows = convolutions[4].source.owner
    assert isinstance(rows, SliceOp)
    rows.properties["offsets"] = DenseArrayBase.from_list(i64, [0, 28, 0])


@pytest.mark.parametrize("change", [share_weights, read_another, read_other_rows])
def test_what_follows_a_change_is_planned_anew(
    context: Context, change: Callable[[Sequence[ConvOp]], None], monkeypatch: pytest.MonkeyPatch
):
    target, shape, kernels = load_target("nv_small"), "32x28x28", "32x32x3x3"
    body = "".join(conv("%x", name, shape, kernels, shape, SAME) for name in "abcd")
    body += """
      %t = "dla.concat"(%a, %d) <{axis = 2 : i64}>
        : (tensor<1x32x28x28xi8>, tensor<1x32x28x28xi8>) -> tensor<1x32x56x28xi8>
      %r = "dla.slice"(%t) <{offsets = array<i64: 0, 0, 0>}>
        : (tensor<1x32x56x28xi8>) -> tensor<1x32x28x28xi8>"""
    body += conv("%r", "e", shape, kernels, shape, SAME) + conv("%d", "f", shape, kernels, shape, SAME)
    results = ", ".join([f"tensor<1x{shape}xi8>"] * 6)
    weights = ", ".join(f"%w{name}: tensor<{kernels}xi8>" for name in "abcdef")
    module = parsed(
        context,
        f"{body}\nfunc.return %a, %b, %c, %d, %e, %f : {results}",
        f"%x: tensor<1x{shape}xi8>, {weights}",
        f"({results})",
    )
    found = plans_of(module)
    searched = Counter[str]()
    add = PlannedConvolution.earliest_end

    def counted(self: PlannedConvolution, sequence: PlanSequence, plan: ConvolutionPlan) -> float:
        searched[run] += 1
        return add(self, sequence, plan)

    monkeypatch.setattr(PlannedConvolution, "earliest_end", counted)
    run = "again"
    assert plans_of(module) == found
    assert not searched
    change([op for op in module.walk() if isinstance(op, ConvOp)])
    run = "changed"
    (block,) = blocks(module)
    cycles = cycles_of(fused_layers(block), target)
    run = "new"
    (copy,) = blocks(module.clone())
    assert cycles == cycles_of(fused_layers(copy), target)
    assert 0 < searched["changed"] < searched["new"]


def test_a_sequence_goes_back_to_a_mark_before_a_task_ends(context: Context):
    (block,) = blocks(branches(context))
    layers = list(fused_layers(block))
    planned = PlannedLayers(layers, load_target("nv_small"))
    trial, other = planned.start(), planned.start()
    for index in range(2):
        planned.append(trial, index)
        planned.append(other, index)
    mark = trial.mark()
    for index in reversed(range(2, len(layers))):
        planned.append(trial, index)
    trial.rewind(mark)
    assert list(trial.done) == list(other.done)
    assert (trial.pools, trial.plans) == (other.pools, other.plans)
    for index in range(2, len(layers)):
        planned.append(trial, index)
        planned.append(other, index)
    assert trial.timeline.spans == other.timeline.spans
    assert trial.done == other.done
