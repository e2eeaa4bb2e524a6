"""What was compiled before is read from disk, never what is damaged, never more than the size limit."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

from xonnc import native, native_compilation, native_sessions
from xonnc.errors import XonncError
from xonnc.formats.native.program import BodyProgram, HostStep, Program, ProgramValue, SessionStep, Storage
from xonnc.formats.native.program_json import is_serializable
from xonnc.formats.native.stored_program import StoredProgram, read_stored, write_stored
from xonnc.runtime.native import cache as cache_module
from xonnc.runtime.native.cache import Cache, cache_folder, cache_limit, open_cache

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a cache that is on."""
    monkeypatch.setenv("XONNC_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def model_of(operator: str = "Tanh", factor: float = 3.0) -> onnx.ModelProto:
    value = helper.make_tensor_value_info
    nodes = [helper.make_node(operator, ["x"], ["t"]), helper.make_node("Mul", ["t", "c"], ["y"])]
    graph = helper.make_graph(
        nodes,
        "model",
        [value("x", TensorProto.FLOAT, [3, 4])],
        [value("y", TensorProto.FLOAT, [3, 4])],
        [numpy_helper.from_array(np.full([3, 4], factor, np.float32), "c")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def result(model: onnx.ModelProto | Path) -> object:
    return native.compile_native(model).run(None, {"x": X})[0]


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing is compiled."""

    def fail(*_: object) -> object:
        raise AssertionError("compiled again")

    monkeypatch.setattr(native_compilation, "machine_code", fail)


@pytest.mark.parametrize("is_file", [False, True])
def test_the_second_time_is_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_file: bool
) -> None:
    model: onnx.ModelProto | Path = model_of()
    if is_file:
        model = tmp_path / "model.onnx"
        model.write_bytes(model_of().SerializeToString())
    first = result(model)
    forbid(monkeypatch)
    assert np.array_equal(np.asarray(first), np.asarray(result(model)))
    assert len(list(folder.iterdir())) == 1


def test_other_constants_targets_and_threads_are_other_programs(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result(model_of())
    forbid(monkeypatch)
    with pytest.raises(AssertionError, match="compiled again"):
        native.compile_native(model_of(factor=4.0))
    with pytest.raises(AssertionError, match="compiled again"):
        native.compile_native(model_of(), "portable")
    with pytest.raises(AssertionError, match="compiled again"):
        native.compile_native(model_of(), threads=2)
    with pytest.raises(AssertionError, match="compiled again"):
        native.compile_native(model_of(), cache=False)


def flip(index: int) -> Callable[[bytes], bytes]:
    def damage(held: bytes) -> bytes:
        return held[:index] + bytes([held[index] ^ 1]) + held[index + 1 :]

    return damage


def cut(end: int) -> Callable[[bytes], bytes]:
    def damage(held: bytes) -> bytes:
        return held[:end]

    return damage


DAMAGES = (flip(0), flip(9), flip(20), flip(45), flip(70), flip(2000), flip(-8), cut(-1), cut(30), cut(0))


@pytest.mark.parametrize(
    "content", [b"\x7fELF", b"PK\x03\x04" + bytes(8192)], ids=["short", "of another format"]
)
def test_a_file_that_is_no_stored_program(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "p.xonnc"
    path.write_bytes(content)
    with pytest.raises(XonncError, match=r"p\.xonnc: not a stored program$"):
        read_stored(path)


@pytest.mark.parametrize(
    "damage",
    DAMAGES,
    ids=["magic", "version", "sizes", "digest", "description", "code", "constants", "short", "head", "empty"],
)
def test_a_damaged_program_is_compiled_again(folder: Path, damage: Callable[[bytes], bytes]) -> None:
    expected = result(model_of())
    (kept,) = folder.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(damage(whole))
    with pytest.raises(XonncError, match=r"\.xonnc: "):
        read_stored(kept)
    assert np.array_equal(np.asarray(expected), np.asarray(result(model_of())))
    assert len(kept.read_bytes()) == len(whole)


def test_what_is_pythons_is_not_kept() -> None:
    host = Program(steps=[HostStep("Unique", "u", "", list, [], [])])
    assert not is_serializable(host)
    assert not is_serializable(host, allow_models=True)
    assert not is_serializable(Program(steps=[SessionStep("If", "i", {}, [], [], [BodyProgram(host, [])])]))
    known = Program(steps=[HostStep("Unique", "u", "", list, [], [], lambda: b"")])
    assert is_serializable(known, allow_models=True)
    assert not is_serializable(known)
    assert is_serializable(Program(values=[ProgramValue(Storage.INPUT, (1,), np.dtype(np.float32))]))


STRINGS = """
<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 2]>
model (string[3] x, bool[3] c, bool p) => (string[3] y, int64[3] z, string[3] w) {
  t = Where (c, x, k)
  y = StringNormalizer <case_change_action = "UPPER", stopwords = ["ß"]> (t)
  z = ai.onnx.ml.LabelEncoder <keys_strings = ["a", "ä"], values_int64s = [4, 5], default_int64 = -3> (t)
  w = If (p) <then_branch = l () => (string[3] a) { a = Identity (k) },
              else_branch = r () => (string[3] b) { b = Identity (x) }>
}
"""


@pytest.mark.parametrize("text", [b"\xc3\xa4", b"", b"\xff\x00"], ids=["umlaut", "empty", "bytes"])
def test_programs_with_strings_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    model = onnx.parser.parse_model(STRINGS)
    model.graph.initializer.add(name="k", data_type=8, dims=[3], string_data=[text, b"b", text])
    x = np.array(["a", "b", "\n"], object)

    def results() -> list[object]:
        session = native.compile_native(model)
        found: list[object] = []
        for flag in (True, False):
            feeds = {"x": x, "c": np.array([True, False, False]), "p": np.array(flag)}
            try:
                found += [np.asarray(each).tolist() for each in session.run(None, feeds)]
            except XonncError as error:
                found.append(str(error))
        return found

    expected = results()
    reason = "y: the string b'\\xff\\x00' is not UTF-8 text"
    assert (expected == [reason] * 2) == (text == b"\xff\x00")
    assert len(list(folder.iterdir())) == 1

    def fail(*_: object) -> object:
        raise AssertionError("compiled again")

    monkeypatch.setattr(native_sessions, "compile_program", fail)
    assert results() == expected


CONTROL = """
<ir_version: 10, opset_import: ["" : 21]>
model (bool c, int64 m, float[3, 4] x) => (seq(float[3, 4]) parts, float[3, 4] y, float[n, 4] rows) {
  t = If(c) <
    then_branch = left () => (float[3, 4] a) { two = Constant<value = float {2.0}>() a = Mul(x, two) },
    else_branch = right () => (float[3, 4] b) { b = Neg(x) }
  >
  y, rows = Loop(m, c, t) <
    body = turn (int64 i, bool go, float[3, 4] before) => (bool on, float[3, 4] after, float[4] row) {
      on = Identity(go)
      step = Constant<value = float[4] {0.5, 1.0, 1.5, 2.0}>()
      after = Add(before, step)
      row = Neg(step)
    }
  >
  parts = SequenceConstruct(t, y)
}
"""


HOST = """
<ir_version: 8, opset_import: ["": 18]>
g (float[3, 4] x) => (int8[6, 4] y) {
  i = Cast<to = 3>(x)
  n = Constant<value = int64[2] {6, 4}>()
  y = Resize<mode = "linear">(i, , , n)
}
"""
"""Integers between others have no kernel."""


def test_what_the_host_computes_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator without a kernel: as a model of one node."""
    model = onnx.parser.parse_model(HOST)
    feeds = {"x": X}
    first = native.compile_native(model)
    expected = np.asarray(first.run(None, feeds)[0])
    calls = first.host_calls()
    assert calls
    forbid(monkeypatch)
    second = native.compile_native(model)
    assert np.array_equal(np.asarray(second.run(None, feeds)[0]), expected)
    assert second.host_calls() == calls
    assert [line.reason for line in second.report()] == [line.reason for line in first.report()]


def test_what_the_session_does_is_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = onnx.parser.parse_model(CONTROL)
    feeds = {"c": np.array(True), "m": np.array(3), "x": X}
    native.compile_native(model).run(None, feeds)
    forbid(monkeypatch)
    session = native.compile_native(model)
    steps = 3 * np.array([0.5, 1, 1.5, 2], np.float32)
    parts, y, rows = session.run(None, feeds)
    assert np.array_equal(np.asarray(rows), np.tile(-steps / 3, (3, 1)))
    assert np.array_equal(np.asarray(y), 2 * X + steps)
    assert isinstance(parts, tuple)
    assert np.array_equal(np.asarray(parts[0]), 2 * X)
    assert np.array_equal(np.asarray(session.run(["y"], feeds | {"c": np.array(False)})[0]), -X)
    assert [line.what for line in session.report() if line.where == "session"] == [
        "StripMinedLoop",
        "SequenceConstruct",
    ]


def test_models_with_files_of_constants_are_not_kept(folder: Path, tmp_path: Path) -> None:
    model = model_of()
    (tmp_path / "c.bin").write_bytes(np.full([3, 4], 3, np.float32).tobytes())
    constant = model.graph.initializer[0]
    constant.ClearField("raw_data")
    constant.data_location = TensorProto.EXTERNAL
    constant.external_data.add(key="location", value="c.bin")
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    result(tmp_path / "model.onnx")
    assert not folder.exists()


def test_numbers_that_read_as_a_location_are_none(folder: Path, tmp_path: Path) -> None:
    model = model_of()
    text = np.frombuffer(b"location" * 512, np.uint8)
    model.graph.initializer.append(numpy_helper.from_array(text, "text"))
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    result(tmp_path / "model.onnx")
    assert folder.exists()


def test_files_that_are_no_models_are_told_as_without_a_cache(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(model_of().SerializeToString()[:-30])
    with pytest.raises(XonncError, match=r"model\.onnx"):
        result(tmp_path / "model.onnx")
    assert not folder.exists()


def test_the_oldest_go(tmp_path: Path) -> None:
    stored = StoredProgram(Program(), b"x" * 900, [])
    cache = Cache(tmp_path, 2500)
    for key in "abc":
        cache.put(key, stored)
        if key == "b":
            assert cache.get("a") is not None
    assert {path.stem for path in tmp_path.iterdir()} == {"a", "c"}
    Cache(tmp_path, 100).put("d", stored)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "cache", 1000)
    cache.put("a", StoredProgram(Program(), b"", []))
    assert cache.get("a") is None


LARGE = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[n,520] x) => (float[n,520] y) { t = MatMul(x, w) u = Tanh(t) y = Hardmax(u) }
"""


def large_model() -> onnx.ModelProto:
    """A model with a constant of more than a megabyte that is compiled for each size."""
    model = onnx.parser.parse_model(LARGE)
    weights = np.random.default_rng(1).normal(size=(520, 520)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    return model


def rows(model: onnx.ModelProto, *counts: int) -> list[npt.NDArray[np.float32]]:
    session = native.compile_native(model)
    given = [session.run(None, {"x": np.full((count, 520), 0.01, np.float32)})[0] for count in counts]
    return [np.asarray(each, np.float32) for each in given]


def test_programs_for_all_shapes_have_their_large_constants_in_common(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = rows(large_model(), 20, 30, 40)
    # One for each size and one for any, where the host computes Hardmax and weights lie as in the model.
    assert [len(list(folder.glob(f"*{suffix}"))) for suffix in (".xonnc", ".constants")] == [4, 2]
    assert max(path.stat().st_size for path in folder.glob("*.xonnc")) < 1 << 20
    forbid(monkeypatch)
    for found, known in zip(rows(large_model(), 20, 30, 40), expected, strict=True):
        assert np.array_equal(found, known)


@pytest.mark.parametrize("damage", [flip(1000), cut(-4), cut(0), None])
def test_a_damaged_file_of_constants_is_written_again(
    folder: Path, damage: Callable[[bytes], bytes] | None
) -> None:
    expected = rows(large_model(), 20)
    kept = {path: path.read_bytes() for path in folder.glob("*.constants")}
    assert kept
    for path, whole in kept.items():
        if damage is None:
            path.unlink()
        else:
            path.write_bytes(damage(whole))
    assert np.array_equal(rows(large_model(), 20), expected)
    assert {path: path.read_bytes() for path in folder.glob("*.constants")} == kept


def test_a_file_that_changes_meanwhile_is_not_kept(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(large_model().SerializeToString())
    session = native.compile_native(path)
    before = set(folder.glob("*.xonnc"))
    os.utime(path, ns=(0, 0))
    session.run(None, {"x": np.zeros((3, 520), np.float32)})
    assert set(folder.glob("*.xonnc")) == before


def test_small_floats_are_stored(tmp_path: Path) -> None:
    bfloat16 = np.dtype("bfloat16")
    array = np.array([1.5, -2], bfloat16)
    program = Program(values=[ProgramValue(Storage.CONSTANT, (2,), bfloat16, constant=array)])
    write_stored(tmp_path / "p", StoredProgram(program, b"", ["k"]))
    found = read_stored(tmp_path / "p")
    constant = found.program.values[0].constant
    assert constant is not None
    assert constant.dtype == bfloat16
    assert np.array_equal(constant, array)
    assert found.shape_determining == ["k"]


def test_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for asked in ("off", "", "0"):
        monkeypatch.setenv("XONNC_CACHE", asked)
        assert open_cache() is None
    monkeypatch.delenv("XONNC_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/there")
    assert cache_folder() == Path("/there/xonnc")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder() == Path("/home/me/.cache/xonnc")


@pytest.mark.parametrize(
    ("text", "expected"), [("12", 12), ("3k", 3000), ("500MB", 500_000_000), ("4G", 4 * 10**9)]
)
def test_how_much(monkeypatch: pytest.MonkeyPatch, text: str, expected: int) -> None:
    monkeypatch.setenv("XONNC_CACHE_SIZE", text)
    assert cache_limit() == expected


def test_how_much_of_what(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XONNC_CACHE_SIZE", "lots")
    with pytest.raises(XonncError, match="XONNC_CACHE_SIZE=lots: a number of bytes, as 500M or 4G"):
        cache_limit()


def distrusted(model: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch, folder: Path, reason: str) -> None:
    """The model is compiled, twice, with one warning, and the folder stays as it is."""
    before = {path: (path.lstat().st_ino, path.lstat().st_mtime_ns) for path in folder.rglob("*")}
    compiled: list[str] = []
    machine_code = native_compilation.machine_code

    def count(text: str, level: int) -> bytes:
        compiled.append(text)
        return machine_code(text, level)

    monkeypatch.setattr(native_compilation, "machine_code", count)
    with pytest.warns(UserWarning, match=reason) as told:
        results = [result(model), result(model)]
    assert len(told) == 1
    assert all(np.allclose(np.asarray(each), np.tanh(X) * 3) for each in results)
    assert len(compiled) == 2
    assert {path: (path.lstat().st_ino, path.lstat().st_mtime_ns) for path in folder.rglob("*")} == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("is_folder", [False, True])
def test_what_belongs_to_others_is_not_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch, is_folder: bool
) -> None:
    result(model_of())
    (file,) = folder.iterdir()
    os.chown(folder if is_folder else file, 1234, 1234)
    if is_folder:
        distrusted(model_of(), monkeypatch, folder, "cache: belongs to another user")
        return
    with pytest.warns(UserWarning, match=r"\.xonnc: belongs to another user"):
        result(model_of())


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702])
def test_a_folder_that_others_may_write_to_is_left_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    result(model_of())
    folder.chmod(mode)
    distrusted(model_of(), monkeypatch, folder, "cache: others may write to it")


@pytest.mark.parametrize("damage", ["mode", "link", "pipe"])
def test_files_that_others_may_have_written_are_not_run(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    result(model_of())
    (file,) = folder.iterdir()
    if damage == "mode":
        file.chmod(0o622)
    else:
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere") if damage == "link" else os.mkfifo(file)

    def refuse(*_: object) -> StoredProgram:
        raise AssertionError("read")

    monkeypatch.setattr(cache_module, "read_stored", refuse)
    with pytest.warns(UserWarning, match="it is not used as a cache"):
        result(model_of())


def test_a_folder_that_cannot_be_read_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result(model_of())
    opened = os.open

    def refuse(path: Path, flags: int, *rest: int, **options: int) -> int:
        if Path(path).is_relative_to(folder):
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *rest, **options)

    monkeypatch.setattr(cache_module.os, "open", refuse)
    distrusted(model_of(), monkeypatch, folder, "cache: Permission denied")


def test_large_constants_of_others_are_not_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "MIN_EXTERNAL_BYTES", 16)
    result(model_of())
    (constants,) = folder.glob("*.constants")
    constants.chmod(0o666)
    with pytest.warns(UserWarning, match=r"\.constants: others may write to it"):
        result(model_of())


@pytest.mark.parametrize("mask", [0o000, 0o002, 0o077])
def test_files_are_private_whatever_the_mask_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, mask: int
) -> None:
    monkeypatch.setattr(cache_module, "MIN_EXTERNAL_BYTES", 16)
    before = os.umask(mask)
    try:
        result(model_of())
    finally:
        os.umask(before)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    forbid(monkeypatch)
    result(model_of())


def test_a_user_without_a_home_has_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XONNC_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(cache_module.Path, "home", fail)
    assert cache_folder() is None
