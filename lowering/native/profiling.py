"""Split native steps into one step per kernel call, so that a session times each."""

from __future__ import annotations

from collections.abc import Mapping

from xonnc.formats.native.program import HostStep, NativeStep, Program, ProgramStep, SessionStep
from xonnc.lowering.native.read_program import CallSequence, KernelCall, StepFunctions, kernel_calls


def split_kernels(program: Program, steps: StepFunctions) -> StepFunctions:
    """Replace each native step by one step per kernel call; return the functions of the new steps."""
    functions: list[tuple[str, CallSequence]] = []
    _split(program, dict(steps), functions)
    return functions


def _split(
    program: Program,
    rows: Mapping[str, CallSequence],
    functions: list[tuple[str, CallSequence]],
) -> None:
    found: list[ProgramStep] = []
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
    step: NativeStep, row: CallSequence, functions: list[tuple[str, CallSequence]]
) -> list[NativeStep]:
    made: list[NativeStep] = []
    for number, part in enumerate(row):
        name = f"{step.function}_{number}"
        functions.append((name, [part]))
        checks = step.checks if part is row[-1] else ()
        kernels = [call.kernel for call in kernel_calls([part])]
        if isinstance(part, KernelCall):
            written, read = part.buffers[: part.writes], part.buffers[part.writes :]
            made.append(NativeStep(name, kernels, checks, part.nodes, read, written))
        else:
            made.append(NativeStep(name, kernels, checks))
    return made
