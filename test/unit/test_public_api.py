"""Every public function says what it takes, returns and raises, and shows a call."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import xonnc

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "src/xonnc"

ENTRY_POINTS = (
    "backend.prepare",
    "backend.run_model",
    "backend.run_node",
    "calibration.calibrate_module",
    "calibration.input_shapes",
    "calibration.measure_ranges",
    "calibration.read_samples",
    "explanation.explain_model",
    "explanation.explain_package",
    "graph_executor.create",
    "graph_executor.load_module",
    "model_check.check_model",
    "native_compilation.resolve_processor",
    "simplifier.specialize_shapes",
    "torch_backend.backend",
    "tuning.tune",
)
"""Functions of public modules that users call, beside those of `xonnc.__all__`."""


def exported(name: str) -> object:
    return getattr(xonnc, name)


def entry_points() -> Iterator[tuple[str, Callable[..., object]]]:
    for name in xonnc.__all__:
        if inspect.isfunction(found := exported(name)):
            yield name, found
    for name in ENTRY_POINTS:
        module, _, function = name.partition(".")
        yield name, getattr(__import__(f"xonnc.{module}", fromlist=[function]), function)


def definitions(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef) and any(
            isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list
        ):
            continue
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield f"{prefix}.{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from definitions(node.body, f"{prefix}.{node.name}")


def public_definitions() -> list[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    return [
        found
        for path in sorted(FOLDER.glob("*.py"))
        for found in definitions(ast.parse(path.read_text()).body, path.stem)
    ]


@pytest.mark.parametrize(("name", "function"), [pytest.param(*each, id=each[0]) for each in entry_points()])
def test_entry_points_are_documented(name: str, function: Callable[..., object]):
    text = inspect.getdoc(function) or ""
    for section in ("Parameters:", "Raises:", "Example:"):
        assert f"\n{section}" in text, f"{name}: no section {section}"
    assert "\nReturns:" in text or text.startswith("Return "), f"{name}: what does it return?"
    assert ">>> " in text
    listed = re.findall(r"^    (\w+): ", text, re.MULTILINE)
    for parameter in inspect.signature(function).parameters:
        assert parameter in listed, f"{name}: {parameter} is not described"


@pytest.mark.parametrize(("name", "node"), [pytest.param(*each, id=each[0]) for each in public_definitions()])
def test_public_definitions_are_documented(name: str, node: ast.FunctionDef | ast.ClassDef):
    text = ast.get_docstring(node) or ""
    assert text, f"{name} has no docstring"
    assert len(text.split("\n\n")[0].splitlines()) <= 2, f"{name}: the summary is over two lines"
    if isinstance(node, ast.FunctionDef):
        taken = [each.arg for each in (*node.args.args, *node.args.kwonlyargs) if each.arg != "self"]
        missing = [each for each in taken if not re.search(rf"`{each}`|^    {each}: ", text, re.MULTILINE)]
        assert not missing, f"{name}: {', '.join(missing)} not described"


@pytest.mark.parametrize("name", xonnc.__all__)
def test_exported_classes_document_their_methods(name: str):
    found = exported(name)
    assert inspect.getdoc(found)
    if inspect.isclass(found):
        for method, value in vars(found).items():
            if not method.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{method} has no docstring"
