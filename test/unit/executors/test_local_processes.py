"""Executors in this process and in local processes; workers that die."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import executor_tasks as tasks
import pytest

from xonnc.errors import XonncError
from xonnc.executors.executor import Executor, InProcess
from xonnc.executors.local_processes import LocalProcesses
from xonnc.executors.open_executor import open_executor


@pytest.mark.parametrize("jobs", [0, 2])
def test_a_thousand_tasks_without_loss(jobs: int):
    with open_executor(jobs) as executor:
        found = {outcome.index: outcome.value() for outcome in executor.run(tasks.square, range(1000))}
    assert found == {value: value * value for value in range(1000)}


def test_the_overhead_of_a_task_is_below_ten_milliseconds():
    with LocalProcesses(2) as executor:
        list(executor.run(tasks.square, range(2)))
        begun = time.perf_counter()
        list(executor.run(tasks.square, range(500)))
        assert (time.perf_counter() - begun) / 500 < 0.01


@pytest.mark.parametrize("executor", [InProcess(), LocalProcesses(1)])
def test_an_exception_is_the_outcome_of_its_task_alone(executor: Executor):
    with executor:
        found = sorted(executor.run(tasks.refuse, [1, 2, 4]), key=lambda one: one.index)
    assert [one.error for one in found] == ["1 is odd", "", "KeyError: 'four'"]
    assert found[1].value() == 2
    assert not any(one.is_lost for one in found)
    with pytest.raises(XonncError, match="1 is odd"):
        found[0].value()


def test_the_task_of_a_killed_worker_runs_on_another(tmp_path: Path):
    given = ["a", str(tmp_path / "b.txt"), "c"]
    with LocalProcesses(2) as executor:
        found = {one.index: one for one in executor.run(tasks.die_once, given)}
    assert [found[index].value() for index in range(3)] == ["a", "b.txt", "c"]
    assert [found[index].attempts for index in range(3)] == [1, 2, 1]


def test_a_task_that_kills_three_workers_is_reported():
    with LocalProcesses(2) as executor:
        found = {one.index: one for one in executor.run(tasks.die_on, range(6))}
    assert [index for index, one in found.items() if one.error] == [3]
    assert found[3].error == "its worker crashes with SIGKILL, 3 times"
    assert found[3].is_lost
    assert found[3].attempts == 3


def test_an_idle_worker_that_was_killed_is_replaced():
    with LocalProcesses(1) as executor:
        list(executor.run(tasks.square, [1]))
        (pid,) = executor.pids()
        os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
        (found,) = executor.run(tasks.square, [5])
        assert found.value() == 25
        assert executor.pids() != [pid]


def test_a_task_over_its_time_is_ended():
    with LocalProcesses(2, seconds=0.8, attempts=1) as executor:
        list(executor.run(tasks.square, [1, 2]))
        found = {one.index: one for one in executor.run(tasks.sleep, [0.0, 30.0])}
    assert found[0].value() == 0.0
    assert found[1].error == "over 0.8 s"


def test_workers_end_with_the_executor_and_with_an_abandoned_run():
    with LocalProcesses(2) as executor:
        run = executor.run(tasks.sleep, [0.0, 30.0])
        assert next(run).index == 0
        assert len(executor.pids()) == 2
        run.close()
        (pid,) = executor.pids()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_function_keeps_its_state_in_a_worker():
    counter = tasks.Counter()
    with LocalProcesses(1) as executor:
        assert [one.value() for one in executor.run(counter, [0, 0])] == [1, 2]
        assert [one.value() for one in executor.run(counter, [0])] == [3]


def test_a_function_that_the_worker_cannot_import_is_an_error():
    with LocalProcesses(1) as executor, pytest.raises(XonncError, match="No module named 'gone'"):
        next(executor.run(_Gone(), [1])).value()


class _Gone:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return __import__, ("gone",)

    def __call__(self, _: int) -> int:
        return 0
