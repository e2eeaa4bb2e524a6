"""Control flow that TorchScript keeps: loops and branches become Loop and If."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

SOURCE = """
import torch
from torch import Tensor, nn


class Looped(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = nn.Linear(6, 6)

    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        for _ in range(int(count)):
            x = torch.tanh(self.step(x)) + x
        return x


class Branched(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = nn.Linear(6, 4)
        self.right = nn.Linear(6, 4)

    def forward(self, x: Tensor) -> Tensor:
        if bool(x.sum() > 0):
            return self.left(x).relu()
        else:
            return self.right(x).sigmoid()


class Greedy(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.cell = nn.GRUCell(16, 16)
        self.head = nn.Linear(16, 20)

    def forward(self, h: Tensor) -> Tensor:
        token = torch.zeros([1], dtype=torch.long)
        found = torch.zeros([0], dtype=torch.long)
        i = 0
        while i < 8:
            h = self.cell(self.embedding(token), h)
            token = self.head(h).argmax(1)
            found = torch.cat([found, token])
            i += 1
        return found
"""
"""TorchScript compiles sources, which it reads back from a file."""


def _compiled(name: str) -> Any:
    folder = Path(tempfile.mkdtemp(prefix="xonnc-conformance-"))
    path = folder / "conformance_scripts.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("conformance_scripts", path)
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    script: Any = import_module("torch").jit.script
    return script(getattr(module, name)().eval())


def looped() -> Any:
    """A recurrence of as many rounds as an input says."""
    return _compiled("Looped")


def branched() -> Any:
    """One of two layers, by what comes in."""
    return _compiled("Branched")


def greedy() -> Any:
    """A greedy decoder whose output grows."""
    return _compiled("Greedy")
