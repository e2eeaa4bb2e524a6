"""Limits: what is broken is told with the value found, what is allowed and a way out."""

from __future__ import annotations

import pytest

from xonnc.dialects.dla.types import CubeShape
from xonnc.formats.nvdla.checks.register_fields import FIELDS
from xonnc.formats.nvdla.enumerations import Precision
from xonnc.formats.nvdla.records import ConvOp, PdpOp
from xonnc.lowering.dla_planning.feasibility import conv_limits, pool_limits
from xonnc.lowering.dla_planning.window import Window2D
from xonnc.targets import load_target, target_names
from xonnc.targets.limits import (
    FEATURES,
    LIMITS,
    Limit,
    lacks,
    lacks_emulator,
    lacks_precision,
)

CAPACITY = CubeShape(8, 100, 100)


@pytest.mark.parametrize("limit", LIMITS, ids=[f"{each.engine} {each.what}" for each in LIMITS])
def test_the_greatest_value_is_taken_and_the_next_is_not(limit: Limit):
    assert limit.broken(limit.most) is None
    found = limit.broken(limit.most + 1)
    assert found is not None
    assert found.startswith(f"{limit.what} {limit.most + 1} (the {limit.engine} takes up to {limit.most}); ")
    assert found.endswith(limit.way_out)


def conv_window(field: str, value: int) -> Window2D:
    """A window that asks for `value` in a field of the convolution's descriptor."""
    match field:
        case "conv_stride_x":
            return Window2D((1, 1), (1, value))
        case "dilation_y":
            return Window2D((1, 1), dilations=(value, 1))
        case "kernel_width_csc":
            return Window2D((1, value))
        case "pad_x_left":
            return Window2D((1, 1), pads=(0, value, 0, 0))
        case _:
            return Window2D((1, 1), pads=(0, 0, value, 0))


@pytest.mark.parametrize(
    "field", ["conv_stride_x", "dilation_y", "kernel_width_csc", "pad_x_left", "pad_y_bottom"]
)
def test_the_lowering_and_the_checks_draw_one_line_for_convolutions(field: str):
    allowed = FIELDS[ConvOp][field]
    assert isinstance(allowed, tuple)
    assert conv_limits(CAPACITY, 8, conv_window(field, allowed[1])) is None
    assert conv_limits(CAPACITY, 8, conv_window(field, allowed[1] + 1)) is not None


def pool_window(field: str, value: int) -> Window2D:
    """A window that asks for `value` in a field of the pooling's descriptor."""
    match field:
        case "pool_width":
            return Window2D((1, value + 1))
        case "stride_y":
            return Window2D((1, 1), (value, 1))
        case _:
            return Window2D((8, 8), pads=(value, 0, 0, 0))


@pytest.mark.parametrize("field", ["pool_width", "stride_y", "pad_top"])
def test_the_lowering_and_the_checks_draw_one_line_for_poolings(field: str):
    allowed = FIELDS[PdpOp][field]
    assert isinstance(allowed, tuple)
    assert pool_limits(CAPACITY, pool_window(field, allowed[1])) is None
    assert pool_limits(CAPACITY, pool_window(field, allowed[1] + 1)) is not None


@pytest.mark.parametrize("name", FEATURES)
def test_what_the_full_configuration_has_the_small_one_lacks(name: str):
    assert lacks(load_target("nv_full"), name) is None
    found = lacks(load_target("nv_small"), name)
    assert found is not None
    assert found.startswith("nv_small ")


def test_precisions():
    assert lacks_precision(load_target("nv_full"), "fp16") is None
    assert lacks_precision(load_target("nv_small"), "fp16") == "nv_small computes in int8"


def test_only_cubes_of_16_bytes_keep_softmax_from_the_emulator():
    lacking = [name for name in target_names() if lacks_emulator(load_target(name)) is not None]
    assert lacking == ["nv_medium_512"]


def test_precisions_are_called_as_in_descriptors():
    assert {precision.name.lower() for precision in Precision} == {"int8", "int16", "fp16"}
