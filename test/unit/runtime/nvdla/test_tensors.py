from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from xonnc.errors import XonncError
from xonnc.formats.nvdla.enumerations import DataCategory, DataType, PixelFormat
from xonnc.formats.nvdla.loadable import TensorDesc
from xonnc.runtime.nvdla.memory import UNWRITTEN, allocate
from xonnc.runtime.nvdla.tensors import bound_tensor

HALF = TensorDesc(
    name="x",
    size=2 * 3 * 320,
    data_type=DataType.HALF,
    pixel_format=PixelFormat.FEATURE,
    n=1,
    c=20,
    h=3,
    w=9,
    stride_0=2,
    stride_1=320,
    stride_2=960,
)
IMAGE = TensorDesc(
    name="image",
    size=4 * 64,
    data_type=DataType.INT8,
    pixel_format=PixelFormat.A8B8G8R8,
    n=1,
    c=3,
    h=4,
    w=5,
    stride_1=64,
    stride_2=256,
)


def test_a_feature_tensor_comes_back():
    tensor = bound_tensor(HALF, HALF.size, 32)
    memory = allocate(HALF.size)
    values = np.random.default_rng(0).standard_normal((1, 20, 3, 9)).astype(np.float16)
    tensor.pack(values.astype(np.float64), memory)
    assert np.array_equal(tensor.unpack(memory), values)
    offset = 1 * 960 + 2 * 320 + 8 * 32 + 3 * 2
    assert memory.data[offset : offset + 2].view(np.float16)[0] == values[0, 19, 2, 8]
    assert (memory.data[9 * 32 : 320] == UNWRITTEN).all()


def test_several_images_lie_one_after_another():
    desc = replace(HALF, n=2, size=2 * HALF.size)
    tensor = bound_tensor(desc, desc.size, 32)
    memory = allocate(desc.size)
    values = np.random.default_rng(0).standard_normal((2, 20, 3, 9)).astype(np.float16)
    tensor.pack(values, memory)
    assert np.array_equal(tensor.unpack(memory), values)
    assert memory.data[HALF.size : HALF.size + 2].view(np.float16)[0] == values[1, 0, 0, 0]


def test_three_channels_fill_a_format_of_four():
    tensor = bound_tensor(IMAGE, IMAGE.size, 32)
    memory = allocate(IMAGE.size)
    values = np.random.default_rng(0).integers(0, 256, (1, 3, 4, 5)).astype(np.uint8)
    tensor.pack(values, memory)
    assert memory.data[64 + 8 : 64 + 12].tolist() == [*values[0, :, 1, 2].tolist(), 0]
    assert np.array_equal(tensor.unpack(memory).view(np.uint8), values)


def test_float_pixels_keep_their_bits():
    desc = replace(IMAGE, data_type=DataType.HALF, pixel_format=PixelFormat.A16B16G16R16_F, c=4)
    tensor = bound_tensor(desc, desc.size, 32)
    memory = allocate(desc.size)
    values = np.random.default_rng(0).standard_normal((1, 4, 4, 5)).astype(np.float16)
    tensor.pack(values, memory)
    assert np.array_equal(tensor.unpack(memory), values)


def test_a_second_plane_follows_the_first_surface():
    desc = replace(IMAGE, pixel_format=PixelFormat.Y8_U8V8_N444, stride_1=32, stride_2=128, size=256)
    tensor = bound_tensor(desc, desc.size, 32)
    memory = allocate(desc.size)
    values = np.random.default_rng(0).integers(-128, 128, (1, 3, 4, 5)).astype(np.int8)
    tensor.pack(values, memory)
    assert memory.data[128:130].view(np.int8).tolist() == [values[0, 2, 0, 0], values[0, 1, 0, 0]]
    assert np.array_equal(tensor.unpack(memory), values)


@pytest.mark.parametrize("category", [DataCategory.PLANAR, DataCategory.FEATURE])
def test_rows_too_short_for_atoms_are_planar(category: DataCategory):
    desc = replace(HALF, data_category=category, c=4, stride_1=32, stride_2=96, size=384)
    tensor = bound_tensor(desc, desc.size, 32)
    memory = allocate(desc.size)
    values = np.random.default_rng(0).standard_normal((1, 4, 3, 9)).astype(np.float16)
    tensor.pack(values, memory)
    assert memory.data[96 + 2 : 96 + 4].view(np.float16)[0] == values[0, 1, 0, 1]
    assert np.array_equal(tensor.unpack(memory), values)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            np.zeros((1, 3, 4, 4), np.uint8),
            r"input image: shape \[1, 3, 4, 4\]; the loadable takes \[1, 3, 4, 5\]",
        ),
        (np.zeros((1, 3, 4, 5)), "input image: float64 values; it takes int8, quantize them first"),
        (np.full((1, 3, 4, 5), 256), "input image: values 256 to 256; it holds -128 to 255"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(values: np.ndarray, message: str):
    with pytest.raises(XonncError, match=message):
        bound_tensor(IMAGE, IMAGE.size, 32).pack(values, allocate(IMAGE.size))


def test_a_half_tensor_takes_numbers_only():
    with pytest.raises(XonncError, match="input x: <U1 values; it takes numbers"):
        bound_tensor(HALF, HALF.size, 32).pack(np.full((1, 20, 3, 9), "a"), allocate(HALF.size))


@pytest.mark.parametrize(
    ("desc", "message"),
    [
        (replace(HALF, data_type=1), "tensor x: data type 1; bound tensors are half"),
        (replace(HALF, h=0), r"tensor x: dimensions \[1, 20, 0, 9\]; every one is at least 1"),
        (replace(HALF, pixel_format=99), "tensor x: pixel format 99 does not exist"),
        (replace(HALF, stride_2=64), "tensor x: surf_stride 64 is below a surface of 928 bytes"),
        (replace(HALF, c=40), "tensor x: its elements end at byte 2848, its memory object at 1920"),
        (replace(HALF, n=1000), "tensor x: 1000 images of 1888 bytes in 1920 bytes; correct n or size"),
        (replace(IMAGE, c=5), "tensor image: 5 channels in pixel format A8B8G8R8 of 4"),
    ],
)
def test_bad_descriptors_are_refused(desc: TensorDesc, message: str):
    with pytest.raises(XonncError, match=message):
        bound_tensor(desc, HALF.size, 32)
