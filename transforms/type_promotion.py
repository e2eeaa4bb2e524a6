"""
Promote operand types of operators whose kernels exist for wider floats only.

What sums of float16 give stays float32 in the operators after them, as in onnxruntime: until an operator
that is not continuous, an output of the model, or a conversion in the model asks for float16. So results are
rounded less often than by the single operators, and networks of float16 get the kernels and fusions of
float32.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32, f64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from xonnc.dialects.krnl.types import is_integer
from xonnc.dialects.onnx.elements import DisposablePool
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops import math, nn, quantization, reduction, rnn
from xonnc.dialects.onnx.ops.constant import ConstantOp, constant_elements
from xonnc.dialects.onnx.ops.extra import BatchNormalizationInferenceModeOp, MaxPoolSingleOutOp
from xonnc.dialects.onnx.ops.tensor import CastOp
from xonnc.dialects.onnx.types import NONE, element_type, is_ranked, numpy_dtype, tensor_type
from xonnc.rewriting.editing import retype
from xonnc.transforms.numerics import is_float

FLOAT16_TO_FLOAT32 = (
    BatchNormalizationInferenceModeOp,
    math.GemmOp,
    math.MatMulOp,
    nn.AveragePoolOp,
    nn.ConvOp,
    nn.ConvTransposeOp,
    nn.LRNOp,
    nn.MaxPoolOp,
    MaxPoolSingleOutOp,
    quantization.DequantizeLinearOp,
    rnn.GRUOp,
    rnn.LSTMOp,
    rnn.RNNOp,
)
"""
Operators with long sums, windows, or fusions of integers: float16 and bfloat16 are computed in float32.
"""

CONTINUOUS = frozenset(
    f"onnx.{name}"
    for name in """
    Abs Add AveragePool BatchNormalizationInferenceMode Celu Clip DepthToSpace Div Dropout Elu Erf Exp
    Expand Flatten Gelu GlobalAveragePool GlobalMaxPool GroupNormalization HardSigmoid HardSwish
    Identity InstanceNormalization LayerNormalization LeakyRelu Log LogSoftmax Max MaxPool
    MaxPoolSingleOut Mean Min Mish Mul Neg PRelu Pad Pow QuantizeLinear RMSNormalization Reciprocal
    ReduceL1 ReduceL2 ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceSum ReduceSumSquare Relu
    Reshape Resize Selu Sigmoid Slice Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum
    Swish Tanh ThresholdedRelu Transpose Unsqueeze Where
    """.split()
)
"""
Operators, of any version, that take float32 where an operand of float16 was computed as that.

QuantizeLinear rounds, but in steps of its own, not of float16: to round before would move some by one.
"""

JOINING = frozenset({"onnx.Concat", "onnx.ScatterElements", "onnx.ScatterND"})
"""Operators that do so if all operands were: others may be large, as caches of keys and values are."""

_VERSION = re.compile(r"V\d+$")

Promoted: TypeAlias = dict[tuple[SSAValue, Block, Attribute], SSAValue]
"""Operands that were cast to a type in a block, so that several operators share a cast."""

INTEGER_TO_FLOAT64 = (
    reduction.ReduceL2Op,
    reduction.ReduceL2V13Op,
    reduction.ReduceLogSumOp,
    reduction.ReduceLogSumV13Op,
    reduction.ReduceLogSumExpOp,
    reduction.ReduceLogSumExpV13Op,
)
"""Roots and logarithms: integers are computed in float64 and truncated."""


def promote_types(module: ModuleOp, pool: DisposablePool) -> None:
    """Promote operators of known ranks to float types that kernels implement."""
    promotion = _Promotion(pool)
    for op in list(module.walk()):
        narrow = [index for index, value in enumerate(op.operands) if _is_float16(value)]
        if isinstance(op, FLOAT16_TO_FLOAT32) or promotion.continues(op, narrow):
            promotion.promote(op, narrow, f32)
        elif isinstance(op, CastOp):
            promotion.read_by_cast(op)
        elif isinstance(op, INTEGER_TO_FLOAT64) and _is_integer(op.operands[0]):
            promotion.promote(op, [0], f64)


def _is_float16(value: SSAValue) -> bool:
    return element_type(value.type) in (f16, bf16)


def _is_integer(value: SSAValue) -> bool:
    element = element_type(value.type)
    return element is not None and is_integer(element)


@dataclass
class _Promotion:
    pool: DisposablePool
    cast: Promoted = field(default_factory=Promoted)
    wide: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """What values of float16 were rounded from, in the same block."""

    def continues(self, op: Operation, narrow: Sequence[int]) -> bool:
        """Whether an operator, with operands of float16 at `narrow`, reads what was computed in float32."""
        name = _VERSION.sub("", op.name)
        values = [op.operands[index] for index in narrow]
        if isinstance(op, math.ClipOp) and any(bound.type == NONE for bound in (op.min, op.max)):
            # The bound is the largest finite number of the type.
            return False
        if name in JOINING:
            return bool(values) and all(value in self.wide for value in values)
        return name in CONTINUOUS and any(value in self.wide for value in values)

    def read_by_cast(self, op: CastOp) -> None:
        """Let a conversion of a promoted value to another float type read what it was rounded from."""
        source, target = self.wide.get(op.input), element_type(op.output.type)
        if source is None or target is None or not is_ranked(op.output.type):
            return
        if source.type == op.output.type:
            op.output.replace_all_uses_with(source)
        elif target not in (f16, bf16) and is_float(numpy_dtype(target)):
            op.operands[0] = source

    def promote(self, op: Operation, operand_indices: Sequence[int], wide: Attribute) -> None:
        """Cast the operands at `operand_indices` to `wide`, and results of their element type back."""
        narrow = {element_type(op.operands[index].type) for index in operand_indices}
        block = op.parent
        if any(not is_ranked(value.type) for value in (*op.operands, *op.results) if value.type != NONE):
            return
        assert block is not None
        for index in operand_indices:
            op.operands[index] = self._operand(op.operands[index], op, block, wide)
        for result in op.results:
            element = element_type(result.type)
            if is_ranked(result.type) and element is not None and element in narrow:
                shape = result.type.get_shape()
                retype(result, tensor_type(shape, wide))
                cast = _cast(result, shape, element)
                cast.location = derived(op.location)
                block.insert_op_after(cast, op)
                result.replace_uses_with_if(cast.output, lambda use, cast=cast: use.operation is not cast)
                if _is_float16(cast.output):
                    self.wide[cast.output] = result

    def _operand(self, value: SSAValue, op: Operation, block: Block, wide: Attribute) -> SSAValue:
        if value in self.wide:
            return self.wide[value]
        key = value, block, wide
        if key not in self.cast:
            made = _promoted(value, op, wide, self.pool)
            source = value.owner
            # Where rules leave constants, so that a second run moves nothing.
            if isinstance(made, ConstantOp) and isinstance(source, Operation) and source.parent is block:
                block.insert_op_after(made, source)
            else:
                block.insert_op_before(made, op)
            self.cast[key] = made.results[0]
        return self.cast[key]


def _promoted(value: SSAValue, op: Operation, wide: Attribute, pool: DisposablePool) -> Operation:
    constant = constant_elements(value)
    assert is_ranked(value.type)
    if constant is not None:
        return ConstantOp.from_attr(pool.create(constant.astype(numpy_dtype(wide))), derived(op.location))
    made = _cast(value, value.type.get_shape(), wide)
    made.location = derived(op.location)
    return made


def _cast(value: SSAValue, shape: tuple[int, ...], element: Attribute) -> CastOp:
    return CastOp.build(
        operands=[value], result_types=[tensor_type(shape, element)], properties={"to": element}
    )
