"""
Generate the models of the conformance set: `python -m bench.conformance.generate FOLDER [NAME …]`.

Writes FOLDER/NAME/model.onnx and inputs.npz, or FOLDER/NAME/failure.txt if the exporter fails. Existing
models stay.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.conformance.model_specs import ModelSpec, write_feeds

MODEL = "model.onnx"
INPUTS = "inputs.npz"
FAILURE = "failure.txt"


def _handwritten() -> list[ModelSpec]:
    from bench.conformance.handwritten import MODEL_SPECS

    return MODEL_SPECS


def _torchvision() -> list[ModelSpec]:
    from bench.conformance.torch_exports import torchvision_specs

    return torchvision_specs()


def _timm() -> list[ModelSpec]:
    from bench.conformance.torch_exports import timm_specs

    return timm_specs()


def _layers() -> list[ModelSpec]:
    from bench.conformance.torch_layers import model_specs

    return model_specs()


def _transformers() -> list[ModelSpec]:
    from bench.conformance.transformer_exports import model_specs

    return model_specs()


def _classical_ml() -> list[ModelSpec]:
    from bench.conformance.classical_ml import model_specs

    return model_specs()


def _quantized() -> list[ModelSpec]:
    from bench.conformance.quantizers import model_specs

    return model_specs()


def _pretrained() -> list[ModelSpec]:
    from bench.conformance.pretrained import MODEL_SPECS

    return MODEL_SPECS


def _tensorflow() -> list[ModelSpec]:
    from bench.conformance.tensorflow_exports import model_specs

    return model_specs()


def _paddle() -> list[ModelSpec]:
    from bench.conformance.paddle_exports import model_specs

    return model_specs()


def _jax() -> list[ModelSpec]:
    from bench.conformance.jax_exports import model_specs

    return model_specs()


FAMILIES: dict[str, Callable[[], list[ModelSpec]]] = {
    "handwritten": _handwritten,
    "layers": _layers,
    "torchvision": _torchvision,
    "timm": _timm,
    "transformers": _transformers,
    "classical_ml": _classical_ml,
    "quantized": _quantized,
    "pretrained": _pretrained,
    "tensorflow": _tensorflow,
    "paddle": _paddle,
    "jax": _jax,
}
"""Model specifications by family."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate the named models, those of the named families, or all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    made = failed = 0
    for family in options.families:
        for spec in FAMILIES[family]():
            if options.names and spec.name not in options.names:
                continue
            if generate(spec, options.folder / spec.name):
                made += 1
            else:
                failed += 1
    print(f"{made} models, {failed} not made", flush=True)
    return 0


def generate(spec: ModelSpec, folder: Path) -> bool:
    """Generate a model unless it exists; return whether it exists now."""
    if (folder / INPUTS).exists():
        return True
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FAILURE).unlink(missing_ok=True)
    begun = time.perf_counter()
    try:
        feeds = spec.make(folder / MODEL)
        write_feeds(folder / INPUTS, feeds)
    except Exception as error:
        (folder / FAILURE).write_text(f"{type(error).__name__}: {error}\n\n{traceback.format_exc()}")
        print(f"{spec.name}: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr, flush=True)
        return False
    size = (folder / MODEL).stat().st_size / 1e6
    print(f"{spec.name}: {size:.2f} MB, {time.perf_counter() - begun:.1f} s", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
