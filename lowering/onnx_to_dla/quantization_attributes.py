"""What the integers of a network's inputs and outputs stand for, as attributes of its function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FloatAttr, IntegerAttr, f64, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from xonnc.formats.nvdla.quantization import Grid

GRID = "dla.grid"
"""The attribute of an argument or result: `{scale = 0.5 : f64, zero = -3 : i64}`."""

Attributes = ArrayAttr[DictionaryAttr]


def set_grids(function: FuncOp, grids: Mapping[SSAValue, Grid]) -> None:
    """Writes the grids of arguments and returned values."""
    block = function.body.block
    last = block.last_op
    assert last is not None
    function.arg_attrs = _with_grids(function.arg_attrs, block.args, grids)
    function.res_attrs = _with_grids(function.res_attrs, last.operands, grids)


def _with_grids(
    attributes: Attributes | None, values: Sequence[SSAValue], grids: Mapping[SSAValue, Grid]
) -> Attributes | None:
    if not any(value in grids for value in values):
        return attributes
    given = list(attributes) if attributes is not None else [DictionaryAttr({})] * len(values)
    return ArrayAttr(
        [
            DictionaryAttr({**entry.data, GRID: _written(grids[value])}) if value in grids else entry
            for entry, value in zip(given, values, strict=True)
        ]
    )


def _written(grid: Grid) -> DictionaryAttr:
    return DictionaryAttr({"scale": FloatAttr(grid.scale, f64), "zero": IntegerAttr(grid.zero, i64)})


def grids_of(attributes: Attributes | None, names: Sequence[str]) -> dict[str, Grid]:
    """The grids of arguments or results by their names."""
    found: dict[str, Grid] = {}
    for entry, name in zip(attributes or (), names, strict=False):
        grid = entry.data.get(GRID)
        if not isinstance(grid, DictionaryAttr):
            continue
        scale, zero = grid.data.get("scale"), grid.data.get("zero")
        if isinstance(scale, FloatAttr) and isinstance(zero, IntegerAttr):
            found[name] = Grid(scale.value.data, zero.value.data)
    return found
