"""
Links the packages of a checkout into `src/xonnc`, where Python and IDEs find `xonnc.dialects` and the others.

The packages lie at the top of the repository. The wheel takes them from there (`pyproject.toml`); only an
editable install needs them below one folder. Git ignores the links, so a fresh clone has none.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LinkPackages(BuildHookInterface[BuilderConfig]):
    """Makes the links at an editable install."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            link_packages(Path(self.root))


def link_packages(root: Path) -> None:
    """Links each package at the top of a checkout into `src/xonnc`, and drops links to what is gone."""
    target = root / "src" / "xonnc"
    for link in target.iterdir():
        if link.is_symlink() and not link.exists():
            link.unlink()
    for package in packages(root):
        link = target / package.name
        if not link.exists():
            _link(link, package)


def packages(root: Path) -> list[Path]:
    """The packages at the top of a checkout."""
    return sorted(init.parent for init in root.glob("*/__init__.py"))


def _link(link: Path, package: Path) -> None:
    if sys.platform == "win32":
        # A junction: symbolic links need rights on Windows that users do not have.
        import _winapi

        _winapi.CreateJunction(str(package), str(link))
    else:
        link.symlink_to(os.path.relpath(package, link.parent), target_is_directory=True)
