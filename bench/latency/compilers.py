"""Compiling peers at their defaults: IREE and TVM without tuning; and torch in eager mode."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

import onnx

from bench.latency.task import Array, Feeds, Run, Task

MIN_OPSET = 17
"""Opset that the importers of IREE and torch support; older models go through the version converter."""

IREE_FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-opt-level=O3",
    "--iree-opt-data-tiling",
    # U-Net and transformers of the zoo do not compile with it (docs/internals/cpu-kernels.md §2).
    "--iree-llvmcpu-fail-on-out-of-bounds-stack-allocation=false",
)


def open_iree(task: Task) -> Run:
    """Compile to a VM module that is mapped from a file."""
    runtime: Any = import_module("iree.runtime")
    path = task.cached("module.vmfb")
    if not path.exists():
        _compile_with_iree(task.path, path)
    if task.threads > 1:
        runtime.flags.parse_flags(f"--task_topology_group_count={task.threads}")
    config = runtime.Config("local-task" if task.threads > 1 else "local-sync")
    context = runtime.SystemContext(config=config)
    module = runtime.VmModule.mmap(config.vm_instance, str(path))
    context.add_vm_module(module)
    names = [name for name in module.function_names if name != "__init" and not name.endswith("$async")]
    function = context.modules[module.name][names[0]]

    def run(feeds: Feeds) -> list[Array]:
        return [each.to_host() for each in _all(function(*feeds.values()))]

    return run


def _compile_with_iree(model: Path, path: Path) -> None:
    api: Any = import_module("iree.compiler.api")
    importer: Any = import_module("iree.compiler.extras.onnx_importer")
    session = api.Session()
    session.set_flags(*IREE_FLAGS)
    info = importer.ModelInfo(_recent(model))
    module = info.create_module(context=session.context).operation
    importer.NodeImporter.define_function(info.main_graph, module).import_all()
    # IREE 3.13 crashes when given the module itself: go through bytecode.
    buffer = BytesIO()
    module.write_bytecode(buffer)
    invocation = session.invocation()
    source = api.Source.wrap_buffer(session, buffer.getvalue())
    if not invocation.parse_source(source) or not invocation.execute():
        raise RuntimeError("IREE does not compile it")
    output = api.Output.open_file(str(path))
    invocation.output_vm_bytecode(output)
    output.keep()
    output.close()


def open_tvm(task: Task) -> Run:
    """Compile to a shared library for the shapes of the feeds, by the default pipeline without tuning."""
    os.environ["TVM_NUM_THREADS"] = str(task.threads)
    tvm: Any = import_module("tvm")
    relax: Any = import_module("tvm.relax")
    path = task.cached("library.so")
    if not path.exists():
        _compile_with_tvm(tvm, task, path)
    machine = relax.VirtualMachine(tvm.runtime.load_module(str(path)), tvm.cpu())
    main = machine["main"]

    def run(feeds: Feeds) -> list[Array]:
        found = main(*(tvm.runtime.tensor(array) for array in feeds.values()))
        return [each.numpy() for each in _all(found)]

    return run


def _compile_with_tvm(tvm: Any, task: Task, path: Path) -> None:
    frontend: Any = import_module("tvm.relax.frontend.onnx")
    shapes = {name: list(array.shape) for name, array in task.feeds.items()}
    module = frontend.from_onnx(_load(task.path), shape_dict=shapes)
    processor = tvm.get_global_func("target.llvm_get_system_cpu")()
    target = tvm.target.Target({"kind": "llvm", "mcpu": processor, "num-cores": task.threads})
    tvm.compile(module, target).export_library(str(path))


def open_torch(task: Task) -> Run:
    """Run a module of `onnx2torch` in eager mode."""
    torch: Any = import_module("torch")
    torch.set_num_threads(task.threads)
    convert: Any = import_module("onnx2torch").convert
    module = convert(_recent(task.path)).eval()

    def run(feeds: Feeds) -> list[Array]:
        with torch.inference_mode():
            found = module(*(torch.from_numpy(array) for array in feeds.values()))
        return [each.numpy() for each in _all(found)]

    return run


def stub_torchvision() -> None:
    """
    Install a stub package if torchvision is missing.

    onnx2torch imports it for NonMaxSuppression and RoiAlign only, which no model here has; the wheel of PyPI
    does not work with a CPU-only torch.
    """
    if find_spec("torchvision") is None:
        package, operators = ModuleType("torchvision"), ModuleType("torchvision.ops")
        vars(operators)["roi_align"] = None
        vars(package)["ops"] = operators
        sys.modules |= {"torchvision": package, "torchvision.ops": operators}


def _all(found: Any) -> list[Any]:
    """The results as a list: peers return a single result without one."""
    return [found] if hasattr(found, "shape") else list(found)


def _recent(path: Path) -> onnx.ModelProto:
    """The model with inferred shapes, converted to a supported opset."""
    model = _load(path)
    version = next(each.version for each in model.opset_import if each.domain in ("", "ai.onnx"))
    if version < MIN_OPSET:
        converter: Any = import_module("onnx.version_converter")
        model = converter.convert_version(model, MIN_OPSET)
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def _load(path: Path) -> onnx.ModelProto:
    return vars(onnx)["load"](str(path))
