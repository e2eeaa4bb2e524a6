"""
Validate ONNX models: report every violation of the operators' specification at once.

    for problem in check_model("model.onnx"):
        print(problem)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from xonnc.argument_types import checks_arguments
from xonnc.contexts import new_context
from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.ops.builtin import CustomOp
from xonnc.dialects.onnx.types import NONE
from xonnc.formats.onnx.import_diagnostics import UNREADABLE, ImportDiagnostics
from xonnc.formats.onnx.importer import read_loaded
from xonnc.formats.onnx.known_operators import is_standard, unknown_operators
from xonnc.formats.onnx.load_model import LoadedModel, load
from xonnc.transforms.models.model_functions import function_models
from xonnc.transforms.shape_inference_onnx import find_wrong


@dataclass(frozen=True)
class Problem:
    """One violation in a model."""

    node: str
    """The name of the node, or of its first output; empty if the problem concerns the whole model."""
    operator: str
    message: str
    """The message, starting with the node's name."""

    def __str__(self) -> str:
        return self.message


@checks_arguments
def check_model(model: str | Path | onnx.ModelProto) -> list[Problem]:
    """
    Validate a model.

    Unreadable nodes and tensors, operators used against their specification and contradictory shapes are all
    reported, in subgraphs and local functions too. A node that reads the result of an invalid node is only
    checked by the rules that do not depend on it.

    Parameters:
        model: the path of the model (`-`: standard input) or the model in memory.

    Returns: the problems in the order of the model, an empty list for a valid model.

    Raises: `XonncError` for a file that is not a model.

    Example:
        >>> for problem in xonnc.model_check.check_model("model.onnx"):
        ...     print(problem)
    """
    loaded = LoadedModel.of(model) if isinstance(model, onnx.ModelProto) else load(model)
    context, diagnostics = new_context(), ImportDiagnostics()
    module = read_loaded(loaded, context, diagnostics)
    problems = [*_unreadable(diagnostics), *_wrong(module)]
    # Unreadable nodes are in the module as ones that the standard does not have.
    if module is not None and not problems:
        problems += _unknown(module)
    for function, has_attributes in function_models(loaded, module):
        diagnostics = ImportDiagnostics()
        # A function that only functions call, or that is called with several types, has inputs of any type.
        body = read_loaded(function, context, diagnostics, allow_untyped=True)
        # Without the values of its attributes no rules can be held against it.
        wrong = [] if has_attributes else _wrong(body)
        problems += (
            Problem(each.node, each.operator, f"{function.name}: {each.message}")
            for each in (*_unreadable(diagnostics), *wrong)
        )
    return problems


def _unknown(module: ModuleOp) -> Iterator[Problem]:
    """Operators that a domain of the standard does not have; those of other domains are custom ones."""
    for message, op in unknown_operators(module).items():
        if isinstance(op, CustomOp) and is_standard(op):
            yield Problem(describe(op), op.function_name.data, message)


def _unreadable(diagnostics: ImportDiagnostics) -> Iterator[Problem]:
    return (_problem(diagnostic.message, diagnostic.op) for diagnostic in diagnostics.all())


def _wrong(module: ModuleOp | None) -> list[Problem]:
    if module is None:
        return []
    wrong = find_wrong(module, _values_of_unreadable_ops(module))
    return [_problem(each.message, each.op) for each in wrong]


def _values_of_unreadable_ops(module: ModuleOp) -> Iterator[SSAValue]:
    """
    Yield the values of unknown type: results of placeholders, and block arguments without a declared type.
    """
    for op in module.walk():
        if UNREADABLE in op.attributes:
            yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from (argument for argument in block.args if argument.type == NONE)


def _problem(message: str, about: Operation | None) -> Problem:
    if about is None:
        return Problem("", "", message)
    name = about.function_name.data if isinstance(about, CustomOp) else about.name.removeprefix("onnx.")
    return Problem(describe(about), name, message)
