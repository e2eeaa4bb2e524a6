"""
`append-decoding-strategy`: append greedy decoding to a language model (docs/internals/onnx-rules.md §6.8).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, SymbolTable

from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.ops.builtin import EntryPointOp
from xonnc.errors import XonncError
from xonnc.rewriting.onnx import ArgMax, Slice, Squeeze
from xonnc.transforms.rules.conditions import rank
from xonnc.transforms.rules.op_builder import OpBuilder

GREEDY = "greedy"

GENERATED = StringAttr("generated_ids")
"""Name of the new result, by which a second run finds that the pass has run."""

NAME = "onnx.name"

LAST = np.iinfo(np.int32).max

AXES = 3
"""Batch, sequence position, and token."""


@dataclass(frozen=True)
class AppendDecodingStrategy(ModulePass):
    """
    Replace the first result of the model, the logits of each sequence position, by the most likely next
    token.

    Option: `strategy` is `greedy`, the only strategy.
    """

    name = "append-decoding-strategy"

    strategy: str = GREEDY

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Append to the function that the entry point names."""
        if self.strategy != GREEDY:
            raise XonncError(f"{self.name}: strategy is {self.strategy!r}, there is only {GREEDY}")
        entry = next((each for each in op.walk() if isinstance(each, EntryPointOp)), None)
        if entry is None:
            raise XonncError(f"{self.name}: the module has no onnx.EntryPoint, which names the model")
        function = SymbolTable.lookup_symbol(op, entry.func)
        if not isinstance(function, FuncOp) or function.body.blocks.last is None:
            raise XonncError(f"{self.name}: {entry.func} is no function with a body", entry)
        if name_of_first_result(function) != GENERATED:
            append(function)


def name_of_first_result(function: FuncOp) -> object:
    """Return the name of the first result, if it has one."""
    attributes = function.res_attrs.data[0] if function.res_attrs and function.res_attrs.data else None
    return attributes.data.get(NAME) if attributes else None


def append(function: FuncOp) -> None:
    """Replace the logits by the most likely token at the last sequence position."""
    end = function.body.blocks.last.last_op if function.body.blocks.last is not None else None
    if end is None or not end.has_trait(IsTerminator) or not end.operands:
        raise XonncError(f"append-decoding-strategy: @{function.sym_name.data} returns nothing", function)
    logits = end.operands[0]
    if rank(logits) != AXES:
        raise XonncError(
            f"append-decoding-strategy: {maker(logits)} is {logits.type},"
            " logits have 3 axes: batch, position in the sequence, token",
            end,
        )
    end.operands[0] = next_token(end, logits)
    results = [each.type for each in end.operands]
    function.function_type = FunctionType.from_lists(function.function_type.inputs.data, results)
    given = function.res_attrs.data if function.res_attrs else [DictionaryAttr({}) for _ in results]
    function.res_attrs = ArrayAttr([DictionaryAttr({**given[0].data, NAME: GENERATED}), *given[1:]])


def maker(value: SSAValue) -> str:
    """Return the name of the first result for messages."""
    return describe(value.owner) if isinstance(value.owner, Operation) else "the first result"


def next_token(end: Operation, logits: SSAValue) -> SSAValue:
    """Return the ArgMax over tokens at the last sequence position."""
    builder = OpBuilder(end)
    starts, ends, axes, steps = (builder.ints(number) for number in (-1, LAST, 1, 1))
    last = builder(Slice, logits, starts, ends, axes, steps)
    token = builder(ArgMax, last, axis=-1, keepdims=1, select_last_index=0)
    return builder(Squeeze, token, builder.ints(1))
