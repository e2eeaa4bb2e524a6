"""What the importer says about wrong nodes, for every operator of ONNX."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import onnx
import pytest
from onnx.defs import OpSchema
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Operation

from xonnc.dialects.onnx import get_onnx
from xonnc.dialects.onnx.types import unranked
from xonnc.errors import InvalidModelError, XonncError
from xonnc.formats.onnx.import_diagnostics import (
    MAX_DIAGNOSTICS,
    UNREADABLE,
    ImportDiagnostics,
    placeholder,
)
from xonnc.formats.onnx.importer import import_proto

KIND = OpSchema.AttrType
VALUES: dict[OpSchema.AttrType, Any] = {
    KIND.INT: 1,
    KIND.FLOAT: 1.0,
    KIND.STRING: "a",
    KIND.INTS: [1, 2],
    KIND.FLOATS: [1.0, 2.0],
    KIND.STRINGS: ["a", "b"],
    KIND.TENSOR: onnx.helper.make_tensor("t", onnx.TensorProto.FLOAT, [1], [1.0]),
}
"""An attribute of each kind."""

OPSET = 21
UNBOUNDED = 1 << 20


def kind_name(kind: OpSchema.AttrType) -> str:
    """The name of a kind, as in `AttrType.INT`."""
    return str(kind).rpartition(".")[2]


def has_bodies(schema: OpSchema) -> bool:
    return any(each.type in (KIND.GRAPH, KIND.GRAPHS) for each in schema.attributes.values())


def of_opset() -> Iterator[OpSchema]:
    """The operators of opset 21, without those that have bodies."""
    names = {schema.name for schema in onnx.defs.get_all_schemas() if schema.domain == ""}
    for name in sorted(names):
        if not onnx.defs.has(name, OPSET):
            continue
        schema = onnx.defs.get_schema(name, OPSET)
        if not schema.deprecated and not has_bodies(schema) and name != "Constant":
            yield schema


SCHEMAS = list(of_opset())


def required(schema: OpSchema) -> dict[str, Any]:
    return {
        name: VALUES[each.type]
        for name, each in schema.attributes.items()
        if each.required and each.type in VALUES
    }


def node(
    schema: OpSchema, inputs: Sequence[str], outputs: Sequence[str], attributes: dict[str, Any]
) -> onnx.NodeProto:
    return onnx.helper.make_node(schema.name, inputs, outputs, schema.name.lower(), **attributes)


def most(limit: int) -> int:
    return min(limit, 1) if limit > UNBOUNDED else limit


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{index}" for index in range(count)]


def correct(schema: OpSchema) -> onnx.NodeProto:
    """A node with all operands and results, and the attributes that it has to have."""
    return node(schema, ["x"] * most(schema.max_input), names("y", most(schema.max_output)), required(schema))


@pytest.fixture
def ctx() -> Context:
    """A context with the onnx dialect."""
    made = Context()
    made.register_dialect("onnx", get_onnx)
    return made


def imported(ctx: Context, *nodes: onnx.NodeProto) -> ModuleOp:
    values = [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])]
    model = onnx.helper.make_model(
        onnx.helper.make_graph(list(nodes), "g", values, values),
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=10,
    )
    return import_proto(model, ctx)


def reasons(ctx: Context, *nodes: onnx.NodeProto) -> list[str]:
    """What is said about nodes; nothing if they are imported."""
    try:
        imported(ctx, *nodes)
    except InvalidModelError as error:
        return [reason.removeprefix("model: ") for reason in error.reasons]
    return []


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda schema: schema.name)
def test_each_fault_of_a_node_is_told(ctx: Context, schema: OpSchema):
    assert reasons(ctx, correct(schema)) == []
    title = f"{schema.name.lower()} ({schema.name}): "
    inputs, outputs = ["x"] * most(schema.max_input), names("y", most(schema.max_output))
    given = required(schema)
    for name in given:
        rest = {other: value for other, value in given.items() if other != name}
        assert reasons(ctx, node(schema, inputs, outputs, rest)) == [
            f"{title}attribute '{name}' is missing; the operator requires it"
        ]
    for name, each in schema.attributes.items():
        kind, wrong = ("INT", 1) if each.type is not KIND.INT else ("FLOAT", 1.0)
        assert reasons(ctx, node(schema, inputs, outputs, {**given, name: wrong})) == [
            f"{title}attribute '{name}' is of kind {kind}; the operator takes {kind_name(each.type)}"
        ]
    if schema.max_input <= UNBOUNDED:
        assert reasons(ctx, node(schema, [*inputs, "x"], outputs, given)) == [
            f"{title}{len(inputs) + 1} inputs where the operator takes at most {len(inputs)}"
        ]
        assert reasons(ctx, node(schema, [*inputs, ""], outputs, given)) == []
    if schema.max_output <= UNBOUNDED:
        assert reasons(ctx, node(schema, inputs, [*outputs, "z"], given)) == [
            f"{title}{len(outputs) + 1} outputs where the operator has at most {len(outputs)}"
        ]
        assert reasons(ctx, node(schema, inputs, [*outputs, ""], given)) == []


def test_an_operator_of_a_later_opset_is_told_with_its_first(ctx: Context):
    later = {
        schema.name: min(
            each.since_version
            for each in onnx.defs.get_all_schemas_with_history()
            if (each.domain, each.name) == ("", schema.name)
        )
        for schema in onnx.defs.get_all_schemas()
        if schema.domain == "" and not onnx.defs.has(schema.name, OPSET)
    }
    assert later
    for name, first in later.items():
        told = reasons(ctx, onnx.helper.make_node(name, ["x"], ["y"], "n"))
        assert told == [
            f"n ({name}): the model's opset is {OPSET}, and this operator came with opset {first}"
        ]


def test_all_faults_of_a_model_are_told_in_order_and_a_missing_value_once(ctx: Context):
    nodes = [
        onnx.helper.make_node("Relu", ["x", "x"], ["a"], "first", alpha=1.0),
        onnx.helper.make_node("LeakyRelu", ["nothing"], ["b"], "second", alpha=1),
        onnx.helper.make_node("Add", ["nothing", "b"], ["a"], "third"),
        onnx.helper.make_node("Sub", ["a", "b"], ["c"], "fourth"),
    ]
    assert reasons(ctx, *nodes) == [
        "first (Relu): 2 inputs where the operator takes at most 1",
        "second (LeakyRelu): input 'nothing' is made by no node, input or initializer",
        "second (LeakyRelu): attribute 'alpha' is of kind INT; the operator takes FLOAT",
        "third (Add): value 'a' is defined twice; names of values must be unique",
    ]


def test_a_wrong_node_stands_for_its_results(ctx: Context):
    with pytest.raises(InvalidModelError) as caught:
        imported(ctx, onnx.helper.make_node("Relu", ["x", "x"], ["a"], "n"))
    (op,) = caught.value.subjects
    assert isinstance(op, Operation)
    assert UNREADABLE in op.attributes
    assert [result.type for result in op.results] == [unranked(f32)]


def test_diagnostics_past_the_limit_are_counted():
    found = ImportDiagnostics()
    for index in range(MAX_DIAGNOSTICS):
        found.add(str(index))
    assert [each.message for each in found.all()] == [str(index) for index in range(MAX_DIAGNOSTICS)]
    found.add("one")
    found.add("two")
    *kept, last = found.all()
    assert len(kept) == MAX_DIAGNOSTICS
    assert last.message == "and 2 more that cannot be read"


def test_lines_of_a_diagnostic_are_escaped_and_other_errors_pass():
    found, op = ImportDiagnostics(), placeholder("Relu", [])
    found.refuse("model")
    found.add("a\nb\rc", op)
    with found.collecting("at: "):
        raise XonncError("wrong")
    with pytest.raises(ZeroDivisionError), found.collecting("at: "):
        raise ZeroDivisionError
    assert [(each.message, each.op) for each in found.all()] == [("a\\nb\\rc", op), ("at: wrong", None)]
    with pytest.raises(InvalidModelError) as caught:
        found.refuse("model")
    assert list(caught.value.subjects) == [op, None]
    assert all(line.startswith("model: ") for line in caught.value.reasons)
