"""Every lowering to TOSA by numbers: the ops emitted, in NumPy and by IREE, against onnxruntime."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from tosa_cases import CASES, INTEGERS
from tosa_interpreter import Array, interpret
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from xonnc.contexts import new_context
from xonnc.dialects.onnx.assembly import OnnxPrinter
from xonnc.formats.onnx import import_proto
from xonnc.passes import run_pass
from xonnc.runtime.reference import ReferenceModel

Build = Callable[..., onnx.ModelProto]

MLIR_OPT = shutil.which("mlir-opt-22") or shutil.which("mlir-opt-21")
"""Upstream's tool in a version that reads TOSA 1.0."""

SPLIT = "\n// -----\n"
"""Between the modules of one text."""

TOLERANCE = 2e-5
"""Of the largest output: sums in another order, and reciprocals in place of divisions."""


def lowered(model: onnx.ModelProto) -> ModuleOp:
    """Return a model in the tosa dialect, transposes folded."""
    context = new_context()
    module = import_proto(model, context)
    for name in ("simplify-onnx", "convert-onnx-to-tosa", "tosa-fold-transposes"):
        run_pass(name, context, module)
        module.verify()
    return module


def text_of(module: ModuleOp) -> str:
    """Return a module in the form that every version of MLIR reads."""
    out = StringIO()
    OnnxPrinter(stream=out, print_generic_format=True).print_op(module)
    return out.getvalue()


def reference(model: onnx.ModelProto, folder: Path) -> tuple[list[Array], list[Array]]:
    """Return inputs and what onnxruntime computes of them."""
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    held = ReferenceModel(path)
    generator = np.random.default_rng(9)
    feeds = {
        port.name: (generator.standard_normal([size or 1 for size in port.shape]) * 2).astype(np.float32)
        for port in held.inputs()
    }
    for array in feeds.values():
        # Zero is where most functions have their corner.
        array.reshape(-1)[::7] = 0
    return list(feeds.values()), list(held.run(feeds))


def require_close(found: Sequence[Array], expected: Sequence[Array], tolerance: float = TOLERANCE) -> None:
    """Require NaN and infinities at the same places, and the other elements nearly equal."""
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.shape == theirs.shape
        size = np.abs(theirs[np.isfinite(theirs)]).max(initial=0.01)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=float(tolerance * size))


@pytest.mark.parametrize(("nodes", "options"), CASES)
def test_numbers(nodes: str, options: dict[str, Any], build: Build, tmp_path: Path):
    model = build(nodes, **options)
    inputs, expected = reference(model, tmp_path)
    require_close(interpret(lowered(model), inputs), expected)


@pytest.mark.parametrize(("nodes", "options"), INTEGERS)
def test_quantized_numbers(nodes: str, options: dict[str, Any], build: Build, tmp_path: Path):
    options = dict(options)
    step, ops = options.pop("step"), options.pop("ops")
    model = build(nodes, **options)
    inputs, expected = reference(model, tmp_path)
    module = lowered(model)
    assert ops <= {op.name.removeprefix("tosa.") for op in module.walk()}
    found = interpret(module, inputs)
    # One step of the quantized result at most, and that where a tie is rounded the other way.
    for ours, theirs in zip(found, expected, strict=True):
        steps = np.abs(ours - theirs) / step
        assert steps.max() <= 1.01
        assert (steps > 0.5).mean() <= 0.02


def test_special_values(build: Build):
    """NaN, infinities and both zeros go through as in ONNX."""
    x = np.array([[np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38, -2.5]], np.float32)
    for nodes, expected in (
        ("y = Relu(x)", [np.nan, np.inf, 0, 0, 0, 1e-40, 3e38, 0]),
        ("y = Sqrt(x)", [np.nan, np.inf, np.nan, 0, 0, 1e-20, 3e38**0.5, np.nan]),
        ("y = Neg(x)", [np.nan, -np.inf, np.inf, 0, 0, -1e-40, -3e38, 2.5]),
        ("y = Sigmoid(x)", [np.nan, 1, 0, 0.5, 0.5, 0.5, 1, 1 / (1 + np.exp(2.5))]),
        (
            "y = Softplus(x)",
            [np.nan, np.inf, 0, np.log(2), np.log(2), np.log(2), 3e38, np.log1p(np.exp(-2.5))],
        ),
    ):
        made = interpret(lowered(build(nodes, x=x.shape)), [x])[0]
        np.testing.assert_allclose(made[0], np.array(expected, np.float32), rtol=1e-4, err_msg=nodes)
    assert np.signbit(interpret(lowered(build("y = Neg(x)", x=x.shape)), [x])[0][0, 3])


def _joined(build: Build) -> tuple[str, list[tuple[str, onnx.ModelProto]]]:
    """Return all cases as the functions of one text, and their names and models."""
    texts: list[str] = []
    models: list[tuple[str, onnx.ModelProto]] = []
    for index, case in enumerate((*CASES, *INTEGERS)):
        options: dict[str, Any] = {**case.values[1]}
        for name in ("step", "ops"):
            options.pop(name, None)
        model = build(case.values[0], **options)
        module = lowered(model)
        function = next(op for op in module.ops if isinstance(op, FuncOp))
        name = f"case_{index}"
        texts.append(text_of(module).replace(f'"{function.sym_name.data}"', f'"{name}"'))
        models.append((name, model))
    return SPLIT.join(texts), models


@pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt of LLVM 21 or later is not installed")
def test_upstream_accepts_every_form(build: Build):
    assert MLIR_OPT is not None
    command = [
        MLIR_OPT,
        "--split-input-file",
        "--tosa-attach-target=specification_version=1.0 profiles=pro_int,pro_fp level=none",
        "--tosa-validate=strict-op-spec-alignment",
        "-o",
        "/dev/null",
    ]
    text, _ = _joined(build)
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert run.stderr == ""


def test_iree_computes_the_same(build: Build, tmp_path: Path):
    compiler: Any = pytest.importorskip("iree.compiler", reason="iree-base-compiler is not installed")
    runtime: Any = pytest.importorskip("iree.runtime", reason="iree-base-runtime is not installed")
    text, models = _joined(build)
    # One compilation for all: the functions of every module, between its first and its last line.
    functions = [line for part in text.split(SPLIT) for line in part.strip().splitlines()[1:-1]]
    joined = "\n".join(['"builtin.module"() ({', *functions, "}) : () -> ()"])
    flags = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu"]
    code = compiler.compile_str(joined, extra_args=[*flags, "--iree-llvmcpu-target-cpu=host"])
    loaded = runtime.load_vm_flatbuffer(code, driver="local-task")
    for name, model in models:
        inputs, expected = reference(model, tmp_path)
        found: Any = loaded[name](*inputs)
        several: tuple[Any, ...] = (found,) if hasattr(found, "to_host") else tuple(found)
        outputs = [np.asarray(each.to_host()) for each in several]
        is_integer = any("Quantize" in node.op_type for node in model.graph.node)
        require_close(outputs, expected, 0.02 if is_integer else TOLERANCE)
