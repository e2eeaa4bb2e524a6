"""Mutants: which there are, that each is one change of the text, and in which order tests face them."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest
from coverage import CoverageData

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from bench import mutation_score
from bench.mutation_score import failed_tests, sample_mutants
from bench.mutation_testing import warm_process
from bench.mutation_testing.checkout import Checkout
from bench.mutation_testing.coverage_map import CoverageMap, by_distance, mirror
from bench.mutation_testing.equivalents import LIST, equivalence
from bench.mutation_testing.mutants import Mutant, mutants
from bench.mutation_testing.near_tests import near_tests
from bench.mutation_testing.warm_process import COLD, WarmProcess, changed_functions, replace_code


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", ["(a <= b)"]),
        ("a == b", ["(a != b)"]),
        ("a < b < c", ["(a <= b < c)", "(a < b <= c)"]),
        ("a and b", ["(a or b)"]),
        ("not a", ["(a)"]),
        ("a + 1", ["(a - 1)"]),
        ("a // 2", ["(a * 2)"]),
        ("True", ["(False)"]),
        ("x if a else y", ["(not a)"]),
        ("x if a is None else y", ["(a is not None)"]),
        ("f(a)", []),
        ("a | b", []),
        ("'a' + b", []),
        ("f'{a + b}'", []),
    ],
)
def test_of_an_expression(source: str, expected: list[str]):
    assert sorted(mutant.after for mutant in mutants("a.py", source)) == sorted(expected)


@pytest.mark.parametrize(
    "source",
    ["x: int = y", "def f(a: tuple[int, 1 + 2]) -> 1 + 2: ...", "if TYPE_CHECKING:\n    pass\n"],
)
def test_what_nothing_runs_is_left_alone(source: str):
    assert mutants("a.py", source) == []


def test_only_the_expression_changes():
    source = "é = 'ü'; x = (ä +\n     b)  # a sum\ny = x\n"
    (mutant,) = mutants("a.py", source)
    assert mutant.applied(source) == "é = 'ü'; x = ((ä - b))  # a sum\ny = x\n"
    assert str(mutant) == "a.py:1: ä + b -> (ä - b)"


def test_sample_is_seeded_and_each_mutant_is_valid_python():
    sample = sample_mutants(20, 3, "transforms/*")
    assert sample == sample_mutants(20, 3, "transforms/*") != sample_mutants(20, 4, "transforms/*")
    root = Path(__file__).resolve().parents[3]
    for mutant in sample:
        ast.parse(mutant.applied((root / mutant.path).read_text()))


def test_sample_of_one_folder():
    assert {mutant.path.split("/")[0] for mutant in sample_mutants(10, 0, "targets/*")} == {"targets"}


def test_nearest_tests_come_first():
    tests = {
        "test/unit/tools/test_opt.py::test_a",
        "test/unit/lowering/dla_to_loadable/test_sweep.py::test_b",
        "test/unit/lowering/dla/test_memory.py::test_c",
        "test/unit/lowering/dla/test_other.py::test_d",
    }
    assert [test[-1] for test in by_distance("lowering/dla/memory.py", tests)] == ["c", "d", "b", "a"]


def test_mirror_of_a_file():
    assert mirror("lowering/dla/packing.py") == "test/unit/lowering/dla/test_packing.py"
    assert mirror("src/xonnc/native.py") == "test/unit/test_native.py"


def test_checkout_has_the_packages_that_tests_import(tmp_path: Path):
    checkout = Checkout(Path(__file__).resolve().parents[3], tmp_path)
    log = tmp_path / "log"
    program = "import xonnc.dialects as package; print(package.__path__[0])"
    assert checkout.run("-c", program, seconds=60, log=log) == 0, log.read_text()
    assert log.read_text().startswith(str(checkout.root))


def test_lines_that_run_at_import_face_the_tests_of_their_file(tmp_path: Path):
    source = tmp_path / "a.py"
    source.write_text("LIMIT = 1\ndef f():\n    return LIMIT\n")
    data = CoverageData(str(tmp_path / "coverage.db"))
    for context, lines in (("", [1, 2]), ("test_a.py::test_of_three|run", [3])):
        data.set_context(context)
        data.add_lines({str(source): lines})
    data.write()
    found = CoverageMap(tmp_path / "coverage.db", tmp_path)
    assert found.tests("a.py", 3) == ["test_a.py::test_of_three"]
    assert found.tests("a.py", 1) == ["test_a.py::test_of_three"]
    assert found.tests("a.py", 4) == []


def test_tests_that_fail_without_a_mutant_are_left_out(tmp_path: Path):
    (tmp_path / "m.py").write_text("x = 1 + 1\n")
    data = CoverageData(str(tmp_path / "coverage.db"))
    for test in ("a.py::one[x-1]", "a.py::two"):
        data.set_context(f"{test}|run")
        data.add_lines({str(tmp_path / "m.py"): [1]})
    data.write()
    log = "FAILED a.py::one[x-1] - AssertionError\nERROR b.py::three\nnothing FAILED here\n"
    failed = failed_tests(log)
    assert failed == {"a.py::one[x-1]", "b.py::three"}
    assert CoverageMap(tmp_path / "coverage.db", tmp_path, failed).tests("m.py", 1) == ["a.py::two"]


class Cold:
    """Of a checkout: no process that has imported the package."""

    def warm_up(self) -> None:
        pass

    def mutate(self, path: str) -> None:
        pass


def test_a_mutant_runs_in_a_checkout_that_is_whole_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The file is changed while the tests run, and only then."""
    seen: list[str] = []

    class Copy(Cold):
        def __init__(self, repository: Path, folder: Path) -> None:
            self.root = folder
            (folder / "a.py").write_text("x = a < b\n")

    def killer(mutant: Mutant, tests: Sequence[str], checkout: Copy, deadline: float) -> str:
        seen.append((checkout.root / "a.py").read_text())
        if mutant.after == "(a > b)":
            raise RuntimeError("interrupted")
        return "tests"

    monkeypatch.setattr(mutation_score, "Checkout", Copy)
    monkeypatch.setattr(mutation_score, "_killer", killer)
    runner = mutation_score.MutantRunner(tmp_path, 60)
    changes = [Mutant("a.py", 1, 4, 9, "a < b", after) for after in ("(a <= b)", "(a > b)", "(a != b)")]
    tasks = [mutation_score.MutantTask(change, ["t"]) for change in changes]
    assert runner(tasks[0]).killed_by == "tests"
    with pytest.raises(RuntimeError):
        runner(tasks[1])
    runner(tasks[2])
    assert seen == ["x = (a <= b)\n", "x = (a > b)\n", "x = (a != b)\n"]
    (folder,) = tmp_path.iterdir()
    assert (folder / "a.py").read_text() == "x = a < b\n"


ROOT = Path(__file__).resolve().parents[3]


def test_lines_outside_functions_face_all_tests_of_their_file(tmp_path: Path):
    """Which test imports a module first is chance: its context says nothing."""
    (tmp_path / "a.py").write_text("LIMIT = 1 + 2\ndef f(x=1 + 1):\n    return LIMIT + x\n")
    data = CoverageData(str(tmp_path / "coverage.db"))
    for context, lines in (("t.py::test_first|run", [1, 2]), ("t.py::test_f[a|b]|run", [3])):
        data.set_context(context)
        data.add_lines({str(tmp_path / "a.py"): lines})
    data.write()
    found = CoverageMap(tmp_path / "coverage.db", tmp_path)
    assert found.tests("a.py", 1) == found.tests("a.py", 2) == ["t.py::test_f[a|b]", "t.py::test_first"]
    assert found.tests("a.py", 3) == ["t.py::test_f[a|b]"]


def test_near_tests_are_those_that_name_a_module_or_what_it_defines():
    found = near_tests(ROOT, "lowering/onnx_to_dla/quantization/equalization.py")
    assert found[0] == "test/unit/lowering/onnx_to_dla/quantization/test_equalization.py"
    assert "test/unit/lowering/onnx_to_dla/quantization/test_negligible_weights.py" in found
    assert len(found) == len(set(found))
    assert (
        "test/unit/transforms/test_rule_numbers.py"
        in near_tests(ROOT, "transforms/rules/fuse_pooling.py")[:9]
    )
    # It is used by a module whose test does not name it.
    of_user = "test/unit/transforms/models/test_opset_conversion.py"
    assert of_user in near_tests(ROOT, "transforms/rules/lower_versions.py")


@pytest.mark.parametrize(
    ("source", "after", "reason"),
    [
        ("zip(a, b, strict=True)", "(False)", "of one length"),
        ("f(a, b, strict=True)", "(False)", ""),
        ("@dataclass(frozen=True)\nclass A: ...", "(False)", "type checker"),
        ("@dataclass(eq=False)\nclass A: ...", "(True)", ""),
        ("a.astype(b, copy=False)", "(True)", "costs a copy"),
        ("a.astype(b, copy=True)", "(False)", ""),
        ("a if a < b else b", "(a <= b)", "equal values"),
        ("b if a >= b else a", "(a > b)", "equal values"),
        ("a if a < b else b", "(not a < b)", ""),
        ("a if a < b else c", "(a <= b)", ""),
    ],
)
def test_classes_of_equivalent_mutants(source: str, after: str, reason: str):
    (mutant,) = [mutant for mutant in mutants("a.py", source) if mutant.after == after]
    found = equivalence(mutant, source)
    assert reason in found
    assert bool(found) == bool(reason)


def test_listed_equivalent_mutants_have_a_reason(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    entries = tomllib.loads(LIST.read_text())["mutant"]
    assert all(entry.keys() == {"path", "before", "after", "reason"} for entry in entries)
    listed = tmp_path / "list.toml"
    listed.write_text(
        '[[mutant]]\npath = "a.py"\nbefore = "a < b"\nafter = "(a <= b)"\nreason = "they differ"\n'
    )
    monkeypatch.setattr("bench.mutation_testing.equivalents.LIST", listed)
    assert equivalence(Mutant("a.py", 1, 0, 5, "a < b", "(a <= b)"), "a < b\n") == "they differ"
    assert equivalence(Mutant("b.py", 1, 0, 5, "a < b", "(a <= b)"), "a < b\n") == ""


@pytest.mark.parametrize(
    ("exit_codes", "expected", "runs"),
    [
        ([1], "tests", 1),
        ([0, 1], "lit", 2),
        ([0, 0, 1], "tests", 3),
        ([0, 5, 0, 1], "lit", 4),
        ([0, 0, 0, 0], "", 4),
        ([0, None], "budget", 2),
    ],
)
def test_a_mutant_faces_near_tests_then_lit_then_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exit_codes: list[int | None], expected: str, runs: int
):
    """A run that ends at the budget decides nothing: its tests may just be slow."""
    ran: list[tuple[str, ...]] = []

    class Copy(Cold):
        root = tmp_path / "copy"

        def __init__(self, repository: Path, folder: Path) -> None:
            (self.root / "test/lit/lowering/dla").mkdir(parents=True)
            (self.root / "lowering/dla").mkdir(parents=True)
            (self.root / "lowering/dla/a.py").write_text("a < b\n")

        def run(self, *arguments: str, seconds: float, log: Path) -> int | None:
            ran.append(arguments)
            return exit_codes[len(ran) - 1]

    monkeypatch.setattr(mutation_score, "Checkout", Copy)
    tests = [f"a.py::test_{number}" for number in range(mutation_score.FIRST_BATCH + 1)]
    task = mutation_score.MutantTask(Mutant("lowering/dla/a.py", 1, 0, 5, "a < b", "(a <= b)"), tests)
    result = mutation_score.MutantRunner(tmp_path, 60)(task)
    assert (result.killed_by, len(ran)) == (expected, runs)
    assert result.is_killed == (expected in ("tests", "lit"))


@pytest.mark.parametrize(("exit_codes", "expected"), [([1], "lit"), ([0, 1], "tests"), ([0, 0, 1], "lit")])
def test_near_lit_files_come_before_whole_test_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exit_codes: list[int], expected: str
):
    ran: list[tuple[str, ...]] = []

    class Copy(Cold):
        root = tmp_path / "copy"

        def __init__(self, repository: Path, folder: Path) -> None:
            (self.root / "test/lit/lowering").mkdir(parents=True)
            (self.root / "lowering").mkdir(parents=True)
            (self.root / "lowering/a.py").write_text("a < b\n")

        def run(self, *arguments: str, seconds: float, log: Path) -> int:
            ran.append(arguments)
            return exit_codes[len(ran) - 1]

    monkeypatch.setattr(mutation_score, "Checkout", Copy)
    task = mutation_score.MutantTask(
        Mutant("lowering/a.py", 1, 0, 5, "a < b", "(a <= b)"), ["test/test_a.py"]
    )
    assert mutation_score.MutantRunner(tmp_path, 60)(task).killed_by == expected
    assert len(ran) == len(exit_codes)
    assert ran[0][-1] == str(Copy.root / "test/lit/lowering")


def test_score_leaves_out_equivalent_mutants(capsys: pytest.CaptureFixture[str]):
    def result(killed_by: str, equivalent: str = "") -> mutation_score.MutantResult:
        return mutation_score.MutantResult(
            Mutant("dialects/a.py", 1, 0, 1, "a", "b"), killed_by, 3, 1.0, equivalent
        )

    mutation_score.print_score([result("tests"), result("budget"), result("", "costs a copy"), result("lit")])
    lines = capsys.readouterr().out.splitlines()
    assert "  dialects/a.py:1: a -> b: costs a copy" in lines
    assert "  dialects/a.py:1: a -> b (3 tests run it, undecided)" in lines
    assert lines[-2:] == ["dialects        2 of    3 killed", "all             2 of    3 killed (66.7 %)"]


def test_workers_run_mutants(tmp_path: Path):
    """As a script, whose classes workers cannot import from `__main__`."""
    command = [sys.executable, str(ROOT / "bench" / "mutation_score.py"), "--work", str(tmp_path), "--near"]
    options = ["--count", "1", "--jobs", "1", "--budget", "0", "--only", "targets/*"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "   1 budget" in done.stdout
    assert "targets         0 of    1 killed" in done.stdout


FUNCTIONS = """
LIMIT = 1 + 2
def f(x, y=LIMIT + 1):
    return [each + 1 for each in x if each < y]
class C:
    size = LIMIT * 2
    def g(self):
        return (lambda: self.size - 1)()
SHORT = [each + 1 for each in (1, 2)]
"""


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("each < y", "each <= y", {"f"}),
        ("self.size - 1", "self.size + 1", {"C.g"}),
        ("LIMIT = 1 + 2", "LIMIT = 1 - 2", None),
        ("y=LIMIT + 1", "y=LIMIT - 1", None),
        ("LIMIT * 2", "LIMIT // 2", None),
        ("SHORT = [each + 1", "SHORT = [each - 1", None),
        ("", "", set[str]()),
    ],
)
def test_code_of_functions_is_replaced_in_place(before: str, after: str, changed: set[str] | None):
    """What runs at import, default values too, needs a new process."""
    old, new = (compile(text, "a.py", "exec") for text in (FUNCTIONS, FUNCTIONS.replace(before, after)))
    found = changed_functions(old, new)
    assert (None if found is None else {name for name, _ in found}) == changed


def test_functions_that_others_imported_change_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "functions.py"
    file.write_text(FUNCTIONS)
    spec = importlib.util.spec_from_file_location("functions", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    f = vars(module)["f"]
    monkeypatch.setitem(warm_process.SOURCES, str(file), FUNCTIONS)
    assert f([1, 4]) == [2]
    assert not replace_code(module, FUNCTIONS.replace("each < y", "each <= y"), {f.__code__})
    assert replace_code(module, FUNCTIONS.replace("each < y", "each <= y"), set())
    assert f([1, 4]) == [2, 5]


def test_a_warm_process_runs_each_mutant_in_a_fork(tmp_path: Path):
    package = tmp_path / "src" / "xonnc"
    package.mkdir(parents=True)
    source = "RAN = [1]\ndef early():\n    return 1 + 1\ndef late():\n    return 2 + 2\nTWO = early()\n"
    for name, text in (("__init__", ""), ("a", source), ("b", "from xonnc.a import early, late\n")):
        (package / f"{name}.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path / 'src'}:{ROOT}"}
    log = tmp_path / "log"
    warm = WarmProcess(tmp_path, environment, 4 << 30, log)
    program = "from xonnc import b; raise SystemExit(b.late() * 10 + b.early())"

    def code(changed: str, program: str = program, seconds: float = 60) -> int | str | None:
        (package / "a.py").write_text(changed)
        return warm.run(["-c", program], "src/xonnc/a.py", seconds, log)

    assert code(source.replace("2 + 2", "(2 - 2)")) == 2
    assert code(source) == 42
    assert code(source.replace("1 + 1", "(1 - 1)")) == COLD
    assert code(source, "import time; time.sleep(60)", 0.2) is None
    assert code(source, "print('told')") == 0
    assert "told" in log.read_text()
    warm.close()
    assert code(source) == COLD
