"""`--canonicalize` as in onnx-mlir: the canonicalisation patterns of all dialects."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.transforms.canonicalize import CanonicalizePass

from xonnc.transforms.canonicalize_onnx import Canonicalize


@dataclass(frozen=True)
class CanonicalizeAll(CanonicalizePass):
    """Run `canonicalize-onnx`, then xDSL's `canonicalize`, whose name it takes in onnx-opt."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        Canonicalize().apply(ctx, op)
        super().apply(ctx, op)
