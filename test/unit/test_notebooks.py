"""The notebooks run, and what their cells end with can be shown."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

import xonnc
from xonnc.formats.html_tables import MAX_ROWS, html_table

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "notebooks"


class Formatter(dict[type, Any]):
    """IPython's registry of functions that make HTML of an object, as far as it is used."""

    def for_type(self, typ: type, func: object) -> None:
        self[typ] = func


def run_notebook(path: Path) -> list[str]:
    """Run the cells one after another; return what each shows, as a notebook does."""
    formatter = Formatter()
    shell: Any = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"text/html": formatter}))
    names: dict[str, Any] = {}
    shown: list[str] = []
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        text = "".join(cell["source"])
        if text.startswith("%load_ext xonnc\n"):
            xonnc.load_ipython_extension(shell)
            text = text.partition("\n")[2]
        tree = ast.parse(text)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), path.name, "eval"), names)
            if value is not None:
                shown.append(displayed(value, formatter))
    return shown


def displayed(value: object, formatter: Formatter) -> str:
    """Return what a notebook shows of a value."""
    if type(value) in formatter:
        return formatter[type(value)](value)
    method = getattr(value, "_repr_html_", None)
    return repr(value) if method is None else method()


def test_the_native_notebook():
    simple, module, session, values = run_notebook(FOLDER / "native.ipynb")
    assert "<td>BatchNormalization</td><td>1</td><td>0</td>" in simple
    assert "&quot;onnx.Conv&quot;" in module
    assert "__elided__" in module
    assert "<td>image</td><td>float32</td><td>[1, 3, 16, 16]</td>" in session
    assert "<td>native</td>" in session
    assert "'scores': (1, 10)" in values


def test_the_nvdla_notebook():
    quantized, compiled, error = run_notebook(FOLDER / "nvdla.ipynb")
    assert "<td>scores</td><td>0.99" in quantized
    assert "<td>scores</td>" in compiled
    assert float(error) < 0.1


def test_a_compilation(small_model: Any):
    compilation = xonnc.compile_model(small_model("model.onnx"))
    html = displayed(compilation, Formatter())
    assert "nv_full" in html
    assert "<td>CONV</td>" in html


def test_only_notebooks_with_the_extension_register_the_display():
    assert not hasattr(ModuleOp([]), "_repr_html_")


def test_tables_escape_and_end():
    html = html_table("a < b", ["x"], [[f"<{number}>"] for number in range(MAX_ROWS + 3)])
    assert "a &lt; b" in html
    assert "<td>&lt;0&gt;</td>" in html
    assert "… 3 more" in html
    assert f"&lt;{MAX_ROWS}&gt;" not in html


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebooks_are_saved_without_outputs(path: Path):
    cells = json.loads(path.read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells)
    assert all(cell["id"] for cell in cells)
