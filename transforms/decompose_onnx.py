"""
`decompose-onnx`: decompose operators to simpler ones of the newest opset (docs/internals/onnx-rules.md §5).
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, reduce

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.errors import XonncError
from xonnc.rewriting.conversion import convert
from xonnc.rewriting.rules import RuleSet
from xonnc.transforms.rules import (
    decompose_convolution,
    decompose_custom,
    decompose_einsum,
    decompose_elementwise,
    decompose_loss,
    decompose_reduction,
    decompose_sequence,
    decompose_versions,
)

ON_DEMAND = decompose_elementwise.ON_DEMAND
"""Operators that `decompose-op-in-onnx` accepts, and their rules."""

STABLEHLO = "stablehlo"
"""The target with transposed convolutions but without softmax."""


@dataclass(frozen=True)
class Decompose(ModulePass):
    """
    Decompose operators, old versions first, to simpler ones of the newest opset.

    Options: `target=stablehlo` decomposes softmaxes and keeps transposed convolutions;
    `enable-conv-to-matmul` decomposes convolutions by im2col and MatMul; `decompose-op-in-onnx` names
    operators that are kept otherwise (HardSwish).
    """

    name = "decompose-onnx"

    target: str = ""
    enable_conv_to_matmul: bool = False
    decompose_op_in_onnx: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        convert(op, ctx, self.rules(), pass_name=self.name)

    def rules(self) -> RuleSet:
        """Return the rules of these options."""
        if self.target not in ("", STABLEHLO):
            raise XonncError(f"{self.name}: target is {self.target!r}, it is either not given or {STABLEHLO}")
        table = all_rules()
        if self.target == STABLEHLO:
            table = table.without(tuple(decompose_convolution.RULES)) | decompose_reduction.STABLEHLO
        if self.enable_conv_to_matmul:
            table |= decompose_convolution.TO_MATMUL
        return reduce(RuleSet.__or__, (self.on_demand(name) for name in self.decompose_op_in_onnx), table)

    def on_demand(self, name: str) -> RuleSet:
        """Return the rules of an operator that is decomposed on request only."""
        if name not in ON_DEMAND:
            near = get_close_matches(name, ON_DEMAND, 1)
            hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(ON_DEMAND)}"
            raise XonncError(f"{self.name}: decompose-op-in-onnx has no {name!r}; {hint}")
        return ON_DEMAND[name]


@cache
def all_rules() -> RuleSet:
    """Return the rules that apply without options."""
    return (
        decompose_versions.RULES
        | decompose_reduction.RULES
        | decompose_elementwise.RULES
        | decompose_sequence.RULES
        | decompose_custom.RULES
        | decompose_loss.RULES
        | decompose_convolution.RULES
        | decompose_einsum.RULES
    )


def every_rule() -> RuleSet:
    """Return all rules, those enabled by options included."""
    optional = decompose_reduction.STABLEHLO | decompose_convolution.TO_MATMUL
    return reduce(RuleSet.__or__, ON_DEMAND.values(), all_rules() | optional)
