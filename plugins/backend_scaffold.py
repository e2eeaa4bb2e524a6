"""The files that a new backend begins with, as an installable package."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent / "backend_template"

FILES: Mapping[str, str] = {
    "README.md": "README.md.in",
    "pyproject.toml": "pyproject.toml.in",
    "xonnc_NAME/NAME.toml": "target.toml.in",
    "xonnc_NAME/__init__.py": "__init__.py.in",
    "xonnc_NAME/dialect.py": "dialect.py.in",
    "xonnc_NAME/emitter.py": "emitter.py.in",
    "xonnc_NAME/lowering.py": "lowering.py.in",
    "xonnc_NAME/py.typed": "",
    "xonnc_NAME/target.py": "target.py.in",
    "test/lit/convert.mlir": "convert.mlir.in",
    "test/lit/lit.cfg.py": "lit.cfg.py.in",
    "test/test_NAME.py": "test_unit.py.in",
}
"""Templates by the file that each becomes; an empty one is an empty file."""


def backend_package(name: str) -> dict[str, str]:
    """Return the texts of the files of the package by their paths."""
    title = "".join(part.title() for part in name.split("_"))
    # NAME last: the others contain no NAME, but it may contain anything.
    values = {"SUFFIX": f".{name}", "DASHED": name.replace("_", "-"), "TITLE": title, "NAME": name}

    def filled(text: str) -> str:
        for placeholder, value in values.items():
            text = text.replace(placeholder, value)
        return text

    return {
        filled(path): filled((FOLDER / template).read_text(encoding="utf-8")) if template else ""
        for path, template in FILES.items()
    }
