"""
Random models of NNSmith, constant-folded, simplified and as native code, against onnxruntime.

    python bench/nnsmith.py --work /tmp/nnsmith -n 1000 [--seed 0]

NNSmith (https://pypi.org/project/nnsmith) runs in a virtual environment that is created in the folder. Each
model runs on the inputs that NNSmith found for it, on normally distributed and on extreme ones. Exits 1 on a
difference that `fuzzing/known_differences.py` does not explain.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import venv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from xonnc.errors import XonncError
from xonnc.fuzzing.differential import DIFFERS, LevelFailure, Original
from xonnc.fuzzing.edge_values import folded
from xonnc.fuzzing.failures import failure_of
from xonnc.fuzzing.known_differences import Lazy, is_explained
from xonnc.fuzzing.random_models import Array, Feeds
from xonnc.runtime.verification.tolerance import disagreement

# NNSmith compares expressions of Z3 in a way that Z3 5 answers differently.
PACKAGES = ("torch==2.13.0", "onnx>=1.23,<1.24", "onnxruntime>=1.22,<2", "nnsmith==0.1.0", "z3-solver<5")

LEVELS = ("simplify", "native")

EXTREMES = (0.0, 1.0, -1.0, 0.5, -2.5, 1e-3, 100.0, -100.0)

GENERATOR = Path(__file__).parent / "nnsmith_models" / "generate.py"


def interpreter(folder: Path) -> Path:
    """The interpreter of NNSmith's virtual environment, which is created on first use."""
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(folder / "venv", with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return python


def inputs(given: Feeds, seed: int) -> Iterator[Feeds]:
    """The inputs that NNSmith found, normally distributed ones, and extreme ones."""
    random = np.random.default_rng(seed)
    yield given
    for is_extreme in (False, True):
        yield {name: _drawn(array, is_extreme, random) for name, array in given.items()}


def _drawn(array: Array, is_extreme: bool, random: np.random.Generator) -> Array:
    if array.dtype.kind == "f":
        numbers = (
            random.choice(np.array(EXTREMES), array.shape) if is_extreme else random.normal(size=array.shape)
        )
        return np.asarray(numbers, array.dtype)
    if array.dtype.kind == "b":
        return random.integers(0, 2, array.shape).astype(np.bool_)
    low, high = (0, 100) if is_extreme else (-5 if array.dtype.kind == "i" else 0, 6)
    return random.integers(low, high, array.shape).astype(array.dtype)


def folding_failure(original: Original) -> LevelFailure | None:
    """A difference of the outputs after constant propagation with constant inputs."""
    names = [output.name for output in original.model.graph.output]
    for feeds, expected in original.runs:
        model = onnx.ModelProto()
        model.CopyFrom(original.model)
        del model.graph.input[:]
        model.graph.initializer.extend(numpy_helper.from_array(each, name) for name, each in feeds.items())
        found = folded(model)
        if found is None:
            continue
        made = dict(zip(names, found, strict=True))
        perturbed = Lazy(lambda feeds=feeds: original.perturbed(feeds))
        for name, array in expected.items():
            wrong = disagreement({name: array}, {name: made[name]}, perturbed)
            if wrong and not is_explained(original, feeds, name, array, made[name]):
                return LevelFailure("fold", DIFFERS, wrong)
    return None


def failures(model: onnx.ModelProto, feeds: Sequence[Feeds]) -> list[LevelFailure]:
    """The failures of a model; raises `XonncError` if no engine runs it."""
    original = Original(model, feeds)
    found = [failure_of(original, level) for level in LEVELS]
    try:
        found.append(folding_failure(original))
    except XonncError as error:
        found.append(LevelFailure("fold", "refuses", str(error)))
    return [each for each in found if each is not None]


def read(path: Path) -> Mapping[str, Array]:
    """The arrays of an `.npz` file."""
    with np.load(path) as arrays:
        return {name: arrays[name] for name in arrays.files}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for the environment and the models")
    parser.add_argument("-n", "--count", type=int, default=100, help="number of seeds (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="first seed (default: %(default)s)")
    options = parser.parse_args()
    options.work.mkdir(exist_ok=True)
    models = options.work / "models"
    arguments = [str(models), str(options.seed), str(options.count)]
    subprocess.run([interpreter(options.work), str(GENERATOR), *arguments], check=True)
    counts: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        path = models / f"{seed}.onnx"
        if not path.exists():
            counts["not made"] += 1
            continue
        model, given = onnx.ModelProto.FromString(path.read_bytes()), read(path.with_suffix(".npz"))
        counts["models"] += 1
        counts["nodes"] += len(model.graph.node)
        try:
            found = failures(model, list(inputs(given, seed)))
        except XonncError as error:
            counts["not run by onnxruntime"] += 1
            print(f"{seed}: left out: {error}")
            continue
        counts["failed"] += bool(found)
        for failure in found:
            print(f"{seed}: {failure}", flush=True)
    print(", ".join(f"{what} {count}" for what, count in counts.items()))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
