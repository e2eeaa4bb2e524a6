"""Operators of ONNX written as its standard defines them: by nodes of simpler operators."""

from __future__ import annotations

import onnx

from xonnc.errors import XonncError
from xonnc.formats.onnx.schemas import opsets_of, schema_of


def has_body(domain: str, op_type: str, opset: int) -> bool:
    """Whether ONNX defines an operator by a function of others."""
    schema = schema_of(domain, op_type, opset)
    # Both are unknown to the package's type stubs.
    return any(getattr(schema, name, False) for name in ("has_function", "has_context_dependent_function"))


def written_out(model: onnx.ModelProto, domain: str, op_type: str) -> onnx.ModelProto:
    """`model` with the body of an operator in place of its nodes; raises `XonncError` where none fits."""
    from onnx.inliner import inline_selected_functions

    full = onnx.ModelProto()
    full.CopyFrom(model)
    for node in full.graph.node:
        if node.op_type == op_type and node.domain == domain:
            _write_defaults(node, opsets_of(model).get(domain, 1))
    try:
        return inline_selected_functions(full, [(domain, op_type)], inline_schema_functions=True)
    except (RuntimeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise XonncError(f"{op_type} cannot be written out: {reason}") from error


def _write_defaults(node: onnx.NodeProto, opset: int) -> None:
    """Writes attributes that a node leaves out: bodies are given none otherwise."""
    schema = schema_of(node.domain, node.op_type, opset)
    written = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items() if schema is not None else ():
        if name not in written and attribute.default_value.type != onnx.AttributeProto.UNDEFINED:
            node.attribute.append(attribute.default_value)
