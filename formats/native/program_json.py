"""A compiled program as what JSON can hold: all but its machine code and the numbers of its constants."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from xonnc.errors import XonncError
from xonnc.formats.native.program import (
    Body,
    Check,
    Formula,
    HostStep,
    NativeStep,
    Place,
    Port,
    Program,
    Requirement,
    Run,
    SessionStep,
    Step,
    Value,
)

Weigh = Callable[[int | str, int], npt.NDArray[np.uint8]]
"""The bytes of a constant, by where it begins or which file it is, and how many there are."""


def weights_in(held: npt.NDArray[np.uint8]) -> Weigh:
    """Constants that lie one behind the other."""

    def weigh(begin: int | str, size: int) -> npt.NDArray[np.uint8]:
        assert isinstance(begin, int)
        return held[begin : begin + size]

    return weigh


MakeRun = Callable[[bytes], Run]
"""Makes what computes an operator of the one that an ONNX model holds."""


def can_describe(program: Program, takes_models: bool = False) -> bool:
    """
    Whether a program can be described.

    Functions of Python cannot, nor what the reference evaluator computes, unless who reads it `takes_models`.
    """
    return all(_can_describe_step(step, takes_models) for step in program.steps)


def _can_describe_step(step: Step, takes_models: bool) -> bool:
    match step:
        case NativeStep():
            return True
        case HostStep():
            return takes_models and step.model is not None
        case SessionStep():
            return all(can_describe(body.program, takes_models) for body in step.bodies)


def has_strings(program: Program) -> bool:
    """Whether a value of a program, or of a body in it, holds strings."""
    bodies = [body for step in program.steps if isinstance(step, SessionStep) for body in step.bodies]
    held = (*program.values, *program.inputs, *program.outputs)
    return any(each.dtype is not None and each.dtype.hasobject for each in held) or any(
        has_strings(body.program) for body in bodies
    )


def constants_of(program: Program) -> list[npt.NDArray[np.generic]]:
    """
    The constants of a program and of the bodies in it, in the order in which they are described.

    Strings are not among them: they are in the description.
    """
    constants = [value.constant for value in program.values]
    found = [each for each in constants if each is not None and not each.dtype.hasobject]
    for step in program.steps:
        for body in step.bodies if isinstance(step, SessionStep) else ():
            found += constants_of(body.program)
    return found


def described(program: Program, offsets: Iterator[int | str]) -> dict[str, object]:
    """The description; `offsets` say where each of `constants_of` begins, or which file it is."""
    return {
        "arena": program.arena,
        "values": [_value(value, offsets) for value in program.values],
        "steps": [_step(step, offsets) for step in program.steps],
        "inputs": [_port(port) for port in program.inputs],
        "outputs": [_port(port) for port in program.outputs],
        "blocks": program.blocks,
        "requirements": [[each.found, each.expected, each.what] for each in program.requirements],
    }


def _value(value: Value, offsets: Iterator[int | str]) -> list[object]:
    constant = value.constant
    held = None
    if constant is not None:
        where = _texts(constant) if constant.dtype.hasobject else next(offsets)
        held = [where, constant.shape, constant.dtype.name]
    return [
        value.place.value,
        value.shape,
        _name(value.dtype),
        value.offset,
        value.same_as,
        value.shift,
        held,
        None if value.formula is None else [value.formula.operator, *value.formula.operands],
        value.open_shape,
    ]


def _texts(constant: npt.NDArray[np.generic]) -> list[object]:
    """Strings as JSON has them; those that are no text as a list with their bytes in base 64."""
    items: list[object] = constant.reshape(-1).tolist()
    return [[b64encode(each).decode()] if isinstance(each, bytes) else each for each in items]


def _from_texts(found: Sequence[str | Sequence[str]]) -> npt.NDArray[np.object_]:
    made = np.empty(len(found), np.object_)
    for place, each in enumerate(found):
        made[place] = each if isinstance(each, str) else b64decode(each[0])
    return made


def _step(step: Step, offsets: Iterator[int | str]) -> dict[str, object]:
    match step:
        case NativeStep():
            checks = [astuple(check) for check in step.checks]
            return {
                "function": step.function,
                "kernels": list(step.kernels),
                "checks": checks,
                "node": step.node,
            }
        case SessionStep():
            return {
                "operator": step.operator,
                "node": step.node,
                "settings": dict(step.settings),
                "reads": list(step.reads),
                "writes": list(step.writes),
                "bodies": [
                    {"program": described(body.program, offsets), "captured": list(body.captured)}
                    for body in step.bodies
                ],
            }
        case HostStep():
            if step.model is None:
                raise TypeError(f"{step.node}: a function of Python is not described")
            return {
                "operator": step.operator,
                "node": step.node,
                "reason": step.reason,
                "model": b64encode(step.model()).decode(),
                "reads": list(step.reads),
                "writes": list(step.writes),
            }


def _port(port: Port) -> list[object]:
    return [port.name, port.value, port.shape, _name(port.dtype)]


def _name(dtype: np.dtype[np.generic] | None) -> str | None:
    return None if dtype is None else dtype.name


def program_of(found: Mapping[str, Any], weights: Weigh, make_run: MakeRun | None = None) -> Program:
    """
    The program of a description that is not damaged.

    `weights` gives the bytes of its constants, `make_run` what computes operators that models hold.
    """
    program = Program(arena=found["arena"], blocks=found["blocks"])
    program.requirements = [Requirement(*each) for each in found["requirements"]]
    for place, shape, dtype, offset, same_as, shift, constant, formula, open_shape in found["values"]:
        value = Value(Place(place), _shape(shape), _dtype(dtype), offset, None, same_as, shift)
        value.open_shape = _shape(open_shape)
        if formula is not None:
            value.formula = Formula(formula[0], tuple(formula[1:]))
        if constant is not None:
            where, sizes, kind = constant
            value.constant = _constant(where, sizes, kind, weights)
        program.values.append(value)
    program.steps = [_read_step(step, weights, make_run) for step in found["steps"]]
    for ports, written in ((program.inputs, found["inputs"]), (program.outputs, found["outputs"])):
        for name, value, shape, dtype in written:
            ports.append(Port(name, value, _shape(shape), _dtype(dtype)))
    return program


def _constant(
    where: int | str | Sequence[str], sizes: Sequence[int], name: str, weights: Weigh
) -> npt.NDArray[np.generic]:
    type_ = np.dtype(getattr(ml_dtypes, name, name))
    if not isinstance(where, int | str):
        return _from_texts(where).reshape(sizes)
    size = int(np.prod(sizes, dtype=np.int64)) * type_.itemsize
    return np.asarray(weights(where, size)).view(type_).reshape(sizes)


def _read_step(found: Mapping[str, Any], weights: Weigh, make_run: MakeRun | None) -> Step:
    if "function" in found:
        checks = [Check(*check) for check in found["checks"]]
        return NativeStep(found["function"], found["kernels"], checks, found["node"])
    if "model" in found:
        if make_run is None:
            raise XonncError(f"{found['node']}: nobody computes {found['operator']}")
        content = b64decode(found["model"])
        places = found["reads"], found["writes"]
        return HostStep(
            found["operator"], found["node"], found["reason"], make_run(content), *places, lambda: content
        )
    return SessionStep(
        found["operator"],
        found["node"],
        found["settings"],
        found["reads"],
        found["writes"],
        [Body(program_of(body["program"], weights, make_run), body["captured"]) for body in found["bodies"]],
    )


def _shape(sizes: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if sizes is None else tuple(sizes)


def _dtype(name: str | None) -> np.dtype[np.generic] | None:
    """A type by its name, those of `ml_dtypes` too."""
    return None if name is None else np.dtype(getattr(ml_dtypes, name, name))
