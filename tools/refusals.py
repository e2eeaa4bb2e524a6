"""
Messages of the lowerings' refusals, extracted from the source: `docs/nvdla-refusals.md`.

A refusal is a call `….refuse("rule (what is taken); way out")`; what stands in braces is shown as `…`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from xonnc.lowering import onnx_to_dla
from xonnc.lowering.onnx_to_dla.convert_onnx_to_dla import WAY_OUT

FOLDER = Path(onnx_to_dla.__file__).parent

THEMES = {
    "dequantized": "requantization of int8 results",
    "dla_builder": "any operator",
    "fp16_builder": "any operator in FP16",
    "quantized": "quantized models, operator by operator",
    "operator_builder": "inputs",
    "quantized_builder": "any operator of a quantized model",
    "quantized_constants": "scales, zero points and weights of quantized models",
    "windows": "convolution and pooling windows",
}
"""Titles of files of the lowering that are named after no operator."""


@dataclass(frozen=True)
class RefusalEntry:
    """A refusal: its theme (the file of the lowering), the rule, and the remedy."""

    theme: str
    rule: str
    way_out: str


def refusals() -> list[RefusalEntry]:
    """Return all refusals by theme, without repetition, in source order."""
    found: dict[RefusalEntry, None] = {}
    for path in sorted(FOLDER.rglob("*.py"), key=lambda path: path.name):
        theme = THEMES.get(path.stem, path.stem.replace("_", " "))
        for text in _texts(ast.parse(path.read_text(encoding="utf-8"))):
            rule, _, way_out = text.partition("; ")
            found[RefusalEntry(theme, rule, way_out or WAY_OUT.removeprefix("; "))] = None
    return list(found)


def _texts(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_refuse(node.func) and node.args:
            text = _shown(node.args[0])
            if text is not None:
                yield text


def _is_refuse(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and function.attr == "refuse"


def _shown(text: ast.expr) -> str | None:
    """Return a string literal with `…` for formatted values; `None` for other expressions."""
    match text:
        case ast.Constant(value=str() as value):
            return value
        case ast.JoinedStr(values=parts):
            return "".join(_shown(part) or "…" for part in parts)
        case _:
            return None
