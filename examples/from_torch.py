"""Compile a module of PyTorch, by `from_torch` and by `torch.compile`: `python from_torch.py`."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import xonnc

if find_spec("torch") is None or find_spec("onnxscript") is None:
    print("PyTorch is not installed: pip install 'xonnc[torch]'")
    sys.exit()

torch: Any = import_module("torch")
torch.manual_seed(0)
module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()
x = torch.randn(3, 4)

# A session, as `xonnc.compile` gives for a file: it takes tensors and arrays, and is saved by `save`.
session = xonnc.from_torch(module, (x,))
(y,) = session.run(None, {session.inputs[0].name: x})

# A function of tensors; torch calls xonnc with the graph at the first call.
fast = torch.compile(module, backend="xonnc")
with torch.no_grad():
    for name, result in (("from_torch", torch.as_tensor(y)), ("torch.compile", fast(x))):
        print(f"{name}: equal to torch's result:", torch.allclose(result, module(x), atol=1e-5))
