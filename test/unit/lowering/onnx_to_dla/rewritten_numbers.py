"""Compare a model with what a pass has made of it, by their results on images of several ranges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from xonnc.formats.onnx.exporter import export_proto
from xonnc.runtime.reference import ReferenceModel

RANGES = ((0.0, 1.0), (-3.0, 0.01), (100.0, 20.0), (0.0, 0.0))
"""The mean and the standard deviation of images."""


def assert_same_numbers(
    path: Path, module: ModuleOp, shape: tuple[int, ...], rtol: float, atol: float
) -> None:
    """Compare a model with the input `x` and its rewritten module; NaN is in the same places."""
    rewritten = path.with_name("rewritten.onnx")
    rewritten.write_bytes(export_proto(module).SerializeToString())
    models = ReferenceModel(path), ReferenceModel(rewritten)
    generator = np.random.default_rng(1)
    image = np.zeros(shape, np.float32)
    for center, spread in RANGES:
        image = (center + spread * generator.standard_normal(shape)).astype(np.float32)
        (expected,), (found,) = (model.run({"x": image}) for model in models)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=atol)
    for special in (np.inf, np.nan):
        image.reshape(-1)[0] = special
        (expected,), (found,) = (model.run({"x": image}) for model in models)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
