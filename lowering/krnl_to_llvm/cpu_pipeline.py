"""
The pass pipeline of the CPU compiler, from a simplified model to kernels and to the llvm dialect.

`xonnc compile`, sessions, packages and ahead-of-time compilation all use it. In `onnx-opt`, `--cpu-pipeline`
runs it on the IR of any stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.fusion import FusedOp
from xonnc.lowering.krnl_to_llvm.convert_krnl_to_llvm import ConvertKrnlToLlvm, is_kernel
from xonnc.lowering.native.parallelize_krnl import ParallelizeKrnl
from xonnc.lowering.native.plan_memory import PlanMemory
from xonnc.lowering.native.prepack_weights import PrepackWeights
from xonnc.lowering.native.share_kernels import ShareKernels
from xonnc.lowering.onnx_to_krnl.assign_layout import AssignLayout
from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import ConvertOnnxToKrnl
from xonnc.lowering.onnx_to_krnl.fuse_onnx import FuseOnnx
from xonnc.lowering.onnx_to_krnl.outline_data_dependent_onnx import OutlineDataDependent
from xonnc.lowering.onnx_to_krnl.planning.select_bf16_onnx import SelectBf16
from xonnc.lowering.onnx_to_krnl.planning.select_winograd_onnx import SelectWinograd
from xonnc.lowering.onnx_to_krnl.reduce_memory_onnx import ReduceMemory
from xonnc.targets.cpu import require_threads
from xonnc.transforms.legalize_onnx import Legalize
from xonnc.transforms.onnx_cse_with_node_name import OnnxCseWithNodeName, merge
from xonnc.transforms.optimization_levels import DEFAULT_LEVEL, Passes, passes_of


@dataclass(frozen=True)
class CpuPipeline(ModulePass):
    """
    Lower a simplified model, or the IR of a later stage, to functions of the llvm dialect.

    `level`, `enable-pass` and `disable-pass` have the meaning that they have for `simplify-onnx`, and
    `mem-alloc` that of `plan-memory`.
    """

    name = "cpu-pipeline"

    processor: str = "avx512"
    unsafe: bool = False
    threads: int = 1
    portable: bool = False
    level: int = DEFAULT_LEVEL
    enable_pass: tuple[str, ...] = ()
    disable_pass: tuple[str, ...] = ()
    mem_alloc: str = "auto"

    def to_kernels(self) -> Sequence[tuple[str, ModulePass | None]]:
        """
        Return the stages from a simplified model to kernels with a memory plan: name and pass.

        The pass is `None` if it is disabled at this optimization level.
        """
        select = SelectBf16(self.processor, self.portable) if SelectBf16.name in self.passes else None
        winograd = SelectWinograd(self.processor) if SelectWinograd.name in self.passes else None
        fuse = FuseOnnx(self.processor, self.portable) if FuseOnnx.name in self.passes else None
        is_assigned = AssignLayout.name in self.passes
        layout = AssignLayout(self.processor, self.portable) if is_assigned else None
        # Without fusion groups and channel blocks, kernels have other results and copy parts to join them.
        is_reduced = fuse is not None and is_assigned and ReduceMemory.name in self.passes
        reduce_memory = ReduceMemory(self.processor, self.portable) if is_reduced else None
        convert = ConvertOnnxToKrnl(
            self.processor, unsafe=self.unsafe, threads=self.threads, portable=self.portable
        )
        return (
            ("legalized", Legalize()),
            ("outlined", OutlineDataDependent(self.processor)),
            ("bf16", select),
            ("winograd", winograd),
            ("fused", fuse),
            ("memory", reduce_memory),
            ("layout", layout),
            ("krnl", convert),
            ("prepacked", PrepackWeights()),
            ("parallel", ParallelizeKrnl() if ParallelizeKrnl.name in self.passes else None),
            ("shared", ShareKernels() if ShareKernels.name in self.passes else None),
            ("planned", PlanMemory(self.mem_alloc)),
        )

    def remaining(self, module: ModuleOp) -> Sequence[tuple[str, ModulePass | None]]:
        """Return the stages of `to_kernels` that a module of any stage has still to pass."""
        stages = self.to_kernels()
        if not is_fused(module):
            return stages
        # Legalisation rules would merge constants across fusion groups.
        names = [name for name, _ in stages]
        return stages[names.index("fused") + 1 :]

    @property
    def passes(self) -> Passes:
        """The optional passes that are enabled at this optimization level."""
        return passes_of(self.level, self.enable_pass, self.disable_pass)

    def to_code(self) -> ModulePass:
        """Return the pass from kernels to the llvm dialect."""
        return ConvertKrnlToLlvm(self.processor, self.threads)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Run the pipeline from the stage of the IR on; IR in the llvm dialect is left unchanged."""
        require_threads(self.name, self.threads)
        if any(isinstance(each, llvm.FuncOp) for each in op.ops):
            return
        is_lowered = any(isinstance(each, FuncOp) and is_kernel(each) for each in op.ops)
        if not is_lowered and not is_fused(op) and OnnxCseWithNodeName.name in self.passes:
            # `xonnc compile` runs CSE during simplification, `simplify-onnx` as a single pass does not.
            merge(op)
        for _, step in self.remaining(op):
            if step is not None:
                step.apply(ctx, op)
        self.to_code().apply(ctx, op)


def is_fused(module: ModuleOp) -> bool:
    """Whether operators are in fusion groups."""
    return any(isinstance(each, FusedOp) for each in module.walk())
