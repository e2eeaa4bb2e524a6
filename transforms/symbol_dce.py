"""
`symbol-dce`: erase private functions and other private symbols that nothing refers to.

```mlir
func.func private @unused(%x: tensor<f32>) -> tensor<f32>
```
is erased unless a call, an attribute or another kept symbol names it, as by MLIR's pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.attribute_builders import is_array


@dataclass(frozen=True)
class SymbolDce(ModulePass):
    """Erase private symbols that nothing refers to."""

    name = "symbol-dce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        erase_dead_symbols(op)


def erase_dead_symbols(module: ModuleOp) -> None:
    """Erase the private symbols of a module that no live op refers to, directly or through others."""
    private = {name: op for op in module.ops if (name := _private_name(op)) is not None}
    live: set[str] = set()
    waiting: list[Operation] = [op for op in module.ops if _private_name(op) is None]
    while waiting:
        names = {name for name in _references(waiting.pop()) if name in private}
        waiting += [private[name] for name in names - live]
        live |= names
    for name, op in private.items():
        if name not in live:
            op.detach()
            op.erase()


def _private_name(op: Operation) -> str | None:
    attributes = {**op.attributes, **op.properties}
    visibility, name = attributes.get("sym_visibility"), attributes.get("sym_name")
    is_private = isinstance(visibility, StringAttr) and visibility.data == "private"
    return name.data if is_private and isinstance(name, StringAttr) else None


def _references(root: Operation) -> Iterator[str]:
    """Yield the names of top-level symbols that ops below `root` refer to."""
    for op in root.walk():
        for attribute in (*op.attributes.values(), *op.properties.values()):
            yield from _symbols(attribute)


def _symbols(attribute: Attribute) -> Iterator[str]:
    if isinstance(attribute, SymbolRefAttr):
        yield attribute.root_reference.data
    elif is_array(attribute):
        for each in attribute.data:
            yield from _symbols(each)
    elif isinstance(attribute, DictionaryAttr):
        for each in attribute.data.values():
            yield from _symbols(each)
