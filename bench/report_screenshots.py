"""
Pictures of report pages for `docs/report.md`: `python -m bench.report_screenshots [--output docs/images]`.

Compiles ResNet-50 for native code and, in INT8, for nv_small, and a transformer for native code; opens each
page in headless Chromium and saves one picture of all seven views.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.models import path_of

WIDTH = 1280
SAMPLES = 4


@dataclass(frozen=True)
class Page:
    """A picture: the model, the options of `xonnc report`, and the height of the page in pixels."""

    model: str
    options: tuple[str, ...]
    height: int


PAGES = {
    "report-resnet50-nv_small": Page(
        "light_resnet50", ("--target", "nv_small", "--calibrate", "{samples}"), 5200
    ),
    "report-resnet50-cpu": Page("light_resnet50", ("--target", "cpu"), 4600),
    "report-bert-cpu": Page("bert_tiny", ("--target", "cpu"), 4600),
}


def browser() -> str | None:
    """Return the first browser that takes pictures."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def screenshot(program: str, page: Path, picture: Path, height: int) -> None:
    """Write a picture of a page."""
    command = [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--window-size={WIDTH},{height}", "--virtual-time-budget=20000", f"--screenshot={picture}"]
    subprocess.run([*command, page.as_uri()], check=True, capture_output=True, timeout=300)
    if (shrink := shutil.which("pngquant")) is not None:
        subprocess.run([shrink, "--force", "--output", picture, "--speed", "1", "64", picture], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--output", type=Path, default=Path("docs/images"), help="folder of the pictures")
    options = parser.parse_args()
    program = browser()
    if program is None:
        print("report_screenshots: no Chromium or Chrome is installed", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples.npy"
        images = np.random.default_rng(0).normal(size=(SAMPLES, 3, 224, 224)).astype(np.float32)
        np.save(samples, images)
        for name, page in PAGES.items():
            html = Path(folder) / f"{name}.html"
            arguments = [option.format(samples=samples) for option in page.options]
            command = [sys.executable, "-m", "xonnc", "report", str(path_of(page.model)), *arguments]
            subprocess.run([*command, "--html", str(html)], check=True)
            picture = (options.output / f"{name}.png").resolve()
            screenshot(program, html, picture, page.height)
            print(f"{picture}: {picture.stat().st_size // 1000} kB, page {html.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
