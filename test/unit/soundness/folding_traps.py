"""Traps in constant propagation: `docs/internals/onnx-rules.md` §8.1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from trap import Trap, floats, grid, operators

FOLD = ("constprop-onnx",)
SIMPLIFY = ("simplify-onnx",)


def _folds(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
    assert not set(operators(after)) - {"Constant"}


def _lacks(operator: str) -> Callable[[onnx.ModelProto, onnx.ModelProto], None]:
    def says(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
        assert operator not in operators(after)

    return says


def _keeps(operator: str) -> Callable[[onnx.ModelProto, onnx.ModelProto], None]:
    def says(before: onnx.ModelProto, after: onnx.ModelProto) -> None:
        assert operator in operators(after)

    return says


TRAPS = (
    Trap(
        ("8.1 #4",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        uniform (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {0, 1}> {
          ones = Sub (a, b)
          m = Mul (x, ones)
          y = Neg (m)
        }
        """,
        SIMPLIFY,
        {"x": floats(3.0, -4.0)},
        says=_lacks("Mul"),
    ),
    Trap(
        ("8.1 #5",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        wraps () => (uint8[3] y, int32[3] z)
          <uint8[3] a = {255, 254, 3}, uint8[3] one = {1, 3, 1}, uint8[1] two = {2}> {
          s = Add (a, one)
          y = Div (s, two)
          z = Cast <to = 6> (s)
        }
        """,
        FOLD,
        outputs={"y": np.array([0, 0, 2], np.uint8), "z": np.array([0, 1, 4], np.int32)},
        says=_folds,
    ),
    Trap(
        ("8.1 #5",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        stays (uint8[3] x) => (uint8[3] y, int32[3] z) <uint8[3] one = {1, 3, 1}, uint8[1] two = {2}> {
          s = Add (x, one)
          t = Add (s, one)
          y = Div (t, two)
          z = Cast <to = 6> (t)
        }
        """,
        (*FOLD, *SIMPLIFY),
        {"x": np.array([255, 252, 0], np.uint8)},
        outputs={"y": np.array([0, 1, 1], np.uint8), "z": np.array([1, 2, 2], np.int32)},
    ),
    Trap(
        ("8.1 #6",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        truth () => (int64[3] y, int8[3] z)
          <float[3] a = {1, 2, 3}, float two = {2}, int64[3] b = {10, 20, 30}> {
          c = Less (a, two)
          i = Cast <to = 7> (c)
          y = Add (i, b)
          z = Cast <to = 3> (c)
        }
        """,
        FOLD,
        outputs={"y": np.array([11, 20, 30], np.int64), "z": np.array([1, 0, 0], np.int8)},
        says=_folds,
    ),
    Trap(
        ("8.1 #7",),
        """
        <ir_version: 8, opset_import: ["" : 17, "own" : 1]>
        holders (float[2] x, bool c) => (float[2] y, float[2] z) {
          y = If (c) <
            then_branch = then () => (float[2] a) <float[2] p = {1, 2}, float[2] q = {3, 4}> {
              s = Add (p, q)
              a = Mul (x, s)
            },
            else_branch = els () => (float[2] b) <float[2] p2 = {5, 6}, float[2] q2 = {7, 8}> {
              s2 = Mul (p2, q2)
              b = Add (x, s2)
            }
          >
          z = own.Scaled <factor = float[2] {9, 10}> (x)
        }
        <domain: "own", opset_import: ["" : 17]>
        Scaled <factor> (v) => (w) {
          f = Constant <value: tensor = @factor> ()
          w = Mul (v, f)
        }
        """,
        (*FOLD, *SIMPLIFY),
        {"x": floats(1.0, -2.0), "c": np.array(False)},
    ),
    Trap(
        ("8.1 #8",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        product () => (float[768, 768] y) {
          y = MatMul (a, b)
        }
        """,
        FOLD,
        weights={"a": grid(768, 768) % 7, "b": grid(768, 768) % 5},
        says=_folds,
    ),
    Trap(
        ("8.1 #10 Mod by zero",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        zero () => (int32[2] y) <int32[2] a = {7, -7}, int32[2] b = {0, 2}> {
          y = Mod (a, b)
        }
        """,
        (*FOLD, *SIMPLIFY),
        is_run=False,
    ),
    Trap(
        ("8.1 #10 Mod ignores fmod", "8.1 #10 Mod of floats"),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        remainders () => (float[4] y, int32[4] z, int32[4] w)
          <float[4] a = {-7.5, 7.5, 1e-12, -3}, float[4] b = {2, -2, 1, 3},
           int32[4] c = {-7, 7, -6, 6}, int32[4] d = {3, -3, 3, -4}> {
          y = Mod <fmod = 1> (a, b)
          z = Mod <fmod = 1> (c, d)
          w = Mod (c, d)
        }
        """,
        FOLD,
        outputs={
            "y": np.fmod(floats(-7.5, 7.5, 1e-12, -3), floats(2, -2, 1, 3)),
            "z": np.array([-1, 1, 0, 2], np.int32),
            "w": np.array([2, -2, 0, -2], np.int32),
        },
        says=_folds,
    ),
    Trap(
        ("8.1 #10 ScatterND negative indices",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        negative () => (float[4] y)
          <float[4] a = {1, 2, 3, 4}, int64[2, 1] i = {-1, -4}, float[2] u = {10, 20}> {
          y = ScatterND (a, i, u)
        }
        """,
        FOLD,
        outputs={"y": floats(20, 2, 3, 10)},
        says=_folds,
    ),
    Trap(
        ("8.1 #10 Gather indices",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        within () => (float[2] y) <float[3] a = {1, 2, 3}, int64[2] i = {-1, -3}> {
          y = Gather (a, i)
        }
        """,
        FOLD,
        outputs={"y": floats(3, 1)},
        says=_folds,
    ),
    Trap(
        ("8.1 #10 Gather indices",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        outside () => (float[2] y) <float[3] a = {1, 2, 3}, int64[2] i = {3, -4}> {
          y = Gather (a, i)
        }
        """,
        (*FOLD, *SIMPLIFY),
        says=_keeps("Gather"),
        is_run=False,
    ),
    Trap(
        ("8.1 #10 reductions of nothing",),
        """
        <ir_version: 10, opset_import: ["" : 20]>
        nothing () => (float[2, 1] y, float[2, 1] z, float[2, 1] m) <int64[1] one = {1}> {
          y = ReduceMin (empty, one)
          z = ReduceMax (empty, one)
          m = ReduceMean (empty, one)
        }
        """,
        (*FOLD, *SIMPLIFY),
        weights={"empty": np.zeros((2, 0), np.float32)},
        outputs={
            "y": np.full((2, 1), np.inf, np.float32),
            "z": np.full((2, 1), -np.inf, np.float32),
            "m": np.full((2, 1), np.nan, np.float32),
        },
    ),
    Trap(
        ("8.1 #10 Pow of int64",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        power () => (int64[2] y) <int64[2] a = {3, -3}, int64[1] e = {39}> {
          y = Pow (a, e)
        }
        """,
        FOLD,
        outputs={"y": np.array([3**39, -(3**39)], np.int64)},
        says=_folds,
    ),
    Trap(
        ("8.1 #10 Abs of int64",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        absolute () => (int64[2] y) <int64[2] a = {-9007199254740993, 9007199254740993}> {
          y = Abs (a)
        }
        """,
        FOLD,
        outputs={"y": np.array([2**53 + 1, 2**53 + 1], np.int64)},
        says=_folds,
    ),
    Trap(
        ("8.1 #10 Range of floats",),
        """
        <ir_version: 8, opset_import: ["" : 17]>
        range () => (double[1000] y) <double a = {0}, double b = {100}, double d = {0.1}> {
          y = Range (a, b, d)
        }
        """,
        FOLD,
        outputs={"y": np.arange(1000) * 0.1},
        says=_folds,
    ),
    Trap(
        ("8.1 #10 Pad with axes",),
        """
        <ir_version: 8, opset_import: ["" : 18]>
        axes () => (float[2, 5] y)
          <float[2, 2] a = {1, 2, 3, 4}, int64[2] p = {1, 2}, float v = {7}, int64[1] last = {-1}> {
          y = Pad (a, p, v, last)
        }
        """,
        FOLD,
        outputs={"y": np.array([[7, 1, 2, 7, 7], [7, 3, 4, 7, 7]], np.float32)},
        says=_folds,
    ),
    Trap(
        ("8.1 #10 Split",),
        """
        <ir_version: 8, opset_import: ["" : 18]>
        uneven () => (float[1, 3] y, float[1, 2] z, float[1, 1] u, float[1, 4] v)
          <float[1, 5] a = {1, 2, 3, 4, 5}, int64[2] sizes = {1, 4}> {
          y, z = Split <axis = -1, num_outputs = 2> (a)
          u, v = Split <axis = -1> (a, sizes)
        }
        """,
        FOLD,
        outputs={
            "y": floats(1, 2, 3)[None],
            "z": floats(4, 5)[None],
            "u": floats(1)[None],
            "v": floats(2, 3, 4, 5)[None],
        },
        says=_folds,
    ),
    Trap(
        ("8.1 #10 dynamic shapes",),
        """
        <ir_version: 10, opset_import: ["" : 20]>
        dynamic (float[a, b] x, int64[n] i) => (float[c, d] y, float[e, f] z, float[g, h] u, float[k, l] v)
          <int64[1] one = {1}, int64[1] zero = {0}, int64[2] p = {1, 1}, int64[1] minus = {-1},
           float[3, 2] w = {1, 2, 3, 4, 5, 6}> {
          y = Slice (x, zero, one, minus)
          z = Pad (x, p, , minus)
          u = ReduceMean (x, one)
          v = Gather (w, i)
        }
        """,
        (*FOLD, *SIMPLIFY),
        {"x": grid(2, 3), "i": np.array([2, -3], np.int64)},
    ),
)
