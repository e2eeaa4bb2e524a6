"""Build a graph, a library and parameters, save them, and run them without the model: `python build.py`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx.parser

import xonnc
from xonnc import graph_executor

MODEL = onnx.parser.parse_model(
    """<ir_version: 8, opset_import: ["": 17]>
    g (float[N, 3] x) => (float[N, 3] y) <float[3] w = {1, 2, 3}> { y = Mul (x, w) }"""
)

with TemporaryDirectory() as name, xonnc.build_config(opt_level=3):
    folder = Path(name)
    graph, lib, params = xonnc.build(MODEL, shape={"x": (2, 3)})
    (folder / "model.json").write_text(graph.json())
    (folder / "model.params").write_bytes(xonnc.save_params(params))
    lib.export_library(folder / "model.tar")

    library = graph_executor.load_module(folder / "model.tar")
    module = graph_executor.create((folder / "model.json").read_text(), library)
    module.load_params((folder / "model.params").read_bytes())
    module.run(x=np.ones((2, 3), np.float32))
    print("y =", module.get_output(0))
