"""A program whose kernels are steps of their own, so that each is timed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xonnc.formats.native.program import HostStep, NativeStep, Program, SessionStep, Step
from xonnc.lowering.native_program import KernelCall, Steps


def one_by_one(program: Program, steps: Steps) -> Steps:
    """Puts a step for each call of a kernel in the place of those of many; gives their functions."""
    functions: list[tuple[str, list[KernelCall]]] = []
    _split(program, dict(steps), functions)
    return functions


def _split(
    program: Program,
    rows: Mapping[str, Sequence[KernelCall]],
    functions: list[tuple[str, list[KernelCall]]],
) -> None:
    found: list[Step] = []
    for step in program.steps:
        match step:
            case NativeStep():
                found += _calls(step, rows[step.function], functions)
            case SessionStep():
                for body in step.bodies:
                    _split(body.program, rows, functions)
                found.append(step)
            case HostStep():
                found.append(step)
    program.steps = found


def _calls(
    step: NativeStep, row: Sequence[KernelCall], functions: list[tuple[str, list[KernelCall]]]
) -> list[NativeStep]:
    made: list[NativeStep] = []
    for number, call in enumerate(row):
        name = f"{step.function}_{number}"
        functions.append((name, [call]))
        checks = step.checks if call is row[-1] else ()
        made.append(NativeStep(name, [call.kernel], checks, call.node))
    return made
