"""torch.compile and from_torch: the glue with a stand-in for torch, and with torch where it is installed."""

from __future__ import annotations

import sys
import tomllib
import warnings
from contextlib import nullcontext
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest

import xonnc
from xonnc import torch_backend
from xonnc.errors import XonncError

Array = npt.NDArray[Any]

MODEL = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[2, 3] x) => (float[2, 3] y, float[2, 3] z) <float[3] w = {W}> { y = Mul (x, w)  z = Neg (y) }
"""
X = np.array([[1, -2, 0.5], [-0.0, 3, 8]], np.float32)


class Tensor:
    """The part of `torch.Tensor` in use."""

    requires_grad = False
    _version = 0

    def __init__(self, array: Array) -> None:
        self.array = array

    def detach(self) -> Tensor:
        return self

    cpu = detach

    def numpy(self) -> Array:
        return self.array


class Parameter(Tensor):
    requires_grad = True

    def change(self) -> None:
        """Count a change in place, as torch does."""
        self._version += 1


class Module:
    """The part of `torch.nn.Module` in use."""

    def eval(self) -> Module:
        return self


class Graph:
    """A graph of two inputs, the second of which is a parameter."""

    def __call__(self, x: Tensor, w: Tensor) -> list[Tensor]:
        return [Tensor(x.array * w.array), Tensor(-x.array * w.array)]

    forward = __call__


class StandIn(ModuleType):
    """torch, with an exporter of one model."""

    Tensor = Tensor
    nn = SimpleNamespace(Module=Module, Parameter=Parameter)
    _guards = SimpleNamespace(tracing=nullcontext)
    grad = False
    exported = 0

    def __init__(self) -> None:
        super().__init__("torch")
        self.onnx = SimpleNamespace(export=self.export)

    def is_grad_enabled(self) -> bool:
        return self.grad

    def from_numpy(self, array: Array) -> Tensor:
        return Tensor(array)

    def export(self, module: Any, args: tuple[Tensor, ...], **options: Any) -> Any:
        """The model of the graph; its weight is what the module multiplies ones with."""
        assert options["dynamo"]
        self.exported += 1
        run = module.forward if hasattr(module, "forward") else module
        (product, _) = run(*(Tensor(np.ones_like(each.array)) for each in args))
        weights = ", ".join(str(float(each)) for each in product.array[0])
        return SimpleNamespace(model_proto=onnx.parser.parse_model(MODEL.replace("W}", f"{weights}}}")))


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    found = StandIn()
    monkeypatch.setitem(sys.modules, "torch", found)
    return found


def weight() -> Parameter:
    return Parameter(np.array([1, 2, -1], np.float32))


def test_parameters_are_constants_until_they_change(torch: StandIn):
    x, w = Tensor(X), weight()
    run = torch_backend.backend(Graph(), [x, w])
    for _ in range(2):
        y, z = run(x, w)
        np.testing.assert_array_equal(y.array, X * w.array)
        np.testing.assert_array_equal(z.array, -X * w.array)
    assert torch.exported == 1
    w.array[:] = 5
    w.change()
    np.testing.assert_array_equal(run(x, w)[0].array, X * 5)
    other = weight()
    np.testing.assert_array_equal(run(x, other)[0].array, X * other.array)
    assert torch.exported == 3


def test_graphs_that_torch_keeps(torch: StandIn):
    x, w = Tensor(X), weight()
    torch.grad = True
    with pytest.warns(UserWarning, match=r"it needs gradients; call the model within torch.no_grad\(\)"):
        run = torch_backend.backend(Graph(), [x, w])
    np.testing.assert_array_equal(run(x, w)[0].array, X * w.array)
    torch.grad = False
    with pytest.warns(UserWarning, match="it has inputs that are no tensors, such as dynamic dimensions"):
        torch_backend.backend(Graph(), [x, 3])

    def fails(*args: object, **options: object) -> object:
        raise RuntimeError("no such operator\nand a long trace")

    torch.onnx.export = fails
    with pytest.warns(UserWarning, match="to torch: torch cannot export the module: no such operator$"):
        torch_backend.backend(Graph(), [x, w])
    with pytest.raises(XonncError, match=r"torch cannot export the module: no such operator$"):
        xonnc.from_torch(Graph(), (x, w))


def test_the_reason_is_that_of_the_cause(torch: StandIn):
    def fails(*args: Any, **options: Any) -> Any:
        try:
            raise ValueError("\x1b[96mx has 3 rows\x1b[0m, not 4\nand a long trace")
        except ValueError as error:
            raise RuntimeError("step 1 of 3 failed") from error

    torch.onnx.export = fails
    with pytest.raises(XonncError, match=r"torch cannot export the module: x has 3 rows, not 4$"):
        xonnc.from_torch(Graph(), (Tensor(X), Tensor(X)))


def test_arguments_of_other_types(torch: StandIn):
    module: Any = "net"
    with pytest.raises(XonncError, match=r"module: 'net' is of type str; it takes a torch.nn.Module"):
        xonnc.from_torch(module, (Tensor(X),))

    def twice(x: Tensor) -> list[Tensor]:
        return [x, x]

    session = xonnc.from_torch(twice, Tensor(X))
    assert [spec.name for spec in session.inputs] == ["x"]


def test_from_torch(torch: StandIn):
    def double(x: Tensor) -> list[Tensor]:
        return [Tensor(2 * x.array), Tensor(-2 * x.array)]

    session = xonnc.from_torch(double, [Tensor(X)], "cpu", threads=2)
    (y, _) = session.run(None, {"x": X})
    np.testing.assert_array_equal(np.asarray(y), 2 * X)


def test_without_torch(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(XonncError, match=r"PyTorch is not installed: pip install 'xonnc\[torch\]'"):
        xonnc.from_torch(None, ())


def test_torch_finds_the_backend():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    (name, target), *_ = project["entry-points"]["torch_dynamo_backends"].items()
    module, _, function = target.partition(":")
    assert name == "xonnc"
    assert getattr(import_module(module), function) is torch_backend.backend


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_with_torch():
    torch: Any = import_module("torch")
    torch.manual_seed(0)
    nn = torch.nn
    module = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 5)).eval()
    x = torch.randn(2, 3, 8, 8)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.filterwarnings("error", message="xonnc leaves a graph")
        expected = module(x)
        fast = torch.compile(module, backend=torch_backend.backend)
        torch.testing.assert_close(fast(x), expected, rtol=1e-4, atol=1e-5)
        module[3].bias.add_(1.0)
        torch.testing.assert_close(fast(x), expected + 1, rtol=1e-4, atol=1e-5)
        (given,) = xonnc.from_torch(module, (x,)).run(None, {"input": x})
    np.testing.assert_allclose(np.asarray(given), (expected + 1).numpy(), rtol=1e-4, atol=1e-5)
