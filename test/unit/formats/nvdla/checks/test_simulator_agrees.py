"""What the checks refuse or warn of, on the simulator: it hangs there too, or runs as the hardware does."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from xonnc.errors import XonncError
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.writer import to_bytes
from xonnc.runtime.nvdla.simulator import Output, Simulator
from xonnc.targets import load_target
from xonnc.tools.driver import main

POOL = "nv_full/pdp_max2s2_fp16"
LENET = "nv_small/graph_lenetish_int8"

Edits: TypeAlias = Mapping[str, Any]
Changed: TypeAlias = Callable[[str, Edits], Simulator]


@pytest.fixture
def changed(edited_vector: Callable[[str, Edits], Loadable]) -> Changed:
    """A simulator of a vector with fields changed."""
    return lambda name, edits: Simulator(edited_vector(name, edits), load_target(name.split("/")[0]))


def run(simulator: Simulator) -> list[Output]:
    return simulator.run([bytes(tensor.size) for tensor in simulator.inputs])


def hangs(simulator: Simulator, message: str) -> None:
    with pytest.raises(XonncError, match=re.escape(message)):
        run(simulator)


def test_rows_over_hang_the_next_inference(changed: Changed):
    simulator = changed(POOL, {"op[0].pool_height": 0})
    run(simulator)
    hangs(
        simulator,
        "it deadlocks after task 0 operation 0 (PDP), whose windows leave 1 row over; end the source",
    )


def test_rows_over_hang_the_next_pooling(changed: Changed):
    simulator = changed(LENET, {"op[2].pool_height": 0})
    hangs(
        simulator, "operation 5 (PDP): it deadlocks after task 0 operation 2 (PDP), whose windows leave 1 row"
    )


@pytest.mark.parametrize("edits", [{"op[0].pool_width": 0}, {"op[0].pool_height": 0, "op[0].pool_width": 0}])
def test_columns_over_break_nothing(edits: Edits, changed: Changed):
    simulator = changed(POOL, edits)
    assert run(simulator)[0].raw == run(simulator)[0].raw


def test_anything_over_hangs_a_queue(changed: Changed):
    edits = {
        "op[2].pool_width": 0,
        "graph[2].consumers[1].index": -1,
        "graph[3].dependency_count": 2,
    }
    hangs(changed(LENET, edits), "operation 5 (PDP): it deadlocks after operation 2, whose windows leave")


@pytest.mark.parametrize("name", ["nv_large/sdp_y_layer_add_int8", "nv_full/sdp_y_point_add_fp16"])
def test_a_relu_of_y_does_nothing(name: str, vectors: Path, changed: Changed):
    simulator = changed(name, {"op[0].y_op.act": 1})
    inputs = [(vectors / name / f"input_{index}.bin").read_bytes() for index in range(len(simulator.inputs))]
    (output,) = simulator.run(inputs)
    assert min(output.tensor.reshape(-1).tolist()) < 0
    assert output.raw == (vectors / name / "output_0.bin").read_bytes()[: len(output.raw)]


def test_inspect_prints_warnings_and_ends_well(
    edited_vector: Callable[[str, Edits], Loadable], tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    path = tmp_path / "pool.nvdla"
    path.write_bytes(to_bytes(edited_vector(POOL, {"op[0].pool_height": 0})))
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "warning: task 0 operation 0 (PDP): the windows leave 1 row over; the next inference may" in out
    assert "[rows-over-at-the-end]" in out
    assert "1 warning for nv_full" in out
    assert main(["inspect", str(path), "--json"]) == 0
    assert '"severity": "warning"' in capsys.readouterr().out
