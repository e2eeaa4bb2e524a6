"""
The ONNX backend interface (`onnx.backend.base`), through which the ONNX backend test suite runs.

    outputs = xonnc.backend.prepare(model).run([x])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import onnx

from xonnc.argument_types import checks_arguments
from xonnc.errors import XonncError
from xonnc.formats.native.program import RuntimeValue
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session


class PreparedModel:
    """A compiled model with the `run` method of `onnx.backend.base.BackendRep`."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def run(
        self, inputs: Sequence[object] | Mapping[str, object]
    ) -> tuple[RuntimeValue | list[RuntimeValue], ...]:
        """
        Run the model.

        Parameters:
            inputs: arrays in the model's order, or by name.

        Returns: the outputs in the model's order.

        Raises: `XonncError` for a wrong number of inputs or a wrong shape or type.
        """
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
    """
    Return whether models run on `device`; only `CPU` is supported.

    Parameters:
        device: a device such as `CPU` or `CUDA:0`.
    """
    return device.partition(":")[0] == "CPU"


def is_compatible(model: onnx.ModelProto, device: str = "CPU") -> bool:
    """
    Return whether `model` can be prepared for `device`: every valid model can be for the CPU.

    Parameters:
        model: the model.
        device: a device such as `CPU`.
    """
    return supports_device(device)


@checks_arguments
def prepare(model: onnx.ModelProto, device: str = "CPU") -> PreparedModel:
    """
    Compile a model for the CPU.

    Parameters:
        model: the model.
        device: must be `CPU`.

    Returns: the compiled model.

    Raises: `XonncError` for another device or an invalid model.

    Example:
        >>> xonnc.backend.prepare(onnx.load("model.onnx")).run([x])
    """
    if not supports_device(device):
        raise XonncError(f"no device '{device}'; there is CPU")
    return PreparedModel(compile_native(model))


@checks_arguments
def run_model(
    model: onnx.ModelProto, inputs: Sequence[object] | Mapping[str, object], device: str = "CPU"
) -> tuple[RuntimeValue | list[RuntimeValue], ...]:
    """
    Compile a model and run it once.

    Parameters:
        model: the model.
        inputs: arrays in the model's order, or by name.
        device: must be `CPU`.

    Returns: the outputs in the model's order.

    Raises: `XonncError` as `prepare` and `PreparedModel.run` do.

    Example:
        >>> xonnc.backend.run_model(onnx.load("model.onnx"), {"x": x})
    """
    return prepare(model, device).run(inputs)
