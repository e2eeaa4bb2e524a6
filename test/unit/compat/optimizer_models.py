"""Small models for the passes of ONNX-optimizer, and what each pass leaves of them."""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """A pass, a graph in ONNX text, and the operators that the pass leaves."""

    name: str
    graph: str
    operators: str
    opset: int = 21


CASES = [
    Case("nop", "g (float[2] x) => (float[2] y) {y = Identity(x)}", "Identity"),
    Case("eliminate_identity", "g (float[2] x) => (float[2] y) {a = Identity(x) y = Relu(a)}", "Relu"),
    Case("eliminate_identity", "g (float[2] x) => (float[2] y) {a = Relu(x) y = Identity(a)}", "Relu"),
    Case("eliminate_identity", "g (float[2] x) => (float[2] y) {y = Identity(x)}", "Identity"),
    Case("eliminate_nop_cast", "g (float[2] x) => (float[2] y) {a = Cast<to=1>(x) y = Relu(a)}", "Relu"),
    Case("eliminate_nop_cast", "g (float[2] x) => (double[2] y) {y = Cast<to=11>(x)}", "Cast"),
    Case(
        "eliminate_nop_dropout",
        "g (float[2] x) => (float[2] y) {a = Dropout<ratio=0.0>(x) y = Relu(a)}",
        "Relu",
        10,
    ),
    Case(
        "eliminate_nop_flatten", "g (float[2, 3] x) => (float[2, 3] y) {a = Flatten(x) y = Relu(a)}", "Relu"
    ),
    Case("eliminate_nop_flatten", "g (float[2, 3] x) => (float[1, 6] y) {y = Flatten<axis=0>(x)}", "Flatten"),
    Case(
        "eliminate_nop_monotone_argmax",
        "g (float[2, 3] x) => (int64[2, 1] y) {a = Softmax<axis=1>(x) y = ArgMax<axis=1>(a)}",
        "ArgMax",
    ),
    Case(
        "eliminate_nop_monotone_argmax",
        "g (float[2, 3] x) => (int64[2, 1] y) {a = Softmax<axis=0>(x) y = ArgMax<axis=1>(a)}",
        "Softmax ArgMax",
    ),
    Case(
        "eliminate_nop_monotone_argmax",
        "g (float[2, 3] x) => (int64[2, 1] y) {r = Abs(x) a = Sqrt(r) y = ArgMax<axis=1>(a)}",
        "Abs ArgMax",
    ),
    Case(
        "eliminate_nop_pad",
        "g (float[2] x) => (float[2] y) <int64[2] p = {0, 0}> {y = Pad(x, p) z = Relu(y)}",
        "Pad Relu",
    ),
    Case(
        "eliminate_nop_pad",
        "g (float[2] x) => (float[2] y) <int64[2] p = {0, 0}> {a = Pad(x, p) y = Relu(a)}",
        "Relu",
    ),
    Case("eliminate_nop_pad", "g (float[2] x) => (float[3] y) <int64[2] p = {0, 1}> {y = Pad(x, p)}", "Pad"),
    Case(
        "eliminate_nop_concat", "g (float[2] x) => (float[2] y) {a = Concat<axis=0>(x) y = Relu(a)}", "Relu"
    ),
    Case(
        "eliminate_nop_split",
        "g (float[2] x) => (float[2] y) {a = Split<num_outputs=1>(x) y = Relu(a)}",
        "Relu",
    ),
    Case(
        "eliminate_nop_expand",
        "g (float[2, 3] x) => (float[2, 3] y) <int64[2] s = {1, 3}> {a = Expand(x, s) y = Relu(a)}",
        "Relu",
    ),
    Case(
        "eliminate_nop_expand",
        "g (float[1, 3] x) => (float[2, 3] y) <int64[2] s = {2, 3}> {a = Expand(x, s) y = Relu(a)}",
        "Expand Relu",
    ),
    Case(
        "eliminate_nop_transpose",
        "g (float[2, 3] x) => (float[2, 3] y) {a = Transpose<perm=[0, 1]>(x) y = Relu(a)}",
        "Relu",
    ),
    Case(
        "eliminate_nop_reshape",
        "g (float[2, 3] x) => (float[2, 3] y) <int64[2] s = {0, -1}> {a = Reshape(x, s) y = Relu(a)}",
        "Relu",
    ),
    Case(
        "eliminate_nop_reshape",
        "g (float[2, 3] x) => (float[3, 2] y) <int64[2] s = {3, -1}> {a = Reshape(x, s) y = Relu(a)}",
        "Reshape Relu",
    ),
    Case(
        "eliminate_nop_with_unit",
        "g (float[2] x) => (float[2] y) <float one = {1}> {a = Mul(one, x) y = Relu(a)}",
        "Relu",
    ),
    Case(
        "eliminate_nop_with_unit", "g (float[2] x) => (float[2] y) <float one = {1}> {y = Div(one, x)}", "Div"
    ),
    Case(
        "eliminate_nop_with_unit",
        "g (float[1] x) => (float[2] y) <float[2] zero = {0, 0}> {a = Add(x, zero) y = Relu(a)}",
        "Add Relu",
    ),
    Case(
        "eliminate_nop_with_unit",
        "g (float[2] x) => (float[4] y) <float[0] e = {}> {y = Concat<axis=0>(x, e, x)}",
        "Concat",
    ),
    Case(
        "extract_constant_to_initializer",
        "g (float[2] x) => (float[2] y) {c = Constant<value = float[1] {2}>() y = Mul(x, c)}",
        "Mul",
    ),
    Case("eliminate_deadend", "g (float[2] x) => (float[2] y) {a = Exp(x) b = Exp(a) y = Relu(x)}", "Relu"),
    Case(
        "eliminate_unused_initializer",
        "g (float[2] x) => (float[2] y) <float[1] w = {1}> {y = Relu(x)}",
        "Relu",
    ),
    Case(
        "eliminate_duplicate_initializer",
        "g (float[2] x) => (float[2] y) <float[1] v = {2}, float[1] w = {2}> {a = Mul(x, v) y = Add(a, w)}",
        "Mul Add",
    ),
    Case(
        "eliminate_common_subexpression",
        "g (float[2] x) => (float[2] y) {a = Exp(x) b = Exp(x) c = Relu(x) d = Add(a, b) y = Add(c, d)}",
        "Exp Relu Add Add",
    ),
    Case(
        "eliminate_consecutive_idempotent_ops",
        "g (float[2] x) => (float[2] y) {a = Relu(x) y = Relu(a)}",
        "Relu",
    ),
    Case("eliminate_shape_op", "g (float[2, 3] x) => (int64[2] y) {a = Shape(x) y = Neg(a)}", "Neg"),
    Case(
        "eliminate_shape_op", "g (float[N, 3] x) => (int64[1] y) {a = Shape<start=-1>(x) y = Neg(a)}", "Neg"
    ),
    Case("eliminate_shape_op", "g (float[N, 3] x) => (int64[2] y) {a = Shape(x) y = Neg(a)}", "Shape Neg"),
    Case(
        "eliminate_shape_gather",
        "g (float[N, 3] x) => (int64 y) <int64 i = {-1}> {a = Shape(x) b = Gather(a, i) y = Neg(b)}",
        "Shape Neg",
    ),
    Case(
        "eliminate_slice_after_shape",
        """g (float[N, 3, 5, 7] x) => (int64[2] y) <int64[1] s = {-1}, int64[1] e = {-9}, int64[1]
        t = {-2}, int64[1] o = {0}>
        {a = Shape<start=1>(x) b = Slice(a, s, e, o, t) y = Neg(b)}""",
        "Shape Neg",
    ),
    Case(
        "fuse_concat_into_reshape",
        """g (float[N, 6] x) => (float[N, 2, 3] y) <int64[2] tail = {2, 3}, int64[1] i = {0}>
        {s = Shape(x) n = Gather(s, i) t = Concat<axis=0>(n, tail) y = Reshape(x, t)}""",
        "Shape Gather Concat Reshape",
    ),
    Case(
        "fuse_consecutive_concats",
        "g (float[2] x) => (float[6] y) {a = Concat<axis=0>(x, x) y = Concat<axis=0>(a, x)}",
        "Concat",
    ),
    Case(
        "fuse_consecutive_log_softmax",
        "g (float[2, 3] x) => (float[2, 3] y) {a = Softmax<axis=0>(x) y = Log(a)}",
        "LogSoftmax",
    ),
    Case(
        "fuse_consecutive_reduce_unsqueeze",
        """g (float[2, 3] x) => (float[1, 3] y) <int64[1] a = {0}, int64[1] b = {-2}>
        {r = ReduceSum<keepdims=0>(x, a) y = Unsqueeze(r, b)}""",
        "ReduceSum",
    ),
    Case(
        "fuse_consecutive_squeezes",
        """g (float[1, 2, 1, 3, 1] x) => (float[2, 3] y) <int64[2] a = {0, 4}, int64[1] b = {1}>
        {s = Squeeze(x, a) y = Squeeze(s, b)}""",
        "Squeeze",
    ),
    Case(
        "fuse_consecutive_unsqueezes",
        """g (float[2, 3] x) => (float[1, 2, 1, 3] y) <int64[1] a = {1}, int64[1] b = {-4}>
        {s = Unsqueeze(x, a) y = Unsqueeze(s, b)}""",
        "Unsqueeze",
    ),
    Case(
        "fuse_consecutive_unsqueezes",
        "g (float[2] x) => (float[1, 2, 1] y) {s = Unsqueeze<axes=[1]>(x) y = Unsqueeze<axes=[0]>(s)}",
        "Unsqueeze",
        11,
    ),
    Case(
        "fuse_consecutive_squeeze_unsqueeze",
        """g (float[2, 3] x) => (float[2, 3] y) <int64[1] a = {1}, int64[1] b = {-2}>
        {s = Unsqueeze(x, a) t = Squeeze(s, b) y = Relu(t)}""",
        "Relu",
    ),
    Case(
        "fuse_consecutive_slices",
        """g (float[4, 5] x) => (float[2, 3] y)
        <int64[1] s = {1}, int64[1] e = {3}, int64[1] f = {-1}, int64[1] o = {0}, int64[1] p = {1}>
        {a = Slice(x, s, e, o, p) y = Slice(a, s, f, p, p)}""",
        "Concat Concat Concat Concat Slice",
    ),
    Case(
        "fuse_consecutive_slices",
        """g (float[5] x) => (float[1] y) <int64[1] s = {1}, int64[1] e = {3}, int64[1] o = {0},
        int64[1] p = {1}>
        {a = Slice(x, s, e, o, p) y = Slice(a, s, e, o, p)}""",
        "Slice Slice",
    ),
    Case(
        "fuse_consecutive_transposes",
        """g (float[2, 3, 4] x) => (float[4, 2, 3] y)
        {a = Transpose<perm=[1, 2, 0]>(x) y = Transpose<perm=[1, 2, 0]>(a)}""",
        "Transpose",
    ),
    Case(
        "rewrite_where",
        "g (bool[2] c, float[2] x) => (float[2] y) {n = Not(c) z = Neg(x) y = Where(n, x, z)}",
        "Neg Where",
    ),
    Case("adjust_add", "g (float[2] x) => (float[2] y) <float c = {1}> {y = Add(c, x)}", "Add"),
    Case(
        "fuse_matmul_add_bias_into_gemm",
        "g (float[2, 3] x, float[3, 4] w, float[4] b) => (float[2, 4] y) {p = MatMul(x, w) y = Add(p, b)}",
        "Gemm",
    ),
    Case(
        "fuse_matmul_add_bias_into_gemm",
        "g (float[1, 3] x, float[3, 4] w, float[2, 4] b) => (float[2, 4] y) {p = MatMul(x, w) y = Add(p, b)}",
        "MatMul Add",
    ),
    Case(
        "fuse_transpose_into_gemm",
        """g (float[3, 2] x, float[4, 3] w) => (float[2, 4] y)
        {a = Transpose(x) b = Transpose<perm=[1, 0]>(w) y = Gemm(a, b)}""",
        "Gemm",
    ),
    Case(
        "replace_einsum_with_matmul",
        """g (float[2, 3, 4] x, float[2, 5, 4] w) => (float[2, 3, 5] y)
        {y = Einsum<equation="bmk, bnk -> bmn">(x, w)}""",
        "Transpose MatMul",
    ),
    Case(
        "replace_einsum_with_matmul",
        """g (float[2, 3] x, float[3, 5] w) => (float[5, 2] y) {y = Einsum<equation="mk,kn->nm">(x, w)}""",
        "Einsum",
    ),
    Case(
        "fuse_qkv",
        """g (float[2, 2] x) => (float[2, 2] y)
        <float[2, 2] q = {1, 2, 3, 4}, float[2, 2] k = {5, 6, 7, 8}, float[2, 2] v = {-1, -2, -3, -4}>
        {a = MatMul(x, q) b = MatMul(x, k) c = MatMul(x, v) d = Mul(a, b) y = Add(c, d)}""",
        "Concat MatMul Split Mul Add",
    ),
    Case(
        "fuse_qkv",
        """g (float[2, 2] x) => (float[2, 2] a, float[2, 2] b, float[2, 2] y)
        <float[2, 2] q = {1, 2, 3, 4}, float[2, 2] k = {5, 6, 7, 8}, float[2, 2] v = {-1, -2, -3, -4}>
        {a = MatMul(x, q) b = MatMul(x, k) c = MatMul(x, v) y = Relu(c)}""",
        "Concat MatMul Split Relu",
    ),
    Case(
        "fuse_qkv",
        """g (float[2, 2] x) => (float[2, 2] a, float[2, 2] y)
        <float[2, 2] q = {1, 2, 3, 4}, float[2, 2] k = {5, 6, 7, 8}, float[2, 2] v = {-1, -2, -3, -4}>
        {a = MatMul(x, q) b = MatMul(x, k) c = MatMul(x, v) d = Mul(a, b) y = Add(c, d)}""",
        "MatMul MatMul MatMul Mul Add",
    ),
    Case(
        "adjust_slice_and_matmul",
        """g () => (float[1, 2] y) <float[2, 2] a = {1, 2, 3, 4}, float[2, 2] b = {5, 6, 7, 8},
        int64[1] s = {1}, int64[1] e = {2}, int64[1] o = {0}>
        {c = Slice(a, s, e, o) y = MatMul(c, b)}""",
        "MatMul Slice",
    ),
    Case(
        "fuse_add_bias_into_conv",
        """g (float[1, 1, 3] x, float[2, 1, 2] w, float[1, 2, 1] b) => (float[1, 2, 2] y)
        {c = Conv(x, w) y = Add(c, b)}""",
        "Squeeze Conv",
    ),
    Case(
        "fuse_add_bias_into_conv",
        """g (float[1, 1, 3] x, float[2, 1, 2] w, float b) => (float[1, 2, 2] y)
        {c = Conv(x, w) y = Add(c, b)}""",
        "Unsqueeze Constant Tile Conv",
    ),
    Case(
        "fuse_bn_into_conv",
        """g (float[1, 1, 3] x) => (float[1, 2, 2] y)
        <float[2, 1, 2] w = {1, 2, -3, 4}, float[2] s = {2, -1}, float[2] b = {0.5, 1}, float[2] m
        = {1, -1}, float[2] v = {4, 0.25}>
        {c = Conv(x, w) y = BatchNormalization(c, s, b, m, v)}""",
        "Conv",
    ),
    Case(
        "fuse_pad_into_conv",
        """g (float[1, 1, 3] x, float[1, 1, 2] w) => (float[1, 1, 5] y) <int64[2] p = {1, 2},
        int64[1] a = {-1}>
        {q = Pad(x, p, , a) y = Conv(q, w)}""",
        "Conv",
    ),
    Case(
        "fuse_pad_into_pool",
        """g (float[1, 1, 3, 3] x) => (float[1, 1, 4, 4] y) <int64[8] p = {0, 0, 1, 1, 0, 0, 1, 1}>
        {q = Pad(x, p) y = AveragePool<kernel_shape=[2, 2]>(q)}""",
        "AveragePool",
    ),
    Case(
        "fuse_pad_into_pool",
        """g (float[1, 1, 3] x) => (float[1, 1, 4] y) <int64[6] p = {0, 0, 1, 0, 0, 1}>
        {r = Relu(x) q = Pad(r, p) y = MaxPool<kernel_shape=[2]>(q)}""",
        "Relu MaxPool",
    ),
    Case("rename_input_output", "g (float[2] x) => (float[2] y) {y = Relu(x)}", "Relu"),
    Case("set_unique_name_for_nodes", "g (float[2] x) => (float[2] y) {y = Relu(x)}", "Relu"),
    Case("rewrite_input_dtype", "g (int64[2] x) => (int64[2] y) {y = Neg(x)}", "Cast Neg"),
]

HAZARDS = [
    Case(
        "fuse_pad_into_conv",
        """g (float[1, 1, 2] x, float[1, 1, 2] w) => (float[1, 1, 3] y)
        {q = Pad<pads=[0, 0, 1, 0, 0, 1], value=2.0>(x) y = Conv(q, w)}""",
        "Pad Conv",
        10,
    ),
    Case(
        "fuse_pad_into_pool",
        """g (float[1, 1, 2] x) => (float[1, 1, 3] y)
        {q = Pad<pads=[0, 0, 1, 0, 0, 1], value=2.0>(x) y = AveragePool<kernel_shape=[2]>(q)}""",
        "Pad AveragePool",
        10,
    ),
    Case(
        "fuse_pad_into_pool",
        """g (float[1, 1, 3] x) => (float[1, 1, 4] y) <int64[6] p = {0, 0, 1, 0, 0, 1}>
        {q = Pad(x, p) y = MaxPool<kernel_shape=[2]>(q)}""",
        "Pad MaxPool",
    ),
    Case(
        "fuse_pad_into_pool",
        """g (float[1, 1, 3] x) => (float[1, 1, 6] y) <int64[6] p = {0, 0, 1, 0, 0, 1}>
        {q = Pad(x, p) y = AveragePool<kernel_shape=[2], pads=[1, 1]>(q)}""",
        "Pad AveragePool",
    ),
    Case(
        "fuse_pad_into_pool",
        """g (float[1, 1, 3] x) => (float[1, 1, 5] y) <int64[6] p = {0, 0, 1, 0, 0, 1}>
        {q = Pad(x, p) y = AveragePool<kernel_shape=[2], auto_pad="SAME_UPPER">(q)}""",
        "Pad AveragePool",
    ),
    Case(
        "eliminate_consecutive_idempotent_ops",
        """g (float[2, 12] x) => (float[6, 4] y) <int64[2] s = {6, 4}, int64[2] t = {0, -1}>
        {a = Reshape(x, s) y = Reshape(a, t)}""",
        "Reshape",
    ),
    Case(
        "eliminate_slice_after_shape",
        """g (float[2, 3, 5] x) => (int64[1] y) <int64[1] s = {0}, int64[1] e = {1}>
        {a = Shape<start=2>(x) b = Slice(a, s, e) y = Neg(b)}""",
        "Shape Slice Neg",
    ),
    Case(
        "eliminate_nop_dropout",
        "g (float[2] x) => (float[2] y, bool[2] m) {a, m = Dropout<ratio=0.0>(x) y = Relu(a)}",
        "Dropout Relu",
        10,
    ),
    Case(
        "eliminate_nop_monotone_argmax",
        "g (float[2, 3] x) => (int64[2, 1] y) {h = Mul(x, x) a = Exp(h) y = ArgMax<axis=1>(a)}",
        "Mul Exp ArgMax",
    ),
    Case(
        "fuse_matmul_add_bias_into_gemm",
        "g (int32[2, 3] x, int32[3, 4] w, int32[4] b) => (int32[2, 4] y) {p = MatMul(x, w) y = Add(p, b)}",
        "MatMul Add",
        10,
    ),
    Case(
        "eliminate_common_subexpression",
        "g (float[2] x) => (float[2] y) {a = RandomNormalLike(x) b = RandomNormalLike(x) y = Sub(a, b)}",
        "RandomNormalLike RandomNormalLike Sub",
    ),
    Case(
        "fuse_consecutive_log_softmax",
        "g (float[2, 3] x) => (float[2, 3] y) {a = Softmax(x) y = Log(a)}",
        "LogSoftmax",
    ),
    Case(
        "fuse_consecutive_log_softmax",
        "g (float[2, 3, 2] x) => (float[2, 3, 2] y) {a = Softmax(x) y = Log(a)}",
        "LogSoftmax",
        11,
    ),
    Case(
        "fuse_consecutive_transposes",
        "g (float[2, 3] x) => (float[2, 3] y) {a = Transpose(x) y = Transpose<perm=[1, 0]>(a)}",
        "Transpose",
    ),
    Case(
        "fuse_consecutive_transposes",
        """g (float[2, 3] x, float[2, 3] z) => (float[2, 3] y)
        {a = Transpose(x) b = Transpose(a) y = Add(b, z)}""",
        "Add",
    ),
]
"""What onnxoptimizer rewrites wrongly, or raises for; each with what is right."""
