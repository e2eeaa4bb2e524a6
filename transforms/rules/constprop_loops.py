"""Constant folding of Loop and Scan: evaluate the body for a bounded number of iterations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.types import NONE, is_ranked, numpy_dtype
from xonnc.errors import XonncError
from xonnc.rewriting.onnx import Loop, Scan
from xonnc.rewriting.patterns import Array, MatchFailure, RewriteResult, attr, compute, rest, root, value
from xonnc.rewriting.rules import RuleSet, rule, rules
from xonnc.transforms.constant_evaluation import (
    ConstantValue,
    Program,
    RuntimeValue,
    captured,
    constant_value,
    program_of_body,
    result_parts,
)
from xonnc.transforms.rules.constprop_evaluation import refusal_inside
from xonnc.transforms.rules.folding_limits import MAX_BYTES

MAX_ITERATIONS = 128
"""Default limit of iterations of a folded loop."""


@dataclass
class LoopEvaluation:
    """Evaluation of one loop: body program, carried values, scan outputs."""

    program: Program
    carried: list[RuntimeValue]
    around: Sequence[RuntimeValue]
    """Values captured by the body."""
    max_iterations: int
    """Limit of iterations."""
    collected: list[Sequence[RuntimeValue]] = field(default_factory=list[Sequence[RuntimeValue]])

    def take(
        self, first: Sequence[RuntimeValue], last: Sequence[RuntimeValue], results: int
    ) -> Sequence[RuntimeValue]:
        """Run one iteration; return the first `results` outputs of the body, before the carried values."""
        if len(self.collected) == self.max_iterations:
            raise XonncError(f"the loop takes more than {self.max_iterations} iterations")
        made = self.program([*first, *self.carried, *last, *self.around])
        end = results + len(self.carried)
        self.carried = list(made[results:end])
        self.collected.append(made[end:])
        if self.size() > MAX_BYTES:
            raise XonncError(f"the scan outputs take more than {MAX_BYTES} bytes")
        return made[:results]

    def size(self) -> int:
        """Return the bytes of the results so far."""
        tensors = (*self.carried, *(each for iteration in self.collected for each in iteration))
        return sum(array.nbytes for each in tensors for array in ConstantValue(each).arrays)

    def stacked(self, index: int, type_: Attribute, axis: int = 0, backwards: bool = False) -> Array:
        """Return a scan output, stacked along a new axis."""
        slices = [iteration[index] for iteration in self.collected]
        arrays = [each for each in slices if isinstance(each, np.ndarray)]
        if len(arrays) < len(slices) or len({array.shape for array in arrays}) > 1:
            raise XonncError("the iterations give tensors of different shapes")
        if arrays:
            return np.stack(arrays[::-1] if backwards else arrays, axis)
        if not is_ranked(type_) or DYNAMIC_INDEX in (sizes := list(type_.get_shape())):
            raise XonncError("there is no iteration, and the shape of the scan output is not known")
        sizes[axis] = 0
        return np.zeros(sizes, numpy_dtype(type_.element_type))


def looped(bound: int, op: Operation) -> list[RuntimeValue]:
    """Return the results of a Loop."""
    outside = _present(captured(op))
    count, condition, *carried = _known(op.operands)
    evaluation = LoopEvaluation(
        program_of_body(op, op.regions[0].block, outside), carried, _known(outside), bound
    )
    max_iterations = None if count is None else int(np.asarray(count).reshape(()))
    goes_on = condition is None or _is_true(condition)
    number_of, flag_of = (_as_argument(argument) for argument in op.regions[0].block.args[:2])
    while goes_on and (max_iterations is None or len(evaluation.collected) < max_iterations):
        number = np.array(len(evaluation.collected), np.int64)
        (again,) = evaluation.take([number_of(number), flag_of(np.array(True))], [], 1)
        goes_on = _is_true(again)
        if condition is None and not goes_on:
            # ONNX runs all iterations, onnxruntime stops here: leave the ambiguous case to run time.
            raise XonncError("the body would end a loop that has no condition")
    types = op.result_types[len(carried) :]
    return [*evaluation.carried, *(evaluation.stacked(index, type_) for index, type_ in enumerate(types))]


def _as_argument(argument: SSAValue) -> Callable[[Array], Array]:
    """Convert one element to the type of a body argument: a scalar, or a vector if declared so."""
    shape = (1,) * len(argument.type.get_shape()) if is_ranked(argument.type) else ()
    return lambda element: element.reshape(shape)


@dataclass(frozen=True)
class ScanAxes:
    """Axes and directions of the scan inputs or scan outputs of a Scan."""

    axes: tuple[int, ...] | None
    directions: tuple[int, ...] | None

    def axis(self, index: int, rank: int) -> int:
        """Return the axis, normalised to be non-negative."""
        return self.axes[index] % rank if self.axes else 0

    def backwards(self, index: int) -> bool:
        """Return whether the direction is reverse."""
        return bool(self.directions and self.directions[index])


def scanned(
    bound: int, op: Operation, inputs: int, input_axes: ScanAxes, output_axes: ScanAxes
) -> list[RuntimeValue]:
    """Return the results of a Scan with this many scan inputs."""
    outside = _present(captured(op))
    given = _known(op.operands)
    carried, sources = list(given[:-inputs]), given[-inputs:]
    slices = [_slices(each, input_axes, index) for index, each in enumerate(sources)]
    if len({len(each) for each in slices}) > 1:
        raise XonncError("the scan inputs are not equally long")
    evaluation = LoopEvaluation(
        program_of_body(op, op.regions[0].block, outside), carried, _known(outside), bound
    )
    for elements in zip(*slices, strict=True):
        evaluation.take([], elements, 0)
    found: list[RuntimeValue] = list(evaluation.carried)
    for index, result in enumerate(op.results[len(carried) :]):
        rank = len(result.type.get_shape()) if is_ranked(result.type) else 1
        axis = output_axes.axis(index, rank)
        found.append(evaluation.stacked(index, result.type, axis, output_axes.backwards(index)))
    return found


def _slices(value: RuntimeValue, scan_axes: ScanAxes, index: int) -> list[Array]:
    if not isinstance(value, np.ndarray) or value.ndim == 0:
        raise XonncError("a scan input is not a tensor with an axis")
    found = list(np.moveaxis(value, scan_axes.axis(index, value.ndim), 0))
    return [np.asarray(each) for each in (found[::-1] if scan_axes.backwards(index) else found)]


def _present(values: Sequence[SSAValue]) -> list[SSAValue]:
    return [value for value in values if value.type != NONE]


def _known(values: Sequence[SSAValue]) -> list[RuntimeValue]:
    found = [constant_value(value) for value in values]
    if None in found:
        raise XonncError("an operand is not constant")
    return [each.value for each in found if each is not None]


def _is_true(value: RuntimeValue) -> bool:
    return bool(np.asarray(value).reshape(()))


def _results(root: Operation, run: partial[list[RuntimeValue]]) -> RewriteResult:
    if (refusal := refusal_inside(root)) is not None:
        return MatchFailure(refusal)
    try:
        return result_parts(root, run(root))
    except XonncError as error:
        return MatchFailure(str(error))


@cache
def loops(bound: int) -> RuleSet:
    """Return the rules for loops of up to `bound` iterations."""

    def loop(root: Operation) -> RewriteResult:
        """Evaluate a Loop on constants"""
        return _results(root, partial(looped, bound))

    def scan(
        root: Operation,
        inputs: int,
        axes: tuple[int, ...] | None,
        directions: tuple[int, ...] | None,
        output_axes: tuple[int, ...] | None,
        output_directions: tuple[int, ...] | None,
    ) -> RewriteResult:
        """Evaluate a Scan on constants"""
        scan_inputs, scan_outputs = ScanAxes(axes, directions), ScanAxes(output_axes, output_directions)
        return _results(
            root, partial(scanned, bound, inputs=inputs, input_axes=scan_inputs, output_axes=scan_outputs)
        )

    scan_axes = (attr.axes, attr.directions, attr.output_axes, attr.output_directions)
    return rules(
        LoopofConst=rule(Loop(value.count, value.condition, rest.carried), compute(loop, root)),
        ScanofConst=rule(
            Scan(
                rest.operands,
                num_scan_inputs=attr.inputs,
                scan_input_axes=attr.axes,
                scan_input_directions=attr.directions,
                scan_output_axes=attr.output_axes,
                scan_output_directions=attr.output_directions,
            ),
            compute(scan, root, attr.inputs, *scan_axes),
        ),
    )
