"""Memory plans of random programs: what a call reads is what was written, and no bound lies above a peak."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from onnx import numpy_helper
from xdsl.dialects.arith import Arith
from xdsl.dialects.func import FuncOp
from xdsl.dialects.memref import MemRef
from xdsl.ir import Block, SSAValue

import xonnc
from xonnc.artifacts import compile_artifact, planned_module
from xonnc.contexts import new_context
from xonnc.dialects.krnl.attributes import OFFSETS, arena_of, location_of
from xonnc.dialects.krnl.memory import CallOp
from xonnc.formats.native.program import aligned
from xonnc.lowering.native.lifetimes import root_of
from xonnc.lowering.native.plan_memory import PlanMemory
from xonnc.tools.ir_text import read_module


class Reference(Protocol):
    """The evaluator of the onnx package, which has no types."""

    def run(
        self, output_names: None, feed_inputs: Mapping[str, npt.NDArray[np.float32]]
    ) -> Sequence[npt.NDArray[np.float32]]: ...


KERNELS = """
func.func private @point(%y: memref<{0}xf32>, %x: memref<{0}xf32>) {{
  %i = krnl.define_loops 1
  krnl.iterate(%i) with (%i -> %at = 0 to {0}) {{
    %0 = krnl.load %x[%at] : memref<{0}xf32>
    krnl.store %0, %y[%at] : memref<{0}xf32>
  }}
  return
}}
func.func private @even(%y: memref<{0}xf32>, %x: memref<40xf32>) {{
  %two = arith.constant 2 : index
  %i = krnl.define_loops 1
  krnl.iterate(%i) with (%i -> %at = 0 to {0}) {{
    %from = arith.muli %at, %two : index
    %0 = krnl.load %x[%from] : memref<40xf32>
    krnl.store %0, %y[%at] : memref<{0}xf32>
  }}
  return
}}
"""


def random_program(generator: random.Random) -> str:
    """A model of calls: kernels that may write over an operand, and others of which nothing is known."""
    sizes = [generator.choice([16, 16, 16, 40, 100]) for _ in range(12)]
    lines = [
        "func.func @model(%x: tensor<16xf32>) -> tensor<16xf32> {",
        "%b0 = builtin.unrealized_conversion_cast %x : tensor<16xf32> to memref<16xf32>",
    ]
    sizes[0] = sizes[11] = 16
    for index in range(1, 12):
        read = generator.sample(range(index), min(index, generator.randrange(1, 4)))
        read = read[:1] if sizes[index] == sizes[read[0]] == 16 else read
        kernel = "point" if sizes[index] == sizes[read[0]] == 16 and generator.random() < 0.7 else "any"
        if (sizes[index], sizes[read[0]]) == (16, 40):
            read, kernel = read[:1], "even"
        types = ", ".join(f"memref<{sizes[each]}xf32>" for each in (index, *read))
        names = ", ".join(f"%b{each}" for each in (index, *read))
        lines.append(f"%b{index} = memref.alloc() : memref<{sizes[index]}xf32>")
        lines.append(
            f'"krnl.call"({names}) {{funcName = "{kernel}", numOfOutput = 1 : si64}} : ({types}) -> ()'
        )
    lines += [
        "%y = builtin.unrealized_conversion_cast %b11 : memref<16xf32> to tensor<16xf32>",
        "onnx.Return %y : tensor<16xf32>",
        "}",
        KERNELS.format(16),
    ]
    return "\n".join(lines)


def planned(text: str) -> tuple[FuncOp, Block]:
    """The model of a module whose memory is planned."""
    context = new_context()
    for dialect in (Arith, MemRef):
        context.load_dialect(dialect)
    module = read_module(context, text, "model")
    PlanMemory().apply(context, module)
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    return function, function.body.block


def require_intact(block: Block) -> None:
    """
    Runs the calls on an arena whose bytes say which buffer wrote them.

    Shares nothing with the planner but the attributes.
    """
    arena = np.zeros(1 << 16, np.int64)
    numbers: dict[SSAValue, int] = {}
    for call in (op for op in block.ops if isinstance(op, CallOp)):
        target, *sources = (root_of(value) for value in call.parameters)
        for source in sources:
            offset = location_of(source, OFFSETS)
            if offset is not None:
                assert (arena[offset : offset + bytes_of(source)] == numbers[source]).all()
        offset = location_of(target, OFFSETS)
        numbers[target] = len(numbers) + 1
        if offset is not None:
            arena[offset : offset + bytes_of(target)] = numbers[target]


def bytes_of(buffer: SSAValue) -> int:
    return 4 * int(str(buffer.type).removeprefix("memref<").removesuffix("xf32>"))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_read_is_what_was_written(seed: int):
    function, block = planned(random_program(random.Random(seed)))
    require_intact(block)
    arena = arena_of(function)
    assert arena is not None
    assert arena["lower_bound"] <= arena["peak"] <= arena["size"]
    ends = [
        offset + aligned(bytes_of(value))
        for op in block.ops
        for value in op.results
        if (offset := location_of(value, OFFSETS)) is not None
    ]
    assert max(ends, default=0) == arena["size"]


def summed_branches(count: int, channels: int, size: int) -> onnx.ModelProto:
    """Branches of two convolutions each, all written before the sums of their results."""
    kinds = [f"float[{channels},{channels},3,3] {letter}{i}" for i in range(count) for letter in "pq"]
    generator = np.random.default_rng(0)
    shape = (channels, channels, 3, 3)
    weights = [
        f"{kind} = {{{', '.join(map(str, generator.uniform(-0.1, 0.1, shape).ravel()))}}}" for kind in kinds
    ]
    lines: list[str] = []
    for i in range(count):
        lines.append(f"c{i} = Conv <pads = [1, 1, 1, 1]> (x, p{i})")
        lines.append(f"d{i} = Relu (c{i})")
        lines.append(f"b{i} = Conv <pads = [1, 1, 1, 1]> (d{i}, q{i})")
    last = "b0"
    for i in range(1, count):
        name = "y" if i == count - 1 else f"s{i}"
        lines.append(f"{name} = Add ({last}, b{i})")
        last = name
    kind = f"float[1,{channels},{size},{size}]"
    return onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 18]> g ({kind} x) => ({kind} y) <{", ".join(weights)}> '
        f"{{ {chr(10).join(lines)} }}"
    )


def test_summed_branches_run_one_after_the_other(tmp_path: Path):
    model = summed_branches(8, 16, 32)
    arena = compile_artifact(model, tmp_path / "m.c", target="avx2").program.arena
    tensor = 16 * 32 * 32 * 4
    # The channel-blocked image with its halo, what is summed up, and one branch.
    assert 3 * tensor <= arena < 3.6 * tensor


DYNAMIC = """
<ir_version: 8, opset_import: ["" : 18]> g (float[N, M] x) => (float[N, M] y) {
    a = Exp (x)
    s = Softmax (a)
    t = Transpose <perm = [1, 0]> (s)
    u = Sqrt (t)
    v = CumSum (u, one)
    w = Transpose <perm = [1, 0]> (v)
    r = Softmax <axis = 0> (w)
    z = Add (r, s)
    y = Neg (z)
}
"""


def dynamic_model() -> onnx.ModelProto:
    """Elementwise operators, operators of rows and of columns, and a tensor with a later reader."""
    model = onnx.parser.parse_model(DYNAMIC)
    model.graph.initializer.append(numpy_helper.from_array(np.array(1, np.int64), "one"))
    return model


@pytest.mark.parametrize("threads", [1, 2])
def test_results_of_dynamic_shape_lie_where_operands_did(threads: int):
    model = dynamic_model()
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    session = xonnc.compile(model, cache=False, threads=threads)
    generator = np.random.default_rng(3)
    for shape in ((5, 7), (1, 1), (64, 33), (3, 0), (0, 4), (2, 100)):
        x = generator.standard_normal(shape).astype(np.float32)
        x.flat[: min(3, x.size)] = [0.0, -0.0, -np.inf][: min(3, x.size)]
        found = np.asarray(session.run(None, {"x": x})[0])
        expected = reference.run(None, {"x": x})[0] if x.size else x
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    module = planned_module(model, "avx2")
    calls = [op for op in module.walk() if isinstance(op, CallOp)]
    assert sum(call.in_place is not None for call in calls) >= 2


def test_a_sum_lies_where_one_of_its_operands_did():
    model = summed_branches(3, 16, 9)
    x = np.random.default_rng(1).standard_normal((1, 16, 9, 9)).astype(np.float32)
    reference: Reference = import_module("onnx.reference").ReferenceEvaluator(model)
    expected = reference.run(None, {"x": x})[0]
    session = xonnc.compile(model, cache=False)
    for _ in range(2):
        found = session.run(None, {"x": x})[0]
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-5)
