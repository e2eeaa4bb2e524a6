"""A program whose kernels are steps of their own, so that each is timed."""

from __future__ import annotations

from collections.abc import Mapping

from xonnc.formats.native.program import HostStep, NativeStep, Program, SessionStep, Step
from xonnc.lowering.native.read_program import KernelCall, Row, Steps, calls_of


def one_by_one(program: Program, steps: Steps) -> Steps:
    """Puts a step for each call of a kernel in the place of those of many; gives their functions."""
    functions: list[tuple[str, Row]] = []
    _split(program, dict(steps), functions)
    return functions


def _split(
    program: Program,
    rows: Mapping[str, Row],
    functions: list[tuple[str, Row]],
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


def _calls(step: NativeStep, row: Row, functions: list[tuple[str, Row]]) -> list[NativeStep]:
    made: list[NativeStep] = []
    for number, part in enumerate(row):
        name = f"{step.function}_{number}"
        functions.append((name, [part]))
        checks = step.checks if part is row[-1] else ()
        calls = list(calls_of([part]))
        node = calls[0].node if isinstance(part, KernelCall) else ""
        made.append(NativeStep(name, [call.kernel for call in calls], checks, node))
    return made
