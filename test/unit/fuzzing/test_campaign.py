"""Random models at every level; what fails is made small and kept."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import onnx
import pytest
from onnx import helper

from xonnc.errors import XonncError
from xonnc.executors.executor import InProcess, Outcome, Result, Task
from xonnc.fuzzing import levels
from xonnc.fuzzing.campaign import run_seed, run_seeds, save
from xonnc.fuzzing.differential import CRASHES, DIFFERS, DOES_NOT_RUN, INTERFACE, INVALID, REFUSES
from xonnc.fuzzing.levels import LEVELS, WHOLE


def plant(monkeypatch: pytest.MonkeyPatch, level: levels.Level) -> None:
    monkeypatch.setattr("xonnc.fuzzing.differential.LEVELS", {**LEVELS, "planted": level})


def sums_are_differences(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for node in made.graph.node:
        if node.op_type == "Add":
            node.op_type = "Sub"
    return made


def test_a_planted_mistake_is_found_made_small_and_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    plant(monkeypatch, sums_are_differences)
    found = next(one for one in (run_seed(seed, ["planted"]) for seed in range(100)) if one.failures)
    (failure,) = found.failures
    assert failure.kind == DIFFERS
    model, text = save(found, tmp_path)
    reduced = onnx.load_model_from_string(model.read_bytes())
    assert [node.op_type for node in reduced.graph.node] == ["Add"]
    assert len(reduced.graph.output) == 1
    assert text.read_text().startswith("planted changes its outputs: ")
    assert f"seed {found.seed}: {found.nodes} nodes, reduced to 1" in text.read_text()


def crash(model: onnx.ModelProto) -> onnx.ModelProto:
    raise ZeroDivisionError("planted")


def refuse(model: onnx.ModelProto) -> onnx.ModelProto:
    raise XonncError("planted")


def spoil(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    made.graph.node.add(op_type="Relu", input=["nowhere"], output=["nothing"])
    return made


def rename(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    made.graph.node.add(op_type="Identity", input=[made.graph.output[0].name], output=["renamed"])
    made.graph.output[0].name = "renamed"
    return made


def retype(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    made.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.STRING
    return made


def stop_running(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    made.graph.node.add(op_type="Unheard", domain="of", input=[], output=["nothing"])
    made.opset_import.append(helper.make_opsetid("of", 1))
    return made


@pytest.mark.parametrize(
    ("level", "kind", "says"),
    [
        (crash, CRASHES, "ZeroDivisionError: planted"),
        (refuse, REFUSES, "planted"),
        (spoil, INVALID, "nowhere"),
        (rename, INTERFACE, "outputs renamed"),
        (retype, INTERFACE, "elem_type: 8"),
        (stop_running, DOES_NOT_RUN, "Unheard"),
    ],
)
def test_kinds_of_failures(monkeypatch: pytest.MonkeyPatch, level: levels.Level, kind: str, says: str):
    plant(monkeypatch, level)
    (failure,) = run_seed(2, ["planted"]).failures
    assert failure.kind == kind
    assert says in failure.detail
    assert str(failure).startswith(f"planted {kind}: ")


def test_the_whole_is_a_level():
    assert WHOLE in LEVELS
    assert levels.ROUND_TRIP in LEVELS


class LosesOdd(InProcess):
    """Loses the workers of odd seeds."""

    def run(self, function: Callable[[Task], Result], tasks: Sequence[Task]) -> Generator[Outcome[Result]]:
        for index, task in enumerate(tasks):
            if index % 2:
                yield Outcome[Result](
                    index, None, "its worker crashes with SIGSEGV, 3 times", 3, is_lost=True
                )
            else:
                yield Outcome(index, function(task))


def test_a_model_that_ends_its_workers_fails():
    found = list(run_seeds(range(1, 3), ("round-trip",), LosesOdd()))
    assert [one.seed for one in found] == [1, 2]
    assert not found[0].failures
    assert [str(one) for one in found[1].failures] == [
        "round-trip worker crash: its worker crashes with SIGSEGV, 3 times"
    ]
