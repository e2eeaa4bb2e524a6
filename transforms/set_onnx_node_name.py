"""`set-onnx-node-name`: give every node a unique name (docs/internals/onnx-rules.md §6.8)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count

from xdsl.context import Context
from xdsl.dialects.builtin import FusedLoc, ModuleOp, NameLoc, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.attribute_builders import is_array
from xonnc.dialects.onnx.locations import NODE_NAME, node_name, output_names, renamed
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import DimOp, EntryPointOp, ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp

MAX_NAME_LENGTH = 256
"""Length limit of names derived from the operand's node, so that names do not grow along chains."""


@dataclass(frozen=True)
class SetOnnxNodeName(ModulePass):
    """
    Give every node a unique `onnx_node_name`.

    A node keeps a name that no earlier node has. Other names derive from the node's own name, its location,
    the node of its first operand or the operator, and are numbered. An imported node has the name of its
    location; repeated names are reported on standard error.
    """

    name = "set-onnx-node-name"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Name every node in `op`."""
        taken: set[str] = set()
        pending: dict[Operation, None] = {}
        for node in op.walk():
            if not isinstance(node, OnnxOp) or isinstance(node, EntryPointOp | ReturnOp | ConstantOp):
                continue
            name = _own_name(node)
            if name and name not in taken:
                taken.add(name)
                node.attributes[NODE_NAME] = StringAttr(name)
                continue
            if name:
                # onnx-mlir reports on standard output, where our module goes.
                print(
                    f"Duplicated {NODE_NAME}: {name}. It will be updated with a new string.", file=sys.stderr
                )
            pending[node] = None
        numbers = count()
        for node in pending:
            name = f"{_stem(node, pending)}_{next(numbers)}"
            while name in taken:
                name = f"{node.name}_{next(numbers)}"
            taken.add(name)
            node.location = renamed(node, name)
            node.attributes[NODE_NAME] = StringAttr(name)


def _own_name(op: Operation) -> str:
    """Return the name of the op: its attribute, or the name of the imported node."""
    if NODE_NAME in op.attributes or output_names(op):
        return node_name(op)
    return ""


def _stem(op: Operation, pending: Mapping[Operation, None]) -> str:
    """Return the base of the new name."""
    name_attribute = op.attributes.get(NODE_NAME)
    if isinstance(name_attribute, StringAttr):
        return name_attribute.data
    if names := _names(op.location):
        return "-".join(names)
    return _after_operand(op, pending) or op.name


def _names(location: Attribute) -> list[str]:
    if isinstance(location, NameLoc):
        return [location.desc.data]
    if isinstance(location, FusedLoc) and is_array(location.locations):
        return [part.desc.data for part in location.locations if isinstance(part, NameLoc)]
    return []


def _after_operand(op: Operation, pending: Mapping[Operation, None]) -> str:
    """Return the name of the node that defines the first operand, or an empty string."""
    maker = op.operands[0].owner if op.operands else None
    if not isinstance(maker, OnnxOp) or isinstance(maker, ConstantOp | DimOp) or maker in pending:
        return ""
    name = node_name(maker)
    found = f"{name}_{op.name}"
    return found if name and len(found) <= MAX_NAME_LENGTH else ""
