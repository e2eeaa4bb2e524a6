"""
Generate models with NNSmith: `python generate.py FOLDER FIRST COUNT`.

Run by the interpreter of NNSmith's own environment. Each seed gives `SEED.onnx` and `SEED.npz` with inputs
for which NNSmith found no NaN. NNSmith dates from 2023: export uses TorchScript, and the serialization
function that it expects of onnx is restored.
"""

from __future__ import annotations

import functools
import logging
import random
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx

ELEMENTS = 4096
"""Most elements of a tensor."""

MIN_OPERATORS, OPERATOR_RANGE = 3, 10
"""Least number of operators of a model, and number of different counts."""

SECONDS = 5


def imported(module: str, name: str) -> Any:
    """An attribute of a module without type stubs."""
    return vars(import_module(module))[name]


def prepare() -> Callable[[int], tuple[onnx.ModelProto, dict[str, Any]]]:
    """Return a function that generates the model of a seed and its inputs."""
    torch = import_module("torch")
    exporter = import_module("torch.onnx")
    exporter.__dict__["export"] = functools.partial(vars(exporter)["export"], dynamo=False)
    onnx.__dict__["_serialize"] = onnx.ModelProto.SerializeToString
    kind: Any = imported("nnsmith.materialize", "Model").init("onnx", backend_target="cpu")
    kind.add_seed_setter()
    factory: Any = imported("nnsmith.backends.factory", "BackendFactory").init(
        "onnxruntime", target="cpu", optmax=True
    )
    operators = imported("nnsmith.narrow_spec", "auto_opset")(kind, factory, vulops=False)
    imported("nnsmith.abstract.extension", "activate_ext")(opset=operators, factory=factory)
    generate = imported("nnsmith.graph_gen", "model_gen")

    def make(seed: int) -> tuple[onnx.ModelProto, dict[str, Any]]:
        random.seed(seed)
        np.random.seed(seed)
        vars(torch)["manual_seed"](seed)
        found = generate(
            opset=operators,
            method="symbolic-cinit",
            seed=seed,
            max_elem_per_tensor=ELEMENTS,
            max_nodes=MIN_OPERATORS + seed % OPERATOR_RANGE,
            timeout_ms=1000 * SECONDS,
        )
        model = kind.from_gir(found.make_concrete())
        model.refine_weights()
        inputs = model.make_oracle().input
        return model.native_model, {name: np.asarray(value) for name, value in inputs.items()}

    return make


def main() -> int:
    folder, first, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    folder.mkdir(exist_ok=True)
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    make = prepare()
    for seed in range(first, first + count):
        if (folder / f"{seed}.npz").exists():
            continue
        try:
            model, inputs = make(seed)
        except Exception as error:  # NNSmith fails on some seeds with various exceptions.
            print(f"{seed}: {type(error).__name__}: {error}"[:200])
            continue
        (folder / f"{seed}.onnx").write_bytes(model.SerializeToString())
        np.savez(folder / f"{seed}.npz", **inputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
