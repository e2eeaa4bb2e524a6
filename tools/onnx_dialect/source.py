"""The Python source of the op classes."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from xonnc.tools.onnx_dialect.docstrings import WIDTH, is_broadcast_by_attribute, summary, wrapped
from xonnc.tools.onnx_dialect.op_checks import CHECK_SIGNATURES, COMMUTATIVE, RANDOM_OPERATORS, checks_of
from xonnc.tools.onnx_dialect.op_descriptions import OLD_VERSION_NOTES
from xonnc.tools.onnx_dialect.samples import SHAPES, dictionary, result_list, sample
from xonnc.tools.onnx_dialect.schemas import AMBIGUOUS, FormalParameter, OperatorSchema, SchemaAttribute
from xonnc.tools.onnx_dialect.type_groups import group_types
from xonnc.tools.onnx_dialect.versions import OpClass

_CONSTRAINTS = {
    "INT": "INT_ATTR",
    "FLOAT": "FLOAT_ATTR",
    "STRING": "STRING_ATTR",
    "INTS": "INT_ARRAY_ATTR",
    "FLOATS": "FLOAT_ARRAY_ATTR",
    "STRINGS": "STRING_ARRAY_ATTR",
    "TENSOR": "ELEMENTS_ATTR",
    "SPARSE_TENSOR": "ELEMENTS_ATTR",
    "TYPE_PROTO": "TYPE_ATTR",
}
_LITERALS = {
    "INT": "int_attr",
    "FLOAT": "float_attr",
    "STRING": "string_attr",
    "INTS": "int_array_attr",
    "FLOATS": "float_array_attr",
    "STRINGS": "string_array_attr",
}
_FIXED = {"i1": "BOOL", "f32": "FLOAT", "i64": "INT64", "string": "STRINGS"}
"""Constraints for values whose type the schema gives itself."""

_MODULES = {
    "xdsl.irdl": (
        "irdl_op_definition",
        "operand_def",
        "opt_prop_def",
        "prop_def",
        "region_def",
        "result_def",
        "traits_def",
        "var_operand_def",
        "var_result_def",
    ),
    "xdsl.traits": ("Commutative", "Pure", "RecursiveMemoryEffect"),
    "xonnc.dialects.onnx.attribute_builders": tuple(_LITERALS.values()),
    "xonnc.dialects.onnx.constraints": (*dict.fromkeys(_CONSTRAINTS.values()), *_FIXED.values(), "types"),
    "xonnc.dialects.onnx.op": ("RandomEffect", "OnnxOp"),
}
"""Names that a class may use, by the module they come from."""


def module(title: str, classes: Sequence[OpClass]) -> str:
    """The source of a file that holds `classes`."""
    bodies = "\n\n".join(_class(op_class) for op_class in classes)
    names = "".join(f"{op_class.name}Op, " for op_class in classes)
    return (
        f'"""{title}; written by `python -m xonnc.tools.onnx_dialect`."""\n\n'
        f"from __future__ import annotations\n\n{_imports(bodies)}\n\n{bodies}\n\n"
        f"OPS: tuple[type[OnnxOp], ...] = ({names})\n"
    )


def package(title: str, theme: str, topics: Sequence[tuple[str, Sequence[OpClass]]]) -> str:
    """The source of the `__init__` of a theme that is split by topic."""
    lines = [f'"""{title}; written by `python -m xonnc.tools.onnx_dialect`."""', ""]
    names: list[str] = []
    for topic, classes in topics:
        topic_names = [f"{op_class.name}Op" for op_class in classes]
        lines.append(f"from xonnc.dialects.onnx.ops.{theme}.{topic} import {', '.join(topic_names)}")
        names += topic_names
    lines += ["", f"OPS = ({', '.join(sorted(names))},)", ""]
    return "\n".join(lines)


def _imports(bodies: str) -> str:
    names = [node for node in ast.walk(ast.parse(bodies)) if isinstance(node, ast.Name)]
    used = {node.id for node in names if isinstance(node.ctx, ast.Load)} | {"OnnxOp"}
    lines = ["from typing import ClassVar"]
    for name, symbols in (_MODULES | _rule_modules()).items():
        if found := [symbol for symbol in symbols if symbol in used]:
            lines.append(f"from {name} import {', '.join(found)}")
    return "\n".join(lines)


def _rule_modules() -> dict[str, tuple[str, ...]]:
    modules: dict[str, tuple[str, ...]] = {"xonnc.dialects.onnx.checks": ("Checks",)}
    for rule, (module, _) in CHECK_SIGNATURES.items():
        name = f"xonnc.dialects.onnx.checks.{module}"
        modules[name] = (*modules.get(name, ()), rule)
    return modules


def _class(op_class: OpClass) -> str:
    operator = op_class.operator
    variables = _variables(operator)
    sections = [
        [f'name = "onnx.{op_class.name}"'],
        list(_identity(op_class)),
        [_parameter(name, field, words) for name, (field, words) in variables.items()],
        [f"{value.field} = {_value('operand', value, variables)}" for value in operator.inputs],
        [f"{value.field} = {_value('result', value, variables)}" for value in operator.outputs],
        [f"{region.field} = {_region(region)}" for region in operator.regions],
        [f"{attribute.field} = {_property(attribute)}" for attribute in operator.properties],
        [f"traits = traits_def({', '.join(_traits(op_class))})"],
    ]
    body = "\n\n".join("\n".join(section) for section in sections if section)
    return (
        f"@irdl_op_definition\nclass {op_class.name}Op(OnnxOp):\n"
        f"{textwrap.indent(docstring(op_class), '    ')}\n\n{textwrap.indent(body, '    ')}\n"
    )


def docstring(op_class: OpClass) -> str:
    """The docstring of an op: description, example, and the opsets of an older version."""
    operator = op_class.operator
    parts = [summary(op_class.name, operator)]
    if op_class.until is None:
        parts += [_example(op_class), "Deprecated." if operator.is_deprecated else ""]
    else:
        last = op_class.until - 1
        opsets = f"opset {last}" if op_class.since == last else f"opsets {op_class.since} to {last}"
        names = [attribute.name for attribute in operator.attributes]
        idle = " `consumed_inputs` has no meaning." if "consumed_inputs" in names else ""
        parts.append(wrapped(f"As of {opsets}. {OLD_VERSION_NOTES.get(op_class.name, '')}{idle}"))
    lines = "\n\n".join(part for part in parts if part)
    return f'"""\n{lines}\n"""' if "\n" in lines else f'"""{lines}"""'


def _example(op_class: OpClass) -> str:
    """The op's use in the tests, where shapes make one worth showing."""
    if op_class.name not in SHAPES or op_class.operator.regions:
        return ""
    use = sample(op_class)
    names = ["%none" if type_ == "none" else f"%{index}" for index, type_ in enumerate(use.operands)]
    operands = ", ".join(names)
    head = f'%r = "{use.op}"({operands}){dictionary(use.given)}'
    types = f": ({', '.join(use.operands)}) -> {result_list(use.results)}"
    lines = [f"{head} {types}"] if len(head) + len(types) < WIDTH else [head, f"  {types}"]
    return "\n".join(["```mlir", *lines, "```"]) if max(map(len, lines)) <= WIDTH else ""


def _identity(op_class: OpClass) -> Iterator[str]:
    operator = op_class.operator
    if operator.domain:
        yield f'DOMAIN: ClassVar = "{operator.domain}"'
    yield f'OP_TYPE: ClassVar = "{operator.name}"'
    yield f"SINCE: ClassVar = {op_class.since}"
    if op_class.until is not None:
        yield f"UNTIL: ClassVar = {op_class.until}"


def _variables(operator: OperatorSchema) -> dict[str, tuple[str, str]]:
    """The type parameters in use: the name of the field that holds each, and its types."""
    fields = {value.field for value in operator.values} | {item.field for item in operator.attributes}
    found: dict[str, tuple[str, str]] = {}
    for value in operator.values:
        if value.variable:
            field = value.variable.upper()
            found[value.variable] = (
                f"{field}_TYPES" if field in fields | AMBIGUOUS else field,
                group_types(value.words),
            )
    return found


def _parameter(name: str, field: str, words: str) -> str:
    lines = textwrap.wrap(words, 84, break_long_words=False, drop_whitespace=False)
    literal = " ".join(f'"{line}"' for line in lines)
    return f'{field}: ClassVar = types("{name}", {literal})'


def _value(kind: str, value: FormalParameter, variables: dict[str, tuple[str, str]]) -> str:
    if value.variable:
        constraint = variables[value.variable][0]
    else:
        constraint = _FIXED[group_types(value.words)]
    if value.is_optional:
        constraint += ".optional"
    if not value.is_variadic:
        return f"{kind}_def({constraint})"
    if not value.is_homogeneous:
        constraint += ".independent"
    if value.least:
        constraint += ".one_or_more"
    return f"var_{kind}_def({constraint})"


def _region(attribute: SchemaAttribute) -> str:
    """An absent graph is an empty region."""
    return 'region_def("single_block")' if attribute.is_required else "region_def()"


def _property(attribute: SchemaAttribute) -> str:
    renamed = "" if attribute.field == attribute.name else f', prop_name="{attribute.name}"'
    constraint = _CONSTRAINTS[attribute.kind]
    if attribute.is_required:
        return f"prop_def({constraint}{renamed})"
    if attribute.default is None:
        return f"opt_prop_def({constraint}{renamed})"
    return f"prop_def({constraint}, {_literal(attribute)}{renamed})"


def _literal(attribute: SchemaAttribute) -> str:
    values = attribute.default if isinstance(attribute.default, tuple) else (attribute.default,)
    return f"{_LITERALS[attribute.kind]}({', '.join(map(_item, values))})"


def _item(value: float | str | None) -> str:
    if isinstance(value, float):
        return str(np.float32(value))
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _traits(op_class: OpClass) -> Iterable[str]:
    operator = op_class.operator
    if operator.regions:
        yield "RecursiveMemoryEffect()"
    elif operator.name in RANDOM_OPERATORS:
        yield "RandomEffect()"
    else:
        yield "Pure()"
    if operator.name in COMMUTATIVE and not is_broadcast_by_attribute(operator):
        yield "Commutative()"
    checks = [check.source for check in checks_of(op_class.name, operator, op_class.until is None)]
    if checks:
        yield f"Checks({', '.join(checks)})"
