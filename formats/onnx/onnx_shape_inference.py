"""Type and shape inference of single ops by the onnx package."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TypeAlias

import numpy as np
import onnx
import onnx.checker
import onnx.defs
import onnx.helper
import onnx.shape_inference
from xdsl.dialects.builtin import DYNAMIC_INDEX, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xonnc.dialects.onnx.elements import elements_array
from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, static_shape, tensor_type
from xonnc.errors import XonncError
from xonnc.formats.onnx.export_nodes import export_node
from xonnc.formats.onnx.op_versions import choose_opsets
from xonnc.formats.onnx.tensors import proto
from xonnc.formats.onnx.value_names import ValueNames
from xonnc.formats.onnx.value_types import to_proto, to_type

Integers: TypeAlias = Callable[[SSAValue], Sequence[int] | None]
"""
A function that returns the known integers of a tensor of rank 0 or 1 (`DYNAMIC_INDEX`: unknown element).
"""

MAX_CONSTANT_ELEMENTS = 4096
"""Constants of more elements are weights, whose values determine no shape."""


def infer_results(op: Operation, integers: Integers) -> Sequence[Attribute | None]:
    """
    Infer the types of an op's results; `None` where the onnx package infers nothing.

    `integers` gives known values of small integer tensors that are not constants. Ops with regions and ops
    that are not ONNX operators are not inferred. Raises `XonncError` if the operands contradict the operator.
    """
    unknown: list[Attribute | None] = [None] * len(op.results)
    if op.regions:
        return unknown
    names = ValueNames()
    for value in (*dict.fromkeys(op.operands), *op.results):
        if value.type != NONE:
            names.give(value, "value")
    try:
        opsets = choose_opsets(op, {})
        node = export_node(op, names, opsets, _no_region)
    except XonncError:
        return unknown
    schema = _schema(node, opsets)
    types = {names[value]: to_proto(value.type) for value in op.operands if value.type != NONE}
    known = {name: proto for name, proto in types.items() if proto is not None}
    if schema is None or len(known) < len(types):
        return unknown
    constants = {
        names[value]: found for value in op.operands if (found := _constant(value, integers)) is not None
    }
    imports = [onnx.helper.make_opsetid(domain, version) for domain, version in opsets.items()]

    def ask(operands: Mapping[str, onnx.TypeProto]) -> Mapping[str, onnx.TypeProto]:
        return onnx.shape_inference.infer_node_outputs(
            schema, node, dict(operands), constants, opset_imports=imports
        )

    try:
        found = ask(known)
    except onnx.checker.ValidationError:
        # The op has fewer operands or results than its schema wants: nothing follows from what there is.
        return unknown
    except onnx.shape_inference.InferenceError as error:
        if _is_about_unknown_sizes(ask, known):
            return unknown
        reason = str(error).strip().splitlines()[-1].removeprefix("[ShapeInferenceError] ")
        raise XonncError(f"{describe(op)}: {op.name.removeprefix('onnx.')}: {reason}") from error
    types = [
        to_type(found[names[result]], describe(op)) if result in names and names[result] in found else NONE
        for result in op.results
    ]
    sizes = {size for value in op.operands for size in _sizes(value.type)}
    if DYNAMIC_INDEX in sizes and 0 not in sizes:
        types = [_without_zeros(type_) for type_ in types]
    return [None if type_ == NONE else type_ for type_ in types]


def _is_about_unknown_sizes(
    ask: Callable[[Mapping[str, onnx.TypeProto]], object], known: Mapping[str, onnx.TypeProto]
) -> bool:
    """
    Return whether an inference error is an artefact of dynamic dimensions.

    The package takes lists of unknown length for empty ones (Resize), and dynamic dimensions for 0
    (StringNormalizer). The check is repeated with 1 for every dynamic dimension.
    """
    shapes = {name: type_.tensor_type.shape.dim for name, type_ in known.items()}
    if any(len(sizes) == 1 and not sizes[0].HasField("dim_value") for sizes in shapes.values()):
        return True
    guessed = {name: onnx.TypeProto.FromString(type_.SerializeToString()) for name, type_ in known.items()}
    unknown = [
        size
        for type_ in guessed.values()
        for size in type_.tensor_type.shape.dim
        if not size.HasField("dim_value")
    ]
    for size in unknown:
        size.dim_value = 1
    try:
        ask(guessed)
    except onnx.shape_inference.InferenceError:
        return False
    return bool(unknown)


def _without_zeros(type_: Attribute) -> Attribute:
    """
    Make dimensions of 0 dynamic: the package computes with dynamic dimensions as if they were 0 (Attention,
    1.23).
    """
    if not is_ranked(type_) or 0 not in type_.get_shape():
        return type_
    return tensor_type(tuple(size or DYNAMIC_INDEX for size in type_.get_shape()), type_.element_type)


def _sizes(type_: Attribute) -> tuple[int, ...]:
    """Return the dimensions of a ranked tensor, dynamic ones included; none for an unranked one."""
    return type_.get_shape() if is_ranked(type_) else ()


def _schema(node: onnx.NodeProto, opsets: Mapping[str, int]) -> onnx.defs.OpSchema | None:
    if not onnx.defs.has(node.op_type, node.domain):
        return None
    schema = onnx.defs.get_schema(node.op_type, opsets.get(node.domain, 1), node.domain)
    return None if schema.deprecated else schema


def _constant(value: SSAValue, integers: Integers) -> onnx.TensorProto | None:
    """Return a small constant, or otherwise known integers, as a tensor."""
    owner = value.owner
    if isinstance(owner, ConstantOp) and owner.value is not None:
        array = elements_array(owner.value)
        return None if array is None or array.size > MAX_CONSTANT_ELEMENTS else proto(array)
    shape = static_shape(value.type)
    if shape is None or len(shape) > 1 or element_type(value.type) != i64:
        return None
    found = integers(value)
    if found is None or DYNAMIC_INDEX in found or len(found) != prod(shape):
        return None
    return proto(np.array(found, np.int64).reshape(shape))


def _no_region(block: Block, details: Mapping[str, Attribute]) -> onnx.GraphProto:
    raise XonncError("an op with a body cannot be inferred by itself")
