"""Loadables for firmware interface 0.11: the same numbers, every place an address."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from xonnc.compiler import compile_model
from xonnc.errors import XonncError
from xonnc.formats.nvdla.checks.loadable_check import check_loadable
from xonnc.formats.nvdla.interface_011 import to_interface_011
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.reader import parse_loadable
from xonnc.formats.nvdla.records import Layout
from xonnc.formats.nvdla.tasks import DlaTask, decode_tasks, interface_layout
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.targets import load_target
from xonnc.tools.driver import main

FULL = load_target("nv_full")

HALF = """
    <ir_version: 8, opset_import: ["" : 17]>
    network (float[1, 20, 6, 7] x) => (float[1, 36, 6, 7] y, float[1, 36] s) {
      a = Relu (x)
      b = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a)
      c = Slice (b, begin, end, axis)
      y = Concat <axis = 1> (c, a)
      g = GlobalAveragePool (y)
      f = Flatten (g)
      s = Softmax (f)
    }
"""
SLICED = {"begin": [0], "end": [16], "axis": [1]}


@pytest.fixture
def compiled(tmp_path: Path) -> Loadable:
    return compile_model(model_in(tmp_path), "nv_full").loadable


def model_in(folder: Path) -> Path:
    model = parser.parse_model(HALF)
    for name, fields in SLICED.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(fields, np.int64), name))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def numbers(loadable: Loadable) -> list[bytes]:
    x = np.random.default_rng(4).standard_normal((1, 20, 6, 7)).astype(np.float32)
    return [output.numbers.tobytes() for output in Simulator(loadable, FULL).run([x])]


def test_the_older_form_gives_the_same_numbers(compiled: Loadable):
    older = parse_loadable(to_bytes(to_interface_011(compiled)))
    assert interface_layout(older) is Layout.CUBES_28
    assert check_loadable(older, FULL) == []
    assert numbers(older) == numbers(compiled)


def test_places_are_addresses_behind_the_others(compiled: Loadable):
    older = to_interface_011(compiled)
    assert older.addresses[: len(compiled.addresses)] == compiled.addresses
    assert len(older.addresses) > len(compiled.addresses)
    for before, after in zip(compiled.tasks, older.tasks, strict=True):
        assert after.address_list[: len(before.address_list)] == before.address_list
    for task in decode_tasks(older):
        if isinstance(task, DlaTask):
            assert task.network.num_addresses == len(task.addresses)


def test_the_command_writes_it(tmp_path: Path):
    model, file = model_in(tmp_path), tmp_path / "old.nvdla"
    assert main(["compile", str(model), "--iface", "0.11", "-q", "-o", str(file)]) == 0
    assert interface_layout(parse_loadable(file.read_bytes())) is Layout.CUBES_28


def test_packages_are_for_the_newer_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = model_in(tmp_path)
    assert main(["compile", str(model), "--iface", "0.11", "-o", str(tmp_path / "m.xpkg")]) == 1
    assert "--iface 0.11: packages are run by xonnc, which takes 0.12" in capsys.readouterr().err


def test_softmax_of_integers_is_refused(tmp_path: Path):
    text = """
        <ir_version: 8, opset_import: ["" : 17]>
        network (float[1, 20] x) => (float[1, 20] y) <float scale = {0.01}, int8 zero = {0}> {
          a = QuantizeLinear (x, scale, zero)
          b = DequantizeLinear (a, scale, zero)
          c = Softmax (b)
          d = QuantizeLinear (c, scale, zero)
          y = DequantizeLinear (d, scale, zero)
        }
    """
    path = tmp_path / "model.onnx"
    path.write_bytes(parser.parse_model(text).SerializeToString())
    loadable = compile_model(path, "nv_full").loadable
    with pytest.raises(XonncError, match="a softmax of scaled integers"):
        to_interface_011(loadable)
