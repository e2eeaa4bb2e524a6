"""`recompose-onnx`: fuse decomposed operators to ONNX operators (docs/internals/onnx-rules.md §6.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.ops.math.activation import GeluOp
from xonnc.dialects.onnx.ops.nn.attention import AttentionOp
from xonnc.dialects.onnx.ops.nn.normalization import LayerNormalizationOp, RMSNormalizationOp
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.rules import RuleSet
from xonnc.transforms.rules import (
    recompose_activations,
    recompose_attention,
    recompose_convolution,
    recompose_normalization,
    recompose_quantization,
)

SINCE = {
    "RecomposeGelu": GeluOp.SINCE,
    "RecomposeLayerNormalization": LayerNormalizationOp.SINCE,
    "RecomposeRMSNormalization": RMSNormalizationOp.SINCE,
    "RecomposeAttention": AttentionOp.SINCE,
}
"""First opset with the operator that a rule of `standard_rules` creates."""


@dataclass(frozen=True)
class Recompose(ModulePass):
    """
    Fuse decomposed Gelu, layer normalisation and quantized MatMul; merge parallel convolutions.

    Parallel convolutions that read one tensor become one. `target` is accepted for compatibility and has no
    effect.
    """

    name = "recompose-onnx"

    target: str = ""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        apply_rules(op, ctx, all_rules(), pass_name=self.name)


@cache
def all_rules() -> RuleSet:
    """Return the rules of the pass in the order in which they are tried."""
    return (
        recompose_activations.RULES
        | recompose_normalization.RULES
        | recompose_quantization.RULES
        | recompose_convolution.RULES
    )


@cache
def standard_rules(opset: int) -> RuleSet:
    """Return the rules whose results are operators of this ONNX opset, for all decompositions."""
    return RuleSet({name: rule for name, rule in _standard().items() if SINCE[name] <= opset})


def every_rule() -> RuleSet:
    """Return all rules, those for `simplify-onnx` included."""
    return all_rules() | _standard()


def _standard() -> RuleSet:
    return recompose_activations.STANDARD | recompose_normalization.STANDARD | recompose_attention.STANDARD
