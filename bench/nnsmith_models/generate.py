"""
Makes models with NNSmith: `python generate.py FOLDER FIRST COUNT`; run by the interpreter of its environment.

Each seed gives `SEED.onnx` and `SEED.npz`, inputs that NNSmith has found no NaN for. NNSmith is of 2023:
torch exports by TorchScript for it, and onnx has back the function by which it serialises.
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
"""Of a tensor, at most."""

FEWEST, SPREAD = 3, 10
"""Operators of a model: the fewest, and how many numbers of them there are."""

SECONDS = 5


def imported(module: str, name: str) -> Any:
    """What a module without types has by a name."""
    return vars(import_module(module))[name]


def prepare() -> Callable[[int], tuple[onnx.ModelProto, dict[str, Any]]]:
    """What makes the model of a seed, and its inputs."""
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
            max_nodes=FEWEST + seed % SPREAD,
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
        except Exception as error:  # NNSmith gives up on some seeds in ways of its own.
            print(f"{seed}: {type(error).__name__}: {error}"[:200])
            continue
        (folder / f"{seed}.onnx").write_bytes(model.SerializeToString())
        np.savez(folder / f"{seed}.npz", **inputs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
