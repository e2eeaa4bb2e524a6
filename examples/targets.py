"""One model for every target, and what the results have in common: `python targets.py`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx.parser

import xonnc

MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 17]>
    g (float[1, 4, 8, 8] x) => (float[1, 4, 8, 8] y) { a = Relu (x)  y = Add (a, a) }"""
)

x = np.full((1, 4, 8, 8), 0.5, np.float32)
with TemporaryDirectory() as name:
    for target, suffix in (("cpu", ".so"), ("nv_full", ".nvdla"), ("tosa", ".mlir")):
        # The model may also be a path, bytes, or an open file. Targets of plug-ins are named in the same way.
        compiled = xonnc.compile(MODEL.SerializeToString(), target)
        files = compiled.save(Path(name) / f"model{suffix}")
        ports = [spec.name for spec in (*compiled.inputs, *compiled.outputs)]
        print(target, ports, [path.name for path in files])
        if target != "tosa":
            print("  y is", np.unique(np.asarray(compiled.run(["y"], {"x": x})[0])))
