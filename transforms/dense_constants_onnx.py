"""`dense-constants-onnx`: convert sparse constants to dense ones."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.elements import DisposablePool, elements_array, type_of_elements
from xonnc.dialects.onnx.ops.constant import ConstantOp


@dataclass(frozen=True)
class DenseConstants(ModulePass):
    """Convert sparse constants to dense ones, the only ones that kernels and engines read."""

    name = "dense-constants-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert every sparse constant in `op`; raise `XonncError` for one that is too large."""
        make_dense(op, DisposablePool.of(ctx))


def make_dense(module: ModuleOp, pool: DisposablePool) -> None:
    """Convert the sparse constants of a module to dense ones."""
    for op in module.walk():
        if not isinstance(op, ConstantOp) or op.sparse_value is None:
            continue
        array = elements_array(op.sparse_value)
        assert array is not None, "a sparse constant has elements"
        op.properties = {"value": pool.create(array, type_of_elements(op.sparse_value))}
