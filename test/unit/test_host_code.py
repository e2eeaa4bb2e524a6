"""Packages with native code for a host: what it is compiled for, what it has, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import onnx
import onnx.parser
import pytest

import xonnc
from xonnc import host_code
from xonnc.errors import RefusalError, XonncError
from xonnc.formats.package.archive import read_package
from xonnc.tools.driver import main

AARCH64 = 183
"""The machine of ELF files for 64-bit Arm."""

HOST = "aarch64-linux-gnu"


def model(body: str, shape: str = "1, 4, 8, 8") -> onnx.ModelProto:
    return onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[{shape}] x) => (float[{shape}] y) <int64 axis = {{1}}> {{ {body} }}"""
    )


@pytest.mark.parametrize(
    ("host", "processor"),
    [
        ("aarch64-linux-gnu", "aarch64"),
        ("aarch64-unknown-linux-musl", "aarch64"),
        ("arm64-linux", "aarch64"),
        ("avx2", "avx2"),
        ("portable", "portable"),
    ],
)
def test_hosts(host: str, processor: str):
    assert host_code.host_processor(host) == processor


def test_hosts_of_the_architecture_at_hand(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host_code, "is_foreign", {"x86_64-pc-linux-gnu": False, "amd64-linux-gnu": True}.get)
    assert host_code.host_processor("x86_64-pc-linux-gnu") == "portable"
    with pytest.raises(
        XonncError, match=r"host 'amd64-linux-gnu': code for amd64 is compiled on amd64; hosts"
    ):
        host_code.host_processor("amd64-linux-gnu")
    assert host_code.host_processor(HOST) == "aarch64"


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("riscv64-linux-gnu", "there is no code generation for riscv64"),
        ("arm-linux-gnueabihf", "there is no code generation for arm"),
        ("", "there is no code generation for it"),
        ("aarch64", None),
        ("aarch64-apple-darwin", "object files are for Linux"),
        ("x86_64-w64-mingw32", "object files are for Linux"),
        ("x86_64", "object files are for Linux"),
        ("x86_64-linux-gnux32", "there is no code generation for the environment gnux32"),
        ("aarch64-linux-gnu-extra", "there is no code generation for the environment gnu-extra"),
    ],
)
def test_hosts_that_there_are_not(host: str, reason: str | None):
    if reason is None:
        assert host_code.host_processor(host) == host
        return
    with pytest.raises(XonncError) as caught:
        host_code.host_processor(host)
    assert str(caught.value).startswith(f"host '{host}': {reason}; hosts are aarch64-linux-gnu, ")
    assert str(caught.value).endswith("portable; 'xonnc deploy' writes C source for any other")


def test_refusals_name_nodes_of_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = written(tmp_path, model("a = Relu (x)  b = Bernoulli (a)  y = Relu (b)"))
    assert main(["compile", str(source), "--host", HOST]) == 1
    where = f"xonnc: host {HOST}:"
    assert capsys.readouterr().err.splitlines() == [
        f"{where} b: without the attribute seed, the random generator is seeded anew in each run by the "
        "session, which is Python",
        f"{where} part 0: it has to run without Python; without --host, a package runs these in Python",
    ]
    assert not list(tmp_path.glob("*.xpkg"))


def test_a_package_has_the_code_that_deploy_compiles(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    source = written(tmp_path, model("a = Relu (x)  b = CumSum (a, axis)  y = Relu (b)"))
    path = tmp_path / "m.xpkg"
    assert main(["compile", str(source), "--host", HOST]) == 0
    assert "object file for aarch64-linux-gnu (" in capsys.readouterr().out
    package = read_package(path)
    (number,) = [n for n, step in enumerate(package.manifest.steps) if step.kind == "cpu"]
    assert package.manifest.host == HOST
    assert [*package.host_files] == [f"parts/{number}{suffix}" for suffix in (".o", ".weight", ".h")]
    assert int.from_bytes(package.host_files[f"parts/{number}.o"][18:20], "little") == AARCH64
    # The model of the part is there as well, so the package runs here.
    x = np.arange(-128, 128, dtype=np.float32).reshape(1, 4, 8, 8)
    expected = np.maximum(np.cumsum(np.maximum(x, 0), 1), 0)
    np.testing.assert_array_equal(xonnc.load_package(path).run({"x": x})["y"], expected)
    assert main(["explain", str(path)]) == 0
    assert "with object files for aarch64-linux-gnu" in capsys.readouterr().out
    own = xonnc.deploy(path, tmp_path / "own")
    again = xonnc.deploy(path, tmp_path / "again", cpu="aarch64")
    assert own.files == again.files
    for file in own.files:
        assert (own.folder / file).read_bytes() == (again.folder / file).read_bytes(), file
    assert xonnc.deploy(path, tmp_path / "source", cpu="c").files.keys() >= {f"parts/part{number}.c"}


def test_the_code_of_a_host_is_that_of_the_manifest(tmp_path: Path):
    """A package whose manifest names other inputs than the part has is refused when it is deployed."""
    whole = xonnc.compile_package(written(tmp_path, model("y = CumSum (x, axis)")), host="portable")
    (step,) = whole.manifest.steps
    assert [each.file for each in step.host_files] == ["parts/0.o", "parts/0.h"]
    path, changed = tmp_path / "m.xpkg", tmp_path / "changed.xpkg"
    whole.write(path)
    with ZipFile(path) as source, ZipFile(changed, "w") as copy:
        for name in source.namelist():
            copy.writestr(name, source.read(name).replace(b'"x"', b'"q"'))
    with pytest.raises(XonncError, match=r"changed.xpkg: parts/0.onnx: it has x, the manifest says q"):
        xonnc.deploy(changed, tmp_path / "board")
    assert not (tmp_path / "board").exists()


def test_a_model_of_the_dla_alone_is_a_package_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = written(tmp_path, model("y = Relu (x)"))
    assert main(["compile", str(path), "--host", HOST, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["host"], report["host_files"]) == (HOST, {})
    assert xonnc.deploy(path.with_suffix(".xpkg"), tmp_path / "board").files.keys() >= {"data/0.nvdla"}


def test_dynamic_shapes_and_weights_in_the_object(tmp_path: Path):
    compiled = xonnc.compile(model("y = CumSum (x, axis)", "N, 4"), "nv_full", host="avx2")
    (path,) = compiled.save(tmp_path / "m.xpkg")
    assert [*read_package(path).host_files] == ["parts/0.o", "parts/0.h"]


def test_operators_without_native_code_are_told(tmp_path: Path):
    path = written(tmp_path, model("y = Bernoulli (x)"))
    with pytest.raises(RefusalError, match=rf"^host {HOST}: y: without the attribute seed"):
        xonnc.compile_package(path, host=HOST)
    assert main(["compile", str(path), "--host", HOST]) == 1
    assert not path.with_suffix(".xpkg").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--require-dla"], f"--host {HOST}: with --require-dla nothing runs on the host"),
        (["-o", "m.nvdla"], "m.nvdla: the host's code is in a package; -o m.xpkg"),
        (["-o", "m.so"], "--host is for NVDLA targets, not for native code"),
        (["--target", "cpu"], "--host is for NVDLA targets, not for native code"),
        (["--target", "tosa", "-o", "m.mlir"], "--host is not for "),
    ],
)
def test_options_that_contradict_it(
    options: list[str],
    message: str,
    small_model: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    small_model("m.onnx")
    monkeypatch.chdir(tmp_path)
    assert main(["compile", "m.onnx", "--host", HOST, *options]) == 1
    assert message in capsys.readouterr().err


def written(folder: Path, content: onnx.ModelProto) -> Path:
    path = folder / "m.onnx"
    path.write_bytes(content.SerializeToString())
    return path
