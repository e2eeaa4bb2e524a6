"""Imports between the packages go one way, as docs/architecture.md draws them."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from onnx import parser

ROOT = Path(__file__).resolve().parents[2]
API = "src/xonnc"
TOP = (
    API,
    "compat",
    "contrib",
    "dialects",
    "executors",
    "formats",
    "fuzzing",
    "lowering",
    "plugins",
    "rewriting",
    "runtime",
    "targets",
    "tools",
    "transforms",
)
PUBLIC = {path.stem for path in (ROOT / API).glob("*.py")}

LEAVES = ("aligned_arrays", "argument_types", "errors", "garbage_collection")
"""Modules that every folder may import."""

MAY_IMPORT = {
    "compat": {
        "compat",
        "contexts",
        "formats",
        "fuzzing/certification",
        "fuzzing/rules",
        "model_check",
        "rewriting/statistics",
        "rewriting/timeline",
        "runtime",
        "simplifier",
        "stage_files",
        "transforms/models",
    },
    "contrib": {"plugin"},
    "dialects": {"dialects"},
    "executors": set[str](),
    "rewriting": {"dialects", "rewriting"},
    "transforms": {"dialects", "rewriting", "transforms"},
    "transforms/models": {"dialects", "rewriting", "transforms", "formats/onnx"},
    "src/xonnc": {
        "executors",
        "dialects",
        "rewriting",
        "transforms",
        "lowering",
        "formats",
        "targets",
        "runtime",
        "plugins",
    },
    "plugins": {
        "dialects",
        "rewriting",
        "transforms",
        "lowering/dla_planning",
        "lowering/onnx_to_dla",
        "lowering/onnx_to_krnl",
        "formats/onnx",
        "plugins",
        "targets",
    },
    "lowering": {"dialects", "rewriting", "transforms", "formats", "targets", "lowering"},
    "lowering/onnx_to_krnl": {"dialects", "rewriting", "transforms", "formats/native", "targets"},
    "lowering/native": {
        "dialects",
        "rewriting",
        "transforms",
        "formats",
        "lowering/memory_planning",
        "lowering/onnx_to_krnl",
    },
    "lowering/krnl_to_llvm": {
        "dialects",
        "formats/native",
        "targets",
        "transforms",
        "lowering/native",
        "lowering/onnx_to_krnl",
    },
    "lowering/llvm_to_c": {"dialects/krnl", "lowering/krnl_to_llvm", "lowering/native"},
    "lowering/deployment": {"lowering/memory_planning", "lowering/native"},
    "lowering/dla_planning": {"dialects/dla", "formats/nvdla", "targets"},
    "lowering/memory_planning": set[str](),
    "lowering/onnx_to_dla": {"dialects", "formats", "targets", "lowering/dla_planning"},
    "lowering/onnx_to_tosa": {
        "dialects",
        "formats/onnx",
        "rewriting",
        "transforms",
        "lowering/onnx_to_krnl",
    },
    "lowering/dla": {
        "dialects",
        "formats/nvdla",
        "targets",
        "rewriting",
        "lowering/dla_planning",
        "lowering/memory_planning",
        "lowering/onnx_to_dla",
    },
    "lowering/dla_to_loadable": {
        "dialects",
        "formats/nvdla",
        "rewriting",
        "targets",
        "lowering/dla",
        "lowering/dla_planning",
        "lowering/onnx_to_dla",
    },
    "lowering/placement": {
        "dialects/onnx",
        "targets",
        "lowering/dla_planning",
        "lowering/dla_to_loadable",
        "lowering/onnx_to_dla",
    },
    "lowering/qdq": {"dialects/onnx", "formats/nvdla", "lowering/onnx_to_dla", "transforms"},
    "lowering/quantization_statistics": {"dialects/onnx", "formats", "lowering/onnx_to_dla", "runtime"},
    "formats/onnx": {"dialects", "formats"},
    "formats/nvdla": {"formats", "targets"},
    "formats/package": {"formats"},
    "targets": {"targets"},
    "runtime": {"executors", "formats", "targets", "runtime"},
    "runtime/verification": {"dialects", "formats", "transforms", "runtime"},
    "fuzzing": {
        "compiler",
        "contexts",
        "executors",
        "formats",
        "fuzzing",
        "lowering",
        "model_check",
        "native",
        "native_compilation",
        "passes",
        "runtime",
        "simplifier",
        "stage_files",
        "targets",
    },
    "fuzzing/certification": {"dialects", "formats/onnx", "fuzzing/rules", "rewriting", "transforms"},
    "fuzzing/rules": {"dialects", "formats/onnx", "rewriting", "transforms"},
}
"""Folders and the folders they may import; every folder may import itself and `LEAVES`."""

LAYERS = {
    "lowering/onnx_to_krnl": (
        *("planning", "builders", "math", "tensor", "nn", "rnn", "int8", "ml", "control_flow"),
    ),
    "lowering/onnx_to_dla": ("builders", "graph", "fp16", "int8", "quantization", "operators"),
}
"""Folders within a folder; each may import what the folder may, and the ones before it."""

for _folder, _layers in LAYERS.items():
    for _index, _layer in enumerate(_layers):
        before = {f"{_folder}/{other}" for other in _layers[:_index]}
        MAY_IMPORT[f"{_folder}/{_layer}"] = MAY_IMPORT[_folder] | before


@cache
def imports(path: Path, for_types: bool = True) -> Sequence[str]:
    """Names of imported modules; those for type checkers alone too if `for_types`."""
    found: list[str] = []
    tree = ast.parse(path.read_text())
    if not for_types:
        tree = WithoutTypeChecking().visit(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
    return found


class WithoutTypeChecking(ast.NodeTransformer):
    """Removes what only type checkers execute."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        is_for_types = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if is_for_types else self.generic_visit(node)


def sources(package: str) -> Iterator[Path]:
    # Not below src/xonnc: there lie links to the other folders.
    found = (ROOT / package).glob("*.py") if package == API else (ROOT / package).rglob("*.py")
    # `python -m xonnc` is the driver, which is of the tools.
    return (path for path in found if "-" not in path.name and path != ROOT / API / "__main__.py")


def own_sources(package: str) -> Iterator[Path]:
    """The files of a folder without those of its folders that have rules of their own."""
    others = [ROOT / other for other in MAY_IMPORT if other.startswith(package + "/")]
    return (path for path in sources(package) if not any(path.is_relative_to(other) for other in others))


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_arrows_run_one_way(package: str):
    allowed = MAY_IMPORT[package] | {*LEAVES, package} | (PUBLIC if package == API else set[str]())
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in own_sources(package)
        for name in imports(path)
        if is_ours(name) and not is_within(name, allowed)
    ]
    assert not wrong


def is_within(module: str, folders: Iterable[str]) -> bool:
    path = module.removeprefix("xonnc.").replace(".", "/")
    return any(path == folder or path.startswith(folder + "/") for folder in folders)


def test_every_folder_of_the_lowering_is_listed():
    folders = {path.parent for path in sources("lowering") if path.parent != ROOT / "lowering"}
    assert {folder.relative_to(ROOT).as_posix() for folder in folders} <= set(MAY_IMPORT)
    assert [path.name for path in (ROOT / "lowering").glob("*.py")] == ["__init__.py"]


def test_no_folder_imports_one_that_imports_it():
    graph: dict[str, set[str]] = {}
    for top in TOP:
        for path in sources(top):
            folder = unit(path.relative_to(ROOT).with_suffix("").as_posix())
            used = {
                unit(name.removeprefix("xonnc.").replace(".", "/")) for name in imports(path) if is_ours(name)
            }
            graph.setdefault(folder, set()).update(used - {folder, *LEAVES})
    TopologicalSorter(graph).prepare()


def test_no_module_imports_one_that_imports_it():
    """Nor within functions; what only type checkers import does not count."""
    modules = {
        path.relative_to(ROOT).with_suffix("").as_posix().removeprefix("src/xonnc/").replace("/", "."): path
        for top in TOP
        for path in sources(top)
        if path.name != "__init__.py"
    }
    graph = {
        name: {used.removeprefix("xonnc.") for used in imports(path, for_types=False) if is_ours(used)}
        & modules.keys()
        for name, path in modules.items()
    }
    TopologicalSorter(graph).prepare()


def is_ours(module: str) -> bool:
    return module.startswith("xonnc.")


def unit(path: str) -> str:
    """The folder that a module belongs to: one that has rules of its own, else the top one."""
    if path.removeprefix(f"{API}/") in PUBLIC:
        return path.rpartition("/")[2] if path.endswith(LEAVES) else API
    parts = path.split("/")
    listed = ("/".join(parts[:depth]) for depth in (3, 2))
    return next((folder for folder in listed if folder in MAY_IMPORT), parts[0])


def test_public_modules():
    assert PUBLIC == {
        "__init__",
        "__main__",
        "aligned_arrays",
        "api",
        "argument_types",
        "artifacts",
        "backend",
        "backend_compilation",
        "backend_model",
        "backend_packages",
        "calibration",
        "compiler",
        "contexts",
        "deployment",
        "dla_model",
        "errors",
        "explanation",
        "garbage_collection",
        "graph_build",
        "graph_executor",
        "host_code",
        "model_check",
        "native",
        "native_compilation",
        "native_explanation",
        "native_sessions",
        "node_explanations",
        "notebook",
        "package_engine",
        "packages",
        "passes",
        "plugin",
        "quantizer",
        "simplifier",
        "stage_files",
        "torch_backend",
        "tosa",
        "tuning",
        "verification_models",
        "verifier",
    }


def test_nothing_that_is_shipped_imports_an_oracle():
    shipped = [path for top in TOP for path in (ROOT / top).rglob("*.py")]
    assert shipped
    wrong = [
        str(path.relative_to(ROOT))
        for path in shipped
        for name in imports(path)
        if name.split(".")[0] in ("bench", "oracles")
    ]
    assert not wrong


WITH_ONNX = (
    "compat",
    "formats/onnx",
    "fuzzing",
    "fuzzing/rules",
    "lowering/quantization_statistics",
    "runtime/verification",
    "transforms/models",
    API,
)


def test_few_folders_know_the_onnx_package():
    packages = [package for package in MAY_IMPORT if package not in WITH_ONNX]
    wrong = [
        str(path.relative_to(ROOT))
        for package in packages
        for path in own_sources(package)
        if any(name == "onnx" or name.startswith("onnx.") for name in imports(path))
    ]
    assert not wrong


def test_native_code_starts_without_the_compiler_for_the_dla():
    code = "import sys, xonnc.native; print([name for name in sys.modules if 'dla' in name])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_commands_for_native_code_start_without_the_compiler_for_the_dla(tmp_path: Path):
    """It takes as long to import as that for native code; the simulator too."""
    model, library = tmp_path / "m.onnx", tmp_path / "m.so"
    text = (
        '<ir_version: 10, opset_import: ["": 20]> g () => (float[1] y) { y = Constant<value_floats=[1.0]>() }'
    )
    model.write_bytes(parser.parse_model(text).SerializeToString())
    commands = [
        ["compile", str(model), "--target", "cpu", "-q", "-o", str(library)],
        *(["run", str(each), "-q"] for each in (model, library)),
        ["explain", str(model), "--target", "cpu", "--json"],
    ]
    code = f"""if True:
        import sys
        from xonnc.tools.driver import main
        for command in {commands}:
            assert main(command) == 0
        names = ("_dla", "dla_", ".dla", "runtime.nvdla")
        print([name for name in sys.modules if any(part in name for part in names)], file=sys.stderr)
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr.strip() == "[]"


def test_packages_without_a_host_start_without_code_generation():
    code = "import sys, xonnc.packages; print([name for name in sys.modules if 'krnl' in name])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
