"""Fold a case and compare the constants with the expected outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from bench.constant_folding.cases import FoldingCase, OnnxValue
from xonnc.contexts import new_context
from xonnc.dialects.onnx.ops.builtin import ReturnOp
from xonnc.errors import XonncError
from xonnc.formats.onnx.importer import import_proto
from xonnc.passes import run_pass
from xonnc.rewriting.rules import RuleSet
from xonnc.rewriting.statistics import tracing_rules
from xonnc.transforms.constant_evaluation import ConstantValue, constant_value
from xonnc.transforms.constprop_onnx import ConstProp

PASSES = ("shape-inference-onnx", "constprop-onnx")
"""Passes to run; repeated `ROUNDS` times, since folding makes more shapes static."""

ROUNDS = 2

RULES: RuleSet = ConstProp().rules()


@dataclass(frozen=True)
class FoldingVerdict:
    """Result of a case."""

    case: FoldingCase
    folded: bool
    """Whether every output folded to a constant, or to a sequence or optional of constants, as expected."""
    as_tensors: bool
    """Whether all outputs are tensors."""
    reason: str
    """Why it did not fold, or how the constants differ."""
    wrong: bool = False
    """Whether it folded to a wrong value, or a pass raised an error."""


def fold_case(case: FoldingCase) -> FoldingVerdict:
    """Fold a case and judge the result."""
    as_tensors = all(isinstance(expected_value, np.ndarray) for expected_value in case.expected)
    refusals: dict[str, str] = {}

    def tell(rule: str, op: Operation, refusal: str) -> None:
        if refusal:
            refusals[op.name.removeprefix("onnx.")] = refusal

    try:
        with tracing_rules(RULES, tell):
            module = folded(case, new_context())
    except XonncError as error:
        return FoldingVerdict(case, False, as_tensors, f"error: {error}", wrong=True)
    found = outputs(module)
    unfolded = [name for name in remaining(module) if name not in ("Constant", "NoValue")]
    if None in found:
        names = list(dict.fromkeys(unfolded))
        first = next((name for name in names if name in refusals), names[0] if names else "")
        return FoldingVerdict(
            case, False, as_tensors, f"{', '.join(names)} stays: {refusals.get(first, 'no rule')}"
        )
    for value, expected in zip(found, case.expected, strict=True):
        assert value is not None
        problem = difference(value.value, expected, case)
        if problem is not None:
            return FoldingVerdict(case, False, as_tensors, problem, wrong=True)
    return FoldingVerdict(case, True, as_tensors, "")


def folded(case: FoldingCase, context: Context) -> ModuleOp:
    """The module after the passes."""
    module = import_proto(case.model, context)
    for _ in range(ROUNDS):
        for name in PASSES:
            run_pass(name, context, module)
    module.verify()
    return module


def outputs(module: ModuleOp) -> list[ConstantValue | None]:
    """The constant value of each output, or `None`."""
    end = next(op for op in module.walk() if isinstance(op, ReturnOp))
    return [constant_value(operand) for operand in end.operands]


def remaining(module: ModuleOp) -> list[str]:
    """Names of the remaining operations."""
    function = next(op for op in module.ops if isinstance(op, FuncOp))
    return [op.name.removeprefix("onnx.") for op in function.body.block.ops if not isinstance(op, ReturnOp)]


def difference(found: OnnxValue, expected: OnnxValue, case: FoldingCase) -> str | None:
    """How an output differs from the expected one beyond the tolerance of the test, or `None`."""
    if isinstance(found, tuple) and isinstance(expected, tuple):
        if len(found) != len(expected):
            return f"{len(found)} tensors in place of {len(expected)}"
        each = (difference(one, other, case) for one, other in zip(found, expected, strict=True))
        return next((problem for problem in each if problem is not None), None)
    if found is None or expected is None:
        return None if found is expected else "an empty optional in place of a full one, or the other way"
    if isinstance(found, tuple) or isinstance(expected, tuple):
        return "a sequence in place of a tensor, or the other way"
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found.dtype}{list(found.shape)} in place of {expected.dtype}{list(expected.shape)}"
    return _elements(found, expected, case)


def _elements(found: npt.NDArray[Any], expected: npt.NDArray[Any], case: FoldingCase) -> str | None:
    if found.dtype == np.object_ or found.dtype.kind in "iub":
        same = _words(found) == _words(expected)
    elif found.dtype.kind == "c":
        same = bool(np.allclose(found, expected, case.rtol, case.atol, equal_nan=True))
    else:
        wide = found.astype(np.float64), expected.astype(np.float64)
        same = bool(np.allclose(*wide, case.rtol, case.atol, equal_nan=True))
    return None if same else f"{_some(found)} in place of {_some(expected)}"


def _words(array: npt.NDArray[Any]) -> Sequence[object]:
    return [each.decode() if isinstance(each, bytes) else each for each in array.reshape(-1).tolist()]


def _some(array: npt.NDArray[Any]) -> str:
    return str(array.reshape(-1)[:4].tolist())
