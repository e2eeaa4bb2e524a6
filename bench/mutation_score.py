"""
Mutation score: mutates sampled operators and conditions of the sources and runs the tests that cover them.

    python bench/mutation_score.py --work DIR [--count 200] [--seed 0] [--jobs 2] [--scheduler ADDRESS]
        [--only GLOB] [--near] [--budget SECONDS] [--json FILE]

The tests run once under coverage with a context per test (cached in DIR for the commit). Each mutant is run
against the tests that cover its line, the nearest test file first, and against the lit files: those of its
folder, then all. It is killed if one of them fails. `--near` saves the run of all tests: it takes the test
files that name the mutant's module or what it defines, so its score is a lower bound.

Survivors are listed, with the reason if they are equivalent (bench/mutation_testing/equivalents.py); these do
not count. Those whose tests took longer than the budget are undecided, and count as alive.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.mutation_testing.checkout import TEST_SECONDS, Checkout
from bench.mutation_testing.coverage_map import CoverageMap
from bench.mutation_testing.equivalents import equivalence
from bench.mutation_testing.mutants import Mutant, mutants
from bench.mutation_testing.near_tests import near_tests
from xonnc.executors.open_executor import open_executor

ROOT = Path(__file__).resolve().parent.parent

PRODUCT = (
    *("compat", "contrib", "dialects", "executors", "formats", "lowering", "plugins", "rewriting"),
    *("runtime", "src", "targets", "tools", "transforms"),
)

# A thread ends loops of native code too, which signals do not interrupt.
PYTEST = (
    *("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"),
    *(f"--timeout={TEST_SECONDS}", "--timeout-method=thread"),
)

NO_TESTS = 5
"""Exit code of pytest."""

UNDECIDED = "budget"

MAX_BASELINE_FAILURES = 40
"""Most tests that may fail in an unmodified checkout."""

FIRST_BATCH, FIRST_FILES = 40, 2
"""Tests, or test files, in the first process of a mutant, which kills most; later ones: ten times that."""

LIT = "import sys; from lit.main import main; sys.argv[0] = 'lit'; main()"


@dataclass(frozen=True)
class MutantResult:
    """Result of one mutant."""

    mutant: Mutant
    killed_by: str
    """`tests`, `lit`, `budget` (undecided within it), or empty if the mutant survives."""
    tests: int
    """Number of tests that cover its line, or of test files near it."""
    seconds: float
    equivalent: str = ""
    """Why a survivor is no fault."""

    @property
    def is_killed(self) -> bool:
        """Whether a check fails."""
        return self.killed_by not in ("", UNDECIDED)


def main() -> int:
    """Print the survivors and the score; exit 1 if the tests fail without a mutant."""
    parser = argparse.ArgumentParser(description="mutation score of the product's tests")
    parser.add_argument("--work", type=Path, required=True, help="folder for checkouts and coverage")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--scheduler", metavar="ADDRESS", help="run on a Dask cluster: tcp://host:8786")
    parser.add_argument("--only", default="*", help="glob of the paths to mutate")
    parser.add_argument("--near", action="store_true", help="run test files by name instead of by coverage")
    parser.add_argument("--budget", type=float, default=300, help="seconds of tests for one mutant")
    parser.add_argument("--json", type=Path, help="also write all trials to a file")
    options = parser.parse_args()

    chosen = sample_mutants(options.count, options.seed, options.only)
    options.work.mkdir(parents=True, exist_ok=True)
    if options.near:
        tasks = [MutantTask(mutant, near_tests(ROOT, mutant.path)) for mutant in chosen]
    else:
        coverage = _coverage(options.work, options.jobs)
        if coverage is None:
            return 1
        tasks = [MutantTask(mutant, coverage.tests(mutant.path, mutant.line)) for mutant in chosen]
    runner = MutantRunner(options.work.resolve(), options.budget)
    done: list[MutantResult] = []
    with open_executor(options.jobs, options.scheduler) as executor:
        for outcome in executor.run(runner, tasks):
            result = outcome.value()
            done.append(result)
            print(
                f"{len(done):4} {result.killed_by or (result.equivalent and 'same') or 'SURVIVED':8} "
                f"{result.seconds:5.0f} s  {result.mutant}",
                flush=True,
            )
    print_score(done)
    if options.json:
        options.json.write_text(json.dumps([asdict(result) for result in done], indent=1) + "\n")
    return 0


def sample_mutants(count: int, seed: int, only: str = "*") -> list[Mutant]:
    """A seeded sample of the mutants of all source files."""
    names = subprocess.run(
        ["git", "ls-files", "-z", *PRODUCT], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\0")
    paths = [
        name
        for name in names
        if name.endswith(".py") and fnmatch(name, only) and not (ROOT / name).is_symlink()
    ]
    found = [mutant for path in paths for mutant in mutants(path, (ROOT / path).read_text())]
    return random.Random(seed).sample(found, min(count, len(found)))


def _coverage(work: Path, jobs: int) -> CoverageMap | None:
    """
    The tests that cover each line, from a run of all tests unless one is cached for this commit.

    Tests that fail in an unmodified checkout (they need git, or more memory than mutants get) are excluded;
    returns `None` if there are more than `MAX_BASELINE_FAILURES`.
    """
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    folder = work / "coverage"
    database, commit_file, log = folder / "coverage.db", folder / "commit", folder / "log"
    if commit_file.exists() and commit_file.read_text() == commit.stdout:
        return CoverageMap(database, folder / ROOT.name, failed_tests(log.read_text()))
    print("running all tests under coverage …", flush=True)
    checkout = Checkout(ROOT, folder)
    settings = folder / "coverage.ini"
    settings.write_text(f"[run]\ndata_file = {database}\nsource = {checkout.root}\n")
    log.unlink(missing_ok=True)
    database.unlink(missing_ok=True)
    arguments = ["--cov", f"--cov-config={settings}", "--cov-context=test", "--cov-report=", "-n", str(jobs)]
    exit_code = checkout.run(
        "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", *arguments, seconds=7200, log=log
    )
    failed = failed_tests(log.read_text()) if log.exists() else set[str]()
    if exit_code not in (0, 1) or len(failed) > MAX_BASELINE_FAILURES:
        print(f"the tests fail without a mutant: see {log}", file=sys.stderr)
        return None
    if failed:
        print(f"{len(failed)} tests fail without a mutant and are left out: see {log}", flush=True)
    commit_file.write_text(commit.stdout)
    return CoverageMap(database, checkout.root, failed)


def failed_tests(log: str) -> set[str]:
    """Node ids of the failures in pytest's summary."""
    return set(re.findall(r"^(?:FAILED|ERROR) (\S+)", log, re.MULTILINE))


@dataclass(frozen=True)
class MutantTask:
    """A mutant, and the tests that cover it, the nearest first."""

    mutant: Mutant
    tests: Sequence[str]


class MutantRunner:
    """Runs mutants in a checkout of its own, which is made for the first one."""

    def __init__(self, work: Path, budget: float) -> None:
        self._work = work
        self._budget = budget
        self._checkout: Checkout | None = None

    def __call__(self, task: MutantTask) -> MutantResult:
        """Change a file of the checkout, run the tests, and change it back."""
        if self._checkout is None:
            self._checkout = Checkout(ROOT, Path(tempfile.mkdtemp(prefix="job-", dir=self._work)))
            if self._budget > 0:
                self._checkout.warm_up()
        self._checkout.mutate(task.mutant.path)
        path = self._checkout.root / task.mutant.path
        source = path.read_text()
        start = time.monotonic()
        try:
            path.write_text(task.mutant.applied(source))
            killed_by = _killer(task.mutant, task.tests, self._checkout, start + self._budget)
        finally:
            path.write_text(source)
        reason = "" if killed_by not in ("", UNDECIDED) else equivalence(task.mutant, source)
        return MutantResult(task.mutant, killed_by, len(task.tests), time.monotonic() - start, reason)


def _killer(mutant: Mutant, tests: Sequence[str], checkout: Checkout, deadline: float) -> str:
    """Which check kills a mutant: its tests in growing batches, or the lit files of its folder, or all."""
    log = checkout.root.parent / "log"
    log.unlink(missing_ok=True)

    def is_killed(*arguments: str) -> bool:
        if (left := deadline - time.monotonic()) <= 0:
            raise BudgetError
        exit_code = checkout.run(*arguments, seconds=left, log=log)
        if exit_code is None:
            raise BudgetError
        return exit_code not in (0, NO_TESTS)

    def is_killed_by(batch: Sequence[str]) -> bool:
        listed = checkout.root.parent / "tests"
        listed.write_text("\n".join(batch) + "\n")
        return is_killed(*PYTEST, f"@{listed}")

    def is_killed_by_lit(folder: Path) -> bool:
        return is_killed("-c", LIT, "-q", "-j1", str(folder))

    has_files = bool(tests) and "::" not in tests[0]
    first = FIRST_FILES if has_files else FIRST_BATCH
    batches = [tests[:first], *(tests[at : at + 10 * first] for at in range(first, len(tests), 10 * first))]
    every = checkout.root / "test" / "lit"
    nearest = _lit_folder(mutant.path, checkout.root)
    try:
        # Whole test files take longer than the lit files of a folder.
        if has_files and nearest and is_killed_by_lit(nearest):
            return "lit"
        if batches[0] and is_killed_by(batches[0]):
            return "tests"
        if not has_files and nearest and is_killed_by_lit(nearest):
            return "lit"
        if any(is_killed_by(batch) for batch in batches[1:]):
            return "tests"
        return "lit" if is_killed_by_lit(every) else ""
    except BudgetError:
        return UNDECIDED


class BudgetError(Exception):
    """The tests of a mutant take longer than its budget."""


def _lit_folder(path: str, root: Path) -> Path | None:
    """The lit folder that mirrors a file's folder, or its nearest ancestor."""
    folder = root / "test" / "lit" / Path(path).parent
    while not folder.is_dir():
        folder = folder.parent
    return None if folder == root / "test" / "lit" else folder


def print_score(results: Sequence[MutantResult]) -> None:
    """Print the equivalent mutants, the survivors, and the score of each folder without the former."""
    alive = [result for result in results if not result.is_killed]
    equivalent = [result for result in alive if result.equivalent]
    print("\nequivalent:")
    for result in equivalent:
        print(f"  {result.mutant}: {result.equivalent}")
    survivors = [result for result in alive if not result.equivalent]
    print("\nsurvivors:")
    for result in survivors:
        print(f"  {result.mutant} ({result.tests} tests run it{', undecided' if result.killed_by else ''})")
    counted = [result for result in results if result not in equivalent]
    folders = Counter(result.mutant.path.split("/")[0] for result in counted)
    lost = Counter(result.mutant.path.split("/")[0] for result in survivors)
    for folder, total in sorted(folders.items()):
        print(f"{folder:12} {total - lost[folder]:4} of {total:4} killed")
    print(f"{'all':12} {len(counted) - len(survivors):4} of {len(counted):4} killed", end=" ")
    print(f"({100 * (len(counted) - len(survivors)) / max(len(counted), 1):.1f} %)")


if __name__ == "__main__":
    # Workers import the classes of their tasks: by the module's name, not `__main__`.
    sys.exit(import_module("bench.mutation_score").main())
