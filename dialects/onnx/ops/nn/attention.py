"""Attention; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import float_attr, int_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.heads import attention, linear_attention, rotary_embedding
from xonnc.dialects.onnx.checks.shapes import causal_convolution, rank_is, same_rank, same_shape
from xonnc.dialects.onnx.checks.values import at_least, integer_in, one_of
from xonnc.dialects.onnx.constraints import FLOAT_ATTR, INT64, INT_ATTR, STRING_ATTR, types
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class AttentionOp(OnnxOp):
    """`Y = softmax(scale Q Kᵀ + mask) V`, head by head."""

    name = "onnx.Attention"

    OP_TYPE: ClassVar = "Attention"
    SINCE: ClassVar = 23

    T1: ClassVar = types("T1", "floats bf16")
    T2: ClassVar = types("T2", "floats bf16")
    U: ClassVar = types("U", "i1 ints uints floats bf16")

    Q = operand_def(T1)
    K = operand_def(T1)
    V = operand_def(T2)
    attn_mask = operand_def(U.optional)
    past_key = operand_def(T1.optional)
    past_value = operand_def(T2.optional)
    nonpad_kv_seqlen = operand_def(INT64.optional)

    Y = result_def(T1)
    present_key = result_def(T1.optional)
    present_value = result_def(T2.optional)
    qk_matmul_output = result_def(T1.optional)

    is_causal = prop_def(INT_ATTR, int_attr(0))
    kv_num_heads = opt_prop_def(INT_ATTR)
    left_window_size = prop_def(INT_ATTR, int_attr(-1))
    q_num_heads = opt_prop_def(INT_ATTR)
    qk_matmul_output_mode = prop_def(INT_ATTR, int_attr(0))
    right_window_size = prop_def(INT_ATTR, int_attr(-1))
    scale = opt_prop_def(FLOAT_ATTR)
    softcap = prop_def(FLOAT_ATTR, float_attr(0.0))
    softmax_precision = opt_prop_def(INT_ATTR)

    traits = traits_def(
        Pure(),
        Checks(
            rank_is("Q", 3, 4),
            same_rank("Q", "K"),
            same_rank("Q", "V"),
            attention,
            at_least("softcap", 0, "softcap must be non-negative"),
            integer_in("qk_matmul_output_mode", 0, 3),
            integer_in("is_causal", 0, 1),
        ),
    )


@irdl_op_definition
class CausalConvWithStateOp(OnnxOp):
    """A convolution by channel along time, whose state is the last inputs."""

    name = "onnx.CausalConvWithState"

    OP_TYPE: ClassVar = "CausalConvWithState"
    SINCE: ClassVar = 27

    T: ClassVar = types("T", "f16 f32 bf16")

    input = operand_def(T)
    weight = operand_def(T)
    bias = operand_def(T.optional)
    past_state = operand_def(T.optional)

    output = result_def(T)
    present_state = result_def(T)

    activation = prop_def(STRING_ATTR, string_attr("none"))

    traits = traits_def(Pure(), Checks(one_of("activation", "none", "silu", "swish"), causal_convolution))


@irdl_op_definition
class LinearAttentionOp(OnnxOp):
    """Attention as a recurrence: a state of keys and values instead of a softmax."""

    name = "onnx.LinearAttention"

    OP_TYPE: ClassVar = "LinearAttention"
    SINCE: ClassVar = 27

    T: ClassVar = types("T", "f16 f32 bf16")
    S: ClassVar = types("S", "f16 f32 bf16")

    query = operand_def(T)
    key = operand_def(T)
    value = operand_def(T)
    past_state = operand_def(S.optional)
    decay = operand_def(T.optional)
    beta = operand_def(T.optional)

    output = result_def(T)
    present_state = result_def(S)

    chunk_size = prop_def(INT_ATTR, int_attr(64))
    kv_num_heads = prop_def(INT_ATTR)
    q_num_heads = prop_def(INT_ATTR)
    scale = prop_def(FLOAT_ATTR, float_attr(0.0))
    update_rule = prop_def(STRING_ATTR, string_attr("gated_delta"))

    traits = traits_def(
        Pure(), Checks(one_of("update_rule", "linear", "gated", "delta", "gated_delta"), linear_attention)
    )


@irdl_op_definition
class RotaryEmbeddingOp(OnnxOp):
    """Pairs of elements turned by angles that grow with their position."""

    name = "onnx.RotaryEmbedding"

    OP_TYPE: ClassVar = "RotaryEmbedding"
    SINCE: ClassVar = 23

    T: ClassVar = types("T", "f16 f32 bf16")
    M: ClassVar = types("M", "i64")

    X = operand_def(T)
    cos_cache = operand_def(T)
    sin_cache = operand_def(T)
    position_ids = operand_def(M.optional)

    Y = result_def(T)

    interleaved = prop_def(INT_ATTR, int_attr(0))
    num_heads = opt_prop_def(INT_ATTR)
    rotary_embedding_dim = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(
        Pure(),
        Checks(
            rotary_embedding,
            same_shape("cos_cache", "sin_cache"),
            rank_is("position_ids", 2),
            integer_in("interleaved", 0, 1),
        ),
    )


OPS: tuple[type[OnnxOp], ...] = (
    AttentionOp,
    CausalConvWithStateOp,
    LinearAttentionOp,
    RotaryEmbeddingOp,
)
