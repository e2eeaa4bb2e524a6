"""lit runs this file with `config`, its description of the tests, among the globals."""

from __future__ import annotations

import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent if "__file__" in globals() else Path.cwd()


def configure(config: Any, root: Path) -> None:
    """Tests are `.mlir` files, run in this process where they can be, with this interpreter's tools first."""
    sys.path.insert(0, str(root))
    config.name = "xonnc"
    config.test_format = import_module("in_process").InProcessTest()
    config.suffixes = [".mlir"]
    config.excludes = ["Inputs"]
    config.test_source_root = str(root)
    config.test_exec_root = str(Path(tempfile.gettempdir()) / f"xonnc-lit-{os.getuid()}")
    tools = str(Path(sys.executable).parent)
    config.environment["PATH"] = os.pathsep.join([tools, config.environment["PATH"]])
    # Tests that a shell runs import the same packages as those of this process.
    config.environment |= {name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ}
    config.substitutions += [("onnx-mlir-opt", "onnx-opt"), ("FileCheck", "filecheck")]


configure(globals()["config"], HERE)
