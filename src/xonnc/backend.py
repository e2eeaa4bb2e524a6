"""
The ONNX Backend interface, by which the official test suite runs (`onnx.backend.test`).

    outputs = xonnc.backend.prepare(model).run([x])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from xonnc.errors import XonncError
from xonnc.formats.native.program import RuntimeValue
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session


class PreparedModel:
    """A model ready to run."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def run(
        self, inputs: Sequence[object] | Mapping[str, object]
    ) -> tuple[RuntimeValue | list[RuntimeValue], ...]:
        """The outputs in order; inputs by name, or in the model's order."""
        ports = self.session.inputs
        if isinstance(inputs, Mapping):
            feeds = dict(inputs)
        elif len(inputs) == len(ports):
            feeds = {port.name: value for port, value in zip(ports, inputs, strict=True)}
        else:
            raise XonncError(f"{len(inputs)} inputs were fed, the model takes {len(ports)}")
        results = self.session.run(None, feeds)
        return tuple(list(value) if isinstance(value, tuple) else value for value in results)


def supports_device(device: str) -> bool:
    """Whether models run on a device: the CPU alone."""
    return device.partition(":")[0] == "CPU"


def is_compatible(model: onnx.ModelProto, device: str = "CPU") -> bool:
    """Whether a model can be prepared: every valid one can."""
    return supports_device(device)


def prepare(model: onnx.ModelProto, device: str = "CPU") -> PreparedModel:
    """Compiles a model; raises `XonncError` for another device than the CPU or a model that is not valid."""
    if not supports_device(device):
        raise XonncError(f"no device '{device}'; there is CPU")
    return PreparedModel(compile_native(model))


def run_model(
    model: onnx.ModelProto, inputs: Sequence[object] | Mapping[str, object], device: str = "CPU"
) -> tuple[RuntimeValue | list[RuntimeValue], ...]:
    """Compiles and runs a model once."""
    return prepare(model, device).run(inputs)
