"""Package files: the same bytes each time, and every way in which one can be wrong."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from xonnc.errors import XonncError
from xonnc.formats.nvdla.quantization import QuantizationParameters
from xonnc.formats.package.archive import (
    MANIFEST,
    MAX_MANIFEST_BYTES,
    host_file,
    read_package,
    write_package,
)
from xonnc.formats.package.manifest import (
    Manifest,
    PackagePort,
    PackageStep,
    TensorInfo,
    read_manifest,
    write_manifest,
)

FIRST, SECOND = b"a loadable", b"a model"
Change = Callable[[dict[str, Any]], object]


def steps(*contents: bytes) -> tuple[PackageStep, ...]:
    digests = [hashlib.sha256(content).hexdigest() for content in contents]
    return (
        PackageStep(
            "dla",
            "parts/0.nvdla",
            len(contents[0]),
            digests[0],
            ("x",),
            ("m",),
            {"m": QuantizationParameters(0.5, -3)},
            nodes=("conv1", "conv1", ""),
        ),
        PackageStep("cpu", "parts/1.onnx", len(contents[1]), digests[1], ("m",), ("y",), {}),
    )


def manifest() -> Manifest:
    image, scores = TensorInfo("float32", (1, 3, 8, 8)), TensorInfo("int64", (None, 4))
    return Manifest(
        target="nv_small",
        inputs=(PackagePort("image", "x"),),
        outputs=(PackagePort("scores", "y"),),
        values={"x": image, "m": TensorInfo("float32", None), "y": scores},
        steps=steps(FIRST, SECOND),
    )


def written(path: Path) -> Path:
    unknown = [replace(step, size=0, sha256="") for step in manifest().steps]
    said = manifest()
    blank = Manifest(said.target, said.inputs, said.outputs, said.values, tuple(unknown))
    size = write_package(path, blank, [lambda to: to.write(FIRST), lambda to: to.write(SECOND)])
    assert size == path.stat().st_size
    return path


def test_what_is_written_is_read(tmp_path: Path):
    package = read_package(written(tmp_path / "m.xpkg"))
    assert package.manifest == manifest()
    assert package.parts == (FIRST, SECOND)


def test_the_same_package_is_the_same_bytes(tmp_path: Path):
    first, second = written(tmp_path / "a.xpkg"), written(tmp_path / "b.xpkg")
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        assert [info.date_time for info in archive.infolist()] == [(1980, 1, 1, 0, 0, 0)] * 3
        assert archive.namelist() == ["parts/0.nvdla", "parts/1.onnx", MANIFEST]


def test_parts_may_be_larger_than_zip_without_64_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Their size is not known when their header is written."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", len(FIRST) - 1)
    path = written(tmp_path / "m.xpkg")
    monkeypatch.undo()
    assert read_package(path).parts == (FIRST, SECOND)


def with_host(table: dict[str, Any]) -> None:
    """Add native code of the CPU partition to a manifest."""
    table["host"] = "aarch64-linux-gnu"
    table["steps"][1]["host"] = [
        asdict(host_file("parts/1.o", b"code")),
        asdict(host_file("parts/1.h", b"header")),
    ]


HOST_FILES = {"parts/1.o": b"code", "parts/1.h": b"header"}


def test_host_files_are_read_and_checked(tmp_path: Path):
    package = read_package(packed(tmp_path / "m.xpkg", {**members(with_host), **HOST_FILES}))
    assert package.manifest.host == "aarch64-linux-gnu"
    assert package.host_files == HOST_FILES
    rewritten = tmp_path / "again.xpkg"
    write_package(
        rewritten,
        package.manifest,
        [lambda to: to.write(FIRST), lambda to: to.write(SECOND)],
        package.host_files,
    )
    assert read_package(rewritten).manifest == package.manifest
    assert read_package(rewritten).host_files == HOST_FILES


def packed(path: Path, members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def members(change: Change = lambda table: None) -> dict[str, bytes]:
    table = json.loads(write_manifest(manifest()))
    change(table)
    return {"parts/0.nvdla": FIRST, "parts/1.onnx": SECOND, MANIFEST: json.dumps(table).encode()}


WRONG_FILES: list[tuple[dict[str, bytes], str]] = [
    ({"parts/0.nvdla": FIRST}, "it contains no manifest.json: not a package"),
    (
        {**members(), "../../etc/passwd": b"x"},
        "'../../etc/passwd' is not listed in manifest.json",
    ),
    (
        {**members(), "parts/1.onnx": b"a modem"},
        "'parts/1.onnx': its SHA-256 is not the one in manifest.json",
    ),
    ({**members(), "parts/1.onnx": b"longer by far"}, "has 13 bytes, manifest.json says 7"),
    ({n: d for n, d in members().items() if n != "parts/1.onnx"}, "no 'parts/1.onnx' in it"),
    ({**members(with_host), "parts/1.o": b"code"}, "no 'parts/1.h' in it, which manifest.json names"),
    ({**members(with_host), **HOST_FILES, "parts/1.o": b"edoc"}, "'parts/1.o': its SHA-256 is not the one"),
    ({**members(), "parts/1.o": b"code"}, "'parts/1.o' is not listed in manifest.json"),
    ({**members(), MANIFEST: b"{"}, "manifest.json: not JSON"),
    ({**members(), MANIFEST: b"[" * 100_000}, "manifest.json: not JSON"),
    ({**members(), MANIFEST: b" " * (MAX_MANIFEST_BYTES + 1)}, f"it has up to {MAX_MANIFEST_BYTES}"),
]


@pytest.mark.parametrize(("parts", "message"), WRONG_FILES)
def test_a_wrong_file_is_one_error(tmp_path: Path, parts: dict[str, bytes], message: str):
    path = packed(tmp_path / "m.xpkg", parts)
    with pytest.raises(XonncError) as caught:
        read_package(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_compressed_members_are_refused(tmp_path: Path):
    path = packed(tmp_path / "m.xpkg", {**members(), "bomb": bytes(100_000)}, zipfile.ZIP_DEFLATED)
    with pytest.raises(XonncError, match="compressed or encrypted; members of packages are stored"):
        read_package(path)


def test_a_member_twice_is_refused(tmp_path: Path):
    path = packed(tmp_path / "m.xpkg", members())
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("parts/1.onnx", SECOND)
    with pytest.raises(XonncError, match=r"'parts/1.onnx' is in it twice"):
        read_package(path)


def test_a_size_beyond_the_file_is_refused(tmp_path: Path):
    path = packed(tmp_path / "m.xpkg", members())
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 20 : entry + 28] = (1 << 30).to_bytes(4, "little") * 2
    path.write_bytes(data)
    with pytest.raises(XonncError, match=f"has {1 << 30} bytes, the file has {len(data)}"):
        read_package(path)


def test_every_cut_is_an_error(tmp_path: Path):
    data = written(tmp_path / "whole.xpkg").read_bytes()
    path = tmp_path / "cut.xpkg"
    for length in range(0, len(data), 37):
        path.write_bytes(data[:length])
        with pytest.raises(XonncError, match="no package, or damaged"):
            read_package(path)


def test_a_changed_byte_never_goes_unseen_or_raises_something_else(tmp_path: Path):
    data = written(tmp_path / "whole.xpkg").read_bytes()
    path = tmp_path / "changed.xpkg"
    for index in range(0, len(data), 5):
        changed = bytearray(data)
        changed[index] ^= 0xFF
        path.write_bytes(changed)
        try:
            assert read_package(path).parts == (FIRST, SECOND)
        except XonncError:
            continue


def test_a_missing_file_is_an_error(tmp_path: Path):
    with pytest.raises(XonncError, match="no such file"):
        read_package(tmp_path / "none.xpkg")


def put(path: str, value: object) -> Change:
    *way, last = path.split(".")

    def change(table: Any) -> None:
        for key in way:
            table = table[int(key) if key.isdigit() else key]
        table[last] = value

    return change


def both(first: Change, second: Change) -> Change:
    def change(table: Any) -> None:
        first(table)
        second(table)

    return change


WRONG_MANIFESTS: list[tuple[Change, str]] = [
    (put("format", "zip"), "format 'zip' is not 'xonnc-package'"),
    (put("format", 3), "manifest: 'format' is 3, where text is needed"),
    (put("version", 2), "version 2; this release reads 1: update xonnc, or compile"),
    (put("version", True), "'version' is True, where an integer is needed"),
    (put("values", []), "'values' is [], where an object is needed"),
    (put("steps", {}), "'steps' is {}, where a list is needed"),
    (put("host", 3), "manifest: 'host' is 3, where text is needed"),
    (put("host", "avx2"), "step 1: host files none; it has parts/1.h, parts/1.o"),
    (
        both(with_host, put("steps.1.host.0.file", "../1.o")),
        "step 1: host file '../1.o'; they are called parts/NUMBER.o, .h or .weight",
    ),
    (
        both(with_host, put("steps.1.host.0.file", "parts/7.o")),
        "step 1: host files parts/1.h, parts/7.o; it has parts/1.h, parts/1.o",
    ),
    (
        both(with_host, put("steps.1.host.0.sha256", "")),
        "step 1: size 4 and sha256 '' are no size and digest",
    ),
    (
        both(with_host, lambda table: table.pop("host")),
        "step 1: host files parts/1.h, parts/1.o; it has none",
    ),
    (put("steps", [3]), "step 0: 'kind' is None, where text is needed"),
    (put("inputs", ["x"]), "input 0: 'name' is None"),
    (put("values.x", {"type": "float32", "shape": [1, -3]}), "value 'x': shape [1, -3]; sizes are"),
    (put("values.x", {"type": "float32", "shape": 3}), "'shape' is 3, where a list is needed"),
    (put("steps.0.kind", "gpu"), "step 0: kind 'gpu'; there are dla, cpu, backend"),
    (put("steps.0.file", "../x.nvdla"), "step 0: file '../x.nvdla'; parts are called parts/NUMBER"),
    (put("steps.0.file", "/parts/0.nvdla"), "parts are called parts/NUMBER.nvdla or .onnx"),
    (
        both(put("steps.0.kind", "backend"), put("steps.0.file", "parts/x")),
        "step 0: file 'parts/x'; parts are called parts/NUMBER.SUFFIX",
    ),
    (put("steps.0.size", -1), "step 0: size -1"),
    (put("steps.0.sha256", "00"), "sha256 '00' are no size and digest"),
    (put("steps.0.inputs", [3]), "step 0: inputs are names, in text"),
    (put("steps.0.nodes", [3]), "step 0: nodes are names, in text"),
    (put("steps.0.nodes", "conv1"), "step 0: 'nodes' is 'conv1', where a list is needed"),
    (put("steps.0.quantization.m.scale", 0), "quantization of 'm': scale 0; scales are above 0"),
    (put("steps.0.quantization.m.scale", "big"), "'scale' is 'big', where a number is needed"),
    (put("steps.0.inputs", ["y"]), "step 0: takes 'y', which no earlier step produces"),
    (put("steps.1.outputs", ["m"]), "step 1: gives 'm', which is defined already"),
    (put("steps.1.outputs", ["y", "y"]), "outputs of step 1: 'y' twice"),
    (put("steps.1.outputs", ["q"]), "output 'y' is produced by no step"),
    (put("steps.1.file", "parts/0.nvdla"), "step 1: 'parts/0.nvdla' is another step's file"),
    (put("inputs", [{"name": "a", "value": "x"}] * 2), "inputs: 'x' twice"),
    (put("outputs", [{"name": "a", "value": "y"}] * 2), "names of outputs: 'a' twice"),
    (put("values", {"x": {"type": "float32", "shape": None}}), "value 'm' has no type"),
]


def test_packages_of_earlier_releases_are_read():
    def older(table: Any) -> None:
        for step in table["steps"]:
            step["grids"] = step.pop("quantization")
            step.pop("nodes", None)

    first, second = manifest().steps
    assert read_manifest(members(older)[MANIFEST]).steps == (replace(first, nodes=()), second)


def test_entries_of_later_releases_are_ignored():
    def newer(table: Any) -> None:
        for each in (table, *table["inputs"], *table["outputs"], *table["values"].values(), *table["steps"]):
            each["later"] = {"of": ["any", "type"]}

    assert read_manifest(members(newer)[MANIFEST]) == read_manifest(members(nothing)[MANIFEST])


def nothing(table: Any) -> None:
    """Change nothing."""


@pytest.mark.parametrize(("change", "message"), WRONG_MANIFESTS)
def test_a_wrong_manifest_is_one_error(change: Change, message: str):
    with pytest.raises(XonncError) as caught:
        read_manifest(members(change)[MANIFEST])
    assert message in str(caught.value)
