"""
`onnx-op-transform`: iterate the passes of the ONNX level to a fixed point (docs/internals/onnx-rules.md
§6.4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.errors import XonncError
from xonnc.rewriting.remarks import warn
from xonnc.transforms.canonicalize_all import CanonicalizeAll
from xonnc.transforms.constprop_onnx import ConstProp
from xonnc.transforms.conv_opt_onnx import ConvOpt
from xonnc.transforms.decompose_onnx import Decompose
from xonnc.transforms.fingerprint import fingerprint
from xonnc.transforms.recompose_onnx import Recompose
from xonnc.transforms.shape_inference_onnx import ShapeInference


@dataclass(frozen=True)
class OnnxOpTransform(ModulePass):
    """
    Decomposes, recomposes, infers shapes, canonicalises and folds until an iteration changes nothing.

    Options: after `onnx-op-transform-threshold` iterations it stops with a warning;
    `onnx-op-transform-report` prints their number; `onnx-op-transform-simd-data-layout` is that of
    `conv-opt-onnx`, which runs if `onnx-op-transform-target-cpu` and `enable-conv-opt-pass` are on;
    `enable-recompose-opt-pass` off leaves out `recompose-onnx`.
    """

    name = "onnx-op-transform"

    onnx_op_transform_threshold: int = 10
    onnx_op_transform_report: bool = False
    onnx_op_transform_target_cpu: bool = True
    onnx_op_transform_simd_data_layout: bool = False
    enable_conv_opt_pass: bool = True
    enable_recompose_opt_pass: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Transform `op`."""
        threshold = self.onnx_op_transform_threshold
        if threshold < 0:
            raise XonncError(
                f"{self.name}: onnx-op-transform-threshold is {threshold}, which must be at least 0"
            )
        before = fingerprint(op)
        rounds, converged = 0, False
        while rounds < threshold and not converged:
            for each in self.round():
                each.apply(ctx, op)
            rounds += 1
            after = fingerprint(op)
            converged, before = after == before, after
        if not converged:
            # onnx-mlir's text, with its missing space.
            warn(
                f"ONNXOpTransform did not converge after {threshold}iterations."
                " You may set a higher threshold with command option",
                op,
            )
        if self.onnx_op_transform_report:
            print(f"ONNXOpTransform iterated {rounds} times, converged {str(converged).lower()}")

    def round(self) -> Iterator[ModulePass]:
        """Return the passes of one iteration."""
        yield Decompose()
        if self.enable_recompose_opt_pass:
            yield Recompose()
        yield ShapeInference()
        yield CanonicalizeAll()
        yield ShapeInference()
        if self.onnx_op_transform_target_cpu and self.enable_conv_opt_pass:
            yield ConvOpt(self.onnx_op_transform_simd_data_layout)
            yield ShapeInference()
        yield ConstProp()
