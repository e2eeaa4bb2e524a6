"""
Compile ONNX models to TOSA, the Tensor Operator Set Architecture, for compilers that read it.

    compile_tosa("mobilenet.onnx").write("mobilenet.mlir")
    xonnc.compile("mobilenet.onnx", "tosa").save("mobilenet.mlir")
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import numpy.typing as npt
from xdsl.dialects.builtin import ModuleOp

from xonnc.argument_types import checks_arguments, require_path
from xonnc.backend_compilation import interface_of
from xonnc.compiler import ModelInput, run_frontend
from xonnc.contexts import StageCallback, ignore_stage
from xonnc.dialects.onnx.assembly import OnnxPrinter
from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_write
from xonnc.formats.native.program import TensorSpec
from xonnc.formats.onnx.model_summary import ModelSummary
from xonnc.lowering.onnx_to_tosa.convert_onnx_to_tosa import ConvertOnnxToTosa
from xonnc.lowering.onnx_to_tosa.tosa_fold_transposes import TosaFoldTransposes
from xonnc.rewriting.extensions import finish_stage
from xonnc.runtime.native.onnxruntime_api import OnnxruntimeApi
from xonnc.transforms.models.signatures import Shapes

TARGET = "tosa"
"""The name of the target."""

SUFFIX = ".mlir"
"""The suffix of its output."""

STAGES = ("onnx", "simplified", "tosa", "emitted")
"""Stages in order: imported, simplified, lowered to TOSA with transposes folded, written."""


@dataclass(frozen=True)
class TosaOutput(OnnxruntimeApi):
    """A model in the tosa dialect, and summaries of it before and after simplification."""

    module: ModuleOp = field(repr=False)
    imported: ModelSummary
    simplified: ModelSummary
    opset: int
    inputs: Sequence[TensorSpec] = ()
    outputs: Sequence[TensorSpec] = ()

    @property
    def ops(self) -> Mapping[str, int]:
        """The number of ops of each kind, without the dialect's name."""
        names = (op.name for op in self.module.walk() if op.name.startswith("tosa."))
        return Counter(name.removeprefix("tosa.") for name in names)

    def write(self, path: str | Path) -> int:
        """
        Write the module to a file, atomically, in the generic form that every version of MLIR reads.

        Parameters:
            path: the file to write.

        Returns: the size of the file in bytes.

        Raises: `XonncError` if the file cannot be written.
        """
        with atomic_write(Path(path)) as file, TextIOWrapper(file, encoding="utf-8") as text:
            OnnxPrinter(stream=text, print_generic_format=True, portable=True).print_op(self.module)
            text.write("\n")
        return Path(path).stat().st_size

    def save(self, path: str | os.PathLike[str]) -> list[Path]:
        """
        Write the module to a `.mlir` file.

        Parameters:
            path: the file.

        Returns: the files written.

        Raises: `XonncError` for another suffix.
        """
        file = require_path(path)
        if file.suffix != SUFFIX:
            raise XonncError(f"{file}: TOSA is written to {SUFFIX}")
        self.write(file)
        return [file]

    def report(self) -> TosaOutput:
        """The output itself: its ops, and summaries of the model."""
        return self

    def results(
        self,
        names: Sequence[str] | None,
        feeds: Mapping[str, object],
        out: Mapping[str, npt.NDArray[Any]] | None,
    ) -> list[Any]:
        """
        Raise `XonncError`: the compiler that reads the module runs it.

        Parameters:
            names: the outputs asked for.
            feeds: arrays by input name.
            out: arrays that outputs are written to.
        """
        raise XonncError("TOSA is run by the compiler that reads it; save(…) it, or compile for cpu")


@checks_arguments
def compile_tosa(
    path: ModelInput,
    on_stage: StageCallback | None = None,
    strict: bool = False,
    input_shapes: Shapes | None = None,
) -> TosaOutput:
    """
    Compile a model with static shapes to TOSA 1.0.

    Parameters:
        path: the model (.onnx, .onnxtxt or .json), or the model in memory.
        on_stage: called with the name of each stage of `STAGES` but the last and the module after it.
        strict: whether declared shapes that contradict the operators are an error instead of a warning.
        input_shapes: sizes of dynamic inputs by name.

    Returns: the model in the tosa dialect.

    Raises:
        RefusalError: with every node that TOSA cannot say.
        InvalidModelError: for an invalid model.
        XonncError: for a file that is not a model.

    Example:
        >>> xonnc.compile_tosa("mobilenet.onnx").write("mobilenet.mlir")
    """
    seen = on_stage or ignore_stage
    front = run_frontend(path, seen, strict=strict, input_shapes=input_shapes)
    inputs, outputs = interface_of(front.module)
    ConvertOnnxToTosa().apply(front.context, front.module)
    TosaFoldTransposes().apply(front.context, front.module)
    finish_stage(TARGET, front.context, front.module, seen)
    return TosaOutput(front.module, front.imported, front.simplified, front.opset, inputs, outputs)
