"""What the passes share that write normalizations as convolutions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.lowering.onnx_to_dla.builders.op_inserter import SQUARED_PART


@dataclass(frozen=True)
class NormalizationPass(ModulePass):
    """A pass that rewrites normalizations; `fp16` says that the module is computed in FP16."""

    roots: ClassVar[tuple[type[Operation], ...]]
    """The types of the last operators of such normalizations."""

    fp16: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.rewrite(op, DisposablePool.of(ctx))

    def rewrite(self, module: ModuleOp, pool: DisposablePool) -> bool:
        """
        Rewrite the normalizations of a module.

        Parameters:
            module: the simplified module.
            pool: the pool of its constants.

        Returns: whether there were any.
        """
        squared_part = SQUARED_PART if self.fp16 else 1.0
        # A list: what a later operator reads may have been rewritten by then.
        ops = [op for op in module.walk() if isinstance(op, self.roots)]
        return any([self.rewrite_op(op, pool, squared_part) for op in ops])

    @abstractmethod
    def rewrite_op(self, op: Operation, pool: DisposablePool, squared_part: float) -> bool:
        """
        Rewrite a normalization.

        Parameters:
            op: its last operator.
            pool: the pool of the constants.
            squared_part: the factor of numbers before they are squared, so that FP16 does not overflow.

        Returns: whether it is one that the pass rewrites.
        """
