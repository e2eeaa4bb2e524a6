"""Fixtures and options shared by all unit tests: a small model that every compiler stage supports."""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from functools import cache, lru_cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from covering import covering
from onnx import ModelProto, TensorProto, helper, numpy_helper

os.environ["XONNC_CACHE"] = "off"
"""No compile cache, so that each test really compiles; tests of the cache set folders of their own."""


YOUNG_OBJECTS = 100_000
"""New objects that make a collection of the youngest generation due: 20 MB."""

KEPT_SESSIONS = 50
"""Sessions of calibrations that are kept, the last ones."""


@pytest.fixture(scope="session", autouse=True)
def equal_texts_compiled_once() -> Iterator[None]:
    """Keep what LLVM makes of the last texts of sessions, which depends on text and level alone."""
    # Imported late: the process that only gives workers their tests does not need the compiler.
    from xonnc import native_compilation

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_compilation, "machine_code", lru_cache(500)(native_compilation.machine_code))
        yield


@pytest.fixture(scope="session", autouse=True)
def equal_models_calibrated_by_one_session() -> Iterator[None]:
    """Keep sessions that measure ranges and errors: tests of one network quantize it in many ways."""
    from xonnc import calibration
    from xonnc.native_compilation import CompileOptions
    from xonnc.runtime.native.session import Session

    sessions: dict[tuple[bytes, str], Session] = {}
    opened = calibration.open_session

    def open_once(model: ModelProto, options: CompileOptions, cache: bool) -> Session:
        key = model.SerializeToString(deterministic=True), str(options)
        if key not in sessions:
            if len(sessions) == KEPT_SESSIONS:
                del sessions[next(iter(sessions))]
            sessions[key] = opened(model, options, cache=cache)
        return sessions[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "open_session", open_once)
        yield


@pytest.fixture
def small_model(tmp_path: Path) -> Callable[..., Path]:
    """Writer of a small classifier (Conv, activation, MaxPool, Gemm, Softmax) to a file of the given name."""

    def write(name: str, *, operator: str = "Relu") -> Path:
        random = np.random.default_rng(7)
        weights = {
            "w": random.standard_normal((8, 3, 3, 3)) * 0.3,
            "b": random.standard_normal(8) * 0.1,
            "fc": random.standard_normal((5, 8 * 4 * 4)) * 0.1,
            "fcb": random.standard_normal(5) * 0.1,
        }
        nodes = [
            helper.make_node("Conv", ["x", "w", "b"], ["c"], "conv1", pads=[1, 1, 1, 1]),
            helper.make_node(operator, ["c"], ["r"], "act1"),
            helper.make_node("MaxPool", ["r"], ["p"], "pool1", kernel_shape=[2, 2], strides=[2, 2]),
            helper.make_node("Flatten", ["p"], ["f"], "flat1"),
            helper.make_node("Gemm", ["f", "fc", "fcb"], ["g"], "fc1", transB=1),
            helper.make_node("Softmax", ["g"], ["y"], "prob", axis=1),
        ]
        graph = helper.make_graph(
            nodes,
            "small",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])],
            [numpy_helper.from_array(array.astype(np.float32), name) for name, array in weights.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        path = tmp_path / name
        path.write_bytes(model.SerializeToString())
        return path

    return write


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """
    Keep the objects of all tests out of garbage collections, those during their collection included.

    Passes that free constants run a collection each, which takes 0.4 s with the objects of 19,000 tests.
    The objects of a compilation are free before they are many enough for a collection of their own.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(YOUNG_OBJECTS)
        gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker that `pytest_collection_modifyitems` reads."""
    config.addinivalue_line("markers", "covering(strength): only cases with all combinations (covering.py)")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the cases of marked tests that cover no further combination of values."""
    families: defaultdict[tuple[object, str], list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("covering"):
            families[item.parent, item.originalname].append(item)
    left_out: set[pytest.Item] = set()
    for family in families.values():
        marker = family[0].get_closest_marker("covering")
        assert marker
        kept = covering(list(map(parametrization, family)), marker.args[0])
        left_out.update(family)
        left_out.difference_update(family[position] for position in kept)
    if left_out:
        items[:] = [item for item in items if item not in left_out]


def parametrization(item: pytest.Function) -> list[tuple[int, ...]]:
    """Return which values a case has of each of its parametrizations; the values are shared by the cases."""
    found: list[tuple[int, ...]] = []
    for marker in item.iter_markers("parametrize"):
        names = marker.args[0]
        names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
        found.append(tuple(id(item.callspec.params[name]) for name in names))
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Restore the random generators of a module: a test draws the same alone, and after any others."""
    if isinstance(item, pytest.Function):
        for generator in random_generators(item.module):
            generator.bit_generator.state = initial_state(generator)


@cache
def random_generators(module: ModuleType) -> list[np.random.Generator]:
    """Return the random generators of a test module, and of modules whose functions it imports."""
    functions = [each for each in vars(module).values() if isinstance(each, FunctionType)]
    scopes = [vars(module), *(each.__globals__ for each in functions)]
    found = {id(each): each for scope in scopes for each in scope.values()}
    return [each for each in found.values() if isinstance(each, np.random.Generator)]


@cache
def initial_state(generator: np.random.Generator) -> Any:
    """Return the state of a generator before the first test that uses it."""
    return generator.bit_generator.state


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of `test_rule_numbers.py`: number of instances per rule, and random seed."""
    group = parser.getgroup("rules", "instances in test_rule_numbers.py")
    group.addoption("--rules-seed", type=int, default=0, help="another seed makes other instances")
    group.addoption("--rules-count", type=int, default=13, help="instances on which each rule must fire")
