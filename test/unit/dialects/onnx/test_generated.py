"""What the generator wrote is what it would write now, and it is what the installed schemas say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import onnx
import onnx.defs
import pytest
from onnx.defs import OpSchema
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, StringAttr, UnrankedTensorType
from xdsl.ir import Attribute
from xdsl.irdl import OpDef, OperandDef, OptPropertyDef, ResultDef, VarOperandDef, VarResultDef
from xdsl.irdl import VerificationContext as Context
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.registry import op_class, op_classes
from xonnc.dialects.onnx.types import ELEMENT_TYPES_BY_CODE, NONE, MapType, OptType, SeqType
from xonnc.tools.onnx_dialect.generate import ROOT, generated
from xonnc.tools.onnx_dialect.op_checks import (
    COMMUTATIVE,
    NEWEST_ONLY,
    OPERATOR_CHECKS,
    RANDOM_OPERATORS,
    checks_of,
)
from xonnc.tools.onnx_dialect.op_descriptions import DESCRIPTIONS, OLD_VERSION_NOTES
from xonnc.tools.onnx_dialect.samples import ATTRIBUTES, SHAPES
from xonnc.tools.onnx_dialect.version_semantics import COMPATIBLE_VERSIONS, ONNX_MLIR_BOUNDARIES
from xonnc.tools.onnx_dialect.versions import op_classes as generator_classes

SCHEMAS = tuple(onnx.defs.get_all_schemas_with_history())
OPTION = OpSchema.FormalParameterOption
ELEMENTS = {
    str(onnx.TensorProto.DataType.Name(code)).lower(): type_ for code, type_ in ELEMENT_TYPES_BY_CODE.items()
}
RENAMED = {("MaxUnpool", "I"): "I_in", ("Split", "outputs..."): "outputs"}
SECOND_OF_ITS_NAME = {
    "BatchNormalization": {"mean": "mean_out", "var": "var_out"},
    "Split": {"split": "split_attr"},
}
"""Fields of names that an operand has taken already."""


def identity(schema: OpSchema) -> str:
    """How a failure names a schema."""
    return f"{schema.domain or 'ai.onnx'}.{schema.name}-{schema.since_version}"


def class_of(schema: OpSchema) -> type[OnnxOp]:
    """The class that stands for a schema."""
    found = op_class(schema.domain, schema.name, schema.since_version)
    assert found is not None
    return found


@cache
def mlir_type(text: str) -> Attribute:
    """The type, unranked, that a schema writes `seq(tensor(float))`."""
    head, _, inner = text.removesuffix(")").partition("(")
    match head:
        case "tensor":
            return UnrankedTensorType(_element(inner))
        case "seq":
            return SeqType(mlir_type(inner))
        case "optional":
            return OptType(mlir_type(inner))
        case _:
            key, value = inner.split(", ")
            return MapType(_element(key), mlir_type(value) if "(" in value else _element(value))


def _element(name: str) -> Attribute:
    return ELEMENTS[name]


def test_checked_in_files_are_what_the_generator_writes():
    differing = [
        str(path)
        for path, text in generated().items()
        if not (ROOT / path).exists() or (ROOT / path).read_text() != text
    ]
    assert not differing, "run python -m xonnc.tools.onnx_dialect"


def test_no_generated_file_is_left_over():
    by_hand = {f"dialects/onnx/ops/{name}.py" for name in ("__init__", "builtin", "constant", "extra")}
    found = {path.relative_to(ROOT) for path in (ROOT / "dialects/onnx/ops").rglob("*.py")}
    assert {str(path) for path in found - generated().keys()} == by_hand


def test_every_operator_of_the_package_is_there():
    assert len({(schema.domain, schema.name) for schema in SCHEMAS}) == 227
    assert onnx.defs.onnx_opset_version() == 28
    assert {schema.domain for schema in SCHEMAS} == {
        "",
        "ai.onnx.ml",
        "ai.onnx.preview",
        "ai.onnx.preview.training",
    }


@pytest.mark.parametrize("schema", SCHEMAS, ids=identity)
def test_the_class_of_a_version_admits_it(schema: OpSchema):
    op = class_of(schema)
    assert op.OP_TYPE == schema.name
    assert schema.since_version >= op.SINCE
    assert op.UNTIL is None or schema.since_version < op.UNTIL
    definition = op.get_irdl_definition()
    operands = [found for _, found in definition.operands]
    results = [found for _, found in definition.results]
    _admits_arity(operands, schema.inputs)
    _admits_arity(results, schema.outputs)
    for kinds in _assignments(schema):
        context = Context()
        for found, formal in _pairs(operands, schema.inputs) + _pairs(results, schema.outputs):
            found.constr.verify((kinds.get(formal.type_str) or mlir_type(formal.type_str),), context)
    _admits_attributes(definition, schema)


def _pairs(
    definitions: Sequence[OperandDef | ResultDef], formals: Sequence[OpSchema.FormalParameter]
) -> list[tuple[OperandDef | ResultDef, OpSchema.FormalParameter]]:
    return list(zip(definitions, formals, strict=False))


def _admits_arity(
    definitions: Sequence[OperandDef | ResultDef], formals: Sequence[OpSchema.FormalParameter]
) -> None:
    assert len(definitions) >= len(formals)
    for index, found in enumerate(definitions):
        is_optional = index >= len(formals) or formals[index].option == OPTION.Optional
        is_variadic = index < len(formals) and formals[index].option == OPTION.Variadic
        assert isinstance(found, VarOperandDef | VarResultDef) == is_variadic
        if is_optional:
            found.constr.verify((NONE,), Context())


def _assignments(schema: OpSchema) -> Iterator[dict[str, Attribute]]:
    """Each type of each type parameter once."""
    first = {item.type_param_str: mlir_type(item.allowed_type_strs[0]) for item in schema.type_constraints}
    yield first
    for item in schema.type_constraints:
        for text in item.allowed_type_strs:
            yield first | {item.type_param_str: mlir_type(text)}


def _admits_attributes(definition: OpDef, schema: OpSchema) -> None:
    regions = {name for name, _ in definition.regions}
    for name, attribute in schema.attributes.items():
        if attribute.type == OpSchema.AttrType.GRAPH:
            assert name in regions
            continue
        found = definition.properties[name]
        assert isinstance(found, OptPropertyDef) or found.default_value is not None or attribute.required
        if attribute.default_value.type != onnx.AttributeProto.UNDEFINED:
            assert _plain(found.default_value) == _default(attribute.default_value)
        elif not attribute.required:
            assert found.default_value is None


def _plain(attribute: Attribute | None) -> object:
    match attribute:
        case IntegerAttr() | FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case ArrayAttr():
            return [_plain(element) for element in attribute.data]
        case _:
            return None


def _default(value: onnx.AttributeProto) -> object:
    match value.type:
        case onnx.AttributeProto.INT:
            return value.i
        case onnx.AttributeProto.FLOAT:
            return value.f
        case onnx.AttributeProto.STRING:
            return value.s.decode()
        case onnx.AttributeProto.STRINGS:
            return [text.decode() for text in value.strings]
        case _:
            return list(value.ints)


@pytest.mark.parametrize("op", [op for op in op_classes() if op.OP_TYPE], ids=lambda op: op.name)
def test_a_class_has_the_fields_of_its_newest_schema(op: type[OnnxOp]):
    newest = max(
        (schema for schema in SCHEMAS if (schema.domain, schema.name) == (op.DOMAIN, op.OP_TYPE)),
        key=lambda schema: (op.UNTIL is None or schema.since_version < op.UNTIL) * schema.since_version,
    )
    definition = op.get_irdl_definition()
    assert [name for name, _ in definition.operands] == _fields(op, newest.inputs, set())
    taken = {formal.name for formal in newest.inputs}
    assert [name for name, _ in definition.results] == _fields(op, newest.outputs, taken)
    graphs = {name for name, found in newest.attributes.items() if found.type == OpSchema.AttrType.GRAPH}
    assert set(definition.properties) == set(newest.attributes) - graphs
    assert {name for name, _ in definition.regions} == graphs
    assert not definition.attributes
    second = SECOND_OF_ITS_NAME.get(op.OP_TYPE, {})
    for field, (name, kind) in definition.accessor_names.items():
        assert kind == "property"
        assert field == (second[name] if name in taken else name)
        assert field in vars(op)


def _fields(op: type[OnnxOp], formals: Sequence[OpSchema.FormalParameter], taken: set[str]) -> list[str]:
    names = [RENAMED.get((op.OP_TYPE, formal.name), formal.name) for formal in formals]
    second = SECOND_OF_ITS_NAME.get(op.OP_TYPE, {})
    return [second[name] if name in taken else name for name in names]


def test_properties_say_what_they_hold():
    wrong = StringAttr("x")
    for op in op_classes():
        for name, found in op.get_irdl_definition().properties.items():
            if found.default_value is not None:
                found.constr.verify(found.default_value, Context())
            if isinstance(found.default_value, IntegerAttr | FloatAttr):
                with pytest.raises(VerifyException, match="is not"):
                    found.constr.verify(wrong, Context())
                assert name


def test_entries_of_the_tables_of_meanings_name_versions_that_exist():
    versions = {(schema.name, schema.since_version) for schema in SCHEMAS}
    for table in (COMPATIBLE_VERSIONS, ONNX_MLIR_BOUNDARIES):
        assert {(name, version) for name, found in table.items() for version in found} <= versions


def test_hand_written_sentences_are_for_ops_that_exist():
    names = {op.name.removeprefix("onnx.") for op in op_classes()}
    assert DESCRIPTIONS.keys() <= names | {op.OP_TYPE for op in op_classes()}
    for table in (OLD_VERSION_NOTES, SHAPES, ATTRIBUTES):
        assert table.keys() <= names


def test_hand_written_rules_are_for_operators_that_exist():
    operators = {op.OP_TYPE for op in op_classes()}
    known = (
        operators
        | {f"{name}!" for name in operators}
        | {op.name.removeprefix("onnx.") for op in op_classes()}
    )
    for names, expression in OPERATOR_CHECKS:
        assert set(names.split()) <= known, expression
    assert NEWEST_ONLY | RANDOM_OPERATORS | COMMUTATIVE <= operators


def test_every_rule_is_carried_by_the_operators_it_is_for():
    carried = {
        (name, check.source)
        for classes in generator_classes().values()
        for op_class in classes
        for check in checks_of(op_class.name, op_class.operator, op_class.until is None)
        for name in (op_class.name, op_class.operator.name, f"{op_class.operator.name}!")
    }
    expected = {(name, expression) for names, expression in OPERATOR_CHECKS for name in names.split()}
    assert expected <= carried


def test_every_text_of_a_rule_is_expected_by_a_test():
    table = Path(__file__).with_name("verifier_messages.txt")
    files = (table, *(ROOT / "test/lit/dialects/onnx").rglob("*.mlir"))
    tests = "".join(path.read_text() for path in files)
    quoted = {text for _, expression in OPERATOR_CHECKS for text in re.findall(r'"([^"]*)"', expression)}
    texts = {text for text in quoted if " " in text}
    assert len(texts) > 40
    # A rule puts the value in place of {}.
    assert not [text for text in texts if text.partition("{}")[0] not in tests]


PEER_CLASSES = (
    "ClipV12 ClipV11 ClipV6 DFTV17 GridSampleV16 GroupNormalizationV18 PadV18 PadV13 PadV11 PadV2 "
    "ReduceL1V13 ReduceL2V13 ReduceLogSumV13 ReduceLogSumExpV13 ReduceMaxV18 ReduceMaxV13 ReduceMeanV13 "
    "ReduceMinV18 ReduceMinV13 ReduceProdV13 ReduceSumV11 ReduceSumSquareV13 ResizeV18 ResizeV13 ResizeV11 "
    "ResizeV10 SoftmaxV11 SplitV13 SplitV11 SqueezeV11 UnsqueezeV11 UpsampleV7"
).split()


@pytest.mark.parametrize("name", PEER_CLASSES)
def test_every_older_op_of_onnx_mlir_is_there(name: str):
    assert f"onnx.{name}" in {op.name for op in op_classes()}


NEW_MEANINGS = {
    # Shapes of one rank, broadcast by attributes: opsets 1 to 6.
    "Add": (6, 7),
    "Gemm": (6, 7),
    "Pow": (1, 7),
    "Equal": (1, 7),
    "PRelu": (6, 7),
    # Statistics, modes and masks.
    "BatchNormalization": (9, 14),
    "Dropout": (10, 12),
    "Selu": (1, 6),
    # Flattened to a matrix, another default axis.
    "Softmax": (11, 13),
    "LogSoftmax": (11, 13),
    "Hardmax": (11, 13),
    # Coordinates.
    "Resize": (10, 11),
    "RoiAlign": (10, 16),
    "Upsample": (7, 9),
    "GridSample": (16, 20),
    # Negative indices, channels instead of groups, which side the odd padding goes to.
    "OneHot": (9, 11),
    "GroupNormalization": (18, 21),
    "ConvTranspose": (1, 11),
    # Attributes that became operands.
    "Clip": (6, 11),
    "DFT": (17, 20),
    "Pad": (2, 11),
    "ReduceSum": (11, 13),
    "ReduceMean": (13, 18),
    "Slice": (1, 10),
    "Split": (11, 13),
    "Squeeze": (11, 13),
    "Unsqueeze": (11, 13),
    "TopK": (1, 10),
    "Scan": (8, 9),
    "Reshape": (1, 5),
    "Cast": (1, 6),
    "LabelEncoder": (1, 2),
}


@pytest.mark.parametrize("name", NEW_MEANINGS)
def test_a_new_meaning_is_a_new_class(name: str):
    before, after = NEW_MEANINGS[name]
    domain = "ai.onnx.ml" if name == "LabelEncoder" else ""
    old, new = op_class(domain, name, before), op_class(domain, name, after)
    assert old is not None
    assert new is not None
    assert old is not new


def test_floats_of_the_schemas_are_kept_bit_by_bit():
    encoder = op_class("ai.onnx.ml", "LabelEncoder", 4)
    assert encoder is not None
    default = encoder.get_irdl_definition().properties["default_float"].default_value
    assert isinstance(default, FloatAttr)
    assert np.signbit(default.value.data)
