"""`conv-opt-onnx`: convolutions in a channel-blocked layout (docs/internals/onnx-rules.md §6.2)."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.rewriting.conversion import convert
from xonnc.transforms.rules import convolution_layout


@dataclass(frozen=True)
class ConvOpt(ModulePass):
    """
    Convert convolutions to NCHW4c, with layout conversions around each.

    Option: without `simd-data-layout` the pass does nothing.
    """

    name = "conv-opt-onnx"

    simd_data_layout: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.simd_data_layout:
            convert(op, ctx, convolution_layout.RULES, pass_name=self.name)
