"""
The ONNX backend interface (`onnx.backend.base`), through which the ONNX backend test suite runs.

    outputs = xonnc.backend.prepare(model).run([x])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import onnx

from xonnc.argument_types import checks_arguments
from xonnc.errors import XonncError
from xonnc.formats.native.program import RuntimeValue
from xonnc.formats.onnx.schemas import newest_opset
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


@checks_arguments
def run_node(
    node: onnx.NodeProto,
    inputs: Sequence[object] | Mapping[str, object],
    device: str = "CPU",
    outputs_info: Sequence[tuple[object, Sequence[int]]] | None = None,
    opset_version: int | None = None,
) -> tuple[RuntimeValue | list[RuntimeValue], ...]:
    """
    Compile a single node and run it once.

    Parameters:
        node: the node.
        inputs: arrays in the order of the node's inputs, or by name; inputs left out (`""`) have none.
        device: must be `CPU`.
        outputs_info: type and shape of each output, which is not needed: shapes are inferred.
        opset_version: the opset of the node's domain (default: the newest).

    Returns: the outputs in the node's order.

    Raises: `XonncError` for another device, a wrong number of inputs, or a node that is invalid.

    Example:
        >>> xonnc.backend.run_node(onnx.helper.make_node("Relu", ["x"], ["y"]), [x])
    """
    names = [name for name in dict.fromkeys(node.input) if name]
    if not isinstance(inputs, Mapping):
        if len(inputs) != len(names):
            raise XonncError(f"{len(inputs)} inputs were fed, the node takes {len(names)}")
        inputs = dict(zip(names, inputs, strict=True))
    version = opset_version or newest_opset(node.domain) or 1
    model = onnx.ModelProto(ir_version=onnx.IR_VERSION)
    model.opset_import.add(domain=node.domain, version=version)
    model.graph.name = node.name or node.op_type
    model.graph.node.append(node)
    for name in names:
        if name not in inputs:
            raise XonncError(f"no input '{name}' is given")
        array = np.asarray(inputs[name])
        kind = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
        model.graph.input.append(onnx.helper.make_tensor_value_info(name, kind, array.shape))
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name)
    inferred = onnx.shape_inference.infer_shapes(model)
    return run_model(inferred, dict(inputs), device)
