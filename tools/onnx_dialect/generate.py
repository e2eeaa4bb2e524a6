"""The files that the generator writes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from xonnc.tools.onnx_dialect import lit_tests, reference, source
from xonnc.tools.onnx_dialect.themes import HANDWRITTEN, TITLES, TOPICS, theme_of, title_of, topic_of
from xonnc.tools.onnx_dialect.versions import OpClass, op_classes

ROOT = Path(__file__).resolve().parents[2]
_LIT = Path("test/lit/dialects/onnx")


def generated() -> Mapping[Path, str]:
    """The contents of every generated file, by its path in the repository."""
    files: dict[Path, str] = {}
    ops = Path("dialects/onnx/ops")
    for theme, topics in _by_theme().items():
        for topic, classes in topics.items():
            path = ops / f"{theme}.py" if topic is None else ops / theme / f"{topic}.py"
            files[path] = source.module(title_of(theme, topic), classes)
        if theme in TOPICS:
            members = [(topic, classes) for topic, classes in topics.items() if topic is not None]
            files[ops / theme / "__init__.py"] = source.package(TITLES[theme], theme, members)
        classes = [op_class for members in topics.values() for op_class in members]
        files[_LIT / f"{theme}.mlir"] = lit_tests.round_trips(TITLES[theme], classes)
        files[_LIT / f"{theme}_invalid.mlir"] = lit_tests.invalid(TITLES[theme], classes)
    every = [op_class for classes in op_classes().values() for op_class in classes]
    files[Path("docs/ops.md")] = reference.page(every)
    return {path: _formatted(path, text) for path, text in sorted(files.items())}


def write() -> None:
    """Write every generated file that is not so already."""
    for path, text in generated().items():
        file = ROOT / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text() != text:
            file.write_text(text)


def _by_theme() -> dict[str, dict[str | None, list[OpClass]]]:
    """The classes of each file: by theme and topic, the versions of an operator beside each other."""
    themes: dict[str, dict[str | None, list[OpClass]]] = {}
    for op_class in _all_classes():
        theme = theme_of(op_class.operator.theme)
        topic = topic_of(theme, op_class.operator.name)
        themes.setdefault(theme, {}).setdefault(topic, []).append(op_class)
    return {
        theme: dict(sorted(topics.items(), key=lambda item: item[0] or ""))
        for theme, topics in themes.items()
    }


def _all_classes() -> Iterator[OpClass]:
    for (_, name), classes in op_classes().items():
        if name not in HANDWRITTEN:
            yield from classes


def _formatted(path: Path, text: str) -> str:
    """`text` as ruff sorts its imports and formats it."""
    if path.suffix != ".py":
        return text
    text = _ruff(["check", "--select", "I", "--fix", "--quiet"], path, text)
    return _ruff(["format", "--quiet"], path, text)


def _ruff(command: Sequence[str], path: Path, text: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    arguments = [str(ruff), *command, "--stdin-filename", str(ROOT / path), "-"]
    return subprocess.run(arguments, input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout
