"""A checkout, an editable install and a wheel hold the same package, without a list of files."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[2]

LAUNCHERS = {"tools/onnx-opt.py", "tools/onnx-translate.py"}


def tracked(*paths: str) -> list[str]:
    run = subprocess.run(["git", "ls-files", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    return run.stdout.split()


def settings() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    """The build hook, which is no part of the package."""
    spec = spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The tracked files of the package, as a fresh clone has them."""
    root = tmp_path / "clone"
    for name in [
        *tracked("src", *(f"{package}/" for package in packages())),
        "pyproject.toml",
        "hatch_build.py",
    ]:
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
    for name in ("README.md", "LICENSE"):
        shutil.copy(ROOT / name, root)
    return root


def packages() -> list[str]:
    return sorted(init.parent.name for init in ROOT.glob("*/__init__.py"))


def test_no_link_is_tracked():
    run = subprocess.run(["git", "ls-files", "-s"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not [line for line in run.stdout.splitlines() if line.startswith("120000")]


def test_every_package_is_in_the_wheels_settings():
    wheel = settings()["wheel"]
    assert wheel["only-include"] == ["src/xonnc", *packages()]
    assert wheel["sources"] == {"src/xonnc": "xonnc"} | {name: f"xonnc/{name}" for name in packages()}


def test_editable_install_links_every_package(hook: ModuleType, checkout: Path):
    (checkout / "src" / "xonnc" / "gone").symlink_to("../../gone")
    hook.link_packages(checkout)
    hook.link_packages(checkout)
    links = {
        link.name: link.resolve() for link in (checkout / "src" / "xonnc").iterdir() if link.is_symlink()
    }
    assert links == {name: checkout / name for name in packages()}


def test_wheel_alone_has_every_file_and_runs(checkout: Path, tmp_path: Path):
    (checkout / "dialects" / "new_file.py").write_text("")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    subprocess.run(build, cwd=checkout, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    with ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("xonnc/")]
        archive.extractall(tmp_path / "site")
    files = {*tracked("src", *(f"{package}/" for package in packages())), "dialects/new_file.py"} - LAUNCHERS
    expected = [name.removeprefix("src/") if name.startswith("src/") else f"xonnc/{name}" for name in files]
    assert sorted(names) == sorted(expected)

    site = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    code = "import xonnc.tools.opt as tool; print(tool.__file__); tool.main(['--version'])"
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=site, capture_output=True, text=True)
    assert run.stdout.startswith(str(tmp_path / "site")), run.stderr


@pytest.mark.parametrize("tool", ["opt", "translate"])
def test_launchers_run_from_a_checkout_without_links(tool: str, checkout: Path, tmp_path: Path):
    (tmp_path / "m.mlir").write_text("module {}\n")
    run = subprocess.run(
        [sys.executable, str(checkout / "tools" / f"onnx-{tool}.py"), "--version"],
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr


def test_types_are_checked_in_every_file():
    pyright = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyright"]
    assert "include" not in pyright
    assert set(pyright["exclude"]) == {"**/.*", "**/__pycache__", "build", "dist"}
