"""Count the multiplications of ONNX operators: convolutions, matrix products and recurrent networks."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import ModuleOp, NoneType
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.locations import node_name
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.math import GemmOp, MatMulIntegerOp, MatMulOp, QLinearMatMulOp
from xonnc.dialects.onnx.ops.nn import ConvIntegerOp, ConvOp, ConvTransposeOp, QLinearConvOp
from xonnc.dialects.onnx.ops.rnn import GRUOp, LSTMOp, RNNOp
from xonnc.dialects.onnx.types import static_shape


def multiplications(op: Operation) -> int:
    """
    Return the multiply-accumulate operations of an op by its definition, whatever algorithm a kernel uses.

    It is 0 for other operators, and if a shape is not static.
    """
    match op:
        case ConvOp() | ConvIntegerOp():
            filters, result = _shape(op.operands[1]), _shape(op.results[0])
        case QLinearConvOp():
            filters, result = _shape(op.operands[3]), _shape(op.results[0])
        case ConvTransposeOp():
            # Each element of the operand is multiplied with the window of each filter of its group.
            filters, result = _shape(op.operands[1]), _shape(op.operands[0])
        case GemmOp():
            return _product(op, 0, 0 if op.transA.value.data else -1)
        case MatMulOp() | MatMulIntegerOp() | QLinearMatMulOp():
            return _product(op, 0, -1)
        case GRUOp() | LSTMOp() | RNNOp():
            return _recurrent(op)
        case _:
            return 0
    return 0 if filters is None or result is None else prod(result) * prod(filters[1:])


def multiplications_by_node(module: ModuleOp) -> dict[str, int]:
    """Return the multiplications of each ONNX node; nodes merged into another are counted there."""
    found: dict[str, int] = {}
    for op in module.walk():
        if isinstance(op, OnnxOp) and (count := multiplications(op)):
            found[node_name(op)] = found.get(node_name(op), 0) + count
    return found


def _product(op: Operation, left: int, inner: int) -> int:
    """Return the multiplications of a matrix product: one of `inner` elements for each element."""
    shape, result = _shape(op.operands[left]), _shape(op.results[0])
    return prod(result) * shape[inner] if shape and result is not None else 0


def _recurrent(op: Operation) -> int:
    """Return those of both products of all gates, in each step and direction."""
    data, inputs, states = (_shape(operand) for operand in op.operands[:3])
    if data is None or inputs is None or states is None:
        return 0
    return data[0] * data[1] * (prod(inputs) + prod(states))


def _shape(value: SSAValue) -> tuple[int, ...] | None:
    return None if isinstance(value.type, NoneType) else static_shape(value.type)
