"""The executor that options ask for."""

from __future__ import annotations

from xonnc.executors.dask_cluster import DaskCluster
from xonnc.executors.executor import Executor, InProcess
from xonnc.executors.local_processes import LocalProcesses


def open_executor(jobs: int = 0, scheduler: str | None = None) -> Executor:
    """
    Open an executor: on the Dask cluster of a scheduler, in `jobs` local processes, or in this process if 0.

    Raises `XonncError` if the scheduler cannot be reached or `distributed` is not installed.
    """
    if scheduler is not None:
        return DaskCluster(scheduler)
    return LocalProcesses(jobs) if jobs else InProcess()
