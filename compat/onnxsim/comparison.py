"""Comparison of two models in onnxruntime, with the inputs and tolerances of onnxsim."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
import onnx

from xonnc.compat.onnxsim.profile import Profile
from xonnc.errors import XonncError
from xonnc.formats.onnx.tensors import DTYPES, AnyArray
from xonnc.rewriting.timeline import timed
from xonnc.runtime.reference import InferenceSession, open_session

InputFill: TypeAlias = Literal["random", "ones", "zeros", "arange"]


def is_same(
    original: onnx.ModelProto,
    simplified: onnx.ModelProto,
    count: int,
    sizes: Mapping[str, tuple[int, ...]],
    data: Mapping[str, AnyArray],
    fill: InputFill,
    tolerances: tuple[float, float],
    profile: Profile,
) -> bool:
    """
    Whether two models give close outputs on `count` inputs; outputs that only one has are not compared.

    `sizes` are shapes of dynamic inputs, `data` given inputs; a first dimension that is not known is 1.
    Raises `XonncError` for an input of unknown size, `ValueError` for an unknown `fill`.
    """
    rtol, atol = tolerances
    if fill not in get_args(InputFill):
        raise ValueError(f"input_fill is '{fill}'; there are {', '.join(get_args(InputFill))}")
    with (
        timed("compare in onnxruntime"),
        _session(original, "original", profile, 1) as (expected, errors),
        _session(simplified, "simplified", profile, 2) as (found, _),
    ):
        names = [argument.name for argument in expected.get_outputs()]
        output_names = [argument.name for argument in found.get_outputs()]
        for seed in range(count):
            feeds = _feeds(original, sizes, data, fill, seed)
            try:
                before = dict(zip(names, expected.run(None, feeds), strict=True))
                after = dict(zip(output_names, found.run(None, feeds), strict=True))
            except errors as error:
                raise XonncError(f"comparing: onnxruntime: {' '.join(str(error).split())}") from None
            both = [name for name in output_names if name in before]
            if not all(_close(before[name], after[name], rtol, atol) for name in both):
                return False
        return True


@contextmanager
def _session(
    model: onnx.ModelProto, name: str, profile: Profile, thread: int
) -> Generator[tuple[InferenceSession, tuple[type[Exception], ...]]]:
    """Open a model in onnxruntime, and add its profile."""
    start = perf_counter()
    title = f"the {name} model"
    session, errors = open_session(model.SerializeToString(), title, profile=profile.prefix(name))
    try:
        yield session, errors
    finally:
        if profile.prefix(name):
            profile.add(session.end_profiling(), start, thread)


def _close(first: object, second: object, rtol: float, atol: float) -> bool:
    if isinstance(first, list) and isinstance(second, list):
        one, other = cast("list[object]", first), cast("list[object]", second)
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_close(a, b, rtol, atol) for a, b in pairs)
    a, b = np.asarray(first), np.asarray(second)
    if a.shape != b.shape:
        return False
    if a.dtype.kind not in "fc":
        return np.array_equal(a, b)
    return np.allclose(a, b, rtol, atol, equal_nan=True)


def _feeds(
    model: onnx.ModelProto,
    sizes: Mapping[str, tuple[int, ...]],
    data: Mapping[str, AnyArray],
    fill: InputFill,
    seed: int,
) -> dict[str, AnyArray]:
    initializers = {tensor.name for tensor in model.graph.initializer}
    rng = np.random.default_rng(seed)
    feeds: dict[str, AnyArray] = {}
    for info in model.graph.input:
        if info.name in initializers:
            continue
        tensor = info.type.tensor_type
        declared = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in tensor.shape.dim]
        shape = sizes.get(info.name, tuple(declared))
        if shape[:1] == (-1,):
            # The first dimension is taken for the batch, as in onnxsim.
            shape = (1, *shape[1:])
        if info.name in data:
            feeds[info.name] = data[info.name]
        elif min(shape, default=0) < 0:
            raise XonncError(f"input '{info.name}' has a dynamic shape; give test_input_shapes")
        else:
            feeds[info.name] = _filled(shape, fill, rng).astype(DTYPES[tensor.elem_type])
    return feeds


def _filled(shape: tuple[int, ...], fill: InputFill, rng: np.random.Generator) -> AnyArray:
    if fill == "random":
        return rng.random(shape)
    if fill == "arange":
        return np.arange(int(np.prod(shape))).reshape(shape)
    return np.full(shape, float(fill == "ones"))
