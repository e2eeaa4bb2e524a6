"""A folder that reproduces a wrong result: model, inputs, expected and actual outputs, and what to run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from xonnc.errors import XonncError
from xonnc.formats.atomic_write import atomic_writes
from xonnc.tools.files import write_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xonnc.tools.bisection import Case, Culprit

README = """# Wrong result of xonnc

| | |
|---|---|
| pass | `{pass_name}` |
| decision | {what} |
| node | {node} |
| decisions up to this one | {decisions} |

`model.onnx` has {nodes} nodes, reduced from {before}. `inputs` has its inputs, `expected` the outputs of the
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
    from xonnc.tools.bisection import run_form

    try:
        actual = run_form(case.model, case.feeds, culprit.is_native)
    except XonncError:
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
        form="native code" if culprit.is_native else "the simplified model",
        command=command if culprit.is_native else f"{command} --simplify",
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
