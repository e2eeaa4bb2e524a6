"""
From a model to native code that runs in this process.

    session = xonnc.compile("model.onnx", target="cpu")
    outputs = session.run(None, {"x": array})
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from xonnc.compiler import new_context
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.errors import XonncError, near
from xonnc.formats.native.program import Program
from xonnc.lowering.convert_onnx_to_krnl import has_kernel, lower_module
from xonnc.lowering.krnl_to_llvm.text import llvm_module, llvm_text
from xonnc.lowering.native_program import Steps, read_program
from xonnc.lowering.steering import steering_inputs
from xonnc.runtime.native.jit import Code, host_features
from xonnc.runtime.native.session import Executable, Session, Shapes, Values
from xonnc.signatures import set_input_values
from xonnc.simplifier import simplify
from xonnc.standard_functions import write_out
from xonnc.targets.cpu import CpuTarget, best_cpu, cpu_names, load_cpu
from xonnc.transforms.simplify_onnx import Simplify

MOST_THREADS = 256
"""Threads that may share a run."""


def compile_native(model: str | Path | onnx.ModelProto, target: str = "cpu", threads: int = 1) -> Session:
    """
    Compiles the model in a file or in memory for this processor, in this process.

    `target` is `cpu`, or a kind of processor (`avx2`) that this one is. Operators without a kernel run
    through the ONNX reference evaluator, which `Session.report` shows. A run is shared out among `threads`
    threads. Raises `XonncError` for a file that is no model.
    """
    processor = processor_of(target)
    if not 1 <= threads <= MOST_THREADS:
        raise XonncError(f"threads: {threads}; 1 to {MOST_THREADS} can share a run")

    def compile_for(shapes: Shapes, values: Values) -> Executable:
        module = simplify(
            model, input_shapes=shapes or None, inline_functions=True, fold_overridable=True
        ).module
        if values:
            context = new_context()
            set_input_values(module, values, DisposablePool.of(context))
            Simplify().apply(context, module)
        return executable(module, processor, threads)

    return Session(compile_for)


def processor_of(target: str, needs_host: bool = True) -> CpuTarget:
    """The processor that `target` names; this one has to be of the kind if code for it `needs_host`."""
    features = set(host_features())
    if target == "cpu":
        return best_cpu(features)
    if target not in cpu_names():
        names = ["cpu", *cpu_names()]
        raise XonncError(f"no target '{target}'{near(target, names) or '.'} There are {', '.join(names)}")
    found = load_cpu(target)
    lacking = [feature for feature in found.features if feature not in features]
    if lacking and needs_host:
        raise XonncError(f"{target}: this processor lacks {', '.join(lacking)}; target 'cpu' fits it")
    return found


def executable(module: ModuleOp, processor: CpuTarget, threads: int = 1) -> Executable:
    """Machine code of a simplified module, which is taken apart."""
    context = new_context()
    write_out(module, context, lambda op: not has_kernel(op))
    steering = steering_inputs(module)
    program, steps, kernels = lowered(module, processor, context)
    if not steps:
        return Executable(program, {}, None, steering)
    text = llvm_text(llvm_module(kernels, steps, processor.vector_bytes, threads), steps, threads)
    code = Code(text, dict(steps), threads)
    return Executable(program, code.entries, code, steering)


def lowered(
    module: ModuleOp, processor: CpuTarget, context: Context
) -> tuple[Program, Steps, Sequence[FuncOp]]:
    """A module as a program, the functions of its native steps, and the kernels they call."""
    reasons = lower_module(module, processor, DisposablePool.of(context))
    program, steps = read_program(module, reasons)
    return program, steps, [op for op in module.ops if isinstance(op, FuncOp)][1:]
