"""Compile ONNX models for targets of plug-in backends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from xonnc.compiler import ModelInput, run_frontend
from xonnc.contexts import StageCallback, ignore_stage
from xonnc.dialects.onnx.interface_names import argument_names, given_names
from xonnc.dialects.onnx.types import is_ranked, is_tensor, numpy_dtype
from xonnc.errors import UnknownNameError, XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.formats.native.program import TensorSpec
from xonnc.formats.onnx.model_summary import ModelSummary
from xonnc.plugins.backend_declarations import Backend
from xonnc.plugins.backend_lowering import LoweredNode, convert
from xonnc.plugins.backends import backend_of
from xonnc.rewriting.extensions import finish_stage
from xonnc.transforms.models.signatures import Shapes


@dataclass(frozen=True)
class BackendOutput:
    """The output file of a backend, summaries of the model, and what its nodes were lowered to."""

    target: str
    backend: str
    imported: ModelSummary
    simplified: ModelSummary
    opset: int
    nodes: Sequence[LoweredNode]
    inputs: Sequence[TensorSpec]
    outputs: Sequence[TensorSpec]
    content: bytes
    """The output file."""

    def write(self, path: str | Path) -> int:
        """
        Write the output to a file, atomically.

        Parameters:
            path: the file to write.

        Returns: the size of the file in bytes.

        Raises: `XonncError` if the file cannot be written.
        """
        with atomic_write(Path(path)) as file:
            file.write(self.content)
        return len(self.content)


def stages_of(backend: Backend) -> tuple[str, ...]:
    """
    Return the stages of compilation for a backend, without passes that join them.

    Parameters:
        backend: the backend.
    """
    return ("onnx", "simplified", backend.name, "emitted")


def compile_for_backend(
    path: ModelInput,
    target: str,
    on_stage: StageCallback = ignore_stage,
    strict: bool = False,
    input_shapes: Shapes | None = None,
) -> BackendOutput:
    """
    Compile a model for a target of a plug-in.

    Parameters:
        path: the model (.onnx, .onnxtxt or .json), or the model in memory.
        target: the name of a target, or a TOML file that names its backend.
        on_stage: called with each stage of `stages_of` but the last and the module after it.
        strict: whether declared shapes that contradict the operators are an error instead of a warning.
        input_shapes: sizes of dynamic inputs by name.

    Returns: the output.

    Raises:
        RefusalError: with every node that the target cannot run.
        InvalidModelError: for an invalid model.
        UnknownNameError: if no plug-in has the target.
        XonncError: for a file that is not a model, or an error in the backend.

    Example:
        >>> compile_for_backend("model.onnx", "demo").write("model.demo")
    """
    backend = backend_of(target)
    if backend is None:
        raise UnknownNameError(f"no target '{target}' of a plug-in")
    description = backend.target_of(target)
    front = run_frontend(path, on_stage, strict=strict, is_lowered=backend.takes, input_shapes=input_shapes)
    inputs, outputs = interface_of(front.module)
    nodes, content = lower_and_emit(front.module, backend, description, front.context, on_stage)
    return BackendOutput(
        description.name,
        backend.name,
        front.imported,
        front.simplified,
        front.opset,
        nodes,
        inputs,
        outputs,
        content,
    )


def lower_and_emit(
    module: ModuleOp,
    backend: Backend,
    target: Any,
    context: Context,
    on_stage: StageCallback = ignore_stage,
) -> tuple[Sequence[LoweredNode], bytes]:
    """
    Lower a simplified module by a backend, in place, and emit the output file.

    Parameters:
        module: the module.
        backend: the backend.
        target: the properties of the target.
        context: the context of the module.
        on_stage: called with the stage after the lowering.

    Returns: what the nodes were lowered to, and the content of the output file.

    Raises:
        RefusalError: with every node that the target cannot run.
        XonncError: for an error in the backend.
    """
    nodes = convert(module, backend, target)
    finish_stage(backend.name, context, module, on_stage)
    assert backend.emit is not None, "required when it is registered"
    try:
        found = backend.emit(module, target)
    except XonncError:
        raise
    except Exception as error:
        raise XonncError(f"{backend}: its emitter raised {type(error).__name__}: {error}") from error
    return nodes, found.encode() if isinstance(found, str) else bytes(found)


def interface_of(module: ModuleOp) -> tuple[list[TensorSpec], list[TensorSpec]]:
    """
    Return the inputs and outputs of a model.

    Parameters:
        module: the model.
    """
    function = next(op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks)
    types = function.function_type
    given = given_names(function.res_attrs, len(types.outputs.data))
    results = [name or f"output_{index}" for index, name in enumerate(given)]
    named = zip(argument_names(function), types.inputs, strict=True), zip(results, types.outputs, strict=True)
    inputs, outputs = ([_spec(*port, index) for index, port in enumerate(ports)] for ports in named)
    return inputs, outputs


def _spec(name: str, type_: Attribute, index: int) -> TensorSpec:
    if not is_tensor(type_):
        return TensorSpec(name, index, None, None)
    sizes = type_.get_shape() if is_ranked(type_) else None
    shape = None if sizes is None else tuple(None if size == DYNAMIC_INDEX else size for size in sizes)
    return TensorSpec(name, index, shape, numpy_dtype(type_.element_type))
