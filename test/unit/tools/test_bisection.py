"""Bisection of wrong results: rules and kernels that are made wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, parser
from xdsl.dialects.arith import DivfOp
from xdsl.dialects.func import FuncOp
from xdsl.dialects.llvm import FMulOp
from xdsl.ir import SSAValue

from xonnc.dialects.dla.attributes import PoolMode
from xonnc.dialects.krnl.memory import CallOp
from xonnc.dialects.krnl.packing import Array, PackOp
from xonnc.dialects.onnx.ops.math import SigmoidOp
from xonnc.lowering.dla import dla_fuse, lifetimes
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.lowering.krnl_to_llvm import scalar_ops
from xonnc.lowering.llvm_to_c import scalar_expressions
from xonnc.lowering.memory_planning.offset_assignment import BufferLifetime
from xonnc.lowering.native import in_place
from xonnc.lowering.onnx_to_dla.builders.dla_builder import DlaBuilder, Operand
from xonnc.lowering.onnx_to_dla.operators import pooling
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import ELEMENTWISE
from xonnc.rewriting.decision_limit import limiting_decisions
from xonnc.rewriting.rules import Rule
from xonnc.runtime.verification.comparison import Tolerance
from xonnc.simplifier import simplify
from xonnc.tools.bisection import bisect
from xonnc.tools.bisection_case import Case
from xonnc.tools.driver import main
from xonnc.tools.reproducer import write_reproducer
from xonnc.transforms.fuse_operators_onnx import FUSIONS
from xonnc.transforms.simplify_onnx import rules_within, tables

BODY = """
    c = Constant <value_float = 2.0> ()
    d = Constant <value_float = 3.0> ()
    e = Add (c, d)
    a = Mul (x, e)
    b = Neg (a)
    f = Neg (b)
    g = Sigmoid (f)
    y = Add (g, x)
"""
FEEDS = {"x": np.array([[1.0, -2.0, 0.5]], np.float32)}


def model() -> ModelProto:
    made = parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> m (float[1, 3] x) => (float[1, 3] y) {{{BODY}}}'
    )
    for node in made.graph.node:
        node.name = f"node_{node.output[0]}"
    return made


@pytest.fixture
def with_rule(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Rule], str, Rule], None]:
    """A function that replaces a rule of a table; simplification rebuilds its tables."""

    def install(table: dict[str, Rule], name: str, rule: Rule) -> None:
        monkeypatch.setitem(table, name, replace(rule, name=name))
        tables.cache_clear()
        rules_within.cache_clear()

    return install


@pytest.fixture(autouse=True)
def fresh_tables():
    yield
    tables.cache_clear()
    rules_within.cache_clear()


def test_nothing_is_found_in_a_right_result():
    assert bisect(Case(model(), FEEDS, Tolerance())) is None


def test_decisions_are_limited():
    with limiting_decisions(None) as every:
        whole = simplify(model()).proto()
    assert len(every.made) >= 2
    with limiting_decisions(0) as none:
        first = simplify(model()).proto()
    assert not none.made
    assert len(first.graph.node) > len(whole.graph.node)
    with limiting_decisions(1) as one:
        simplify(model())
    assert one.made == every.made[:1]


def test_a_wrong_rule_is_named(with_rule: Callable[[dict[str, Rule], str, Rule], None], tmp_path: Path):
    # -(-x) -> -x
    wrong = FUSIONS.rules["RemoveDoubleNeg"]
    inner = wrong.root.operands[0]
    with_rule(FUSIONS.rules, "RemoveDoubleNeg", replace(wrong, result=inner))
    found = bisect(Case(model(), FEEDS, Tolerance()))
    assert found is not None
    assert (found.pass_name, found.what) == ("fuse-operators-onnx", "RemoveDoubleNeg")
    assert found.node == "node_f"
    assert found.form == "simplified"


def test_the_command_writes_a_reproducer(
    with_rule: Callable[[dict[str, Rule], str, Rule], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
):
    wrong = FUSIONS.rules["RemoveDoubleNeg"]
    with_rule(FUSIONS.rules, "RemoveDoubleNeg", replace(wrong, result=wrong.root.operands[0]))
    path, folder = tmp_path / "a.onnx", tmp_path / "bug"
    path.write_bytes(model().SerializeToString())
    assert main(["verify", str(path), "--simplify", "--bisect", str(folder), "--profile", "normal"]) == 1
    out = capsys.readouterr().out
    assert "fuse-operators-onnx" in out
    assert "RemoveDoubleNeg on node_f" in out
    assert "RemoveDoubleNeg" in (folder / "README.md").read_text()
    again = ["verify", str(folder / "model.onnx"), "--inputs", str(folder / "inputs"), "--simplify", "-q"]
    assert main(again) == 1
    (expected,) = (folder / "expected").iterdir()
    actual = folder / "actual" / expected.name
    assert not np.array_equal(np.load(expected), np.load(actual))


def test_a_wrong_kernel_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(ELEMENTWISE, SigmoidOp, lambda op, body: body(op.operands[0]))
    found = bisect(Case(model(), FEEDS, Tolerance()))
    assert found is not None
    assert (found.pass_name, found.what, found.node) == ("convert-onnx-to-krnl", "Sigmoid", "node_g")
    assert found.form == "native"


def test_a_wrong_lowering_to_llvm_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(scalar_ops.BINARY, DivfOp, FMulOp)
    found = bisect(Case(model(), FEEDS, Tolerance()))
    assert found is not None
    assert (found.pass_name, found.what, found.node) == ("convert-krnl-to-llvm", "Sigmoid", "node_g")


def test_wrong_prepacked_weights_are_named(monkeypatch: pytest.MonkeyPatch):
    def reversed_weights(op: PackOp, weights: Array) -> Array:
        return evaluate(op, weights)[::-1].copy()

    evaluate = PackOp.evaluate
    monkeypatch.setattr(PackOp, "evaluate", reversed_weights)
    multiplying = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> m (float[1, 3] x) => (float[1, 2] y) '
        "<float[3, 2] w = {1, 2, 3, 4, 5, 6}> { y = MatMul (x, w) }"
    )
    found = bisect(Case(multiplying, FEEDS, Tolerance()))
    assert found is not None
    assert (found.what, found.node) == ("MatMul", "y")


def test_memory_that_values_share_wrongly_is_named(monkeypatch: pytest.MonkeyPatch):
    def always(call: CallOp, kernel: FuncOp, target: int, source: int) -> bool:
        return True

    monkeypatch.setattr(in_place, "may_write_in_place", always)
    body = "a = Exp (x) b = Slice (a, last, before, zero, last) y = CumSum (b, origin)"
    constants = "<int64[1] last = {-1}, int64[1] before = {-5}, int64[1] zero = {0}, int64 origin = {0}>"
    reversing = parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> m (float[4] x) => (float[4] y) {constants} {{{body}}}'
    )
    found = bisect(Case(reversing, {"x": np.array([1.5, -2.25, 0.5, -0.75], np.float32)}, Tolerance()))
    assert found is not None
    assert (found.pass_name, found.what, found.node) == ("plan-memory", "shared memory", "a")
    assert found.form == "native"


@pytest.mark.parametrize("options", [["--layers"], ["b.onnx"]])
def test_other_forms_are_refused(tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "a.onnx"
    path.write_bytes(model().SerializeToString())
    assert main(["verify", str(path), *options, "--bisect", "bug"]) == 1
    assert "--bisect: is for MODEL and what is compiled from it: native code" in capsys.readouterr().err


def image_model(body: str) -> Case:
    made = parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 17]> m (float[1, 8, 4, 4] x) => (y) {{{body}}}'
    )
    for node in made.graph.node:
        node.name = f"node_{node.output[0]}"
    image = np.linspace(-2, 3, 128, dtype=np.float32).reshape(1, 8, 4, 4)
    return Case(made, {"x": image}, Tolerance(), "nvdla", "nv_full")


def test_a_wrong_fusion_for_nvdla_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    def without_the_first(stages: Sequence[Operand], slots: int) -> list[Operand] | None:
        packed = pack_stages(stages, slots)
        return packed[1:] if packed is not None and len(packed) > 1 else packed

    pack_stages = dla_fuse.pack_stages
    monkeypatch.setattr(dla_fuse, "pack_stages", without_the_first)
    case = image_model("a = Relu (x) b = Add (a, x) c = Mul (b, x) y = MaxPool <kernel_shape = [2, 2]> (c)")
    found = bisect(case)
    assert found is not None
    assert (found.pass_name, found.what, found.form) == ("dla-fuse", "SDP passes", "nvdla")
    assert "node_" in found.node
    write_reproducer(tmp_path, case, found, 4)
    assert "--other-engine nvdla --target nv_full\n" in (tmp_path / "README.md").read_text()


def test_a_wrong_layer_for_nvdla_is_named(monkeypatch: pytest.MonkeyPatch):
    def minimum(source: SSAValue, mode: PoolMode, window: Window2D, builder: DlaBuilder) -> SSAValue:
        return pool(source, PoolMode.MIN, window, builder)

    pool = pooling.pool
    monkeypatch.setattr(pooling, "pool", minimum)
    found = bisect(image_model("a = Relu (x) b = MaxPool <kernel_shape = [2, 2]> (a) y = Add (b, b)"))
    assert found is not None
    assert (found.pass_name, found.what, found.node) == ("convert-onnx-to-dla", "MaxPool", "node_b")


def test_memory_that_cubes_share_wrongly_is_named(monkeypatch: pytest.MonkeyPatch):
    def ends_at_once(size: int, first: int, last: int) -> BufferLifetime:
        return BufferLifetime(size, first, first)

    monkeypatch.setattr(lifetimes, "BufferLifetime", ends_at_once)
    pool = "MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]>"
    found = bisect(image_model(f"a = Relu (x) c = Add (a, x) b = {pool} (a) y = Add (b, c)"))
    assert found is not None
    assert (found.pass_name, found.what) == ("dla-allocate", "shared memory")


def test_wrong_c_source_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(scalar_expressions.LIBM_FUNCTIONS, "floor", "ceil")
    made = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> m (float[1, 3] x) => (float[1, 3] y) '
        "{ a = Exp (x) b = Floor (a) y = Neg (b) }"
    )
    found = bisect(Case(made, FEEDS, Tolerance(), "c"))
    assert found is not None
    assert (found.pass_name, found.what, found.node, found.form) == ("llvm-to-c", "Floor", "b", "c")
