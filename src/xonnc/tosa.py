"""
Compile ONNX models to TOSA, the Tensor Operator Set Architecture, for compilers that read it.

    compile_tosa("mobilenet.onnx").write("mobilenet.mlir")
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from xonnc.argument_types import checks_arguments
from xonnc.compiler import ModelInput, run_frontend
from xonnc.contexts import StageCallback, ignore_stage
from xonnc.dialects.onnx.assembly import OnnxPrinter
from xonnc.formats.atomic_write import atomic_write
from xonnc.formats.onnx.model_summary import ModelSummary
from xonnc.lowering.onnx_to_tosa.convert_onnx_to_tosa import ConvertOnnxToTosa
from xonnc.lowering.onnx_to_tosa.tosa_fold_transposes import TosaFoldTransposes
from xonnc.rewriting.extensions import finish_stage

TARGET = "tosa"
"""The name of the target on the command line."""

STAGES = ("onnx", "simplified", "tosa", "emitted")
"""Stages in order: imported, simplified, lowered to TOSA with transposes folded, written."""


@dataclass(frozen=True)
class TosaOutput:
    """A model in the tosa dialect, and summaries of it before and after simplification."""

    module: ModuleOp = field(repr=False)
    imported: ModelSummary
    simplified: ModelSummary
    opset: int

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
            OnnxPrinter(stream=text, print_generic_format=True).print_op(self.module)
            text.write("\n")
        return Path(path).stat().st_size


@checks_arguments
def compile_tosa(path: ModelInput, on_stage: StageCallback | None = None, strict: bool = False) -> TosaOutput:
    """
    Compile a model with static shapes to TOSA 1.0.

    Parameters:
        path: the model (.onnx, .onnxtxt or .json), or the model in memory.
        on_stage: called with the name of each stage of `STAGES` but the last and the module after it.
        strict: whether declared shapes that contradict the operators are an error instead of a warning.

    Returns: the model in the tosa dialect.

    Raises:
        RefusalError: with every node that TOSA cannot say.
        InvalidModelError: for an invalid model.
        XonncError: for a file that is not a model.

    Example:
        >>> xonnc.compile_tosa("mobilenet.onnx").write("mobilenet.mlir")
    """
    seen = on_stage or ignore_stage
    front = run_frontend(path, seen, strict=strict)
    ConvertOnnxToTosa().apply(front.context, front.module)
    TosaFoldTransposes().apply(front.context, front.module)
    finish_stage(TARGET, front.context, front.module, seen)
    return TosaOutput(front.module, front.imported, front.simplified, front.opset)
