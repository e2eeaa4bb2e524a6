"""Lengths of a Range of constants, against NumPy, computed sizes of a Reshape, and concatenations."""

from __future__ import annotations

from itertools import product

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import helper, numpy_helper
from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType

from xonnc.contexts import new_context
from xonnc.dialects.onnx.ops.builtin import ReturnOp
from xonnc.dialects.onnx.types import static_shape
from xonnc.errors import XonncError
from xonnc.formats.onnx.importer import import_proto
from xonnc.native import compile_native
from xonnc.transforms.shape_inference_onnx import infer_shapes


def length(start: float, limit: float, delta: float, dtype: type[np.generic]) -> int:
    """The length that is inferred."""
    bounds = {"start": start, "limit": limit, "delta": delta}
    tensors = [numpy_helper.from_array(np.array(value, dtype), name) for name, value in bounds.items()]
    result = helper.make_tensor_value_info("y", tensors[0].data_type, ["n"])
    graph = helper.make_graph([helper.make_node("Range", list(bounds), ["y"])], "g", [], [result], tensors)
    model: onnx.ModelProto = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    module = import_proto(model, new_context())
    infer_shapes(module)
    (end,) = (op for op in module.walk() if isinstance(op, ReturnOp))
    shape = static_shape(end.operands[0].type)
    assert shape is not None
    return shape[0]


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.float32])
def test_a_range_is_as_long_as_numpys(dtype: type[np.generic]):
    for start, limit, delta in product((-3, 0, 2), (-4, 0, 2, 7), (-3, -1, 1, 2, 5)):
        expected = len(np.arange(start, limit, delta))
        assert length(start, limit, delta, dtype) == expected, (start, limit, delta)


def test_a_range_of_fractions():
    assert length(0.25, 1.5, 0.5, np.float32) == len(np.arange(0.25, 1.5, 0.5)) == 3


def test_a_range_without_a_step_is_refused():
    with pytest.raises(XonncError, match="delta must not be 0"):
        length(0, 5, 0, np.int64)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [("3, 4", (3, 4)), ("0, 4", (0, -1)), ("n, 4", (-1, -1)), ("2, 0", (2, 0)), ("2, 3, 4", (2, 12))],
)
def test_a_size_that_is_computed_follows_from_the_others_unless_one_may_be_0(
    sizes: str, expected: tuple[int, ...]
):
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[{sizes}] x, int64[1] k) => (float[a, b] y) <int64[1] zero = {{0}}> {{
          t = Concat<axis = 0>(zero, k) y = Reshape(x, t)
        }}""")
    module = import_proto(model, new_context())
    infer_shapes(module)
    (end,) = (op for op in module.walk() if isinstance(op, ReturnOp))
    (result,) = end.operand_types
    assert isinstance(result, TensorType)
    assert tuple(result.get_shape()) == tuple(DYNAMIC_INDEX if size < 0 else size for size in expected)


def test_operands_without_elements_say_nothing_about_the_sizes_of_others():
    """Kernels skip them, as onnxruntime does: their sizes of 1 are not those of `x` and `y`."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[1, a, b] x, float[b, b, a] y) => (int64[3] s, int64[3] t) <float[0, 1, 1] empty = {}> {
          z = Transpose<perm = [0, 2, 1]>(x) s = Shape(z) j = Concat<axis = 0>(z, y, empty) t = Shape(j)
        }""")
    feeds = {"x": np.zeros((1, 2, 3), np.float32), "y": np.zeros((3, 3, 2), np.float32)}
    found = compile_native(model).run(None, feeds)
    assert [np.asarray(each).tolist() for each in found] == [[1, 3, 2], [4, 3, 2]]
