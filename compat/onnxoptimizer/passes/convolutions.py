"""Passes that fuse what surrounds a convolution or pooling into it."""

from __future__ import annotations

from math import prod

import numpy as np
import onnx

from xonnc.compat.onnxoptimizer.assumptions import assume, is_non_negative
from xonnc.compat.onnxoptimizer.graph import Graph
from xonnc.compat.onnxoptimizer.nodes import Node, ValueType, attribute, drop_attribute, is_op
from xonnc.compat.onnxoptimizer.passes.axes import axes_operands
from xonnc.compat.onnxoptimizer.registry import PassType, node_pass


@node_pass(PassType.FUSE)
def fuse_add_bias_into_conv(graph: Graph, node: Node) -> bool:
    """Make the bias of a Conv what an Add adds to each of its channels."""
    conv = graph.maker(node.input[0]) if is_op(node, "Add") else None
    if conv is None or not is_op(conv, "Conv") or len([name for name in conv.input if name]) != 2:
        return False
    bias = node.input[1]
    owner = graph.owner(bias)
    maker = None if owner is None else owner.maker(bias)
    if owner is None or (maker is not None and not is_op(maker, "Constant")):
        return False
    result, weight, shape = graph.dims(node.input[0]), graph.dims(conv.input[1]), graph.dims(bias)
    channels = weight[0] if weight else result[1] if result is not None and len(result) > 1 else None
    rank = len(weight or result or ())
    if not isinstance(channels, int) or shape is None or not graph.is_used_once(node.input[0]):
        return False
    sizes = [size for size in shape if isinstance(size, int)]
    if len(sizes) < len(shape) or len(shape) > rank:
        return False
    position = len(shape) - (rank - 1)
    if prod(sizes) == 1:
        value = _spread(graph, node, bias, len(shape), channels)
    elif position >= 0 and prod(sizes) == channels == shape[position]:
        value = _squeezed(graph, node, bias, [axis for axis in range(len(shape)) if axis != position])
    else:
        return False
    graph.fuse(conv, node, [*conv.input[:2], value])
    return True


def _squeezed(graph: Graph, before: Node, name: str, axes: list[int], op_type: str = "Squeeze") -> str:
    if not axes:
        return name
    inputs, attributes = axes_operands(graph, axes)
    return graph.make(before, op_type, [name, *inputs], **attributes)


def _spread(graph: Graph, before: Node, name: str, rank: int, channels: int) -> str:
    """Return one element as a bias of all channels."""
    if rank == 0:
        name = _squeezed(graph, before, name, [0], "Unsqueeze")
    else:
        name = _squeezed(graph, before, name, list(range(rank - 1)))
    if channels == 1:
        return name
    count = onnx.helper.make_tensor("repeats", onnx.TensorProto.INT64, [1], [channels])
    repeats = graph.make(before, "Constant", [], value=count)
    graph.declare(repeats, ValueType(onnx.TensorProto.INT64, (1,)))
    return graph.make(before, "Tile", [name, repeats])


@node_pass(PassType.FUSE, differs="The new weights and bias are computed at once, in float64.")
def fuse_bn_into_conv(graph: Graph, node: Node) -> bool:
    """Fold a BatchNormalization of constant statistics into the weights and bias of the Conv before it."""
    conv = graph.maker(node.input[0]) if is_op(node, "BatchNormalization") else None
    if conv is None or not is_op(conv, "Conv") or not graph.is_used_once(node.input[0]):
        return False
    trains = attribute(node, "training_mode", 0) or (
        graph.model.opset < 7 and not attribute(node, "is_test", 0)
    )
    if trains or len(node.output) != 1 or len(node.input) != 5:
        return False
    names = [conv.input[1], *node.input[1:]]
    has_bias = len(conv.input) > 2 and conv.input[2] != ""
    arrays = [graph.constant(name) for name in (*names, *conv.input[2:3])]
    found = [array for array in arrays if array is not None]
    if len(found) < len(arrays) or len({array.dtype for array in found}) != 1:
        return False
    weight, scale, bias, mean, variance = (array.astype(np.float64) for array in found[:5])
    if any(array.shape != weight.shape[:1] for array in (scale, bias, mean, variance)):
        return False
    factor = scale / np.sqrt(variance + attribute(node, "epsilon", 1e-5))
    before = found[5].astype(np.float64) if has_bias else 0.0
    new_weight = weight * factor.reshape(-1, *[1] * (weight.ndim - 1))
    new_bias = (before - mean) * factor + bias
    if not np.all(np.isfinite(new_bias)):
        return False
    inputs = [
        graph.add_constant(array.astype(found[0].dtype), hint)
        for array, hint in ((new_weight, conv.input[1]), (new_bias, f"{node.output[0]}_bias"))
    ]
    graph.fuse(conv, node, [conv.input[0], *inputs])
    for name in names:
        if name in graph.initializers and not graph.is_used(name):
            graph.erase_initializer(name)
    return True


def _zero_pads(graph: Graph, pad: Node) -> list[int] | None:
    """Return the pads of a Pad by constant zeros, for all axes; `None` for any other Pad."""
    if attribute(pad, "mode", "constant") != "constant" or attribute(pad, "value", 0.0) != 0.0:
        return None
    inputs = [*pad.input, "", "", ""]
    pads = graph.constant_ints(inputs[1]) if inputs[1] else attribute(pad, "pads")
    if pads is None:
        return None
    if inputs[2]:
        value = graph.constant(inputs[2])
        if value is None or value.dtype == np.object_ or np.any(value != 0):
            return None
    return _on_all_axes(graph, pad, list(pads), inputs[3])


def _on_all_axes(graph: Graph, pad: Node, pads: list[int], axes_name: str) -> list[int] | None:
    if not axes_name:
        return pads
    axes, dims = graph.constant_ints(axes_name), graph.dims(pad.input[0])
    if axes is None or dims is None or len(pads) != 2 * len(axes):
        return None
    all_pads = [0] * (2 * len(dims))
    for index, axis in enumerate(axes):
        all_pads[axis % len(dims)] = pads[index]
        all_pads[axis % len(dims) + len(dims)] = pads[index + len(axes)]
    return all_pads


def _fusable_pads(graph: Graph, node: Node) -> tuple[Node, list[int]] | None:
    """Return the Pad before a node of spatial axes, and the sum of its pads and the node's own."""
    pad = graph.maker(node.input[0])
    if pad is None or not is_op(pad, "Pad") or not graph.is_used_once(node.input[0]):
        return None
    pads = _zero_pads(graph, pad)
    if pads is None or min(pads, default=-1) < 0 or attribute(node, "auto_pad", "NOTSET") != "NOTSET":
        return None
    rank = len(pads) // 2
    if rank < 3 or any((*pads[:2], *pads[rank : rank + 2])):
        return None
    spatial = [*pads[2:rank], *pads[rank + 2 :]]
    own = attribute(node, "pads", [0] * len(spatial))
    if len(own) != len(spatial):
        return None
    return pad, [first + second for first, second in zip(spatial, own, strict=True)]


def _take_pads(graph: Graph, node: Node, pad: Node, pads: list[int], **attributes: int) -> bool:
    drop_attribute(node, "auto_pad")
    graph.fuse(node, node, [pad.input[0], *node.input[1:]], pads=pads, **attributes)
    graph.erase(pad)
    return True


@node_pass(
    PassType.FUSE,
    differs="Heeds the attribute `value` of Pad before opset 11, and understands the `axes` of opset 18.",
)
def fuse_pad_into_conv(graph: Graph, node: Node) -> bool:
    """Add the zeros of a Pad to the pads of a Conv."""
    found = _fusable_pads(graph, node) if is_op(node, "Conv") else None
    return found is not None and _take_pads(graph, node, *found)


@node_pass(
    PassType.FUSE,
    differs=(
        "MaxPool, which pads with minus infinity: only if the data is not negative, or with a warning if the "
        "pass is named on its own. AveragePool: not with own pads that do not count. Neither with auto_pad, "
        "ceil_mode or pads as large as the kernel. Heeds the attribute `value` of Pad before opset 11."
    ),
)
def fuse_pad_into_pool(graph: Graph, node: Node) -> bool:
    """Add the zeros of a Pad to the pads of an AveragePool or MaxPool."""
    found = _fusable_pads(graph, node) if is_op(node, "AveragePool", "MaxPool") else None
    if found is None or attribute(node, "ceil_mode", 0) or len(node.output) != 1:
        return False
    pad, pads = found
    kernel = attribute(node, "kernel_shape", [])
    if any(size >= extent for size, extent in zip(pads, (*kernel, *kernel), strict=True)):
        return False
    if set(attribute(node, "dilations", [1])) != {1}:
        return False
    if is_op(node, "AveragePool"):
        own_pads_count = attribute(node, "count_include_pad", 0) or not any(attribute(node, "pads", []))
        if graph.model.opset < 7 or not own_pads_count:
            return False
        return _take_pads(graph, node, pad, pads, count_include_pad=1)
    if not is_non_negative(graph, pad.input[0]) and not assume(graph, node, "no value is negative"):
        return False
    return _take_pads(graph, node, pad, pads)
