"""Function bodies of ONNX operators (`FunctionBuilder`): nodes replaced by simpler operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableSequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import onnx
from onnx.helper import make_node, tensor_dtype_to_np_dtype
from onnx.numpy_helper import from_array, to_array

from xonnc.errors import XonncError
from xonnc.formats.onnx.schemas import opsets_of, schema_of

BODIES = "xonnc.bodies"
"""Temporary domain of local functions that hold bodies while they are inlined."""


Nodes: TypeAlias = MutableSequence[onnx.NodeProto]


@runtime_checkable
class _WithBody(Protocol):
    """Methods of `OpSchema` that the package's type stubs lack."""

    has_context_dependent_function: bool
    since_version: int

    def get_context_dependent_function_with_opset_version(
        self, opset: int, node: bytes, types: list[bytes], /
    ) -> bytes: ...

    def get_function_with_opset_version(self, opset: int, /) -> bytes: ...


def has_function_body(domain: str, op_type: str, opset: int) -> bool:
    """Return whether ONNX defines an operator by a function body."""
    schema = schema_of(domain, op_type, opset)
    # Both are unknown to the package's type stubs.
    return any(getattr(schema, name, False) for name in ("has_function", "has_context_dependent_function"))


def expand_to_body(model: onnx.ModelProto, domain: str, op_type: str) -> onnx.ModelProto:
    """
    Return the model with the nodes of an operator replaced by its function body; `XonncError` if none fits.
    """
    from onnx.inliner import inline_selected_functions

    full = onnx.ModelProto()
    full.CopyFrom(model)
    opset = opsets_of(model).get(domain, 1)
    leaves_out = False
    for node in full.graph.node:
        if node.op_type == op_type and node.domain == domain:
            _write_defaults(node, opset)
            leaves_out |= "" in node.input
    try:
        if leaves_out or op_type in CORRECTIONS:
            return _by_local_functions(full, domain, op_type, opset)
        return inline_selected_functions(full, [(domain, op_type)], inline_schema_functions=True)
    except (RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise XonncError(f"{op_type} has no function body here: {reason}") from error


def _by_local_functions(model: onnx.ModelProto, domain: str, op_type: str, opset: int) -> onnx.ModelProto:
    """
    Inline bodies through local functions of the model.

    The inliner of the onnx package requires types of omitted inputs that are not the last ones; the bodies
    themselves accept absent inputs.
    """
    from onnx.inliner import inline_local_functions

    types = {port.name: port.type.SerializeToString() for port in model.graph.input}
    schema: object = schema_of(domain, op_type, opset)
    opsets = opsets_of(model)
    for number, node in enumerate(model.graph.node):
        if not isinstance(schema, _WithBody) or (node.domain, node.op_type) != (domain, op_type):
            continue
        given = [types.get(name, b"") for name in node.input]
        function = _newest_body(schema, node, given, opset)
        first = onnx.TypeProto.FromString(given[0]).tensor_type.elem_type
        CORRECTIONS.get(op_type, _unchanged)(function, first)
        node.op_type, node.domain = f"{op_type}{number}", BODIES
        function.name, function.domain = node.op_type, BODIES
        for entry in function.opset_import:
            # That of the operator's version; only functions of the model's own opsets are inlined.
            entry.version = opsets.get(entry.domain, entry.version)
        model.functions.append(function)
    model.opset_import.add(domain=BODIES, version=1)
    inlined = inline_local_functions(model)
    retained = [entry for entry in inlined.opset_import if entry.domain != BODIES]
    del inlined.opset_import[:]
    inlined.opset_import.extend(retained)
    return inlined


def _newest_body(
    schema: _WithBody, node: onnx.NodeProto, types: list[bytes], opset: int
) -> onnx.FunctionProto:
    """
    Return the body of an operator in the newest opset that has one, up to `opset`; `XonncError` if none has.

    ONNX gives none in opsets that have newer versions of operators of the body, if only for another type.
    """
    for each in range(opset, schema.since_version - 1, -1):
        if schema.has_context_dependent_function:
            body = schema.get_context_dependent_function_with_opset_version(
                each, node.SerializeToString(), types
            )
        else:
            body = schema.get_function_with_opset_version(each)
        function = onnx.FunctionProto.FromString(body)
        if function.node:
            return function
    raise XonncError(f"{node.op_type} has no function body here: ONNX defines none for these types")


def _write_defaults(node: onnx.NodeProto, opset: int) -> None:
    """Add omitted attributes with their defaults to a node: the inliner passes none to the body."""
    schema = schema_of(node.domain, node.op_type, opset)
    written = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items() if schema is not None else ():
        if name not in written and attribute.default_value.type != onnx.AttributeProto.UNDEFINED:
            node.attribute.append(attribute.default_value)


def _unchanged(function: onnx.FunctionProto, element: int) -> None:
    """Leave a body unchanged."""


def _correct_affine_grid(function: onnx.FunctionProto, element: int) -> None:
    """
    Correct two faults in the body of AffineGrid (ONNX 1.23).

    It squeezes all axes of size 1 of the rows of `theta`, including the batch; and it divides by size - 1,
    which is 0 for an axis of one element, whose coordinate is -1.
    """
    for nodes in _node_lists(function.node):
        for node in list(nodes):
            if node.op_type == "Squeeze" and len(node.input) == 1:
                node.input.append("one_1d")
            if node.output[0] in ("H_float_nimus_one", "W_float_nimus_one"):
                output = node.output[0]
                node.output[0] = f"{output}_or_0"
                nodes.insert(
                    list(nodes).index(node) + 1, make_node("Max", [node.output[0], "one_f"], [output])
                )


def _node_lists(nodes: Nodes) -> Iterator[Nodes]:
    """Yield the node lists of a function and of all its subgraphs."""
    yield nodes
    for node in nodes:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _node_lists(attribute.g.node)


def _correct_mean_variance(function: onnx.FunctionProto, element: int) -> None:
    """
    Correct the body of MeanVarianceNormalization.

    It adds a float32 constant to tensors of any float type; it rounds each step to that type; and its
    variance, the mean of squares less the square of the mean, is negative, and the root not a number, where
    the mean is far larger than the deviation. The variance is taken from the centred numbers, in float32 at
    least, as onnxruntime does.
    """
    nodes = {node.output[0]: node for node in function.node}
    wide = onnx.TensorProto.DOUBLE if element == onnx.TensorProto.DOUBLE else onnx.TensorProto.FLOAT
    nodes["X_RM"].input[0] = nodes["X_variance"].input[0] = "X_wide"
    nodes["X_squared"].input[0] = "X_variance"
    nodes["E_Xsquared"].output[0] = "Variance"
    nodes["Processed_STD"].input[1] = "Epsilon_wide"
    nodes["Y"].output[0] = "Y_wide"
    retained = [node for node in function.node if node.op_type == "Constant"]
    retained += [
        make_node("Cast", ["X"], ["X_wide"], to=wide),
        make_node("Cast", ["Epsilon"], ["Epsilon_wide"], to=wide),
    ]
    order = ("X_RM", "X_variance", "X_squared", "E_Xsquared", "STD", "Processed_STD", "Y")
    retained += [nodes[name] for name in order]
    retained.append(make_node("Cast", ["Y_wide"], ["Y"], to=element))
    del function.node[:]
    function.node.extend(retained)


def _correct_group_norm(function: onnx.FunctionProto, element: int) -> None:
    """
    Normalize by InstanceNormalization in the body of GroupNormalization, in float32 at least.

    Its variance is the mean of squares less the square of the mean, which is wrong, or negative, where the
    mean is far larger than the deviation; and in opset 18, it rounds each step to the element type.
    """
    nodes = {node.output[0]: node for node in function.node}
    own = nodes["XU"].attribute[0].i if "XU" in nodes else element
    wide = onnx.TensorProto.DOUBLE if own == onnx.TensorProto.DOUBLE else onnx.TensorProto.FLOAT
    groups = int(to_array(nodes["NumGroups"].attribute[0].t).item())
    epsilon = float(to_array(nodes["FloatEpsilon"].attribute[0].t).item())
    kind = tensor_dtype_to_np_dtype(wide)
    result = "NormalizedU" if "XU" in nodes else "Normalized"
    names = list(nodes)
    # From the reshaped operand to the normalised one, all steps are of the normalization.
    first, last = names.index("X3D") + 1, names.index(result)
    body = list(function.node)
    normal = [
        make_node("Constant", [], ["Ones"], value=from_array(np.ones(groups, kind))),
        make_node("Constant", [], ["Zeros"], value=from_array(np.zeros(groups, kind))),
        make_node("Cast", ["X3D"], ["Rows"], to=wide),
        make_node("InstanceNormalization", ["Rows", "Ones", "Zeros"], ["Normal"], epsilon=epsilon),
        make_node("Cast", ["Normal"], [result], to=own),
    ]
    del function.node[:]
    function.node.extend([*body[:first], *normal, *body[last + 1 :]])


def _correct_rms(function: onnx.FunctionProto, element: int) -> None:
    """Correct RMSNormalization, whose body multiplies X by a scale of possibly another type."""
    product = function.node[-1]
    function.node.insert(
        len(function.node) - 1, make_node("CastLike", [product.input[0], "scale"], ["scaled"])
    )
    product.input[0] = "scaled"


CORRECTIONS: Mapping[str, Callable[[onnx.FunctionProto, int], None]] = {
    "AffineGrid": _correct_affine_grid,
    "GroupNormalization": _correct_group_norm,
    "MeanVarianceNormalization": _correct_mean_variance,
    "RMSNormalization": _correct_rms,
}
"""Corrections of bodies of the onnx package, by operator; they get the element type of operand 0."""
