"""`xonnc.compat.onnxsim`: rewriters, providers, profiles and certificates."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

from xonnc.compat.onnxsim import main, simplify
from xonnc.compat.onnxsim.certificates import certify, report
from xonnc.fuzzing.certification import smt
from xonnc.fuzzing.certification.certificates import Certificate, Certifier
from xonnc.rewriting.statistics import Ledger

MODEL = """g (float[N, 1, 3] x) => (float[N, 2, 2] y, float[1] z)
<float[2, 1, 2] w = {1, 2, -3, 4}, float[2] s = {2, -1}, float[2] b = {0.5, 1}, float[2] m = {1, -1},
 float[2] v = {4, 0.25}, float[1] k = {2}>
{c = Conv(x, w) i = Identity(c) y = BatchNormalization(i, s, b, m, v) z = Neg(k)}"""


def parsed(graph: str = MODEL) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>\n{graph}')


def operators(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]


def files(tmp_path: Path, model: onnx.ModelProto | None = None) -> tuple[str, str]:
    source = tmp_path / "in.onnx"
    source.write_bytes((model or parsed()).SerializeToString())
    return str(source), str(tmp_path / "out.onnx")


SOFTSIGN = "g (float[3] x) => (float[3] y) {a = Abs(x) b = Identity(a) c = Softsign(b) y = Abs(c)}"


class SoftsignToDiv:
    """Replaces the first Softsign by Abs, Add and Div, in one of the ways that rewriters may."""

    def __init__(self, how: str) -> None:
        self.how, self.calls = how, 0

    def __call__(self, model: onnx.ModelProto) -> onnx.ModelProto | bool | None:
        self.calls += 1
        # What is given is simplified already.
        assert "Identity" not in operators(model)
        result = model
        if self.how == "returns another":
            result = onnx.ModelProto()
            result.CopyFrom(model)
        nodes = list(result.graph.node)
        index = next((i for i, node in enumerate(nodes) if node.op_type == "Softsign"), None)
        if index is None:
            return {"returns another": result, "returns None": None}.get(self.how, False)
        one, (given,), (made,) = "one_of_softsign", nodes[index].input, nodes[index].output
        nodes[index : index + 1] = [
            onnx.helper.make_node("Identity", [given], ["same"]),
            onnx.helper.make_node("Abs", ["same"], ["size"]),
            onnx.helper.make_node("Add", ["size", one], ["below"]),
            onnx.helper.make_node("Div", [given, "below"], [made]),
        ]
        result.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(1, np.float32), one))
        del result.graph.node[:]
        result.graph.node.extend(nodes)
        return {"returns another": result, "returns None": None}.get(self.how, True)


@pytest.mark.parametrize("how", ["returns another", "returns None", "returns a bool"])
def test_a_rewriter_and_simplification_alternate(how: str):
    model = parsed(SOFTSIGN)
    before = model.SerializeToString()
    rewriter = SoftsignToDiv(how)
    simplified, passed = simplify(model, check_n=3, custom_rewriter=rewriter)
    assert passed
    assert model.SerializeToString() == before
    # Identity and the repeated Abs, which the rewriter made, are simplified; then it is asked again.
    assert Counter(operators(simplified)) == Counter(["Abs", "Add", "Div", "Abs"])
    assert rewriter.calls == 2


def test_a_rewriter_whose_change_is_undone_ends():
    calls: list[onnx.ModelProto] = []

    def with_identity(model: onnx.ModelProto) -> None:
        calls.append(model)
        model.graph.node[-1].output[0] = "before"
        model.graph.node.append(onnx.helper.make_node("Identity", ["before"], ["y"]))

    simplified, _ = simplify(parsed(SOFTSIGN), custom_rewriter=with_identity)
    assert "Identity" not in operators(simplified)
    assert len(calls) == 1


def test_a_rewriter_that_never_ends():
    def longer(model: onnx.ModelProto) -> None:
        model.doc_string += "x"

    with pytest.warns(UserWarning, match="custom_rewriter still changes the model after 50 rounds"):
        simplified, _ = simplify(parsed(SOFTSIGN), custom_rewriter=longer)
    assert simplified.doc_string == "x" * 50


def test_a_rewriter_sees_nan_unchanged():
    calls: list[bool] = []

    def same(model: onnx.ModelProto) -> None:
        calls.append(True)

    text = "g (float[3] x) => (float[3] y) {y = LeakyRelu<alpha = 0.5>(x)}"
    model = parsed(text)
    model.graph.node[0].attribute[0].f = float("nan")
    simplify(model, custom_rewriter=same)
    assert len(calls) == 1


def test_rewriters_that_fail():
    def wrong(model: onnx.ModelProto) -> Any:
        return model.SerializeToString()

    def failing(model: onnx.ModelProto) -> bool:
        raise KeyError("mine")

    with pytest.raises(TypeError, match="custom_rewriter returns a bytes; it returns a ModelProto, None if"):
        simplify(parsed(), custom_rewriter=wrong)
    with pytest.raises(KeyError, match="mine"):
        simplify(parsed(), custom_rewriter=failing)


def test_providers():
    with pytest.warns(UserWarning, match="folded on the CPU, without onnxruntime: CUDAExecutionProvider is"):
        simplified, _ = simplify(parsed(), providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    assert operators(simplified) == ["Conv"]
    with pytest.warns(UserWarning, match="VitisAIExecutionProvider is not used"):
        simplify(parsed(), providers=[("VitisAIExecutionProvider", {"config_file": "vaip.json"})])
    with pytest.raises(ValueError, match="has no provider 'CUDAProvider'; did you mean 'CUDAExecution"):
        simplify(parsed(), providers=["CUDAProvider"])
    wrong: Any
    for wrong, message in (
        ("CPUExecutionProvider", "providers is the text 'CPUExecutionProvider'; it is a list of names"),
        ([3], "provider 3 is neither a name nor a name with options"),
        ([("CPUExecutionProvider",)], "neither a name nor a name with options"),
    ):
        with pytest.raises(TypeError, match=message):
            simplify(parsed(), providers=wrong)


@pytest.mark.filterwarnings("error")
def test_the_provider_that_is_used_is_no_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    main([*files(tmp_path), "--providers", "CPUExecutionProvider"])
    with pytest.raises(SystemExit, match="1"):
        main([*files(tmp_path), "--providers", "GPU"])
    assert "onnxsim: onnxruntime has no provider 'GPU'" in capsys.readouterr().err
    with pytest.raises(UserWarning, match="CUDAExecutionProvider is not used"):
        main([*files(tmp_path), "--cuda"])


def events_of(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["traceEvents"]


def test_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "times.json"
    simplify(parsed(), check_n=1, test_input_shapes=[1, 1, 3], profile=str(path), skip_fuse_bn=True)
    spans = [event for event in events_of(path) if event["ph"] == "X"]
    names = [event["name"] for event in spans]
    assert names[0] == "simplify"
    # Options that leave out a pass run the others of ONNX-optimizer.
    assert {"import", "infer shapes", "apply rules", "eliminate_identity", "export"} < set(names)
    whole = spans[0]
    assert all(whole["ts"] <= event["ts"] for event in spans)
    assert all(event["ts"] + event["dur"] <= whole["ts"] + whole["dur"] + 1 for event in spans)
    printed = capsys.readouterr().out
    assert set(names) <= {line.rsplit(maxsplit=3)[0] for line in printed.splitlines() if line[0] != " "}
    assert "peak resident memory of the process" in printed


def test_node_counts(tmp_path: Path):
    path = tmp_path / "times.json"
    simplify(parsed(), profile=str(path))
    counts = [event["args"] for event in events_of(path) if event["name"] == "NodeCount"]
    assert counts[0] == {"apply rules": 1}


@pytest.mark.parametrize("merged", [False, True])
def test_profiles_of_onnxruntime(merged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    options: Any = {"profile": "", "merge_ort_profile": True} if merged else {"ort_profile": ""}
    assert simplify(parsed(), check_n=1, test_input_shapes=[1, 1, 3], **options)[1]
    found = sorted(path.name for path in tmp_path.iterdir())
    if merged:
        assert found == ["onnxsim_profile.json"]
        events = events_of(tmp_path / found[0])
        (compared,) = (event for event in events if event["name"] == "compare in onnxruntime")
        nodes = [event for event in events if event.get("cat") == "Node"]
        assert {event["args"].get("op_name") for event in nodes} >= {"Conv", "BatchNormalization"}
        assert all(compared["ts"] <= event["ts"] <= compared["ts"] + compared["dur"] for event in nodes)
    else:
        first, second = found
        assert first.startswith("onnxsim_ort_profile_original_")
        assert second.startswith("onnxsim_ort_profile_simplified_")
        assert any(event["name"] == "model_run" for event in json.loads((tmp_path / first).read_text()))


def test_profiles_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    given = [*files(tmp_path), "1", "--test-input-shape", "1,1,3"]
    main([*given, "--profile"])
    assert events_of(tmp_path / "onnxsim_profile.json")
    main([*given, "--profile", "times.json", "--ort-profile", "ort"])
    assert events_of(tmp_path / "times.json")
    assert len(list(tmp_path.glob("ort_*.json"))) == 2
    main([*given, "--merge-ort-profile"])
    assert any(event.get("cat") == "Node" for event in events_of(tmp_path / "onnxsim_profile.json"))


def test_certificates_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    main([*files(tmp_path), "--certify"])
    lines = capsys.readouterr().out.splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("rule "))
    rows = {line.split()[0]: line for line in lines[start + 1 : start + 4]}
    assert list(rows) == ["FuseConstantBatchNormConv", "IdentityEliminationPattern", "NegofConst"]
    assert "same terms" in rows["IdentityEliminationPattern"]
    if smt.is_installed():
        assert "certified: of 3 rules applied, 3 are proven" in lines
    main([*files(tmp_path), "--no-certify"])
    assert "certified" not in capsys.readouterr().out
    unchanged = parsed("g (float[3] x) => (float[3] y) {y = Exp(x)}")
    main([*files(tmp_path, unchanged), "--certify"])
    assert "certified: of 0 rules applied, 0 are proven" in capsys.readouterr().out


def test_a_wrong_rule_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def wrong(self: Certifier, table: object, name: str) -> Certificate:
        return Certificate("t", name, "", "instances", "", 7, wrong=("x = 3: 4, not 5",))

    monkeypatch.setattr(Certifier, "certificate", wrong)
    with pytest.raises(SystemExit, match="1"):
        main([*files(tmp_path), "--certify"])
    assert "WRONG: NegofConst: x = 3: 4, not 5" in capsys.readouterr().out


def test_rules_without_certificate(monkeypatch: pytest.MonkeyPatch):
    def missing() -> bool:
        return False

    monkeypatch.setattr(smt, "is_installed", missing)
    applied = Ledger()
    applied.add("first", Counter({"OfAPlugin": 2, "IdentityEliminationPattern": 1}))
    applied.add("second", Counter({"OfAPlugin": 1, "LSTMofConst": 1}))
    rules = certify(applied)
    assert [(rule.name, rule.count, rule.is_proven) for rule in rules] == [
        ("IdentityEliminationPattern", 1, True),
        ("LSTMofConst", 1, False),
        ("OfAPlugin", 3, False),
    ]
    text = report(rules)
    assert "OfAPlugin                   3        none\n" in text
    assert "LSTMofConst                 1        folded by the ONNX reference\n" in text
    assert text.endswith("without Z3, whose proofs need pip install 'xonnc[certify]'")


def test_lists_of_optimizers(capsys: pytest.CaptureFixture[str]):
    found: list[list[str]] = []
    for option in ("--list-default-optimizers", "--list-other-optimizers"):
        with pytest.raises(SystemExit, match="0"):
            main([option])
        found.append(capsys.readouterr().out.split())
    assert list(map(len, found)) == [40, 9]
    assert "fuse_bn_into_conv" in found[0]
    assert "adjust_add" in found[1]
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out.startswith("onnxsim of xonnc 0.")
