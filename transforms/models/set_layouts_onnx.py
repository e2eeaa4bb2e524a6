"""
`set-layouts-onnx`: change the layout of model inputs and outputs.

```mlir
func.func @main(%x: tensor<1x3x8x8xf32> {onnx.name = "x"}) …
```
becomes, with `layouts=x:NHWC`,
```mlir
func.func @main(%0: tensor<1x8x8x3xf32> {onnx.name = "x"}) {
  %x = "onnx.Transpose"(%0) <{perm = [0, 3, 1, 2]}> …
```

`move-transposes-onnx` then sinks the transposes and cancels pairs with those of the model.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.interface_names import are_dictionaries, argument_names, given_names
from xonnc.dialects.onnx.locations import node_location
from xonnc.dialects.onnx.ops.tensor import TransposeOp
from xonnc.dialects.onnx.types import is_ranked
from xonnc.errors import XonncError, suggest
from xonnc.formats.onnx.value_types import read_dim_params, write_dim_params
from xonnc.rewriting.attribute_conversion import encode
from xonnc.rewriting.editing import insert_before, replace_uses, retype, retype_function
from xonnc.transforms.models.signatures import DIM_PARAMS
from xonnc.transforms.move_transposes_onnx import MoveTransposes
from xonnc.transforms.rules.move_transposes import permutation_of

CHANNELS_FIRST = {3: "NCW", 4: "NCHW", 5: "NCDHW"}
CHANNELS_LAST = {3: "NWC", 4: "NHWC", 5: "NDHWC"}
"""Layout by rank."""

Layouts: TypeAlias = Mapping[str, str]
"""Layout by input or output name, `NHWC` or `NCHW:NHWC`."""

LAYOUT = re.compile(r"[A-Z]+")


@dataclass(frozen=True)
class SetLayouts(ModulePass):
    """
    Change the layout of model inputs and outputs, by one Transpose each.

    Option: `layouts` holds `name:layout`, such as `x:NHWC`. The model's own layout is assumed to be
    channels-first, or channels-last if every use of the input is a Transpose to channels-first; `x:NHWC:NCHW`
    states both.
    """

    name = "set-layouts-onnx"

    layouts: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        set_layouts(op, dict(map(parse_layout, self.layouts)))


def parse_layout(text: str) -> tuple[str, str]:
    """Split `x:NHWC` or `x:NCHW:NHWC` into the name and the layouts."""
    name, colon, target = text.rpartition(":")
    if not name or not colon or LAYOUT.fullmatch(target) is None:
        raise XonncError(f"layout '{text}' must be NAME:LAYOUT, such as x:NHWC")
    before, colon, own = name.rpartition(":")
    if before and colon and sorted(own) == sorted(target):
        return before, f"{own}:{target}"
    return name, target


def with_moving(enable: Collection[str], layouts: Layouts) -> Collection[str]:
    """Return the passes to enable: with `move-transposes-onnx` in addition if layouts are changed."""
    return (*enable, MoveTransposes.name) if layouts else enable


def set_layouts(module: ModuleOp, layouts: Layouts) -> None:
    """Change the layouts of inputs and outputs by name; raise `XonncError` for an invalid one."""
    function = next((op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks), None)
    end = None if function is None else function.body.block.last_op
    if not layouts or function is None or end is None:
        return
    inputs = argument_names(function)
    outputs = given_names(function.res_attrs, len(end.operands))
    for name, layout in layouts.items():
        if name not in inputs and name not in outputs:
            known = [*inputs, *outputs]
            raise XonncError(
                f"layout {name}:{layout}: no input or output '{name}'{suggest(name, known)}; there are "
                f"{', '.join(known)}"
            )
        for index in (index for index, known in enumerate(inputs) if known == name):
            _set_input(function, index, name, layout)
        for index in (index for index, known in enumerate(outputs) if known == name):
            _set_output(function, end, index, name, layout)
    retype_function(function)


def _set_input(function: FuncOp, index: int, name: str, layout: str) -> None:
    argument = function.body.block.args[index]
    axes = _axes(argument, f"input '{name}'")
    readers = [use.operation.results[0] for use in argument.uses if isinstance(use.operation, TransposeOp)]
    is_last = bool(readers) and len(readers) == len(list(argument.uses)) and axes in CHANNELS_LAST
    to_first = _permutation(CHANNELS_LAST[axes], CHANNELS_FIRST[axes]) if is_last else ()
    is_last = is_last and all(list(permutation_of(reader) or ()) == list(to_first) for reader in readers)
    own, target = _both(name, layout, axes, is_last)
    perm = _permutation(own, target)
    if own == target:
        return
    made, old = _permuted(argument.type, perm), argument.type
    retype(argument, made)
    transpose = _transpose(argument, _permutation(target, own), old, f"{name}_{target}_to_{own}")
    replace_uses(argument, transpose.results[0])
    transpose.operands = [argument]
    first = function.body.block.first_op
    assert first is not None
    insert_before(first, [transpose])
    function.arg_attrs = _with_names(function.arg_attrs, index, perm)


def _set_output(function: FuncOp, end: Operation, index: int, name: str, layout: str) -> None:
    value = end.operands[index]
    axes = _axes(value, f"output '{name}'")
    to_last = _permutation(CHANNELS_FIRST[axes], CHANNELS_LAST[axes]) if axes in CHANNELS_LAST else None
    own, target = _both(
        name, layout, axes, to_last is not None and list(permutation_of(value) or ()) == to_last
    )
    perm = _permutation(own, target)
    if own == target:
        return
    transpose = _transpose(value, perm, _permuted(value.type, perm), f"{name}_{own}_to_{target}")
    insert_before(end, [transpose])
    end.operands[index] = transpose.results[0]
    function.res_attrs = _with_names(function.res_attrs, index, perm)


def _axes(value: SSAValue, title: str) -> int:
    if not is_ranked(value.type):
        raise XonncError(f"{title}: it has no layout, since its rank is not known")
    return len(value.type.get_shape())


def _both(name: str, layout: str, axes: int, is_last: bool) -> tuple[str, str]:
    """Return the model's layout and the requested one."""
    own, colon, target = layout.rpartition(":")
    if not colon:
        own = (CHANNELS_LAST if is_last else CHANNELS_FIRST).get(axes, "")
    for letters in filter(None, (own, target)):
        if len(letters) != axes:
            raise XonncError(
                f"layout {name}:{layout}: {letters} has {len(letters)} axes, '{name}' has {axes}"
            )
    if not own:
        raise XonncError(f"layout {name}:{layout}: give the layout of the model too, as in {name}:CN:NC")
    if sorted(own) != sorted(target) or len(set(own)) != axes:
        raise XonncError(f"layout {name}:{layout}: {target} does not have the axes of {own}, each once")
    return own, target


def _permutation(before: str, after: str) -> list[int]:
    """Return the `perm` of a Transpose between two layouts."""
    return [before.index(letter) for letter in after]


def _permuted(type_: Attribute, perm: Sequence[int]) -> Attribute:
    assert is_ranked(type_)
    shape = type_.get_shape()
    return type(type_)(type_.element_type, [shape[axis] for axis in perm])


def _transpose(value: SSAValue, perm: Sequence[int], made: Attribute, name: str) -> TransposeOp:
    return TransposeOp.create(
        operands=[value],
        result_types=[made],
        properties={"perm": encode(list(perm))},
        location=node_location(name),
    )


def _with_names(
    attributes: Attribute | None, index: int, perm: Sequence[int]
) -> ArrayAttr[DictionaryAttr] | None:
    """Return the attributes of arguments or results with permuted dimension names."""
    if not are_dictionaries(attributes):
        return None
    entries = [dict(entry.data) for entry in attributes]
    params = entries[index].get(DIM_PARAMS)
    if isinstance(params, StringAttr):
        names = read_dim_params(params.data)
        moved = {axis: names[old] for axis, old in enumerate(perm) if old in names}
        entries[index][DIM_PARAMS] = StringAttr(write_dim_params(moved))
    return ArrayAttr([DictionaryAttr(entry) for entry in entries])
