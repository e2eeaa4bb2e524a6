"""Faults of operators are told in onnx-mlir's words, which its users search for and its tests expect."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from xonnc.tools.opt import run_opt

ROWS = [
    tuple(column.strip() for column in line.split(" | "))
    for line in Path(__file__).with_name("verifier_messages.txt").read_text().splitlines()
    if not line.startswith("#")
]


def _function(operator: str, operands: str, properties: str, results: str, message: str) -> str:
    """Return a function with one op, and the error that is expected of it."""
    arguments: list[str] = []
    lines: list[str] = []
    names: list[str] = []
    types: list[str] = []
    for number, operand in zip(count(), filter(None, operands.split(" ; "))):
        name = f"%a{number}"
        names.append(name)
        types.append(operand.rpartition(" : ")[2])
        if operand == "none":
            lines.append(f'{name} = "onnx.NoValue"() <{{value}}> : () -> none')
        elif operand.startswith("dense"):
            lines.append(f"{name} = onnx.Constant {operand}")
        else:
            arguments.append(f"{name}: {operand}")
    made = (results or "tensor<*xf32>").split(" ; ")
    lines.append(f"// expected-error@+1 {{{{{message}}}}}")
    lines.append(
        f'%r{f":{len(made)}" if len(made) > 1 else ""} = "onnx.{operator}"({", ".join(names)})'
        f"{f' <{{{properties}}}>' if properties else ''} : ({', '.join(types)}) -> ({', '.join(made)})"
    )
    body = "\n  ".join(lines)
    return f"func.func @f({', '.join(arguments)}) {{\n  {body}\n  onnx.Return\n}}\n"


def test_every_fault_is_told_in_onnx_mlirs_words():
    text = "// -----\n".join(_function(*row) for row in ROWS)
    code, _, err = run_opt(["--split-input-file", "--verify-diagnostics", "--shape-inference"], text)
    assert (code, err) == (0, "")


@pytest.mark.parametrize("message", ["Gemm with A should be a 2D tensor", "Wrong rank for the mean"])
def test_another_message_fails(message: str):
    text = _function("Relu", "tensor<2xf32>", "", "", message)
    code, _, err = run_opt(["--split-input-file", "--verify-diagnostics", "--shape-inference"], text)
    assert code == 1
    assert message in err
