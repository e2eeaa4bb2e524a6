"""The documentation site builds without a warning: no dead link, anchor or page that nothing leads to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_site_builds_without_warnings(tmp_path: Path):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"),
            *("--conf-dir", "docs/site", "--doctree-dir", tmp_path / "doctrees", ".", tmp_path / "site"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "docs/README.html" in (tmp_path / "site/index.html").read_text()
    start = (tmp_path / "site/docs/README.html").read_text()
    pages = [page.relative_to(ROOT).with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")]
    for page in pages:
        assert (tmp_path / "site" / page).is_file(), page
        # The navigation of each page has all pages.
        assert page.name in start, page
    hardware = (tmp_path / "site/docs/internals/nvdla-hardware.html").read_text()
    assert 'href="#nvdla-hardware-s4-3"' in hardware
    assert 'id="nvdla-hardware-s4-3"' in hardware
