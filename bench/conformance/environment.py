"""The virtual environment with the exporters that generate the models."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PACKAGES = (
    "torch==2.13.0",
    "transformers==5.23.0",
    "onnx==1.23.2",
    "onnxruntime==1.31.1",
    "onnxscript==0.7.2",
    "skl2onnx==1.20.0",
    "onnxmltools==1.16.0",
    "scikit-learn==1.9.1",
    "pandas",
    "lightgbm==4.7.0",
    "xgboost==3.2.0",
    "catboost==1.2.10",
)
"""Packages installed with their dependencies."""

ALONE = ("torchvision==0.29.1", "timm==1.0.31")
"""Packages installed without dependencies: these require a CUDA torch."""


def temporary(name: str) -> Path:
    """A folder of this user in the temporary directory."""
    return Path(tempfile.gettempdir()) / f"xonnc-conformance-{name}-{os.getuid()}"


def python_of(folder: Path) -> Path:
    """The interpreter of the environment in a folder, created on first use."""
    python, ready = folder / "bin" / "python", folder / "ready"
    packages = "\n".join((*PACKAGES, *ALONE))
    if not ready.exists() or ready.read_text() != packages:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *PACKAGES], check=True)
        subprocess.run([*install, "--no-deps", *ALONE], check=True)
        ready.write_text(packages)
    return python


def generate(python: Path, models: Path, families: Sequence[str], names: Sequence[str]) -> None:
    """Generate missing models in a folder, each family in its own process."""
    for family in families:
        command = [str(python), "-m", "bench.conformance.generate", str(models), *names]
        # Failures of exporters are recorded beside the models, so the exit code is not checked.
        subprocess.run([*command, "--families", family], cwd=ROOT, check=False)
