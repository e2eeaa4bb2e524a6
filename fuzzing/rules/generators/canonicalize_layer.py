"""Generators of instances of canonicalizations of convolutions, products, norms and recurrent operators."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from xonnc.dialects.onnx.types import NONE, element_type_of, unranked
from xonnc.fuzzing.rules.comparison import Closeness
from xonnc.fuzzing.rules.draws import Draw, Generator, Shape
from xonnc.fuzzing.rules.generators.canonicalize_examples import NETWORKS
from xonnc.fuzzing.rules.instances import Example, Given, ints
from xonnc.fuzzing.rules.values import Kind
from xonnc.rewriting.onnx import (
    Add,
    Div,
    Gemm,
    LayerNormalization,
    MatMul,
    Mul,
    Reshape,
    RMSLayerNormalization,
    Squeeze,
    Transpose,
)
from xonnc.rewriting.patterns import Array, Literal, Node, Template, absent, const, value

Said = dict[str, Literal | Attribute]


def convolution(draw: Draw, bias: bool | None = None) -> tuple[dict[str, Given], Said]:
    """Return matching data, weights and bias with one to three spatial axes, and attributes of the Conv."""
    axes, group = draw.pick(1, 2, 2, 3), draw.pick(1, 1, 2)
    inputs, outputs = draw.number_in(1, 2), draw.number_in(1, 2)
    kernel = [draw.number_in(1, 3) for _ in range(axes)]
    properties: Said = {"group": group, "strides": [draw.number_in(1, 2) for _ in kernel]}
    if draw.flag():
        properties["dilations"] = [draw.number_in(1, 2) for _ in kernel]
    if draw.flag():
        properties["pads"] = [draw.number_in(0, 2) for _ in range(2 * axes)]
    shape = (draw.number_in(1, 2), inputs * group, *(draw.number_in(5, 6) for _ in kernel))
    weights = (outputs * group, inputs, *kernel)
    has_bias = draw.flag() if bias is None else bias
    return {"x": shape, "w": weights, "b": weights[:1] if has_bias else None}, properties


def channels(values: dict[str, Given]) -> int:
    """Return the number of output channels."""
    weights = values["w"]
    assert isinstance(weights, tuple)
    return weights[0]


def after_convolution(bias: bool) -> Generator:
    """A Conv and a per-channel or scalar operand, with or without a leading axis, or of another shape."""

    def make(draw: Draw) -> Example:
        values, properties = convolution(draw, bias)
        shape = values["x"]
        assert isinstance(shape, tuple)
        count, ones = channels(values), (1,) * (len(shape) - 2)
        c = draw.pick((count, *ones), (1, count, *ones), (), (1,), (1, *ones), (count, *ones), (count, *ones))
        return Example({**values, "c": c}, properties={"Conv": properties})

    return make


def statistics(draw: Draw, count: int) -> dict[str, Given]:
    """Return the parameters and statistics of a batch normalization."""
    return {"scale": (count,), "bias": (count,), "mean": (count,), "var": draw.reals(0.1, 4, (count,))}


def normalised_convolution(draw: Draw) -> Example:
    """A Conv and its batch normalization."""
    values, properties = convolution(draw)
    learnt = statistics(draw, channels(values))
    return Example({**values, **learnt}, {"epsilon": draw.pick(1e-5, 1e-3)}, {"Conv": properties})


def normalised_data(draw: Draw) -> Example:
    """Data with axes after the channels."""
    shape = (draw.size(), draw.size(), *(draw.size(empty=True) for _ in range(draw.number_in(1, 3))))
    return Example({"x": shape, **statistics(draw, shape[1])}, {"epsilon": draw.pick(1e-5, 1e-3)})


def normalised_vector(draw: Draw) -> Example:
    """Data of rank 1; the reference requires as many statistics as there are elements."""
    return Example({"x": (draw.size(),), **statistics(draw, 1)}, {"epsilon": draw.pick(1e-5, 1e-3)})


def padded_convolution(by_property: bool) -> Generator:
    """A Pad with zeros before a Conv that may have pads as well."""

    def make(draw: Draw) -> Example:
        values, properties = convolution(draw)
        shape = values["x"]
        assert isinstance(shape, tuple)
        axes = len(shape) - 2
        pads = [0, 0, *(draw.number_in(0, 2) for _ in range(axes))] * 2
        if by_property:
            return Example(values, {"pads": pads, "fill": 0.0}, {"Conv": properties})
        fill = draw.pick(None, np.array(0))
        return Example({**values, "pads": ints(*pads), "fill": fill}, properties={"Conv": properties})

    return make


def matrix_plus(draw: Draw) -> Example:
    """A MatMul and an addition that Gemm can express, or that broadcasts to a larger shape."""
    m, k, n = draw.size(), draw.size(), draw.size()
    z = draw.pick((), (1,), (n,), (m, 1), (1, n), (m, n), (1, 1), (2, m, n))
    return Example({"a": (m, k), "b": (k, n), "z": z}, specials=draw.is_float)


def gemm_plus(draw: Draw) -> Example:
    """The same for a Gemm with alpha and transposes."""
    m, k, n, ta, tb = draw.size(), draw.size(), draw.size(), draw.flag(), draw.flag()
    z = draw.pick((), (1,), (n,), (m, 1), (1, n), (m, n), (1, 1))
    properties = {"alpha": draw.real(), "ta": ta, "tb": tb}
    return Example({"a": (k, m) if ta else (m, k), "b": (n, k) if tb else (k, n), "z": z}, properties)


def product(draw: Draw) -> tuple[Shape, Shape]:
    """Return shapes of two matrices, or of batches that broadcast."""
    k, (a, b) = draw.size(), draw.broadcast(2, 2, empty=False)
    return (*a, draw.size(), k), (*b, k, draw.size())


def scaled_product(draw: Draw) -> Example:
    """A MatMul times or divided by a scalar, which may be infinite, and 0 for floats."""
    a, weights = product(draw)
    c = draw.array(draw.pick((), (1,)), special=draw.flag() == 1)
    if draw.is_integer:
        c = np.where(c == 0, np.array(2, c.dtype), c)
    return Example({"a": a, "weights": weights, "c": c})


def reshaped_product(draw: Draw) -> Example:
    """A Reshape that flattens leading axes before a MatMul."""
    *outer, k = draw.shape(3, 4, empty=False)
    rows = draw.pick(-1, int(np.prod(outer)))
    pattern = MatMul(Reshape(value.a, const.shape, allowzero=draw.flag()), value.b)
    return Example({"a": (*outer, k), "shape": ints(rows, k), "b": (k, draw.size())}, pattern=pattern)


def attention(op: Template) -> Generator:
    """A scale after a product with a projection on either side, with data movement in between."""

    def make(draw: Draw) -> Example:
        m, k, h, n = 2 * draw.size(), draw.size(), draw.size(), draw.size()
        bias = draw.flag()
        linear: Node = Gemm(
            value.a, const.w, const.d if bias else absent, alpha=draw.real(), beta=draw.real()
        )
        side = Add(MatMul(value.a, const.w), const.d) if draw.flag() else linear
        values: dict[str, Given] = {"a": (m, k), "w": (k, h), "d": draw.pick((h,), (1, h)), "y": (h, n)}
        values["c"] = np.full(draw.pick((), (1,)), draw.real())
        moves = draw.number_in(0, 2)
        if moves == 1:
            values |= {"shape": ints(h, m), "y": (n, m)}
            side = Transpose(Reshape(side, const.shape), perm=[1, 0])
            values["y"] = (h, n)
            values["shape"] = ints(h, m)
        elif moves == 2:
            values |= {"shape": ints(1, m, h), "axes": ints(0)}
            side = Squeeze(Reshape(side, const.shape), const.axes)
        if draw.flag():
            return Example(values, pattern=op(MatMul(side, value.y), const.c))
        return Example({**values, "y": (n, m)}, pattern=op(MatMul(value.y, side), const.c))

    return make


def varied(draw: Draw, shape: Shape, rows: int) -> Array:
    """
    Return data with well-separated elements in every row.

    Normalized nearly equal elements are dominated by rounding errors, as are elements near the mean if the
    scale is infinite.
    """
    count = int(np.prod(shape)) // rows
    each = np.tile(np.linspace(-2, 2, count), (rows, 1)) + draw.reals(-1, 1, (rows, 1))
    return draw.random.permuted(each, axis=1).reshape(shape)


def instance_norm(draw: Draw) -> Example:
    """Data with axes after the channels."""
    shape = (draw.size(), draw.size(), *(draw.number_in(2, 5) for _ in range(draw.number_in(1, 3))))
    x = varied(draw, shape, shape[0] * shape[1])
    values: dict[str, Given] = {"x": x, "scale": shape[1:2], "bias": shape[1:2]}
    return Example(values, {"epsilon": draw.pick(1e-5, 1e-3)}, specials=False)


def group_norm(by_group: bool) -> Generator:
    """A group normalization, with parameters per group or per channel."""

    def make(draw: Draw) -> Example:
        groups = draw.number_in(1, 3)
        after = (draw.number_in(2, 4) for _ in range(draw.number_in(1, 3)))
        shape = (draw.size(), groups * draw.number_in(1, 3), *after)
        count = groups if by_group else shape[1]
        properties: dict[str, Literal | Attribute | None] = {
            "epsilon": draw.pick(1e-5, 1e-3),
            "groups": groups,
        }
        if not by_group:
            properties["stash"] = 1
        x = varied(draw, shape, shape[0] * groups)
        return Example({"x": x, "scale": (count,), "bias": (count,)}, properties, specials=False)

    return make


def normalised_layer(op: Template, swapped: bool) -> Generator:
    """A layer normalization, and a bias that broadcasts to its axes or to a larger shape."""

    def make(draw: Draw) -> Example:
        shape = draw.shape(1, 4, empty=False)
        axis = draw.axis(len(shape))
        after = shape[axis % len(shape) :]
        b = draw.pick(after, draw.narrower(after), draw.narrower(shape), (2, *shape))
        more = (NONE,) * (2 if op.name == "LayerNormalization" else 1)
        norm = op(value.x, value.scale, absent, axis=axis, epsilon=1e-3, stash_type=1)
        norm = norm.typed(unranked(element_type_of(draw.dtype)), *more)
        pattern = Add(value.b, norm) if swapped else Add(norm, value.b)
        return Example({"x": shape, "scale": after, "b": b}, pattern=pattern)

    return make


def recurrent(name: str, batch_first: bool) -> Generator:
    """A recurrent operator, also bidirectional; onnxruntime supports lengths, the reference layout = 1."""
    gates, states = NETWORKS[name]

    def make(draw: Draw) -> Example:
        both = draw.number_in(1, 2)
        time, batch, inputs, hidden = draw.number_in(1, 4), draw.size(), draw.size(), draw.size()
        state = (batch, both, hidden) if batch_first else (both, batch, hidden)
        properties = {"hidden_size": hidden, "direction": "bidirectional" if both == 2 else "forward"}
        values: dict[str, Given] = {
            "x": (batch, time, inputs) if batch_first else (time, batch, inputs),
            "w": (both, gates * hidden, inputs),
            "r": (both, gates * hidden, hidden),
            "b": (both, 2 * gates * hidden) if draw.flag() else None,
            "lengths": None if batch_first else np.full(batch, time, np.int32),
            "peepholes": None,
            **(dict.fromkeys(states, state) if draw.flag() else dict.fromkeys(states)),
        }
        element = f64 if draw.dtype == np.float64 else f32
        return Example(
            values,
            properties={name: properties},
            types=[unranked(element)] * (len(states) + 1),
            opset=None if batch_first else 14,
        )

    return make


PADS = {"": False, "V19": False, "V18": False, "V13": False, "V11": False, "V2": True}

GENERATORS: dict[str, Generator] = {
    "FuseAddConvPattern": after_convolution(True),
    "FuseAddConvNullBiasPattern": after_convolution(False),
    "FuseMulConvPattern": after_convolution(True),
    "FuseMulConvNullBiasPattern": after_convolution(False),
    "FuseBatchNormInferenceModeConvPattern": normalised_convolution,
    "RewriteBatchNormInferenceModeConvPattern1": normalised_data,
    "RewriteBatchNormInferenceModeConvPattern2": normalised_vector,
    **{f"FusePad{version}IntoConvPattern": padded_convolution(cases) for version, cases in PADS.items()},
    "MulAddToGemmOptPattern": matrix_plus,
    "FuseGemmFollowedByAddition": gemm_plus,
    "FuseScalarMulMatMulPattern": scaled_product,
    "FuseScalarDivMatMulPattern": scaled_product,
    "SwapReshapeMatMulPattern": reshaped_product,
    "PropagateConstantScalingInAttentionLayerPatternMul": attention(Mul),
    "PropagateConstantScalingInAttentionLayerPatternDiv": attention(Div),
    "RemoveInstanceNormPattern": instance_norm,
    "RemoveGroupNormPattern1": group_norm(False),
    "RemoveGroupNormPattern2": group_norm(True),
    **{
        f"PropagateBiasIntoLayerNormRewritePattern{op.name}{side}": normalised_layer(op, bool(side))
        for op in (LayerNormalization, RMSLayerNormalization)
        for side in ("", "Rhs")
    },
    **{f"RNNOpRewriteLayoutPattern{name}": recurrent(name, True) for name in NETWORKS},
    **{f"RNNOpRewriteSeqLenPattern{name}": recurrent(name, False) for name in NETWORKS},
}

FINITE: dict[str, str] = {
    name: "statistics and weights are numbers; infinities that meet in a sum are NaN in another order"
    for name in (
        "FuseBatchNormInferenceModeConvPattern",
        "RewriteBatchNormInferenceModeConvPattern1",
        "RewriteBatchNormInferenceModeConvPattern2",
    )
}

CLOSENESS = {
    # With the default `stash_type`, the operators compute in float32 whatever their type.
    "RemoveGroupNormPattern1": Closeness(steps=84, narrow=8, single=True),
    # The reference computes in float16, layer normalisations in single precision.
    "RemoveGroupNormPattern2": Closeness(steps=84, narrow=128),
    "RemoveInstanceNormPattern": Closeness(steps=84, narrow=128),
}

SINGLE: tuple[Kind, ...] = (np.float32,)

KINDS: dict[str, tuple[Kind, ...]] = {
    # onnxruntime supports only these types.
    **{f"RNNOpRewriteSeqLenPattern{name}": SINGLE for name in NETWORKS},
    **{f"RNNOpRewriteLayoutPattern{name}": (np.float32, np.float64) for name in NETWORKS},
}
