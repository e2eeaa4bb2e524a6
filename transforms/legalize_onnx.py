"""
`legalize-onnx`: rewrite operators to those that native kernels implement.

```mlir
%y = "onnx.AddV1"(%x, %b) <{axis = 1 : si64, broadcast = 1 : si64}>
```
becomes a Reshape and an Add. Einsum of matrices and Fourier transforms become matrix products, loops that
append to sequences get scan outputs (`collect-sequences-onnx`), strings are looked up before they are moved,
convolutions, pools and matrix products of float16 are promoted to float32 with the operators that follow
them, batch normalizations become Mul and Add, images whose pads depend on dynamic sizes are padded first.
Shape inference runs afterwards. The result may use operators outside the opset of the model, so this pass
never runs on a model to be exported.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.rewriting.driver import apply_rules
from xonnc.rewriting.rules import RuleSet
from xonnc.transforms.collect_sequences_onnx import collect_sequences
from xonnc.transforms.cse import erase_dead
from xonnc.transforms.decompose_batch_norms import decompose_batch_norms
from xonnc.transforms.rules import (
    legalize_early_opsets,
    legalize_einsum,
    legalize_fourier,
    legalize_pooling,
    legalize_string_encoders,
    legalize_string_labels,
    legalize_training,
    legalize_windows,
)
from xonnc.transforms.shape_inference_onnx import infer_shapes
from xonnc.transforms.type_promotion import promote_types

RULES = RuleSet(
    {
        **legalize_einsum.RULES,
        **legalize_fourier.RULES,
        **legalize_string_labels.RULES,
        **legalize_string_encoders.RULES,
        **legalize_pooling.RULES,
        **legalize_training.RULES,
        **legalize_early_opsets.RULES,
        **legalize_windows.RULES,
    }
)
"""Legalisation patterns."""


def decompose_plugin_operators(module: ModuleOp, ctx: Context) -> bool:
    """Decompose operators of plug-ins that have no kernel of their own; return whether there were any."""
    if not apply_rules(module, ctx, RuleSet({}), pass_name=Legalize.name).fired:
        return False
    infer_shapes(module)
    return True


@dataclass(frozen=True)
class Legalize(ModulePass):
    """Rewrite operators to those that native kernels implement."""

    name = "legalize-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        is_collected = collect_sequences(op)
        if apply_rules(op, ctx, RULES, pass_name=self.name).fired or is_collected:
            infer_shapes(op)
        pool = DisposablePool.of(ctx)
        promote_types(op, pool)
        decompose_batch_norms(op, pool)
        erase_dead(op)
