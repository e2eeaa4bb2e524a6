"""Graph, library and parameters of a session are saved, and loaded without the model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest

from xonnc import native
from xonnc.errors import XonncError
from xonnc.formats.native.saved_program import GRAPH, LIBRARY, PARAMETERS
from xonnc.runtime.native.session import Session

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)

LAYER = """
<ir_version: 10, opset_import: ["" : 21]>
model (float[{rows}, 4] x) => (float[{rows}, 2] y)
<float[4, 2] w = {{1, 2, 3, 4, 5, 6, 7, {last}}}> {{
  m = MatMul(x, w)
  y = {activation}(m)
}}
"""

BRANCHES = """
<ir_version: 10, opset_import: ["" : 21]>
model (bool c, float[3, 4] x) => (float[3, 4] y) {
  y = If(c) <
    then_branch = left () => (float[3, 4] a) { two = Constant<value = float {2.0}>() a = Mul(x, two) },
    else_branch = right () => (float[3, 4] b) { b = Neg(x) }
  >
}
"""


def layer(activation: str = "Relu", rows: str = "3", last: int = 8) -> onnx.ModelProto:
    return onnx.parser.parse_model(LAYER.format(activation=activation, rows=rows, last=last))


def result(session: Session, x: npt.NDArray[np.float32] = X) -> npt.NDArray[np.float32]:
    return np.asarray(session.run(None, {"x": x})[0], np.float32)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_saved_runs_without_the_model(tmp_path: Path, threads: int) -> None:
    session = native.compile_native(layer(), threads=threads)
    files = session.save(tmp_path / "there" / "layer")
    assert [path.name for path in files] == [GRAPH, LIBRARY, PARAMETERS]
    loaded = native.load_native(tmp_path / "there" / "layer")
    np.testing.assert_array_equal(result(loaded), result(session))
    assert [port.name for port in loaded.inputs] == ["x"]
    with pytest.raises(XonncError, match=r"input 'x': the shape \[2, 4\] was fed, the model takes \[3, 4\]"):
        result(loaded, X[:2])


def test_a_model_that_is_compiled_for_its_sizes_is_saved_for_those_it_ran_with(tmp_path: Path) -> None:
    model = layer(rows="n")
    model.graph.node[-1].output[0] = "before"
    model.graph.node.append(onnx.helper.make_node("Hardmax", ["before"], ["y"]))
    session = native.compile_native(model)
    with pytest.raises(XonncError, match=r"only native code can be saved, but .* is computed by .*; a model"):
        session.save(tmp_path)
    assert not list(tmp_path.iterdir())
    expected = result(session, X[:2])
    session.save(tmp_path)
    np.testing.assert_array_equal(result(native.load_native(tmp_path), X[:2]), expected)


def test_branches_are_saved(tmp_path: Path) -> None:
    native.compile_native(onnx.parser.parse_model(BRANCHES)).save(tmp_path)
    loaded = native.load_native(tmp_path)
    for condition, expected in ((True, 2 * X), (False, -X)):
        found = loaded.run(None, {"c": np.array(condition), "x": X})[0]
        np.testing.assert_array_equal(np.asarray(found, np.float32), expected)


def flip(held: bytes) -> bytes:
    return held[:-9] + bytes([held[-9] ^ 1]) + held[-8:]


def other_sizes(held: bytes) -> bytes:
    found = json.loads(held)
    found["program"]["arena"] += 64
    return json.dumps(found).encode()


def other_version(held: bytes) -> bytes:
    return json.dumps(json.loads(held) | {"version": 0}).encode()


def nothing(held: bytes) -> bytes:
    return b""


def header(held: bytes) -> bytes:
    return held[:24] + b"12345678" + held[32:]


def cut(held: bytes) -> bytes:
    return held[:-1]


def a_list(held: bytes) -> bytes:
    return b"[1]"


@pytest.mark.parametrize(
    ("name", "damage", "said"),
    [
        (GRAPH, nothing, r"graph\.json: not the graph of a saved program$"),
        (GRAPH, a_list, r"graph\.json: not the graph of a saved program$"),
        (GRAPH, other_version, r"graph\.json: .* or of another version"),
        (GRAPH, other_sizes, r"graph\.json: the graph is damaged"),
        (LIBRARY, flip, r"library\.o: damaged, or not the file that graph\.json was saved with$"),
        (PARAMETERS, header, r"parameters\.weight: not the constants of this program"),
        (PARAMETERS, cut, r"parameters\.weight: \d+ bytes of constants, not \d+"),
    ],
)
def test_what_is_damaged_is_not_loaded(
    tmp_path: Path, name: str, damage: Callable[[bytes], bytes], said: str
) -> None:
    native.compile_native(layer()).save(tmp_path)
    path = tmp_path / name
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(XonncError, match=said):
        native.load_native(tmp_path)


@pytest.mark.parametrize("name", [GRAPH, LIBRARY, PARAMETERS])
def test_all_files_must_be_there(tmp_path: Path, name: str) -> None:
    native.compile_native(layer()).save(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(XonncError, match=rf"{name}: cannot be read"):
        native.load_native(tmp_path)


@pytest.mark.parametrize("name", [LIBRARY, PARAMETERS])
def test_files_of_another_program_are_refused(tmp_path: Path, name: str) -> None:
    native.compile_native(layer()).save(tmp_path / "one")
    native.compile_native(layer("Tanh", last=9)).save(tmp_path / "other")
    (tmp_path / "one" / name).write_bytes((tmp_path / "other" / name).read_bytes())
    with pytest.raises(XonncError, match=name):
        native.load_native(tmp_path / "one")


def test_code_for_another_processor_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    native.compile_native(layer()).save(tmp_path)
    monkeypatch.setattr(native, "host_identity", lambda: "z80 +ram")
    with pytest.raises(XonncError, match=r"code for a .* processor .* compile the model here"):
        native.load_native(tmp_path)
