"""The first pass from kernels to native code that makes outputs wrong, by interpretation after each stage."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from xdsl.dialects.builtin import ModuleOp

from xonnc.artifacts import prepared_module
from xonnc.lowering.krnl_to_llvm.convert_krnl_to_llvm import ConvertKrnlToLlvm
from xonnc.lowering.native.parallelize_krnl import ParallelizeKrnl
from xonnc.lowering.native.plan_memory import PlanMemory
from xonnc.lowering.native.prepack_weights import PrepackWeights
from xonnc.lowering.native.share_kernels import ShareKernels
from xonnc.lowering.onnx_to_krnl.convert_onnx_to_krnl import ConvertOnnxToKrnl
from xonnc.native import compile_native
from xonnc.native_compilation import CompileOptions, lower_to_program, resolve_processor
from xonnc.rewriting.decision_limit import limiting_decisions
from xonnc.runtime.verification.krnl_interpreter import interpret
from xonnc.runtime.verification.scalar_evaluation import NotInterpretedError
from xonnc.tools.bisection_case import Case
from xonnc.verification_models import VerifiedModel, of_session, open_compiled_c

CONVERT, PLAN, LOWER = ConvertOnnxToKrnl.name, PlanMemory.name, ConvertKrnlToLlvm.name
PASSES = {
    "krnl": CONVERT,
    "prepacked": PrepackWeights.name,
    "parallel": ParallelizeKrnl.name,
    "shared": ShareKernels.name,
    "planned": PLAN,
}
"""The pass that gives each stage that can be interpreted."""


EMIT_C = "llvm-to-c"
"""The emission of C source, which is no pass."""


class _WrongError(Exception):
    """Outputs are wrong after a stage."""


def open_code(model: onnx.ModelProto, form: str, disabled: Sequence[str]) -> VerifiedModel:
    """Compile a model to `native` code or `c` source without some passes."""
    if form == "c":
        return open_compiled_c(model, "model", disabled)
    return of_session(compile_native(model, cache=False, disable_pass=disabled), "model")


def first_wrong_pass(
    case: Case, expected: Sequence[object], limit: int | None = None, disabled: Sequence[str] = ()
) -> str | None:
    """
    Return the first pass after which interpreted kernels are wrong, for code that is wrong.

    If they are right to the end, it is the lowering to LLVM, or the emission of C if the machine code of the
    same kernels is right. `None` for kernels that cannot be interpreted.
    """
    names = [info.name for info in case.model.graph.input if info.name in case.feeds]
    processor = resolve_processor("portable" if case.form == "c" else case.target or "cpu")
    options = CompileOptions(processor, portable=case.form == "c", disable_pass=disabled)
    last = CONVERT

    def check(stage: str, module: ModuleOp) -> None:
        nonlocal last
        if stage not in PASSES:
            return
        last = PASSES[stage]
        try:
            outputs = interpret(module, case.feeds, names)
        except IndexError:
            raise _WrongError from None
        if any(case.differs(a, b) for a, b in zip(expected, outputs, strict=True)):
            raise _WrongError

    shapes = {name: np.shape(case.feeds[name]) for name in names}
    with limiting_decisions(limit):
        try:
            module, context = prepared_module(case.model, options, shapes)
            lower_to_program(module, options, context, check)
        except NotInterpretedError:
            return None
        except _WrongError:
            return last
        if case.form != "c":
            return LOWER
        session = compile_native(case.model, processor.name, cache=False, disable_pass=disabled)
        outputs = session.run(None, case.feeds)
    return LOWER if any(case.differs(a, b) for a, b in zip(expected, outputs, strict=True)) else EMIT_C
