"""Convolutions and pools of images of dynamic height and width: one program for all sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import numpy_helper

from xonnc.errors import XonncError
from xonnc.lowering.onnx_to_krnl.planning.tile_selection import dynamic_row
from xonnc.native import compile_native
from xonnc.runtime.native.session import Session

RANDOM = np.random.default_rng(5)

IMAGES = {
    "dense": "a# = Conv<pads=[1,1,1,1]>(x, w, b)",
    "strided": "a# = Conv<pads=[1,1,1,1], strides=[2,2]>(x, w)",
    "point": "a# = Conv<strides=[2,2]>(x, point)",
    "dilated": "a# = Conv<pads=[2,2,2,2], dilations=[2,2]>(x, w)",
    "far dilated": "a# = Conv<pads=[6,5,6,5], dilations=[6,5]>(x, w, b)",
    "far dilated, strided": "a# = Conv<pads=[9,4,2,7], dilations=[4,3], strides=[2,2]>(x, w)",
    "depthwise": "a# = Conv<pads=[1,1,1,1], group=32>(x, deep)",
    "large window": "a# = Conv<pads=[4,4,4,4], group=32>(x, large)",
    "groups": "a# = Conv<pads=[1,1,1,1], group=4>(x, parts)",
    "few filters": "a# = Conv<pads=[1,1,1,1]>(x, few)",
    "few channels": "c# = Conv(x, to3)\n a# = Conv<pads=[1,1,1,1]>(c#, from3)",
    "same": 'a# = Conv<auto_pad="SAME_UPPER">(x, even)',
    "same strided": """c# = Conv<auto_pad="SAME_UPPER", strides=[2,2]>(x, w, b)
        d# = Conv<auto_pad="SAME_LOWER", strides=[3,3], group=32>(c#, deep)
        a# = Conv<auto_pad="SAME_LOWER", strides=[2,1]>(d#, even)""",
    "same joined": """c# = Conv<auto_pad="SAME_LOWER", strides=[2,2]>(x, w)
        d# = Conv<auto_pad="SAME_LOWER", strides=[2,2]>(x, point)
        a# = Add(c#, d#)""",
    "same, few channels": """c# = Conv(x, to3)
        a# = Conv<auto_pad="SAME_UPPER", strides=[2,2]>(c#, from3)""",
    "same, few filters": 'a# = Conv<auto_pad="SAME_LOWER", strides=[2,3]>(x, few)',
    "same, large window": 'a# = Conv<auto_pad="SAME_UPPER", strides=[2,2], group=32>(x, large)',
    "same pools of blocks": """c# = Conv(x, point)
        d# = MaxPool<kernel_shape=[3,4], strides=[2,3], auto_pad="SAME_LOWER">(c#)
        e# = AveragePool<kernel_shape=[2,3], strides=[2,2], auto_pad="SAME_UPPER", ceil_mode=1,
            count_include_pad=1>(d#)
        a# = Conv(e#, point)""",
    "same, gaps": """c# = MaxPool<kernel_shape=[2,2], strides=[3,3], auto_pad="SAME_UPPER">(x)
        a# = Conv<auto_pad="SAME_LOWER", strides=[3,3]>(c#, point)""",
    "same pools": """c# = MaxPool<kernel_shape=[3,3], strides=[2,2], auto_pad="SAME_UPPER">(x)
        d# = AveragePool<kernel_shape=[3,2], strides=[2,2], auto_pad="SAME_LOWER">(c#)
        a# = AveragePool<kernel_shape=[3,3], strides=[2,2], auto_pad="SAME_UPPER",
            count_include_pad=1>(d#)""",
    "rounded up": """c# = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], ceil_mode=1>(x)
        d# = AveragePool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,0,1], ceil_mode=1>(c#)
        a# = AveragePool<kernel_shape=[3,3], strides=[2,2], pads=[1,0,0,1], ceil_mode=1,
            count_include_pad=1>(d#)""",
    "mean of elements": "a# = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1]>(x)",
    "residual": "c# = Conv<pads=[1,1,1,1]>(x, w)\n d# = Conv<pads=[1,1,1,1]>(c#, w)\n a# = Add(d#, c#)",
    "epilogue": "c# = Conv<pads=[1,1,1,1]>(x, w)\n a# = LeakyRelu<alpha=0.1>(c#)",
    "pools": """c# = Conv<pads=[1,1,1,1]>(x, w)
        e# = Relu(c#)
        d# = MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>(e#)
        a# = AveragePool<kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1>(d#)""",
    "rows pooled": "a# = AveragePool<kernel_shape=[1,1], strides=[2,2]>(x)",
    "global": "c# = Conv<pads=[1,1,1,1]>(x, w)\n d# = GlobalAveragePool(c#)\n a# = Mul(c#, d#)",
    "joined": "c# = Conv<pads=[1,1,1,1]>(x, w)\n d# = Concat<axis=1>(c#, x, c#)\n a# = Conv(d#, joined)",
    "transposed": "a# = ConvTranspose<strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]>(x, w)",
    "to one channel": "a# = ConvTranspose<strides=[2,2]>(x, map, shift)",
    "overlapping": """c# = ConvTranspose<strides=[2,1], dilations=[1,2], pads=[0,2,1,1],
        output_padding=[1,0]>(x, thin)
        a# = Relu(c#)""",
    "each transposed": "a# = ConvTranspose<group=32, strides=[2,2], pads=[1,1,0,0]>(x, pairs, b2)",
    "transposed same": 'a# = ConvTranspose<auto_pad="SAME_LOWER", strides=[2,2]>(x, thin)',
}

ROWS = {
    "same": """c# = Conv<auto_pad="SAME_LOWER", strides=[2]>(x, w)
        a# = Conv<auto_pad="SAME_UPPER", strides=[3]>(c#, w, b)""",
    "dense": "a# = Conv<pads=[2,2], dilations=[2]>(x, w, b)",
    "strided": "c# = Conv(x, one)\n a# = Conv<pads=[5,5], strides=[5]>(c#, wave)",
    "transposed": "a# = ConvTranspose<strides=[4], pads=[2,2]>(x, up)",
}

WEIGHTS = {
    "w": (32, 32, 3, 3),
    "b": (32,),
    "point": (32, 32, 1, 1),
    "deep": (32, 1, 3, 3),
    "large": (32, 1, 9, 9),
    "parts": (32, 8, 3, 3),
    "few": (3, 32, 3, 3),
    "to3": (3, 32, 1, 1),
    "from3": (32, 3, 3, 3),
    "even": (32, 32, 4, 3),
    "joined": (32, 96, 1, 1),
    "map": (32, 1, 2, 2),
    "shift": (1,),
    "thin": (32, 3, 3, 2),
    "pairs": (32, 2, 3, 3),
    "b2": (64,),
}

WEIGHTS_OF_ROWS = {"w": (32, 32, 3), "b": (32,), "one": (1, 32, 1), "wave": (32, 1, 10), "up": (32, 16, 8)}


def joined(cases: Mapping[str, str], weights: Mapping[str, tuple[int, ...]], axes: str) -> onnx.ModelProto:
    """Return a model of all cases, each with an output of its own."""
    body = "\n".join(text.replace("#", str(number)) for number, text in enumerate(cases.values()))
    outputs = ", ".join(
        f"float[{', '.join(f'{axis}{number}' for axis in 'nc' + axes)}] a{number}"
        for number in range(len(cases))
    )
    head = f'<ir_version: 8, opset_import: ["" : 17]>\nm (float[n,32,{",".join(axes)}] x) => ({outputs})'
    model = onnx.parser.parse_model(f"{head} {{\n{body}\n}}")
    for name, shape in weights.items():
        array = RANDOM.normal(size=shape) / np.sqrt(np.prod(shape[1:]))
        model.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    return model


def check(model: onnx.ModelProto, shapes: Sequence[tuple[int, ...]], threads: int = 1) -> Session:
    """Compare results for inputs of some shapes with onnxruntime; return the session."""
    session = compile_native(model, threads=threads)
    reference = import_module("onnxruntime").InferenceSession(model.SerializeToString())
    for shape in shapes:
        x = RANDOM.normal(size=shape).astype(np.float32)
        x.reshape(-1)[:1], x.reshape(-1)[-1:] = -0.0, np.inf
        expected = reference.run(None, {"x": x})
        for found, wanted in zip(session.run(None, {"x": x}), expected, strict=True):
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-4, atol=1e-4)
    return session


@pytest.mark.parametrize("threads", [1, 2])
def test_images(threads: int):
    shapes = [(1, 32, 7, 15), (2, 32, 3, 29), (1, 32, 1, 2), (1, 32, 33, 8)]
    session = check(joined(IMAGES, WEIGHTS, "hw"), shapes, threads)
    assert session.compiled == 1
    assert not session.host_calls()


def test_rows():
    session = check(joined(ROWS, WEIGHTS_OF_ROWS, "l"), [(1, 32, 9), (2, 32, 133), (1, 32, 1)])
    assert session.compiled == 1
    assert not session.host_calls()


@pytest.mark.parametrize(("name", "group"), [("w", 1), ("deep", 32), ("few", 1)])
def test_dilated_windows_of_same(name: str, group: int):
    """Compared with the pads of each size, since onnxruntime takes no dilations with `auto_pad`."""
    text = f'a# = Conv<auto_pad="SAME_LOWER", strides=[2,3], dilations=[3,2], group={group}>(x, {name})'
    model = joined({"": text}, {name: WEIGHTS[name]}, "hw")
    session = compile_native(model)
    (node,) = model.graph.node
    node.attribute.remove(next(each for each in node.attribute if each.name == "auto_pad"))
    node.attribute.append(onnx.helper.make_attribute("pads", [0, 0, 0, 0]))
    for sizes in [(7, 15), (8, 9), (2, 1)]:
        pads = [
            max((-(-size // stride) - 1) * stride + span - size, 0)
            for size, stride, span in zip(sizes, (2, 3), (7, 5), strict=True)
        ]
        node.attribute[-1].ints[:] = [*(-(-each // 2) for each in pads), *(each // 2 for each in pads)]
        reference = import_module("onnxruntime").InferenceSession(model.SerializeToString())
        x = RANDOM.normal(size=(1, 32, *sizes)).astype(np.float32)
        found, expected = session.run(None, {"x": x})[0], reference.run(None, {"x": x})[0]
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-4)
    assert session.compiled == 1


def test_images_added_to_smaller_ones_enlarged():
    """Sizes are assumed to be multiples of 4: others are invalid, or broadcast."""
    text = """c# = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)
        d# = MaxPool<kernel_shape=[2,2], strides=[2,2]>(c#)
        e# = Resize<mode="nearest">(d#, none, twice)
        f# = Add(e#, c#)
        g# = Resize<mode="nearest">(f#, none, twice)
        a# = Add(g#, x)"""
    model = joined({"pyramid": text}, WEIGHTS, "hw")
    for name, numbers in {"none": [], "twice": [1, 1, 2, 2]}.items():
        model.graph.initializer.append(numpy_helper.from_array(np.array(numbers, np.float32), name))
    session = check(model, [(1, 32, 8, 12), (2, 32, 4, 20)])
    assert session.compiled == 1
    with pytest.raises(XonncError, match="incompatible shapes"):
        session.run(None, {"x": np.zeros((1, 32, 6, 8), np.float32)})


def test_no_images():
    check(joined({"dense": IMAGES["dense"]}, WEIGHTS, "hw"), [(0, 32, 4, 5)])


@pytest.mark.parametrize(
    ("text", "shape", "message"),
    [
        ("a# = Conv(x, even)", (1, 1), "a window of 4 does not fit into axis 2 of 1"),
        ("a# = Conv<strides=[4,4]>(x, even)", (3, 9), "a window of 4 does not fit into axis 2 of 3"),
        ("a# = Conv<pads=[1,1,1,1]>(x, w)", (0, 5), "a window of 3 does not fit into axis 2 of 0"),
        ("a# = Conv<dilations=[1,3]>(x, w)", (9, 6), "a window of 7 does not fit into axis 3 of 6"),
        (
            "c# = MaxPool<kernel_shape=[2,2], strides=[2,2]>(x)\n a# = GlobalAveragePool(c#)",
            (1, 8),
            "a window of 2 does not fit into axis 2 of 1",
        ),
    ],
)
def test_windows_that_do_not_fit(text: str, shape: tuple[int, int], message: str):
    """Rounded down, their number would be 0: results without elements, and means of none."""
    plain = compile_native(joined({"plain": text}, WEIGHTS, "hw"))
    with pytest.raises(XonncError, match=message):
        plain.run(None, {"x": np.zeros((1, 32, *shape), np.float32)})
    assert plain.compiled == 1


@pytest.mark.parametrize(
    "text",
    [
        "a# = MaxPool<kernel_shape=[2,2], strides=[2,2], pads=[0,0,1,1], ceil_mode=1>(x)",
        """a# = AveragePool<kernel_shape=[2,2], strides=[2,2], pads=[0,0,1,1], count_include_pad=1,
            ceil_mode=1>(x)""",
        "a# = Conv<pads=[1,1,1,1], group=2>(x, twin)",
        "a# = ConvTranspose<group=2>(x, thin)",
        "a# = ConvTranspose<output_shape=[10,15], strides=[2,2]>(x, thin)",
    ],
)
def test_compiled_for_each_size(text: str):
    """Pads, counts and what is cropped that depend on sizes, and groups that are no blocks."""
    session = check(
        joined({"case": text}, {**WEIGHTS, "twin": (6, 16, 3, 3)}, "hw"), [(1, 32, 5, 8), (2, 32, 5, 8)]
    )
    assert session.compiled == 3


def test_tiles_of_a_row_are_nearly_equal():
    for pixels in (1, 2, 3, 6, 8, 14):
        for columns in range(70):
            tiles = dynamic_row(columns, pixels)
            assert sum(tiles) == columns
            assert set(tiles) <= {1, *range(-(-pixels // 2), pixels + 1)}
            if 2 * columns >= pixels:
                assert len(tiles) == -(-columns // pixels)
                assert not tiles or max(tiles) - min(tiles) <= 1
