"""The functions that the C API calls; what they raise becomes a line on standard error."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.compat.onnxoptimizer import get_available_passes, get_fuse_and_elimination_passes
from xonnc.compat.onnxoptimizer.manager import run
from xonnc.errors import XonncError
from xonnc.formats.onnx.external_data import DataFolder
from xonnc.formats.onnx.load_model import LoadedModel, load, parse
from xonnc.formats.onnx.loaded_export import export_loaded, whole_model
from xonnc.formats.onnx.save_model import ExternalData, save

__all__ = [
    "get_available_passes",
    "get_fuse_and_elimination_passes",
    "optimize_bytes",
    "optimize_file",
]


def optimize_bytes(model: memoryview, passes: Sequence[str], fixed_point: bool) -> bytes:
    """Return a model in binary form, optimized; `XonncError` for other bytes and unknown passes."""
    loaded = parse(model, "onnx", "the bytes given", DataFolder(None))
    return whole_model(_optimized(loaded, passes, fixed_point)).SerializeToString()


def optimize_file(
    source: str, target: str, passes: Sequence[str], fixed_point: bool, data_file: str | None
) -> None:
    """Optimize a file, its weights in a file of their own if it has a name; errors as `optimize_bytes`."""
    loaded = _optimized(load(source), passes, fixed_point)
    save(export_loaded(loaded), target, external=None if data_file is None else ExternalData(data_file))


def _optimized(loaded: LoadedModel, passes: Sequence[str], fixed_point: bool) -> LoadedModel:
    if not passes:
        raise XonncError("no pass is given")
    run(loaded, passes, fixed_point)
    return loaded
