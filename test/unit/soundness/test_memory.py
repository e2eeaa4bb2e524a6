"""
What constants cost while they fold (`docs/internals/onnx-rules.md` §8.1, points 1, 2, 3, 9): no output shows
it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from onnx import numpy_helper
from trap import PARSE, Array
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from xonnc.contexts import new_context
from xonnc.dialects.onnx.elements import DisposableElementsAttr, DisposablePool
from xonnc.dialects.onnx.elements.pool import Collection
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.formats.onnx.importer import import_proto
from xonnc.transforms.constprop_onnx import ConstProp

SIZE = 6000


def imported(text: str, **weights: Array) -> tuple[ModuleOp, Context]:
    model = PARSE(text)
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in weights.items())
    context = new_context()
    return import_proto(model, context), context


def constants(module: ModuleOp) -> list[DisposableElementsAttr]:
    values = [op.value for op in module.walk() if isinstance(op, ConstantOp)]
    return [value for value in values if isinstance(value, DisposableElementsAttr)]


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, np.float32])
def test_elements_take_their_own_width(dtype: npt.DTypeLike):
    """Point 1: results that are not lazy took 8 bytes an element."""
    name = {"bool": "bool", "int8": "int8", "float16": "float16", "float32": "float"}[np.dtype(dtype).name]
    text = f"""
        <ir_version: 8, opset_import: ["" : 17]>
        joined () => ({name}[{2 * SIZE}] y) {{ y = Concat <axis = 0> (a, b) }}
    """
    half_values = np.arange(2 * SIZE).reshape(2, SIZE) % 3
    module, context = imported(text, a=half_values[0].astype(dtype), b=half_values[1].astype(dtype))
    pool = DisposablePool.of(context)
    before = pool.live_bytes
    pool.reset_peak()
    ConstProp().apply(context, module)
    (made,) = constants(module)
    width = np.dtype(dtype).itemsize
    assert made.array().dtype == dtype
    assert pool.peak_bytes - before <= 2 * SIZE * width
    assert pool.live_bytes <= 2 * SIZE * width


SLICED = f"""
    <ir_version: 8, opset_import: ["" : 17]>
    parts (float[{SIZE}] x, float[{SIZE // 2}] v)
      => (float[{SIZE}] y, float[{SIZE // 2}] z, float[{SIZE // 2}] u)
      <int64[1] last = {{-1}}, int64[1] first = {{-{SIZE + 1}}}, int64[1] zero = {{0}}> {{
      r = Slice (w, last, first, zero, last)
      y = Add (x, r)
      s, t = Split <axis = 0> (w)
      z = Add (v, s)
      u = Mul (v, t)
    }}
"""


def test_slices_and_parts_are_views():
    """Point 2: slices, parts and negative steps were copies."""
    weight = np.arange(SIZE, dtype=np.float32)
    module, context = imported(SLICED, w=weight)
    (whole,) = [value.array() for value in constants(module) if value.size == SIZE]
    ConstProp().apply(context, module)
    made = [value for value in constants(module) if value.size >= SIZE // 2]
    assert sorted(value.size for value in made) == [SIZE // 2, SIZE // 2, SIZE]
    assert [np.shares_memory(value.array(), whole) for value in made] == [True] * 3
    assert next(value for value in made if value.size == SIZE).array()[0] == SIZE - 1


def test_pending_work_is_done_once(monkeypatch: pytest.MonkeyPatch):
    """Point 3: chains of closures ran again for every reader."""
    text = f"""
        <ir_version: 8, opset_import: ["" : 17]>
        chain (float[{SIZE}] x) => (float[{SIZE}] y, float[{SIZE}] z) <float one = {{1}}> {{
          a = Add (w, one)
          b = Mul (a, a)
          y = Add (x, b)
          z = Mul (x, b)
        }}
    """
    module, context = imported(text, w=np.arange(SIZE, dtype=np.float32))
    ConstProp().apply(context, module)
    (made,) = [value for value in constants(module) if value.size == SIZE]
    assert np.shares_memory(made.array(), made.array())
    assert made.array()[2] == 9


def test_what_folded_is_freed():
    """Point 9: shells of constants were never freed."""
    text = f"""
        <ir_version: 8, opset_import: ["" : 17]>
        chain (float[{SIZE}] x) => (float[{SIZE}] y) {{
          a = Exp (w)
          b = Sqrt (a)
          c = Neg (b)
          y = Add (x, c)
        }}
    """
    module, context = imported(text, w=np.linspace(0, 1, SIZE, dtype=np.float32))
    ConstProp().apply(context, module)
    assert len(constants(module)) == 1
    pool = DisposablePool.of(context)
    assert pool.live_bytes <= 4 * SIZE
    assert pool.collect([module]) == Collection(reachable=1, freed=0, held_elsewhere=0)
    assert pool.statistics().disposed >= 3
