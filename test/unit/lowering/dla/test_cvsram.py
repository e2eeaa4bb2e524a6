"""Activations in the on-chip memory: the same results, less time, and what is checked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from oracles.nvdla.random_networks import random_recipe
from oracles.nvdla.sweep import outcome_of
from xonnc.compiler import compile_model
from xonnc.errors import XonncError
from xonnc.formats.nvdla.checks.loadable_check import check_loadable
from xonnc.formats.nvdla.enumerations import MemoryDomain
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.performance import performance
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.targets import load_target

DRAM, ON_CHIP = load_target("nv_full"), load_target("nv_full_cvsram")

BRANCHES = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[1,16,20,20] x) => (float[1,32,10,10] y)
<float[16,16,3,3] wa, float[16,16,1,1] wb> {
  a = Conv<pads = [1, 1, 1, 1]>(x, wa)
  r = Relu(a)
  b = Conv(r, wb)
  s = Add(b, r)
  c = Concat<axis = 1>(s, b)
  y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(c)
}
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parsed = onnx.parser.parse_model(BRANCHES)
    generator = np.random.default_rng(0)
    for name, shape in (("wa", (16, 16, 3, 3)), ("wb", (16, 16, 1, 1))):
        values = generator.standard_normal(shape).astype(np.float32)
        for known in [known for known in parsed.graph.initializer if known.name == name]:
            parsed.graph.initializer.remove(known)
        parsed.graph.initializer.append(onnx.numpy_helper.from_array(values, name))
    path = tmp_path_factory.mktemp("cvsram") / "branches.onnx"
    path.write_bytes(parsed.SerializeToString())
    return path


@pytest.fixture(scope="module")
def on_chip(model: Path) -> Loadable:
    return parse_loadable(to_bytes(compile_model(model, ON_CHIP.name).loadable))


def test_the_same_bytes_in_less_time(model: Path, on_chip: Loadable):
    in_dram = compile_model(model, DRAM.name).loadable
    image = np.random.default_rng(1).standard_normal((1, 16, 20, 20)).astype(np.float16)
    (expected,) = Simulator(in_dram, DRAM, mode="exact").run([image])
    (actual,) = Simulator(on_chip, ON_CHIP, mode="exact").run([image])
    assert actual.raw == expected.raw
    costs = performance(in_dram, DRAM), performance(on_chip, ON_CHIP)
    assert costs[0].traffic_bytes == costs[1].traffic_bytes
    assert costs[0].on_chip_bytes == 0 < costs[1].on_chip_bytes
    assert costs[1].cycles < costs[0].cycles


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("is_integer", [True, False])
def test_random_networks_agree_with_the_reference(seed: int, is_integer: bool):
    outcome = outcome_of(random_recipe(seed, is_integer=is_integer), ON_CHIP.name)
    assert outcome.kind in ("agrees", "refused"), outcome.detail


def test_loadables_are_sound_on_their_target_alone(on_chip: Loadable):
    assert check_loadable(on_chip, ON_CHIP) == []
    (problem,) = check_loadable(on_chip, DRAM)
    assert problem.reason == "domain 1; the runtime allocates domain 0 (DRAM) only"
    (memory,) = [memory for memory in on_chip.memories if memory.domain == MemoryDomain.SRAM]
    small = replace(ON_CHIP, cvsram_bytes=memory.size - 1)
    (problem,) = check_loadable(on_chip, small)
    assert problem.reason == f"size {memory.size}; the on-chip memory of nv_full_cvsram has {memory.size - 1}"


def test_cubes_of_the_other_memory_are_found(on_chip: Loadable):
    memories = tuple(replace(memory, domain=MemoryDomain.SYSTEM) for memory in on_chip.memories)
    problems = check_loadable(replace(on_chip, memories=memories), ON_CHIP)
    assert {problem.rule for problem in problems} == {"cubes-name-their-memory"}
    assert "dst_data.type 1; memory 1 of domain 0 needs 0" in {problem.reason for problem in problems}


@pytest.mark.parametrize("size", [0, 100])
def test_the_simulator_has_no_more_on_chip_memory_than_the_target(size: int, on_chip: Loadable):
    simulator = Simulator(on_chip, replace(ON_CHIP, cvsram_bytes=size))
    with pytest.raises(XonncError, match="memory"):
        simulator.run([np.zeros((1, 16, 20, 20), np.float16)])
