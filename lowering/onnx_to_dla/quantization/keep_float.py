"""
Nodes that stay in float when a model is quantized: those with the attribute `dla.keep_float`.

Names on a command line, or the search for the accuracy asked for, set the attribute; the passes that
quantize and the placement read it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation

from xonnc.dialects.onnx.locations import node_names, output_names
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import EntryPointOp, NoValueOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.errors import XonncError, suggest

KEEP_FLOAT = "dla.keep_float"
"""The attribute of a node that is not quantized."""

REASON = "it is kept in float"
"""Why NVDLA does not run such a node."""


def computing_ops(module: ModuleOp) -> list[OnnxOp]:
    """Return the operators of `module` in order, but constants and structural ones."""
    return [
        op
        for op in module.walk()
        if isinstance(op, OnnxOp) and not isinstance(op, ConstantOp | EntryPointOp | NoValueOp | ReturnOp)
    ]


def keep_float(module: ModuleOp, names: Sequence[str]) -> None:
    """Mark the nodes of these names, of nodes or results; `XonncError` for an unknown one."""
    found: dict[str, list[Operation]] = {}
    for op in computing_ops(module) if names else ():
        for name in (*node_names(op), *output_names(op)):
            found.setdefault(name, []).append(op)
    for name in names:
        if name not in found:
            hint = suggest(name, list(found)) or "; 'xonnc simplify' writes the model whose nodes there are"
            raise XonncError(f"keep-float: no node '{name}'{hint}")
        mark_float(found[name])


def mark_float(ops: Collection[Operation]) -> None:
    """Keep these operators in float."""
    for op in ops:
        op.attributes[KEEP_FLOAT] = UnitAttr()


def stays_float(op: object) -> bool:
    """Return whether an operator is not quantized."""
    return isinstance(op, Operation) and KEEP_FLOAT in op.attributes
