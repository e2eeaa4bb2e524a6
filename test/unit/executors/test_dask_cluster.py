"""The executor on a Dask cluster of two local workers, one of which is killed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import executor_tasks as tasks
import pytest

from xonnc.errors import XonncError
from xonnc.executors import dask_cluster
from xonnc.executors.executor import Executor
from xonnc.executors.open_executor import open_executor

needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="needs dask.distributed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    dask, distributed = import_module("dask"), import_module("distributed")
    # One loss is allowed, so that the test of a task that always kills its worker ends soon.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as found,
    ):
        yield found


@pytest.fixture
def executor(cluster: Any) -> Iterator[Executor]:
    with open_executor(scheduler=cluster.scheduler_address) as found:
        yield found


@needs_dask
def test_a_thousand_tasks_without_loss(executor: Executor):
    found = {one.index: one.value() for one in executor.run(tasks.square, range(1000))}
    assert found == {value: value * value for value in range(1000)}


@needs_dask
def test_the_tasks_of_a_killed_worker_run_on_another(executor: Executor, tmp_path: Path):
    given = [*map(str, range(30)), str(tmp_path / "killed.txt"), *map(str, range(30, 60))]
    found = {one.index: one.value() for one in executor.run(tasks.die_once, given)}
    assert [found[index] for index in range(61)] == [Path(each).name for each in given]
    assert (tmp_path / "killed.txt").exists()


@needs_dask
def test_only_the_task_that_kills_its_workers_is_reported(executor: Executor):
    found = {one.index: one for one in executor.run(tasks.die_on, range(8))}
    assert len(found) == 8
    assert [index for index, one in found.items() if one.is_lost] == [3]
    assert found[3].error.startswith("given up by Dask: ")


@needs_dask
def test_an_exception_is_the_outcome_of_its_task_alone(executor: Executor):
    found = sorted(executor.run(tasks.refuse, [1, 2]), key=lambda one: one.index)
    assert [one.error for one in found] == ["1 is odd", ""]


@needs_dask
def test_an_address_without_scheduler(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 1.0)
    with pytest.raises(XonncError, match=r"tcp://127.0.0.1:9: no scheduler: "):
        open_executor(scheduler="tcp://127.0.0.1:9")


@needs_dask
def test_a_scheduler_without_workers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 1.0)
    cluster = import_module("distributed").LocalCluster(n_workers=0, dashboard_address=None)
    with cluster, pytest.raises(XonncError, match=r"a scheduler without workers; start one: dask worker tcp"):
        open_executor(scheduler=cluster.scheduler_address)


def test_without_dask_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(dask_cluster, "import_module", missing)
    with pytest.raises(XonncError, match=r"--scheduler needs Dask: pip install 'xonnc\[cluster\]'"):
        open_executor(scheduler="tcp://127.0.0.1:9")
