"""Operators of plug-ins as functions in C: compiled and linked with native code, or a part of C source."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isinf, isnan
from pathlib import Path
from typing import Any

from xonnc.lowering.onnx_to_krnl.builders.c_kernels import CFunction, lower_to_c
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    LoweringBuilder,
    lowers_data_movement,
    supports_dynamic_shapes,
)
from xonnc.plugins.elementwise_kernels import Bind
from xonnc.plugins.op_class import PluginOp
from xonnc.plugins.operators import OperatorSpec, PluginError


@dataclass(frozen=True)
class CSource:
    """A function in C that computes an operator, and its source: a text, or a file."""

    function: str
    text: str | None = None
    file: Path | None = None

    def read(self) -> str:
        """Return the source; raise `OSError` if its file cannot be read."""
        if self.text is not None:
            return inspect.cleandoc(self.text)
        assert self.file is not None
        return self.file.read_text(encoding="utf-8")


def c_function(name: str, text: str | None = None, *, file: str | Path | None = None) -> CSource:
    """
    Declare a C function as the native code of an operator: `c_source = c_function("acme_hypot", "…")`.

    The source is a text, or a file. The function is

        static void NAME(const xonnc_tensor *inputs, const xonnc_tensor *outputs, ATTRIBUTES...)

    where the attributes follow in the order of their declaration: `int64_t`, `double` or `const char *`; a
    list is a pointer to its elements and their number. `xonnc_tensor` has `data`, `rank`, `shape`, `size`
    (the number of elements) and `type`. Results are allocated, in the shapes
    that `infer` gives.
    """
    if (text is None) == (file is None):
        raise PluginError(f"c_function('{name}'): give the source as a text or as file=, one of them")
    if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) is None:
        raise PluginError(f"c_function('{name}'): the name must be an identifier in C")
    return CSource(name, text, None if file is None else Path(file))


def read_c_source(spec: OperatorSpec) -> CFunction | None:
    """Return the function of an operator with its source; raise `PluginError` if it cannot be compiled in."""
    declared = getattr(spec.body, "c_source", None)
    if declared is None:
        return None
    where = f"plug-in {spec.plugin.name}: {spec}: c_source"
    if not isinstance(declared, CSource):
        raise PluginError(f"{where} is {declared!r}; write c_source = c_function('name', '…')")
    try:
        source = declared.read()
    except OSError as error:
        raise PluginError(f"{where}: {declared.file}: {error.strerror}") from None
    if re.search(rf"\b{declared.function}\b", source) is None:
        raise PluginError(f"{where}: the source defines no function '{declared.function}'")
    if spec.function("infer") is None:
        raise PluginError(f"{where} needs infer(op), which gives the shapes of the results")
    if spec.takes_any_attribute:
        raise PluginError(f"{where} needs declared attributes, not attributes = 'auto'")
    for attribute in spec.attributes:
        has_value = attribute.is_required or attribute.default is not None
        if attribute.kind == "TENSOR" or not (has_value or attribute.kind.endswith("S")):
            raise PluginError(
                f"{where}: attribute '{attribute.name}' must have a value and be a number, a string or a list"
            )
    return CFunction(declared.function, source)


def add_c_source(kind: type[PluginOp], function: CFunction, bind: Bind) -> None:
    """Register a C function as the lowering of an operator to native code."""

    def lower(op: PluginOp, builder: LoweringBuilder) -> str | None:
        bound = bind(op)
        spec = op.DECLARATION
        arguments = [
            argument
            for each in spec.attributes
            for argument in _arguments(each.kind, vars(bound)["attributes_"][each.name])
        ]
        return lower_to_c(op, function, arguments, spec.name, builder)

    lower.__doc__ = kind.DECLARATION.doc
    lowers_data_movement(kind)(lower)
    supports_dynamic_shapes(kind)


ELEMENTS = {"INTS": "int64_t", "FLOATS": "double", "STRINGS": "char *"}
"""The types of the elements of lists in C."""


def _arguments(kind: str, value: Any) -> Sequence[str]:
    """Return an attribute as C expressions."""
    if kind not in ELEMENTS:
        return [_literal(value)]
    elements = [_literal(each) for each in value or ()]
    if not elements:
        return ["0", "0"]
    return [f"(const {ELEMENTS[kind]}[]){{{', '.join(elements)}}}", str(len(elements))]


def _literal(value: Any) -> str:
    if isinstance(value, str):
        # Octal escapes end after three digits; those of hexadecimal would take in the next character.
        return '"' + "".join(_escaped(byte) for byte in value.encode()) + '"'
    if isinstance(value, int):
        return "INT64_MIN" if value == -(2**63) else f"INT64_C({value})"
    number = float(value)
    if isnan(number):
        return "(0.0 / 0.0)"
    if isinf(number):
        return "(1.0 / 0.0)" if number == inf else "(-1.0 / 0.0)"
    return repr(number)


def _escaped(byte: int) -> str:
    character = chr(byte)
    is_plain = 32 <= byte < 127 and character not in '"\\?'
    return character if is_plain else f"\\{byte:03o}"
