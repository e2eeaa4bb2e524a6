"""The models of the benchmarks: valid, the same every time, of the size that the figures are about."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench import models
from bench.models import MODELS, NETWORKS, forget, path_of, size_of
from bench.zoo.convolutional import mnist_cnn, unet
from bench.zoo.recurrent import lstm
from bench.zoo.synthetic import additions, chain
from bench.zoo.transformers import bert, gpt2, vit
from xonnc.runtime.reference import ReferenceModel

SMALL: dict[str, tuple[Callable[[], onnx.ModelProto], int]] = {
    "mnist_cnn": (mnist_cnn, 12),
    "unet": (lambda: unet(4, 32), 54),
    "lstm": (lambda: lstm(4, 8, 3), 7),
    "bert": (lambda: bert("bert", 1, 16, 2, 8, 32), 22 + 58),
    "gpt2": (lambda: gpt2("gpt2", 1, 16, 2, 32, 32), 20 + 66),
    "vit": (lambda: vit("vit", 1, 16, 2, 32), 9 + 42),
    "chain": (lambda: chain(101), 101),
    "additions": (lambda: additions(5, 3), 5),
}
"""Generators, made small, and how many nodes docs/internals/cpu-kernels.md §1 asks for."""


@pytest.mark.parametrize("name", SMALL)
def test_is_valid(name: str) -> None:
    make, nodes = SMALL[name]
    model = make()
    vars(onnx.checker)["check_model"](model, full_check=True)
    onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    assert len(model.graph.node) == nodes


@pytest.mark.parametrize("name", SMALL)
def test_is_the_same_every_time(name: str) -> None:
    make, _ = SMALL[name]
    assert make().SerializeToString(deterministic=True) == make().SerializeToString(deterministic=True)


@pytest.mark.parametrize("name", SMALL)
def test_runs_to_finite_numbers(name: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    make, _ = SMALL[name]
    path = tmp_path / "model.onnx"
    path.write_bytes(make().SerializeToString())
    reference = ReferenceModel(path)
    random = np.random.default_rng(0)
    feeds = {
        port.name: random.integers(0, 2, shape)
        if port.dtype.kind == "i"
        else random.standard_normal(shape, np.float32)
        for port in reference.inputs()
        for shape in [tuple(5 if extent is None else extent for extent in port.shape)]
    }
    for output in reference.run(feeds):
        assert np.isfinite(output).all()
        assert output.std() > 0


def test_there_are_the_networks_that_are_asked_for() -> None:
    assert len(NETWORKS) == 21


def test_is_kept_until_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XONNC_BENCH_MODELS", str(tmp_path))
    made: list[Path] = []

    def write(path: Path) -> None:
        made.append(path)
        path.write_bytes(b"model")

    monkeypatch.setitem(MODELS, "tiny", write)
    path = path_of("tiny")
    assert path == path_of("tiny") == tmp_path / "tiny" / "model.onnx"
    assert size_of(path) == 5
    assert len(made) == 1
    forget("tiny")
    assert path_of("tiny").read_bytes() == b"model"
    assert len(made) == 2


@pytest.mark.parametrize("kind", ["link", "open", "file"])
def test_models_are_kept_in_a_folder_of_this_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.delenv("XONNC_BENCH_MODELS", raising=False)
    monkeypatch.setattr(models.tempfile, "gettempdir", lambda: str(tmp_path))
    path = models.folder()
    assert path.stat().st_mode & 0o777 == 0o700
    assert models.folder() == path
    if kind == "open":
        path.chmod(0o777)
    else:
        path.rmdir()
        path.symlink_to("/") if kind == "link" else path.write_text("")
    with pytest.raises((PermissionError, FileExistsError)):
        models.folder()


BENCH = Path(models.__file__).parent


@pytest.mark.parametrize("path", sorted(BENCH.rglob("*.py")), ids=lambda path: str(path.relative_to(BENCH)))
def test_benchmarks_leave_the_cache_of_the_user_alone(path: Path) -> None:
    for call in ast.walk(ast.parse(path.read_text())):
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("compile_native", "xonnc.compile"):
            kept = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
            assert kept.get("cache") == "False" or "XONNC_CACHE" in path.read_text(), call.lineno
