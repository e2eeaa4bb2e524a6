"""A folder that reproduces a wrong result: model, inputs, expected and actual outputs, and what to run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from xonnc.compiler import InternalCompilerError
from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_writes
from xonnc.tools.files import write_array
from xonnc.verification_models import ENGINES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xonnc.tools.bisection import Culprit
    from xonnc.tools.bisection_case import Case

README = """# Wrong result of xonnc

| | |
|---|---|
| pass | `{pass_name}` |
| decision | {what} |
| node | {node} |
| decisions up to this one | {decisions} |

Nodes of `model.onnx`: {nodes}, reduced from {before}. `inputs` has its inputs, `expected` the outputs of the
reference, `actual` those of {form}. To run it again:

```
{command}
```
"""


def write_reproducer(folder: Path, case: Case, culprit: Culprit, before: int) -> list[Path]:
    """
    Write the folder; return the files.

    `case` is the reduced model, and `before` the number of nodes of the original.
    """
    from xonnc.tools.bisection_case import run_form

    try:
        actual = run_form(replace(case, form=culprit.form))
    except (XonncError, InternalCompilerError):
        actual = ()
    names = [info.name for info in case.model.graph.output]
    command = f"xonnc verify {folder / 'model.onnx'} --inputs {folder / 'inputs'}"
    text = README.format(
        pass_name=culprit.pass_name,
        what=culprit.what,
        node=culprit.node or "–",
        decisions=culprit.decisions,
        nodes=len(case.model.graph.node),
        before=before,
        form=ENGINES[culprit.form],
        command=command + _engine(culprit.form, case.target),
    )
    for part in ("inputs", "expected", "actual"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    found = [folder / "README.md", folder / "model.onnx"]
    found[0].write_text(text, encoding="utf-8")
    found[1].write_bytes(case.model.SerializeToString())
    inputs = [case.feeds[info.name] for info in case.model.graph.input if info.name in case.feeds]
    fed = [info.name for info in case.model.graph.input if info.name in case.feeds]
    found += _arrays(folder / "inputs", fed, inputs)
    found += _arrays(folder / "expected", names, case.expected())
    found += _arrays(folder / "actual", names, actual)
    return found


def _engine(form: str, target: str | None) -> str:
    """The options that select the engine that is wrong."""
    options = {"native": "", "simplified": " --simplify"}.get(form, f" --other-engine {form}")
    return options + (f" --target {target}" if target else "")


def _arrays(folder: Path, names: Sequence[str], values: Sequence[object]) -> list[Path]:
    """Write the tensors among the values; other values have no file."""
    found: list[Path] = []
    with atomic_writes() as files:
        for name, value in zip(names, values, strict=False):
            array = np.asarray(value)
            if array.dtype.kind == "O":
                continue
            path = folder / f"{name.replace('/', '_')}.npy"
            write_array(files, path, array)
            found.append(path)
    return found
