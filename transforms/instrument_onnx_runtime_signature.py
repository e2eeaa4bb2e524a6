"""
`instrument-onnx-runtime-signature`: print the types of operands and results at run time
(docs/internals/onnx-rules.md §6.8).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator

from xonnc.dialects.onnx.attribute_builders import SI64
from xonnc.dialects.onnx.locations import node_name
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import EntryPointOp, PrintSignatureOp
from xonnc.dialects.onnx.ops.extra import FusedOp


@dataclass(frozen=True)
class InstrumentOnnxRuntimeSignature(ModulePass):
    """
    Insert an `onnx.PrintSignature` of operands and results after ops.

    Options: `node-pattern` holds names of nodes whose data is printed too, `signature-pattern` names of ops
    such as `onnx.MatMul`; `*` matches any text, `ALL` everything, `NONE` nothing.
    """

    name = "instrument-onnx-runtime-signature"

    signature_pattern: tuple[str, ...] = ()
    node_pattern: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Instrument every op in `op` that a pattern names, except in bodies of `onnx.Fused`."""
        ops, nodes = _expression(self.signature_pattern), _expression(self.node_pattern)
        for one in list(op.walk()):
            if not _is_watched(one):
                continue
            with_data = bool(nodes.fullmatch(node_name(one)))
            if with_data or ops.fullmatch(one.name):
                _instrument(one, with_data)


def _expression(names: Sequence[str]) -> re.Pattern[str]:
    """Return one regular expression for all names; without names it matches nothing."""
    if "ALL" in names:
        return re.compile(".*", re.DOTALL)
    parts = [".*".join(map(re.escape, name.split("*"))) for name in names if name not in ("", "NONE")]
    return re.compile("|".join(parts) or r"(?!)", re.DOTALL)


def _is_watched(op: Operation) -> bool:
    if not isinstance(op, OnnxOp) or isinstance(op, PrintSignatureOp | EntryPointOp):
        return False
    return not op.has_trait(IsTerminator) and not isinstance(op.parent_op(), FusedOp)


def _instrument(op: Operation, with_data: bool) -> None:
    probe = PrintSignatureOp.create(
        operands=[*op.operands, *op.results],
        properties={
            "op_name": StringAttr(f"{op.name}, {node_name(op) or 'NOTSET'}"),
            "print_data": IntegerAttr(int(with_data), SI64),
        },
    )
    after = op.next_op
    if isinstance(after, PrintSignatureOp) and after.is_structurally_equivalent(probe):
        return
    probe.location = op.location
    Rewriter.insert_op(probe, InsertPoint.after(op))
