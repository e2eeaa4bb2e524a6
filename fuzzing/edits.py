"""
Edits for test-case reduction (delta debugging): each yields smaller candidates, which may be invalid models.

The caller decides which candidates still show the failure. Values that become inputs of a candidate come from
a run of the model, or from inferred types if there are no inputs to run it on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper, numpy_helper

from xonnc.errors import XonncError
from xonnc.fuzzing.random_models import Array, Feeds
from xonnc.runtime.verification.reference_engines import engine_for


@dataclass(frozen=True)
class ReductionCase:
    """A model and sets of inputs for it, none if it is not run."""

    model: onnx.ModelProto
    feeds: tuple[Feeds, ...] = ()

    @property
    def nodes(self) -> int:
        """The number of nodes of the graph, without those of graphs within."""
        return len(self.model.graph.node)


Edit = Callable[[ReductionCase], Iterator[ReductionCase]]


def fewer_feeds(case: ReductionCase) -> Iterator[ReductionCase]:
    """One set of inputs alone."""
    if len(case.feeds) > 1:
        for feeds in case.feeds:
            yield ReductionCase(case.model, (feeds,))


def fewer_outputs(case: ReductionCase) -> Iterator[ReductionCase]:
    """One output alone, or all but one."""
    outputs = list(case.model.graph.output)
    if len(outputs) < 2:
        return
    for output in outputs:
        yield _with_outputs(case, [output])
    for output in outputs:
        yield _with_outputs(case, [one for one in outputs if one is not output])


def _with_outputs(case: ReductionCase, outputs: Sequence[onnx.ValueInfoProto]) -> ReductionCase:
    model = _copy(case.model)
    del model.graph.output[:]
    model.graph.output.extend(outputs)
    return _without_dead(model, case.feeds)


def output_further_up(case: ReductionCase) -> Iterator[ReductionCase]:
    """An operand of the node that makes an output as the output instead."""
    types, _ = _values(case)
    makers = {name: node for node in case.model.graph.node for name in node.output}
    for index, output in enumerate(case.model.graph.output):
        maker = makers.get(output.name)
        for operand in () if maker is None else maker.input:
            if operand in types and operand not in {one.name for one in case.model.graph.output}:
                model = _copy(case.model)
                model.graph.output[index].CopyFrom(
                    _clear_dims(helper.make_value_info(operand, types[operand]))
                )
                yield _without_dead(model, case.feeds)


def cuts(case: ReductionCase) -> Iterator[ReductionCase]:
    """A node's results as inputs of the model, or as constants."""
    types, values = _values(case)
    for index in reversed(range(len(case.model.graph.node))):
        names = [name for name in case.model.graph.node[index].output if name]
        if any(name not in types for name in names):
            continue
        model = _copy(case.model)
        del model.graph.node[index]
        model.graph.input.extend(helper.make_value_info(name, types[name]) for name in names)
        feeds = tuple(
            {**feeds, **{name: known[name] for name in names}}
            for feeds, known in zip(case.feeds, values, strict=True)
        )
        yield _without_dead(model, feeds)
        if values:
            model = _copy(case.model)
            del model.graph.node[index]
            model.graph.initializer.extend(numpy_helper.from_array(values[0][name], name) for name in names)
            yield _without_dead(model, case.feeds)


def bypasses(case: ReductionCase) -> Iterator[ReductionCase]:
    """An operand of a node read instead of its first result, in graphs within too."""
    for path, node in _nodes(case.model.graph):
        for operand in node.input:
            if operand and node.output:
                model = _copy(case.model)
                graph, index = _found(model.graph, path)
                if node.op_type == "Identity" and any(one.name == node.output[0] for one in graph.output):
                    continue
                del graph.node[index]
                _rename(model.graph, node.output[0], operand)
                yield _without_dead(model, case.feeds)


def inlined(case: ReductionCase) -> Iterator[ReductionCase]:
    """A branch instead of its If."""
    for index, node in enumerate(case.model.graph.node):
        if node.op_type != "If":
            continue
        for attribute in node.attribute:
            model = _copy(case.model)
            body = _copy_graph(attribute.g)
            del model.graph.node[index]
            for position, one in enumerate(body.node):
                model.graph.node.insert(index + position, one)
            model.graph.initializer.extend(body.initializer)
            for name, result in zip(node.output, body.output, strict=True):
                model.graph.node.insert(
                    index + len(body.node), helper.make_node("Identity", [result.name], [name])
                )
            yield _without_dead(model, case.feeds)


def barer_nodes(case: ReductionCase) -> Iterator[ReductionCase]:
    """A node without one of its attributes, or without its last operand."""
    for index, node in enumerate(case.model.graph.node):
        for position in range(len(node.attribute)):
            model = _copy(case.model)
            del model.graph.node[index].attribute[position]
            yield ReductionCase(model, case.feeds)
        if len(node.input) > 1:
            model = _copy(case.model)
            del model.graph.node[index].input[-1]
            yield _without_dead(model, case.feeds)


def plainer_model(case: ReductionCase) -> Iterator[ReductionCase]:
    """Without what nodes are called, types in between, functions not called, and names of dimensions."""
    model = _copy(case.model)
    for node in model.graph.node:
        node.ClearField("name")
    del model.graph.value_info[:]
    called = {node.op_type for node in model.graph.node}
    retained = [one for one in model.functions if one.name in called]
    del model.functions[:]
    model.functions.extend(retained)
    if model != case.model:
        yield ReductionCase(model, case.feeds)
    if not case.feeds:
        return
    model = _copy(case.model)
    for one in model.graph.input:
        if one.name in case.feeds[0]:
            _set_shape(one, case.feeds[0][one.name].shape)
    if model != case.model:
        yield ReductionCase(model, case.feeds)


def plainer_constants(case: ReductionCase) -> Iterator[ReductionCase]:
    """Constants that are nodes as initializers; numbers that are all one, or zero."""
    for index, node in enumerate(case.model.graph.node):
        if node.op_type == "Constant" and node.attribute[0].HasField("t"):
            model = _copy(case.model)
            tensor = model.graph.initializer.add()
            tensor.CopyFrom(node.attribute[0].t)
            tensor.name = node.output[0]
            del model.graph.node[index]
            yield ReductionCase(model, case.feeds)
    for index, tensor in enumerate(case.model.graph.initializer):
        array = numpy_helper.to_array(tensor)
        for number in (0, 1):
            if array.dtype.kind in "fiu" and np.any(array != number):
                model = _copy(case.model)
                plain = numpy_helper.from_array(np.full_like(array, number), tensor.name)
                model.graph.initializer[index].CopyFrom(plain)
                yield ReductionCase(model, case.feeds)


def smaller_shapes(case: ReductionCase) -> Iterator[ReductionCase]:
    """Every dimension of one size made smaller, in constants that are sizes too."""
    arrays = [numpy_helper.to_array(tensor) for tensor in case.model.graph.initializer]
    shapes = [array.shape for array in arrays] + [
        array.shape for feeds in case.feeds for array in feeds.values()
    ]
    for size in sorted({size for shape in shapes for size in shape if size > 1}, reverse=True):
        for smaller in sorted({1, size // 2, size - 1}):
            for is_number_too in (True, False):
                yield _resized(case, arrays, size, smaller, is_number_too)


def _resized(
    case: ReductionCase, arrays: Sequence[Array], size: int, smaller: int, is_number_too: bool
) -> ReductionCase:
    def cut(array: Array) -> Array:
        window = tuple(slice(0, smaller) if extent == size else slice(None) for extent in array.shape)
        return np.asarray(array[window])

    model = _copy(case.model)
    for tensor, array in zip(model.graph.initializer, arrays, strict=True):
        changed = cut(array)
        if is_number_too and array.dtype == np.int64 and array.ndim < 2:
            changed = np.where(changed == size, smaller, changed)
        tensor.CopyFrom(numpy_helper.from_array(np.asarray(changed, array.dtype), tensor.name))
    for one in model.graph.input:
        for dim in one.type.tensor_type.shape.dim:
            if dim.dim_value == size:
                dim.dim_value = smaller
    for output in model.graph.output:
        _clear_dims(output)
    feeds = tuple({name: cut(array) for name, array in one.items()} for one in case.feeds)
    return ReductionCase(model, feeds)


EDITS: tuple[Edit, ...] = (
    fewer_feeds,
    fewer_outputs,
    cuts,
    output_further_up,
    bypasses,
    inlined,
    plainer_model,
    smaller_shapes,
    barer_nodes,
    plainer_constants,
)
"""In the order in which they are tried: what removes most comes first."""


def _values(case: ReductionCase) -> tuple[Mapping[str, onnx.TypeProto], Sequence[Mapping[str, Array]]]:
    """The types of all tensors in between, and their numbers for each set of inputs."""
    if not case.feeds:
        return _inferred(case.model), ()
    model = _copy(case.model)
    named = {one.name for one in model.graph.output}
    inferred = _inferred(case.model)
    for node in case.model.graph.node:
        for name in node.output:
            if name and name not in named and name in inferred:
                model.graph.output.append(helper.make_value_info(name, inferred[name]))
    try:
        engine = engine_for(model)
        values = [engine.run(feeds) for feeds in case.feeds]
    except XonncError:
        return {}, [dict[str, Array]()] * len(case.feeds)
    types = {
        name: helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in values[0].items()
    }
    return types, values


def _inferred(model: onnx.ModelProto) -> Mapping[str, onnx.TypeProto]:
    try:
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except onnx.shape_inference.InferenceError:
        graph = model.graph
    known = (*graph.value_info, *graph.output, *graph.input)
    return {one.name: one.type for one in known if one.type.HasField("tensor_type")}


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def _copy_graph(graph: onnx.GraphProto) -> onnx.GraphProto:
    copy = onnx.GraphProto()
    copy.CopyFrom(graph)
    return copy


Path = tuple[int | str, ...]


def _nodes(graph: onnx.GraphProto, path: Path = ()) -> Iterator[tuple[Path, onnx.NodeProto]]:
    """All nodes with their paths: indices alternate with names of attributes."""
    for index, node in enumerate(graph.node):
        yield (*path, index), node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g, (*path, index, attribute.name))


def _found(graph: onnx.GraphProto, path: Path) -> tuple[onnx.GraphProto, int]:
    """The graph that a path leads to, and the index in it."""
    for step, name in zip(path[:-1:2], path[1::2], strict=True):
        node = graph.node[int(step)]
        graph = next(attribute.g for attribute in node.attribute if attribute.name == name)
    return graph, int(path[-1])


def _rename(graph: onnx.GraphProto, old: str, new: str) -> None:
    """Read one value instead of another; an output of that name is computed from it."""
    for node in graph.node:
        for index, name in enumerate(node.input):
            if name == old:
                node.input[index] = new
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename(attribute.g, old, new)
    if any(output.name == old for output in graph.output):
        graph.node.append(helper.make_node("Identity", [new], [old]))


def _without_dead(model: onnx.ModelProto, feeds: Sequence[Feeds]) -> ReductionCase:
    """Without nodes that no output needs, and without inputs and constants that nothing reads."""
    graph = model.graph
    needed = {output.name for output in graph.output}
    retained: list[onnx.NodeProto] = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            retained.append(node)
            needed.update(_reads(node))
    del graph.node[:]
    graph.node.extend(reversed(retained))
    for field in (graph.input, graph.initializer):
        for index in reversed(range(len(field))):
            if field[index].name not in needed:
                del field[index]
    names = {one.name for one in graph.input}
    kept_feeds = tuple({name: array for name, array in one.items() if name in names} for one in feeds)
    return ReductionCase(model, kept_feeds)


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    yield from node.input
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield from (output.name for output in attribute.g.output)
            for one in attribute.g.node:
                yield from _reads(one)


def _set_shape(one: onnx.ValueInfoProto, shape: Sequence[int]) -> None:
    for dim, size in zip(one.type.tensor_type.shape.dim, shape, strict=True):
        dim.dim_value = size


def _clear_dims(one: onnx.ValueInfoProto) -> onnx.ValueInfoProto:
    """A value whose sizes are left open."""
    for dim in one.type.tensor_type.shape.dim:
        dim.Clear()
    return one
