"""Models that packages are made of, and how packages are compared with onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper, numpy_helper
from onnx import parser as onnx_parser

from xonnc.packages import CompiledPackage
from xonnc.runtime.package import load_package
from xonnc.runtime.reference import ReferenceModel

Array = npt.NDArray[Any]
SHAPE = (1, 3, 8, 8)
WEIGHTS = {"w": (8, 3, 3, 3), "v": (8, 8, 3, 3), "one": (8, 8, 1, 1)}


def saved(
    folder: Path,
    nodes: str,
    outputs: Sequence[str] = ("y",),
    inputs: Mapping[str, Sequence[int | str]] | None = None,
    constants: Mapping[str, Array] | None = None,
    types: Mapping[str, int] | None = None,
) -> Path:
    """A model of nodes as text, its weights drawn from a seed."""
    generator = np.random.default_rng(5)
    held = {
        name: (generator.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)
        for name, shape in WEIGHTS.items()
    } | dict(constants or {})
    lines = [line.strip() for line in nodes.strip().splitlines()]
    parsed = [onnx_parser.parse_node(line) for line in lines]
    for number, node in enumerate(parsed):
        node.name = f"{node.op_type.lower()}{number}"
    read = {name for node in parsed for name in node.input}
    graph = helper.make_graph(
        parsed,
        "network",
        [
            helper.make_tensor_value_info(name, (types or {}).get(name, TensorProto.FLOAT), shape)
            for name, shape in (inputs or {"x": SHAPE}).items()
        ],
        [helper.make_tensor_value_info(name, (types or {}).get(name, 1), None) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in held.items() if name in read | set(outputs)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def kinds(package: CompiledPackage) -> list[str]:
    return [step.kind for step in package.manifest.steps]


def agreement(model: Path, package: CompiledPackage, feeds: Mapping[str, Array]) -> float:
    """The largest difference from onnxruntime, relative to each output's largest number."""
    path = model.with_suffix(".xpkg")
    package.write(path)
    found = load_package(path).run(feeds)
    reference = ReferenceModel(model)
    worst = 0.0
    for port, expected in zip(reference.outputs(), reference.run(feeds), strict=True):
        assert found[port.name].dtype == expected.dtype
        assert found[port.name].shape == expected.shape
        scale = float(np.abs(expected).max(initial=0.0)) or 1.0
        difference = np.abs(found[port.name].astype(np.float64) - expected.astype(np.float64))
        worst = max(worst, float(difference.max(initial=0.0)) / scale)
    return worst


def image(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).standard_normal(shape or SHAPE).astype(np.float32)


CASES: dict[str, tuple[str, list[str], int]] = {
    "begin": ("s = Sinh(x)\n c = Conv(s, w)\n y = Relu(c)", ["cpu", "dla"], 2),
    "middle": ("c = Conv(x, w)\n s = Sinh(c)\n y = Conv(s, v)", ["dla", "cpu", "dla"], 4),
    "end": ("c = Conv(x, w)\n r = Relu(c)\n y = Sinh(r)", ["dla", "cpu"], 2),
    "branches": (
        "c = Conv(x, w)\n a = Conv<pads=[1,1,1,1]>(c, v)\n s = Sinh(c)\n b = Conv(s, one)\n y = Add(a, b)",
        ["dla", "cpu", "dla"],
        5,
    ),
    "around": ("c = Conv(x, w)\n s = Sinh(c)\n r = Relu(s)\n y = Cosh(r)", ["dla", "cpu"], 2),
    "nothing": ("s = Sinh(x)\n y = Cosh(s)", ["cpu"], 0),
    "a function after": ("c = Conv(x, w)\n s = Sinh(c)\n y = Sigmoid(s)", ["dla", "cpu"], 2),
    "a function before": ("t = Tanh(x)\n s = Sinh(t)\n y = Conv(s, w)", ["cpu", "dla"], 2),
    "a function between": (
        "c = Conv(x, w)\n t = Tanh(c)\n d = Conv(t, v)\n y = Sinh(d)",
        ["dla", "cpu"],
        2,
    ),
}
