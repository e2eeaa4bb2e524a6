"""`xonnc optimize --report`: the nodes that each pass removes and adds, and the bytes of weights."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import onnx.parser
import pytest
from optimizer_models import CASES, Case

import xonnc.compat.onnxoptimizer as onnxoptimizer
from xonnc.compat.onnxoptimizer.change_log import ChangeLog
from xonnc.compat.onnxoptimizer.manager import run
from xonnc.formats.onnx.captures import graphs_of
from xonnc.formats.onnx.load_model import LoadedModel
from xonnc.tools.driver import main

MODEL = """g (float[2, 3] x) => (float[2, 3] y)
<float[3] w = {1, 2, 3}, float[3] same = {1, 2, 3}, bool c = {1}>
{a = Identity(x) t = Add(a, same) u = Add(t, w)
 y = If(c) <then_branch = t () => (float[2, 3] p) {r = Abs(u) p = Identity(r)},
            else_branch = e () => (float[2, 3] n) {n = Neg(u)}>}"""


def parsed(graph: str = MODEL, opset: int = 21) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {opset}]>\n{graph}')


def count(graph: onnx.GraphProto) -> int:
    return len(graph.node) + sum(count(inner) for node in graph.node for inner in graphs_of(node))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_changes_sum_up(case: Case):
    model = parsed(case.graph, case.opset)
    before, log = count(model.graph), ChangeLog()
    run(LoadedModel.of(model), [case.name, "eliminate_deadend"], True, log=log)
    for change in log.changes:
        assert change.before == before
        assert change.after == before - len(change.removed) + len(change.added)
        before = change.after
    assert before == count(model.graph)


def test_the_log_changes_no_result():
    for case in CASES:
        with_log, without = (parsed(case.graph, case.opset) for _ in range(2))
        run(LoadedModel.of(with_log), None, True, log=ChangeLog())
        run(LoadedModel.of(without), None, True)
        assert with_log == without


def test_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    source.write_bytes(parsed().SerializeToString())
    names = ["eliminate_identity", "eliminate_duplicate_initializer", "eliminate_unused_initializer"]
    assert main(["optimize", str(source), str(target), "--report", "-p", *names]) == 0
    text = capsys.readouterr().out
    assert text.startswith("sweep 1: eliminate_identity: 7 -> 5 nodes\n  - a = Identity (x)\n")
    assert "\n  + t = Add (x, same)\n" in text
    assert "…\n" in text
    assert "\n  weights      25 B -> 13 B\n" in text
    assert main(["optimize", str(source), str(target), "--report", "--json", "-p", *names]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["weights"] == {"before": 25, "after": 13}
    assert [(one["pass_name"], one["before"], one["after"]) for one in found["changes"]] == [
        ("eliminate_identity", 7, 5),
        ("eliminate_duplicate_initializer", 5, 5),
    ]
    assert main(["optimize", str(source), str(target), "-p", "nop"]) == 0
    text = capsys.readouterr().out
    assert "weights" not in text
    assert "sweep" not in text


def test_types_of_renamed_inputs_can_be_changed():
    model = parsed("g (int64[2] x) => (int64[2] y) {y = Neg(x)}")
    passes = ["rename_input_output", "rewrite_input_dtype"]
    optimized = onnxoptimizer.optimize(model, passes)
    assert [node.op_type for node in optimized.graph.node] == ["Cast", "Neg"]
    assert optimized.graph.input[0].type.tensor_type.elem_type == onnx.TensorProto.INT32
