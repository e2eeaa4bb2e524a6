"""The virtual environments with the exporters that generate the models."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Environment:
    """Packages of PyPI."""

    name: str
    packages: Sequence[str]
    """Installed with their dependencies."""
    alone: Sequence[str] = ()
    """Installed without dependencies."""


COMMON = Environment(
    "packages",
    (
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
    ),
    # These require a CUDA torch.
    ("torchvision==0.29.1", "timm==1.0.31"),
)

OWN: Mapping[str, Environment] = {
    "tensorflow": Environment(
        "tensorflow", ("tensorflow-cpu==2.21.0", "tf2onnx==1.17.0", "keras==3.15.1", "onnx==1.23.2")
    ),
    "paddle": Environment("paddle", ("paddlepaddle==3.3.1", "paddle2onnx==2.1.0", "onnx==1.17.0")),
    "jax": Environment(
        "jax", ("jax==0.10.2", "jax2onnx==0.17.1", "flax==0.12.8", "equinox==0.13.8", "onnx==1.23.2")
    ),
}
"""Environments of families whose exporters need other versions of packages than the rest."""


def temporary(name: str) -> Path:
    """A folder of this user in the temporary directory."""
    return Path(tempfile.gettempdir()) / f"xonnc-conformance-{name}-{os.getuid()}"


def python_of(folder: Path, environment: Environment) -> Path:
    """The interpreter of an environment in a folder, created on first use."""
    python, ready = folder / "bin" / "python", folder / "ready"
    packages = "\n".join((*environment.packages, *environment.alone))
    if not ready.exists() or ready.read_text() != packages:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *environment.packages], check=True)
        if environment.alone:
            subprocess.run([*install, "--no-deps", *environment.alone], check=True)
        ready.write_text(packages)
    return python


def generate(folder: Path | None, models: Path, families: Sequence[str], names: Sequence[str]) -> None:
    """
    Generate missing models in a folder, each family in its own process.

    `folder` is that of the common environment (default: `temporary`). A family whose packages cannot be
    installed is left out with the reason.
    """
    for family in families:
        environment = OWN.get(family, COMMON)
        chosen = folder if folder is not None and environment is COMMON else temporary(environment.name)
        try:
            python = python_of(chosen, environment)
        except subprocess.CalledProcessError as error:
            print(
                f"{family}: no models; its packages cannot be installed: {error}", file=sys.stderr, flush=True
            )
            continue
        command = [str(python), "-m", "bench.conformance.generate", str(models), *names]
        # Failures of exporters are recorded beside the models, so the exit code is not checked.
        subprocess.run([*command, "--families", family], cwd=ROOT, check=False)
