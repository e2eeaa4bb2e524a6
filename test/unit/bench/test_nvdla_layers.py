"""The cycle model beside measurements on the RTL of nv_small."""

from __future__ import annotations

import pytest

from bench.nvdla_cycles import PAGE
from bench.nvdla_layers import MeasuredLayer, measured_layers, table

LAYERS = list(measured_layers())


@pytest.mark.parametrize("layer", LAYERS, ids=[f"{layer.name}, {layer.memory}" for layer in LAYERS])
def test_the_model_is_the_hardware(layer: MeasuredLayer):
    assert abs(layer.deviation) < 0.03


def test_the_page_has_the_table():
    assert "\n".join(table()) in PAGE.read_text()
