"""Traps in fusions and eliminations: `docs/internals/onnx-rules.md` §9.1, §9.2 and §9.3."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper, numpy_helper
from trap import Trap, floats, grid, operators

SIMPLIFY = ("simplify-onnx",)


def _no_gemm(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    assert "Gemm" not in operators(after)


def _two_draws(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    assert operators(after).count("RandomUniform") == 2


def _both_domains(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    assert sorted(node.domain for node in after.graph.node if node.op_type == "Relu") == ["", "other"]


def _add_metadata(model: onnx.ModelProto) -> None:
    for node in model.graph.node:
        node.metadata_props.add(key="from", value=node.op_type)


def _keeps_metadata(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    (conv,) = after.graph.node
    assert ("from", "Conv") in [(one.key, one.value) for one in conv.metadata_props]


def _annotate(model: onnx.ModelProto) -> None:
    annotation = model.graph.quantization_annotation.add(tensor_name="x")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")


def _keeps_annotations(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    assert list(after.graph.quantization_annotation) == list(before.graph.quantization_annotation)
    assert "scale" in [tensor.name for tensor in after.graph.initializer]


def _function_is_smaller(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    assert [node.op_type for node in after.functions[0].node] == ["Neg"]


def _branches_are_smaller(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    node = next(node for node in after.graph.node if node.op_type == "If")
    assert sorted(len(attribute.g.node) for attribute in node.attribute) == [1, 1]


def _add_sparse(model: onnx.ModelProto) -> None:
    values = numpy_helper.from_array(floats(5.0, -7.0), "w")
    indices = numpy_helper.from_array(np.array([1, 3], np.int64), "w_indices")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [4]))


TRAPS = (
    Trap(
        ("9.1 #6", "9.2 Dropout mask"),
        """
        <ir_version: 5, opset_import: ["" : 10]>
        mask (float[2, 3] x) => (float[2, 3] y, bool[2, 3] m) {
          y, m = Dropout <ratio = 0.0> (x)
        }
        """,
        ("canonicalize-onnx", *SIMPLIFY),
        {"x": grid(2, 3)},
    ),
    Trap(
        ("9.1 #9", "9.2 Reshape(Reshape) with 0"),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        zero (float[4, 6] x, float[a, b] z) => (float[6, 4] y, float[c, d] w)
          <int64[2] first = {6, 4}, int64[2] second = {0, -1}> {
          x1 = Reshape (x, first)
          y = Reshape (x1, second)
          z1 = Reshape (z, first)
          w = Reshape (z1, second)
        }
        """,
        ("canonicalize-onnx", "simplify-shape-related-ops-onnx", *SIMPLIFY),
        {"x": grid(4, 6), "z": grid(12, 2)},
    ),
    Trap(
        ("9.1 #10",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        branches (float[2] x) => (float[2] y, float[2] z, float[2] w) <bool yes = {1}> {
          n = Neg (x)
          y, z, w = If (yes) <
            then_branch = then () => (float[2] a, float[2] b, float[2] c) <float[2] a = {1, 2}> {
              b = Identity (n)
              c = If (yes) <
                then_branch = inner () => (float[2] d) { d = Add (n, a) },
                else_branch = other () => (float[2] e) { e = Identity (a) }
              >
            },
            else_branch = els () => (float[2] f, float[2] g, float[2] h) {
              f = Identity (x)
              g = Identity (x)
              h = Identity (x)
            }
          >
        }
        """,
        ("constprop-onnx", "canonicalize-onnx", *SIMPLIFY),
        {"x": floats(3.0, -4.0)},
    ),
    Trap(
        ("9.1 #11", "9.2 ArgMax(Exp) saturation"),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        saturation (float[2, 3] x, float[1, 2] s) => (int64[2, 1] y, int64[2, 1] z, int64[1, 1] w) {
          e = Exp (x)
          y = ArgMax <axis = 1> (e)
          l = Log (x)
          z = ArgMax <axis = 1> (l)
          p = Softmax <axis = 1> (s)
          w = ArgMax <axis = 1> (p)
        }
        """,
        ("canonicalize-onnx", "recompose-onnx", *SIMPLIFY),
        {
            "x": np.array([[100, 200, 300], [-200, -150, 0.5]], np.float32),
            "s": np.array([[0, 1e-9]], np.float32),
        },
    ),
    Trap(
        ("9.1 #17", "9.2 Slice(Shape(start=2))"),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        start (float[2, 3, 5, 7] x, float[a, b, c, d] z) => (int64[1] y, int64[1] w)
          <int64[1] zero = {0}, int64[1] one = {1}> {
          s = Shape <start = 2> (x)
          y = Slice (s, zero, one)
          t = Shape <start = 2> (z)
          w = Slice (t, zero, one)
        }
        """,
        ("constprop-onnx", "canonicalize-onnx", "simplify-shape-related-ops-onnx", *SIMPLIFY),
        {"x": grid(2, 3, 5, 7), "z": grid(3, 2, 4, 1)},
    ),
    Trap(
        ("9.1 #22", "9.2 Log(Softmax) without an axis"),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        logarithm (float[2, 3, 2] x) => (float[2, 3, 2] y) {
          p = Softmax (x)
          y = Log (p)
        }
        """,
        ("recompose-onnx", *SIMPLIFY),
        {"x": grid(2, 3, 2) * np.float32(40)},
    ),
    Trap(
        ("9.1 #22", "9.2 Log(Softmax) without an axis"),
        """
        <ir_version: 6, opset_import: ["" : 11]>
        logarithm (float[2, 3, 2] x) => (float[2, 3, 2] y) {
          p = Softmax (x)
          y = Log (p)
        }
        """,
        ("recompose-onnx", *SIMPLIFY),
        {"x": grid(2, 3, 2)},
    ),
    Trap(
        ("9.1 #24",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        negative (float[1, 3, 1] x) => (float[3] y) <int64[1] last = {-1}, int64[1] before = {-2}> {
          s = Squeeze (x, last)
          y = Squeeze (s, before)
        }
        """,
        ("canonicalize-onnx", *SIMPLIFY),
        {"x": grid(1, 3, 1)},
    ),
    Trap(
        ("9.1 #24",),
        """
        <ir_version: 6, opset_import: ["" : 11]>
        negative (float[1, 3, 1, 1] x) => (float[3] y) {
          s = Squeeze <axes = [-1, -4]> (x)
          y = Squeeze <axes = [-1]> (s)
        }
        """,
        ("canonicalize-onnx", *SIMPLIFY),
        {"x": grid(1, 3, 1, 1)},
    ),
    Trap(
        ("9.1 #26", "9.2 Transpose twice without perm"),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        twice (float[2, 3, 4] x, float[2, 3, 4] z) => (float[2, 3, 4] y) {
          t = Transpose (z)
          u = Transpose (t)
          y = Sub (x, u)
        }
        """,
        ("canonicalize-onnx", *SIMPLIFY),
        {"x": grid(2, 3, 4), "z": grid(2, 3, 4) ** 2},
    ),
    Trap(
        ("9.1 #27", "9.2 Gemm of int32 below opset 11"),
        """
        <ir_version: 4, opset_import: ["" : 9]>
        integers (int32[2, 3] x, int32[3, 2] w) => (int32[2, 2] y) <int32[2] b = {5, -6}> {
          p = MatMul (x, w)
          y = Add (p, b)
        }
        """,
        ("recompose-onnx", *SIMPLIFY),
        {"x": grid(2, 3).astype(np.int32), "w": grid(3, 2).astype(np.int32)},
        says=_no_gemm,
    ),
    Trap(
        ("9.1 #28", "9.2 Pad value into Conv"),
        """
        <ir_version: 5, opset_import: ["" : 10]>
        value (float[1, 1, 3, 3] x) => (float[1, 1, 4, 4] y) <float[1, 1, 2, 2] w = {1, 2, 3, 4}> {
          p = Pad <mode = "constant", pads = [0, 0, 1, 1, 0, 0, 1, 1], value = 5.0> (x)
          y = Conv (p, w)
        }
        """,
        SIMPLIFY,
        {"x": grid(1, 1, 3, 3)},
    ),
    Trap(
        ("9.1 #28",),
        """
        <ir_version: 8, opset_import: ["" : 18]>
        axes (float[1, 1, 3, 3] x) => (float[1, 1, 2, 3] y)
          <float[1, 1, 2, 2] w = {1, 2, 3, 4}, int64[2] pads = {0, 1}, float zero = {0},
           int64[1] last = {-1}> {
          p = Pad (x, pads, zero, last)
          y = Conv (p, w)
        }
        """,
        SIMPLIFY,
        {"x": grid(1, 1, 3, 3)},
    ),
    Trap(
        ("9.2 Pad value into AveragePool",),
        """
        <ir_version: 5, opset_import: ["" : 10]>
        value (float[1, 1, 3, 3] x) => (float[1, 1, 4, 4] y) {
          p = Pad <mode = "constant", pads = [0, 0, 1, 1, 0, 0, 1, 1], value = 5.0> (x)
          y = AveragePool <kernel_shape = [2, 2]> (p)
        }
        """,
        SIMPLIFY,
        {"x": grid(1, 1, 3, 3)},
    ),
    Trap(
        ("9.1 #29 MaxPool", "9.2 zero Pad into MaxPool"),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        negative (float[1, 1, 3, 3] x) => (float[1, 1, 4, 4] y)
          <int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}> {
          p = Pad (x, pads)
          y = MaxPool <kernel_shape = [2, 2]> (p)
        }
        """,
        SIMPLIFY,
        {"x": -np.abs(grid(1, 1, 3, 3)) - 1},
    ),
    Trap(
        ("9.1 #29 own pads", "9.2 Pad into AveragePool with pads"),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        own (float[1, 1, 3, 3] x) => (float[1, 1, 6, 6] y, float[1, 1, c, d] z)
          <int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}> {
          p = Pad (x, pads)
          y = AveragePool <kernel_shape = [2, 2], pads = [1, 1, 1, 1], count_include_pad = 0> (p)
          z = AveragePool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (p)
        }
        """,
        SIMPLIFY,
        {"x": grid(1, 1, 3, 3) + 7},
    ),
    Trap(
        ("9.1 #29 auto_pad", "9.2 Pad into a pool with auto_pad"),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        automatic (float[1, 1, 3, 3] x) => (float[1, 1, 5, 5] y, float[1, 1, 3, 3] z)
          <int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}> {
          p = Pad (x, pads)
          y = AveragePool <kernel_shape = [3, 3], auto_pad = "SAME_UPPER"> (p)
          z = AveragePool <kernel_shape = [3, 3], auto_pad = "VALID"> (p)
        }
        """,
        SIMPLIFY,
        {"x": grid(1, 1, 3, 3) + 7},
    ),
    Trap(
        ("9.1 #30", "9.2 Transpose without perm into Gemm"),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        gemm (float[3, 2] x, float[4, 3] w) => (float[2, 4] y) {
          t = Transpose (x)
          u = Transpose (w)
          y = Gemm (t, u)
        }
        """,
        ("canonicalize-onnx", *SIMPLIFY),
        {"x": grid(3, 2), "w": grid(4, 3)},
    ),
    Trap(
        ("9.1 #38 draws", "9.2 second RandomUniform draw"),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        draws () => (float[4] y) {
          a = RandomUniform <shape = [4]> ()
          b = RandomUniform <shape = [4]> ()
          y = Sub (a, b)
        }
        """,
        ("onnx-cse-with-node-name", *SIMPLIFY),
        says=_two_draws,
        is_run=False,
    ),
    Trap(
        ("9.1 #38 domain", "9.2 operator domain in CSE"),
        """
        <ir_version: 8, opset_import: ["" : 17, "other" : 1]>
        domains (float[3] x) => (float[3] y) {
          a = Relu (x)
          b = other.Relu (x)
          y = Sub (a, b)
        }
        <domain: "other", opset_import: ["" : 17]>
        Relu (v) => (w) { w = Neg (v) }
        """,
        ("onnx-cse-with-node-name", *SIMPLIFY),
        {"x": floats(-1.0, 0.0, 2.0)},
        says=_both_domains,
    ),
    Trap(
        ("9.2 metadata_props of nodes",),
        """
        <ir_version: 10, opset_import: ["" : 17]>
        metadata (float[1, 1, 2, 2] x) => (float[1, 1, 2, 2] y)
          <float[1, 1, 1, 1] w = {2}, float[1, 1, 1, 1] b = {3}> {
          i = Identity (x)
          c = Conv (i, w)
          y = Add (c, b)
        }
        """,
        SIMPLIFY,
        {"x": grid(1, 1, 2, 2)},
        edit=_add_metadata,
        says=_keeps_metadata,
    ),
    Trap(
        ("9.2 quantization_annotation",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        annotated (float[2] x) => (float[2] y) <float scale = {0.5}> {
          i = Identity (x)
          y = Neg (i)
        }
        """,
        SIMPLIFY,
        {"x": floats(1.0, -2.0)},
        edit=_annotate,
        says=_keeps_annotations,
    ),
    Trap(
        ("9.2 function bodies",),
        """
        <ir_version: 8, opset_import: ["" : 17, "own" : 1]>
        calls (float[2] x) => (float[2] y) { y = own.Negated (x) }
        <domain: "own", opset_import: ["" : 17]>
        Negated (v) => (w) {
          i = Identity (v)
          unused = Exp (i)
          a = Neg (i)
          b = Neg (a)
          w = Neg (b)
        }
        """,
        (),
        {"x": floats(1.0, -2.0)},
        says=_function_is_smaller,
    ),
    Trap(
        ("9.2 dead nodes inside If branches",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        dead (float[2] x, bool c) => (float[2] y) {
          y = If (c) <
            then_branch = then () => (float[2] a) {
              unused = Exp (x)
              a = Neg (x)
            },
            else_branch = els () => (float[2] b) {
              again = Sqrt (x)
              gone = Floor (again)
              b = Abs (x)
            }
          >
        }
        """,
        ("canonicalize-onnx", *SIMPLIFY),
        {"x": floats(1.0, -2.0), "c": np.array(True)},
        says=_branches_are_smaller,
    ),
    Trap(
        ("9.2 sparse initializer",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        sparse (float[4] x) => (float[4] y) {
          i = Identity (x)
          y = Mul (i, w)
        }
        """,
        SIMPLIFY,
        {"x": floats(1.0, 2.0, 3.0, 4.0)},
        edit=_add_sparse,
        has_known_types=False,
    ),
    Trap(
        ("own: neutral elements of more axes or sizes",),
        """
        <ir_version: 10, opset_import: ["" : 20, "own" : 1]>
        shapes (float[2, 1] x, float[0, 1, 2] e, bool[2, 1] t, float[a] w)
            => (float[p, q, r] y, float[s, u, v] z, bool[i, j, k] n, float[f, g] o)
          <float[1, 1, 1] zero = {0}, bool[1, 1, 1] no = {0}, float[1, 1] one = {1}> {
          c = own.Negated (x)
          y0 = Add (zero, c)
          y = Identity (y0)
          m = MatMul (e, x)
          z0 = Add (m, empty)
          z = Identity (z0)
          b = own.Inverted (t)
          n0 = Or (b, no)
          n = Identity (n0)
          d = own.Negated (w)
          o0 = Mul (d, one)
          o = Identity (o0)
        }
        <domain: "own", opset_import: ["" : 20]>
        Negated (i) => (r) { r = Neg (i) }
        <domain: "own", opset_import: ["" : 20]>
        Inverted (i) => (r) { r = Not (i) }
        """,
        ("constprop-onnx", "canonicalize-onnx", *SIMPLIFY),
        {
            "x": grid(2, 1),
            "e": grid(0, 1, 2),
            "t": np.array([[True], [False]]),
            "w": floats(1.0, -2.0),
        },
        weights={"empty": np.zeros((0, 2, 1), np.float32)},
    ),
    Trap(
        ("9.3 negative factors",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        negative (float[1, 2, 3, 3] x) => (float[1, 2, 3, 3] y, float[1, 2, 2, 2] z)
          <float[2, 2, 1, 1] w = {1, 2, 3, -4}, float[1, 2, 1, 1] s = {-2, 3}> {
          c = Conv (x, w)
          r = Relu (c)
          y = Mul (r, s)
          d = Conv (x, w)
          p = MaxPool <kernel_shape = [2, 2]> (d)
          z = Mul (p, s)
        }
        """,
        SIMPLIFY,
        {"x": grid(1, 2, 3, 3)},
    ),
)
