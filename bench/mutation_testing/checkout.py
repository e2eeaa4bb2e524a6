"""Checkouts in which mutants run: copies of the tracked files, with the package links that tests import."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

from bench.mutation_testing.warm_process import WarmProcess
from hatch_build import link_packages

MEMORY = 12 << 30
"""Address space limit of a mutant's tests: a mutated size must not exhaust the machine's memory."""

TEST_SECONDS = 90
"""Timeout of a test: a mutant may loop forever. The slowest test takes a fifth of it."""


class Checkout:
    """A copy of the repository's tracked files."""

    def __init__(self, repository: Path, folder: Path):
        self.root = folder / repository.name
        shutil.rmtree(self.root, ignore_errors=True)
        names = subprocess.run(
            ["git", "ls-files", "-z"], cwd=repository, check=True, capture_output=True, text=True
        ).stdout
        for name in names.split("\0")[:-1]:
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (repository / name).exists() or (repository / name).is_symlink():
                shutil.copy2(repository / name, target, follow_symlinks=False)
        link_packages(self.root)
        vectors = repository.parent / "shared"
        if vectors.is_dir() and not (folder / "shared").exists():
            (folder / "shared").symlink_to(vectors)
        self._environment = {
            **os.environ,
            "PYTHONPATH": str(self.root / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self._warm: WarmProcess | None = None
        self._mutated = ""

    def warm_up(self) -> None:
        """Start the process whose forks run the tests of mutants; the files must have no mutant."""
        log = self.root.parent / "warm.log"
        self._warm = WarmProcess(self.root, self._environment, MEMORY, log)

    def mutate(self, path: str) -> None:
        """Tell which file has a mutant while tests run."""
        self._mutated = path

    def run(self, *arguments: str, seconds: float, log: Path) -> int | None:
        """Run Python with arguments in this checkout; return the exit code, or `None` on timeout."""
        if self._warm is not None and self._mutated:
            code = self._warm.run(arguments, self._mutated, seconds, log)
            if not isinstance(code, str):
                return code
        with log.open("ab") as output:
            try:
                return subprocess.run(
                    [sys.executable, *arguments],
                    cwd=self.root,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    timeout=seconds,
                    preexec_fn=_limited,
                ).returncode
            except subprocess.TimeoutExpired:
                return None


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
