"""
The models of the benchmarks, generated once and cached in a folder of the temporary directory.

    python bench/models.py [NAME …]     generate models and print their paths

Their generators are in `bench/zoo`; the `light_` networks are those of the onnx package with seeded weights
of the real size (`formats/onnx/light`).
"""

from __future__ import annotations

import argparse
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import onnx

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.zoo import convolutional, quantized, recurrent, synthetic, transformers
from xonnc.formats.onnx.light_models import light_model, light_names

REVISION = 4
"""Cache key: raised when a generator changes."""


def folder() -> Path:
    """
    Folder of the cached models: `$XONNC_BENCH_MODELS`, else a folder in the temporary directory.

    Another user may have created a folder or link of that name there, so its owner and mode are checked.
    """
    chosen = os.environ.get("XONNC_BENCH_MODELS")
    if chosen is not None:
        path = Path(chosen)
        path.mkdir(parents=True, exist_ok=True)
        return path
    path = Path(tempfile.gettempdir()) / f"xonnc-bench-models-{REVISION}-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    status = path.lstat()
    if status.st_uid != os.getuid() or not stat.S_ISDIR(status.st_mode) or status.st_mode & 0o022:
        raise PermissionError(f"{path}: not a folder of this user's alone; XONNC_BENCH_MODELS names another")
    return path


def path_of(name: str) -> Path:
    """Path of the model `name`, generated if it is not cached; raises `KeyError` for an unknown name."""
    path = folder() / name / "model.onnx"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        unfinished = path.with_suffix(f".part{os.getpid()}")
        MODELS[name](unfinished)
        unfinished.rename(path)
    return path


def size_of(path: Path) -> int:
    """Size of a model and its external data in bytes."""
    return sum(file.stat().st_size for file in path.parent.iterdir())


def forget(name: str) -> None:
    """Delete a cached model."""
    shutil.rmtree(folder() / name, ignore_errors=True)


Writer = Callable[[Path], None]


def _written(make: Callable[[], onnx.ModelProto]) -> Writer:
    """A writer of the model that `make` returns."""

    def write(path: Path) -> None:
        path.write_bytes(make().SerializeToString())

    return write


def _light(name: str) -> Writer:
    return _written(lambda: light_model(name))


def _light_with_external_data(name: str) -> Writer:
    """The same with external data."""

    def write(path: Path) -> None:
        from onnx.external_data_helper import convert_model_to_external_data

        model = light_model(name)
        convert_model_to_external_data(model, location="weights.bin")
        vars(onnx)["save"](model, path)

    return write


def _chain(count: int) -> Writer:
    return _written(lambda: synthetic.chain(count))


CHAIN_LENGTHS = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000)

NETWORKS: dict[str, Writer] = {
    "mnist_cnn": _written(convolutional.mnist_cnn),
    "chain5k": _chain(5_001),
    "bert_tiny": _written(transformers.bert_tiny),
    "bert_base": _written(transformers.bert_base),
    "gpt2_small": _written(transformers.gpt2_small),
    "vit_small": _written(transformers.vit_small),
    "resnet18": _written(convolutional.resnet18),
    "resnet50": _written(convolutional.resnet50),
    "mobilenet_v2": _written(convolutional.mobilenet_v2),
    "resnet18_qdq": _written(quantized.resnet18_qdq),
    "unet": _written(convolutional.unet),
    "lstm": _written(recurrent.lstm),
} | {f"light_{name}": _light(name) for name in light_names()}
"""The networks of docs/internals/cpu-kernels.md §1."""

LARGEST = "external_3gb"

MODELS: dict[str, Writer] = {
    **NETWORKS,
    LARGEST: synthetic.external_3gb,
    **{f"chain_{count}": _chain(count) for count in CHAIN_LENGTHS},
    "big_matmul": _written(synthetic.big_matmul),
    "many_256k": _written(lambda: synthetic.additions(3000, 65536)),
    "many_14k": _written(lambda: synthetic.additions(3000, 3584)),
    "light_resnet50_external": _light_with_external_data("resnet50"),
}
"""Writers of all models by name."""


def main() -> int:
    """Generate the named models, or all networks."""
    parser = argparse.ArgumentParser(description="Generate models of the benchmarks.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)}; the networks if none"
    )
    names: list[str] = parser.parse_args().names or list(NETWORKS)
    if unknown := [name for name in names if name not in MODELS]:
        parser.error(f"no model '{unknown[0]}'; there are {', '.join(MODELS)}")
    for name in names:
        path = path_of(name)
        print(f"{path}  {size_of(path) / 1e6:.2f} MB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
