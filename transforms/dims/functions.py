"""Named dimensions at function boundaries (`onnx.dim_params`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.traits import IsTerminator, SymbolTable

from xonnc.dialects.onnx.interface_names import are_dictionaries
from xonnc.dialects.onnx.types import is_ranked
from xonnc.transforms.dims.expressions import DimExpr
from xonnc.transforms.dims.shape_analysis import ShapeAnalysis
from xonnc.transforms.dims.symbol_names import NamedDimension, named
from xonnc.transforms.shapes.inference_context import UNKNOWN

DIM_PARAMS = "onnx.dim_params"
"""Attribute of arguments and results with dimension names: `0:batch,1:seq`."""

_DIM_PARAM = re.compile(r"(?:^|,)(\d+):")


def read_dim_params(text: str) -> dict[int, str]:
    """Parse `0:batch,1:seq` to names by axis."""
    parts = _DIM_PARAM.split(text)
    return {int(axis): name for axis, name in zip(parts[1::2], parts[2::2], strict=True)}


def returned(function: FuncOp) -> Sequence[SSAValue]:
    """Return the operands of a function's terminator."""
    last = function.body.blocks.last
    end = None if last is None else last.last_op
    return end.operands if end is not None and end.has_trait(IsTerminator) else ()


def names_of(
    values: Sequence[SSAValue], attributes: Attribute | None
) -> Iterator[tuple[SSAValue, dict[int, str]]]:
    """Yield arguments or returned values with their dimension names."""
    entries = attributes.data if are_dictionaries(attributes) else ()
    for index, value in enumerate(values):
        names = entries[index].data.get(DIM_PARAMS) if index < len(entries) else None
        yield value, read_dim_params(names.data) if isinstance(names, StringAttr) else {}


def name_symbol(function: FuncOp, name: str | None, facts: ShapeAnalysis) -> DimExpr | None:
    """Return the symbol of a named dimension."""
    return None if name is None else facts.symbols.symbol(NamedDimension(function, name))


def enter_function(function: FuncOp, facts: ShapeAnalysis) -> set[DimExpr]:
    """Give named argument dimensions the symbols of their names; return these symbols."""
    parameters: set[DimExpr] = set()
    for value, names in names_of(function.body.block.args, function.arg_attrs):
        if is_ranked(value.type):
            shape = value.type.get_shape()
            symbols = [name_symbol(function, names.get(axis), facts) for axis in range(len(shape))]
            facts.note(value, symbols)
            parameters.update(size for size in symbols if size is not None)
    return parameters


def leave_function(function: FuncOp, parameters: set[DimExpr], facts: ShapeAnalysis) -> None:
    """Equate result dimensions that are otherwise unknown with the symbols of their names."""
    for value, names in names_of(returned(function), function.res_attrs):
        sizes = facts.sizes(value) or ()
        for axis, name in names.items():
            size = sizes[axis] if axis < len(sizes) else None
            if size is not None and size.symbol is not None and size not in parameters:
                facts.symbols.equate(facts.symbols.symbol(NamedDimension(function, name)), size)


def call_function(op: Operation, facts: ShapeAnalysis) -> None:
    """Give the results of a call the dimensions that the function names: equal to operands', or new ones."""
    callee = op.properties.get("callee")
    function = SymbolTable.lookup_symbol(op, callee) if isinstance(callee, SymbolRefAttr) else None
    if not isinstance(function, FuncOp):
        return
    given: dict[str, DimExpr] = {}
    for operand, (_, names) in zip(op.operands, names_of(op.operands, function.arg_attrs), strict=True):
        sizes = facts.sizes(operand)
        if sizes is not None:
            given.update({name: sizes[axis] for axis, name in names.items()})
    for result, names in names_of(op.results, function.res_attrs):
        if is_ranked(result.type):
            axes = range(len(result.type.get_shape()))
            keys = [names.get(axis) for axis in axes]
            facts.note(
                result,
                [
                    None if name is None else given.get(name) or facts.symbols.symbol(("called", op, name))
                    for name in keys
                ],
            )


def shared_dim_names(values: Sequence[SSAValue], facts: ShapeAnalysis) -> list[str]:
    """Return `onnx.dim_params` of values; dimensions that are known to be equal have one name."""
    names: dict[DimExpr, str] = {}
    written: list[str] = []
    for value in values:
        sizes = facts.sizes(value) or ()
        dynamic = {axis: size for axis, size in enumerate(sizes) if size.number is None}
        written.append(
            _written({axis: names.setdefault(size, f"d{len(names)}") for axis, size in dynamic.items()})
        )
    return written


def dim_names(value: SSAValue, facts: ShapeAnalysis) -> dict[int, str]:
    """Return the derived names of a value's dynamic dimensions, by axis."""
    sizes = facts.sizes(value)
    if sizes is None or not is_ranked(value.type):
        return {}
    found: dict[int, str] = {}
    for axis, (size, static) in enumerate(zip(sizes, value.type.get_shape(), strict=True)):
        name = named(size, facts.symbols) if static == UNKNOWN else None
        if name is not None:
            found[axis] = name
    return found


def name_results(function: FuncOp, facts: ShapeAnalysis) -> None:
    """Name the dynamic result dimensions that follow from those of the arguments."""
    values = returned(function)
    entries = function.res_attrs.data if are_dictionaries(function.res_attrs) else ()
    made: list[DictionaryAttr] = []
    for index, (value, declared) in enumerate(names_of(values, function.res_attrs)):
        shape = value.type.get_shape() if is_ranked(value.type) else None
        names = dim_names(value, facts) | declared
        if shape is not None:
            names = {
                axis: names[axis] for axis in sorted(names) if axis < len(shape) and shape[axis] == UNKNOWN
            }
        data: dict[str, Attribute] = dict(entries[index].data) if index < len(entries) else {}
        data.pop(DIM_PARAMS, None)
        if names:
            data[DIM_PARAMS] = StringAttr(_written(names))
        made.append(DictionaryAttr(data))
    if any(each.data for each in made) or function.res_attrs is not None:
        function.res_attrs = ArrayAttr(made)


def _written(names: Mapping[int, str]) -> str:
    return ",".join(f"{axis}:{name}" for axis, name in names.items())
