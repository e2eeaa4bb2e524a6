"""Random models composed of motifs, with several sets of inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from xonnc.fuzzing.model_builder import BOOL, Input, ModelBuilder, ModelValue, Shape, new_builder
from xonnc.fuzzing.motifs import (
    casts,
    control_flow,
    data_movement,
    duplicates,
    elementwise,
    layers,
    matrix_products,
    quantization,
    recurrent,
    reductions,
    shape_arithmetic,
)
from xonnc.runtime.verification.backward_slice import names_read

Array = npt.NDArray[Any]
Feeds = Mapping[str, Array]

MOTIFS_BY_THEME = {
    theme.__name__.rpartition(".")[2]: theme.MOTIFS
    for theme in (
        elementwise,
        data_movement,
        layers,
        matrix_products,
        reductions,
        shape_arithmetic,
        casts,
        quantization,
        control_flow,
        recurrent,
        duplicates,
    )
}

OPSETS = (9, 10, 11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 18, 19, 20, 21, 21, 22, 23, 24)
"""Opsets, repeated by their sampling weight; onnxruntime supports no newer ones."""

FILE_VERSIONS = {
    9: 4,
    10: 5,
    11: 6,
    12: 7,
    13: 7,
    14: 7,
    15: 8,
    16: 8,
    17: 8,
    18: 8,
    19: 9,
    20: 9,
    21: 10,
    22: 10,
    23: 11,
    24: 11,
}
"""The IR version released with each opset."""

MAX_MOTIFS = 8
MAX_ATTEMPTS = 40
FEED_KINDS = 3


@dataclass(frozen=True)
class RandomModel:
    """A random model and several sets of inputs for it."""

    seed: int
    model: onnx.ModelProto
    feeds: tuple[Feeds, ...]
    """Exact, normal and extreme values; with dynamic shapes also another size."""
    motifs: tuple[str, ...]


def random_model(seed: int) -> RandomModel:
    """The model of a seed; deterministic."""
    chooser = np.random.default_rng((seed, 1))
    opset = OPSETS[int(chooser.integers(len(OPSETS)))]
    builder = new_builder(
        seed, opset, allows_nonfinite=chooser.random() < 0.25, allows_empty=chooser.random() < 0.06
    )
    favourites = [str(name) for name in chooser.choice(list(MOTIFS_BY_THEME), 3, replace=False)]
    motif_count = int(chooser.integers(2, MAX_MOTIFS + 1))
    motifs: list[str] = []
    for _ in range(MAX_ATTEMPTS):
        theme = builder.random.choice(favourites if builder.chance(0.8) else list(MOTIFS_BY_THEME))
        motif = builder.random.choice(MOTIFS_BY_THEME[theme])
        if builder.attempt(motif):
            motifs.append(f"{theme}.{motif.__name__}")
        if len(motifs) >= motif_count and builder.values:
            break
    if not builder.values:
        builder.attempt(elementwise.unary)
    symbols = _symbols(builder)
    model = _build_model(builder, symbols)
    count = FEED_KINDS + (1 if symbols else 0)
    feeds = tuple(
        _feeds(builder.shared.inputs, symbols, kind, seed, builder.shared.allows_nonfinite)
        for kind in range(count)
    )
    return RandomModel(seed, model, feeds, tuple(motifs))


Symbols = Mapping[tuple[str, int], str]
"""Symbols of dynamic dimensions by input and axis; empty for an unnamed one."""


def _symbols(builder: ModelBuilder) -> Symbols:
    """Choose dynamic dimensions of the inputs; equal symbols are equal sizes."""
    if builder.chance(0.6):
        return {}
    dynamic = builder.random.sample((1, 2, 3, 4, 5), 2)
    found: dict[tuple[str, int], str] = {}
    for one in builder.shared.inputs:
        for axis, size in enumerate(() if one.is_fixed else one.value.shape):
            if size in dynamic and builder.chance(0.7):
                found[one.value.name, axis] = f"size{size}" if builder.chance(0.8) else ""
    return found


def _build_model(builder: ModelBuilder, symbols: Symbols) -> onnx.ModelProto:
    """Build the model: unread values become outputs, and sometimes others too."""
    read = {name for node in builder.nodes for name in names_read(node)}
    outputs = [
        one
        for one in builder.values
        if not one.is_sequence and (one.name not in read or builder.chance(0.15))
    ]
    if len(outputs) > 1 and builder.chance(0.2):
        outputs.remove(builder.random.choice(outputs))
    outputs = list({one.name: one for one in outputs}.values())
    builder.random.shuffle(outputs)
    graph = helper.make_graph(
        builder.nodes,
        "fuzzed",
        [_input(one, symbols) for one in builder.shared.inputs],
        [_output(builder, one, bool(symbols)) for one in outputs],
        builder.initializers,
    )
    imports = [helper.make_opsetid("", builder.opset)]
    if builder.shared.functions:
        imports.append(helper.make_opsetid(builder.shared.functions[0].domain, 1))
    version = max(FILE_VERSIONS[builder.opset], 8 if builder.shared.functions else 4)
    model = helper.make_model(
        graph,
        opset_imports=imports,
        ir_version=version,
        functions=builder.shared.functions,
        producer_name="xonnc fuzz",
    )
    if builder.chance(0.3):
        model = onnx.shape_inference.infer_shapes(model)
        _clear_symbolic_dims(model)
    return model


def _clear_symbolic_dims(model: onnx.ModelProto) -> None:
    """
    Remove symbols from inferred shapes.

    `onnx.shape_inference` (Slice, onnx 1.23) gives a slice the symbols of the whole tensor, after which
    onnxruntime lets both share a buffer.
    """
    for info in model.graph.value_info:
        for dimension in info.type.tensor_type.shape.dim:
            dimension.ClearField("dim_param")


def _input(one: Input, symbols: Symbols) -> onnx.ValueInfoProto:
    shape = [
        (symbols[one.value.name, axis] or None) if (one.value.name, axis) in symbols else size
        for axis, size in enumerate(one.value.shape)
    ]
    return helper.make_value_info(one.value.name, one.value.type_proto(shape))


def _output(builder: ModelBuilder, one: ModelValue, is_dynamic: bool) -> onnx.ValueInfoProto:
    is_dynamic_shape = is_dynamic or builder.chance(0.2)
    return helper.make_value_info(one.name, one.type_proto([None] * one.rank if is_dynamic_shape else None))


def _feeds(inputs: list[Input], symbols: Symbols, kind: int, seed: int, allows_nonfinite: bool) -> Feeds:
    """Inputs of one kind; the last kind has larger dynamic dimensions."""
    generator = np.random.default_rng((seed, 2, kind))
    larger = 1 if kind == FEED_KINDS else 0
    found: dict[str, Array] = {}
    for one in inputs:
        shape = tuple(
            size + larger if (one.value.name, axis) in symbols else size
            for axis, size in enumerate(one.value.shape)
        )
        found[one.value.name] = np.asarray(
            _numbers(one, shape, kind, generator, allows_nonfinite), one.value.dtype
        )
    return found


EXTREMES = (0.0, 1.0, -1.0, 0.5, -2.5, 1e-3, 100.0, -100.0)
"""Without -0: simplifying `x + 0` to `x` changes only its sign, which all simplifiers accept."""

NON_FINITE = (np.nan, np.inf, -np.inf)


def _numbers(
    one: Input, shape: Shape, kind: int, generator: np.random.Generator, allows_nonfinite: bool
) -> Array:
    dtype = one.value.dtype
    if dtype == BOOL:
        return generator.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind != "f":
        low, high = int(one.low), int(one.high)
        if kind == 2:
            return generator.choice(np.clip(np.array([low, high, 0, 1]), low, high), shape).astype(dtype)
        return generator.integers(low, high, shape, endpoint=True).astype(dtype)
    if kind == 0:
        numbers = generator.integers(-16, 17, shape) / 4
    elif kind == 1:
        numbers = generator.standard_normal(shape)
    else:
        numbers = generator.choice(np.array(EXTREMES + (NON_FINITE if allows_nonfinite else ())), shape)
    return np.clip(numbers, one.low, one.high).astype(dtype)
