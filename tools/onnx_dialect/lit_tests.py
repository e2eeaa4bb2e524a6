"""lit tests of a theme: each op printed back, and each refused with a type or a property that is wrong."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence

from xonnc.tools.onnx_dialect.samples import OpSample, dictionary, result_list, sample
from xonnc.tools.onnx_dialect.schemas import FormalParameter
from xonnc.tools.onnx_dialect.versions import OpClass

_ORIGIN = "// Written by `python -m xonnc.tools.onnx_dialect`."
_WRONG = "tensor<*xindex>"
"""A type that no operator takes."""


def round_trips(title: str, classes: Sequence[OpClass]) -> str:
    """A test that prints one use of each op, defaults of properties filled in."""
    lines = [
        "// RUN: onnx-opt %s | filecheck %s",
        "// RUN: onnx-opt %s | onnx-opt | filecheck %s",
        "",
        f"// {title}: one use of each op, printed and read back. {_ORIGIN[3:]}",
    ]
    for op_class in classes:
        lines += ["", *_round_trip(sample(op_class))]
    return "\n".join(lines) + "\n"


def invalid(title: str, classes: Sequence[OpClass]) -> str:
    """A test that each op refuses a wrong type, and to go without a property it needs."""
    chunks = [chunk for op_class in classes for chunk in _invalid(op_class)]
    lines = [
        "// RUN: onnx-opt %s --split-input-file --verify-diagnostics",
        "",
        f"// {title}: types no op takes, properties left out. {_ORIGIN[3:]}",
        "",
        "\n// -----\n\n".join(chunks),
    ]
    return "\n".join(lines)


def _round_trip(use: OpSample) -> Iterator[str]:
    name = use.op.removeprefix("onnx.")
    operands = ", ".join(["{{%.+}}"] * len(use.operands))
    yield f"// CHECK-LABEL: @{name}"
    signature = f"({', '.join(use.operands)}) -> {result_list(use.results)}"
    if use.regions:
        yield f'// CHECK: "{use.op}"({operands}){dictionary(use.written)} ({{'
        yield f"// CHECK: }}) : {signature}"
    else:
        yield f'// CHECK: "{use.op}"({operands}){dictionary(use.written)} : {signature}'
    yield from _function(name, use, use.operands, use.results, use.given)


def _invalid(op_class: OpClass) -> Iterator[str]:
    use, operator = sample(op_class), op_class.operator
    name = op_class.name
    operands, results = list(use.operands), list(use.results)
    side, values = ("operand", operator.inputs) if operator.inputs else ("result", operator.outputs)
    index = next((index for index, value in enumerate(values) if not value.is_optional), 0)
    (operands if operator.inputs else results)[index] = _WRONG
    error = f"{side} '{values[index].field}' {_position(values[index], index, use)} does not verify"
    yield "\n".join(_function(name, use, operands, results, use.given, error)) + "\n"
    for attribute in operator.properties:
        if attribute.is_required:
            left = {key: text for key, text in use.given.items() if key != attribute.name}
            error = f"property '{attribute.name}' expected in operation '{use.op}'"
            yield "\n".join(_function(name, use, use.operands, use.results, left, error)) + "\n"


def _position(value: FormalParameter, index: int, use: OpSample) -> str:
    last = len(use.operands) - 1
    if value.is_variadic and last > index:
        return f"at positions {index} to {last}"
    return f"at position {index}"


def _function(
    name: str,
    use: OpSample,
    operands: Iterable[str],
    results: Sequence[str],
    properties: Mapping[str, str],
    error: str = "",
) -> Iterator[str]:
    """A function that has the op, its operands as arguments and its results as results."""
    operands = list(operands)
    present = [(index, type_) for index, type_ in enumerate(operands) if type_ != "none"]
    arguments = ", ".join(f"%arg{index}: {type_}" for index, type_ in present)
    values = ", ".join("%none" if type_ == "none" else f"%arg{index}" for index, type_ in enumerate(operands))
    head = f"func.func @{name}({arguments})"
    if results:
        head += f" -> {result_list(results)}"
    yield f"{head} {{"
    if len(present) < len(operands):
        yield '  %none = "onnx.NoValue"() <{value}> : () -> none'
    if error:
        yield f"  // expected-error@+1 {{{{{error}}}}}"
    count = f":{len(results)}" if len(results) > 1 else ""
    opening = f"%0{count} = " if results else ""
    signature = f"({', '.join(operands)}) -> {result_list(results)}"
    yield f'  {opening}"{use.op}"({values}){dictionary(properties)}{_regions(use)} : {signature}'
    names = [f"%0#{index}" for index in range(len(results))] if len(results) > 1 else ["%0"]
    if results:
        yield f"  onnx.Return {', '.join(names)} : {', '.join(results)}"
    else:
        yield "  onnx.Return"
    yield "}"


def _regions(use: OpSample) -> str:
    if not use.regions:
        return ""
    bodies = [body.replace("TENSOR", "onnx.Constant dense<1.0> : tensor<f32>") for body in use.regions]
    return (
        " ({" + "}, {".join(f"\n{textwrap.indent(body, '  ')}\n  " if body else "" for body in bodies) + "})"
    )
