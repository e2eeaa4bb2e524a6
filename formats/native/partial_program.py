"""The part of a compiled model that some of its outputs depend on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from xonnc.formats.native.program import NativeStep, Program, ProgramStep, ProgramValue, SessionStep, Storage


def partial_program(program: Program, outputs: Sequence[str]) -> Program:
    """
    Return the program that computes these outputs alone, from the inputs that they depend on.

    Steps are kept or left out whole: a program split into one step per kernel has the smallest parts. Native
    code addresses values by their index, so values that are not used stay, as empty ones. Memory stays as
    planned: steps that are left out only write less of it. Static shapes only. Of native control flow no
    accesses are listed: all that comes before it is kept.
    """
    assert not program.is_dynamic, "dimensions are computed by steps of their own"
    known = {spec.name: spec for spec in program.outputs}
    requested = [known[name] for name in outputs]
    # Memory is written by several steps where a concatenation is computed in place: all of them are kept.
    needed = {program.root_of(spec.value) for spec in requested}
    steps: list[ProgramStep] = []
    for step in reversed(program.steps):
        if isinstance(step, NativeStep) and not step.writes:
            needed.update(range(len(program.values)))
        if needed.intersection(map(program.root_of, _written(step))) or not step.writes:
            needed.update(map(program.root_of, _accessed(step)))
            steps.append(step)
    return replace(
        program,
        values=[
            value if program.root_of(index) in needed else ProgramValue(Storage.ARENA, None, None)
            for index, value in enumerate(program.values)
        ],
        steps=steps[::-1],
        inputs=[spec for spec in program.inputs if program.root_of(spec.value) in needed],
        outputs=requested,
        shareable={
            output: given
            for output, given in program.shareable.items()
            if program.root_of(output) in needed and program.root_of(given) in needed
        },
    )


def _written(step: ProgramStep) -> Iterator[int]:
    yield from (index for index in step.writes if index is not None)


def _accessed(step: ProgramStep) -> Iterator[int]:
    yield from _written(step)
    yield from (index for index in step.reads if index is not None)
    if isinstance(step, NativeStep):
        yield from (check.value for check in step.checks)
    elif isinstance(step, SessionStep):
        yield from (index for body in step.bodies for index in body.captured)
