"""Serialise compiled programs as JSON, except their machine code and the data of their constants."""

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
    BodyProgram,
    HostStep,
    NativeStep,
    Program,
    ProgramStep,
    ProgramValue,
    RangeCheck,
    SessionStep,
    SizeConstraint,
    SizeExpr,
    Storage,
    TensorFunction,
    TensorSpec,
)

ReadConstant = Callable[[int | str, int], npt.NDArray[np.uint8]]
"""Return the bytes of a constant, by its offset or the name of its file, and its size in bytes."""


def constants_in(data: npt.NDArray[np.uint8]) -> ReadConstant:
    """Read constants from one contiguous buffer."""

    def read(begin: int | str, size: int) -> npt.NDArray[np.uint8]:
        assert isinstance(begin, int)
        return data[begin : begin + size]

    return read


LoadOperator = Callable[[bytes], TensorFunction]
"""Return a function that computes the single operator of a serialised ONNX model."""


def is_serializable(program: Program, allow_models: bool = False) -> bool:
    """
    Whether a program can be serialised.

    Steps with Python functions cannot. Steps of the reference evaluator can if the reader accepts embedded
    ONNX models (`allow_models`).
    """
    return all(_is_serializable_step(step, allow_models) for step in program.steps)


def _is_serializable_step(step: ProgramStep, allow_models: bool) -> bool:
    match step:
        case NativeStep():
            return True
        case HostStep():
            return allow_models and step.model is not None
        case SessionStep():
            return all(is_serializable(body.program, allow_models) for body in step.bodies)


def has_strings(program: Program) -> bool:
    """Whether a value of a program, or of a body in it, is a string tensor."""
    bodies = [body for step in program.steps if isinstance(step, SessionStep) for body in step.bodies]
    typed = (*program.values, *program.inputs, *program.outputs)
    return any(each.dtype is not None and each.dtype.hasobject for each in typed) or any(
        has_strings(body.program) for body in bodies
    )


def constants_of(program: Program) -> list[npt.NDArray[np.generic]]:
    """
    Return the constants of a program and of the bodies in it, in the order of serialisation.

    String tensors are not included: their elements are in the JSON.
    """
    constants = [value.constant for value in program.values]
    found = [each for each in constants if each is not None and not each.dtype.hasobject]
    for step in program.steps:
        for body in step.bodies if isinstance(step, SessionStep) else ():
            found += constants_of(body.program)
    return found


def program_to_json(program: Program, offsets: Iterator[int | str]) -> dict[str, object]:
    """Return the program as JSON data; `offsets` are the offset or file name of each of `constants_of`."""
    return {
        "arena": program.arena,
        "values": [_value_to_json(value, offsets) for value in program.values],
        "steps": [_step_to_json(step, offsets) for step in program.steps],
        "inputs": [_tensor_spec_to_json(spec) for spec in program.inputs],
        "outputs": [_tensor_spec_to_json(spec) for spec in program.outputs],
        "blocks": program.blocks,
        "shareable": list(program.shareable.items()),
        "requirements": [[each.actual, each.expected, each.description] for each in program.constraints],
    }


def _value_to_json(value: ProgramValue, offsets: Iterator[int | str]) -> list[object]:
    constant = value.constant
    stored = None
    if constant is not None:
        location = _strings_to_json(constant) if constant.dtype.hasobject else next(offsets)
        stored = [location, constant.shape, constant.dtype.name]
    return [
        value.storage.value,
        value.shape,
        _dtype_name(value.dtype),
        value.offset,
        value.alias_of,
        value.alias_offset,
        stored,
        None if value.size_expr is None else [value.size_expr.operator, *value.size_expr.operands],
        value.dynamic_shape,
    ]


def _strings_to_json(constant: npt.NDArray[np.generic]) -> list[object]:
    """Return strings as JSON; a byte string that is not text becomes a list of its base64 encoding."""
    items: list[object] = constant.reshape(-1).tolist()
    return [[b64encode(each).decode()] if isinstance(each, bytes) else each for each in items]


def _strings_from_json(items: Sequence[str | Sequence[str]]) -> npt.NDArray[np.object_]:
    strings = np.empty(len(items), np.object_)
    for index, each in enumerate(items):
        strings[index] = each if isinstance(each, str) else b64decode(each[0])
    return strings


def _step_to_json(step: ProgramStep, offsets: Iterator[int | str]) -> dict[str, object]:
    match step:
        case NativeStep():
            checks = [astuple(check) for check in step.checks]
            return {
                "function": step.function,
                "kernels": list(step.kernels),
                "checks": checks,
                "nodes": list(step.nodes),
                "reads": list(step.reads),
                "writes": list(step.writes),
            }
        case SessionStep():
            return {
                "operator": step.operator,
                "node": step.node,
                "settings": dict(step.attributes),
                "reads": list(step.reads),
                "writes": list(step.writes),
                "bodies": [
                    {"program": program_to_json(body.program, offsets), "captured": list(body.captured)}
                    for body in step.bodies
                ],
            }
        case HostStep():
            if step.model is None:
                raise TypeError(f"{step.node}: a Python function cannot be serialised")
            return {
                "operator": step.operator,
                "node": step.node,
                "reason": step.reason,
                "model": b64encode(step.model()).decode(),
                "reads": list(step.reads),
                "writes": list(step.writes),
            }


def _tensor_spec_to_json(spec: TensorSpec) -> list[object]:
    return [spec.name, spec.value, spec.shape, _dtype_name(spec.dtype)]


def _dtype_name(dtype: np.dtype[np.generic] | None) -> str | None:
    return None if dtype is None else dtype.name


def program_from_json(
    data: Mapping[str, Any], read_constant: ReadConstant, load_operator: LoadOperator | None = None
) -> Program:
    """
    Rebuild a program from JSON data, whose integrity the caller has checked.

    `read_constant` returns the bytes of constants, `load_operator` a function for an embedded ONNX model.
    """
    program = Program(arena=data["arena"], blocks=data["blocks"], shareable=dict(data["shareable"]))
    program.constraints = [SizeConstraint(*each) for each in data["requirements"]]
    for storage, shape, dtype, offset, alias_of, alias_offset, constant, size_expr, dynamic_shape in data[
        "values"
    ]:
        value = ProgramValue(
            Storage(storage), _shape(shape), _dtype(dtype), offset, None, alias_of, alias_offset
        )
        value.dynamic_shape = _shape(dynamic_shape)
        if size_expr is not None:
            value.size_expr = SizeExpr(size_expr[0], tuple(size_expr[1:]))
        if constant is not None:
            location, sizes, kind = constant
            value.constant = _constant(location, sizes, kind, read_constant)
        program.values.append(value)
    program.steps = [_step_from_json(step, read_constant, load_operator) for step in data["steps"]]
    for specs, serialised in ((program.inputs, data["inputs"]), (program.outputs, data["outputs"])):
        for name, value, shape, dtype in serialised:
            specs.append(TensorSpec(name, value, _shape(shape), _dtype(dtype)))
    return program


def _constant(
    location: int | str | Sequence[str], sizes: Sequence[int], name: str, read_constant: ReadConstant
) -> npt.NDArray[np.generic]:
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    if not isinstance(location, int | str):
        return _strings_from_json(location).reshape(sizes)
    size = int(np.prod(sizes, dtype=np.int64)) * dtype.itemsize
    return np.asarray(read_constant(location, size)).view(dtype).reshape(sizes)


def _step_from_json(
    data: Mapping[str, Any], read_constant: ReadConstant, load_operator: LoadOperator | None
) -> ProgramStep:
    if "function" in data:
        checks = [RangeCheck(*check) for check in data["checks"]]
        lists = (data.get(name, ()) for name in ("nodes", "reads", "writes"))
        return NativeStep(data["function"], data["kernels"], checks, *lists)
    if "model" in data:
        if load_operator is None:
            raise XonncError(
                f"{data['node']}: {data['operator']} needs the ONNX reference evaluator, "
                "which this format does not allow"
            )
        content = b64decode(data["model"])
        indices = data["reads"], data["writes"]
        return HostStep(
            data["operator"], data["node"], data["reason"], load_operator(content), *indices, lambda: content
        )
    return SessionStep(
        data["operator"],
        data["node"],
        data["settings"],
        data["reads"],
        data["writes"],
        [
            BodyProgram(program_from_json(body["program"], read_constant, load_operator), body["captured"])
            for body in data["bodies"]
        ],
    )


def _shape(sizes: Sequence[int] | None) -> tuple[int, ...] | None:
    return None if sizes is None else tuple(sizes)


def _dtype(name: str | None) -> np.dtype[np.generic] | None:
    """Return a dtype by name, including those of `ml_dtypes`."""
    return None if name is None else np.dtype(getattr(ml_dtypes, name, name))
