"""`replace-op-with-its-operand`: bypass nodes, for debugging."""

from __future__ import annotations

import re
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.locations import node_name
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.errors import XonncError
from xonnc.rewriting.editing import replace_uses


@dataclass(frozen=True)
class ReplaceOpWithItsOperand(ModulePass):
    """
    Replace the uses of a node by one of its operands; the node itself stays.

    Option: `list-id-regex` holds items such as `0:conv.*`: the index of the operand and a Python regular
    expression for whole node names. The first item that matches a node with one result applies.
    """

    name = "replace-op-with-its-operand"

    list_id_regex: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace the uses of every node in `op` that an item matches."""
        items = [_item(text) for text in self.list_id_regex]
        for node in op.walk():
            if not isinstance(node, OnnxOp) or len(node.results) != 1:
                continue
            name = node_name(node)
            index = next((index for index, names in items if name and names.fullmatch(name)), None)
            if index is None:
                continue
            if index >= len(node.operands):
                raise XonncError(
                    f"{name}: list-id-regex asks for operand {index} of {node.name}, "
                    f"which has {len(node.operands)}; operands count from 0",
                    node,
                )
            replace_uses(node.results[0], node.operands[index])


def _item(text: str) -> tuple[int, re.Pattern[str]]:
    index, colon, pattern = text.partition(":")
    if not colon or not index.isascii() or not index.isdigit():
        raise XonncError(
            f"list-id-regex: '{text}' is not a number, a colon and a regular expression, as 0:conv.* is"
        )
    try:
        return int(index), re.compile(pattern)
    except re.error as error:
        raise XonncError(f"list-id-regex: '{pattern}' is no regular expression: {error}") from error
