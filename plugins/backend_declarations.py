"""Backends of plug-ins: target descriptions, lowerings of operators, constraints, and the emitter of code."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Dialect, Operation, SSAValue

from xonnc.errors import UnknownNameError, suggest
from xonnc.plugins.operators import Array, Plugin, PluginError
from xonnc.targets.toml_tables import KINDS, read_toml, type_name, values_of

if TYPE_CHECKING:
    from xonnc.plugins.backend_nodes import BackendNode

Lowered: TypeAlias = "Operation | SSAValue | Sequence[Operation]"
"""The replacement of a node: an op, an existing value, or ops in order, the last of which has the results."""

Lower: TypeAlias = "Callable[[BackendNode, Any], Lowered]"
Constrain: TypeAlias = "Callable[[BackendNode, Any], str | None]"
Emit: TypeAlias = "Callable[[ModuleOp, Any], str | bytes]"

Run: TypeAlias = "Callable[[bytes, Sequence[Array], Any], Sequence[Array]]"

RunT = TypeVar("RunT", bound="Run")
LowerT = TypeVar("LowerT", bound="Lower")
ConstrainT = TypeVar("ConstrainT", bound="Constrain")
EmitT = TypeVar("EmitT", bound="Emit")

TAKEN_SUFFIXES = (".c", ".json", ".ll", ".mlir", ".nvdla", ".o", ".onnx", ".so", ".toml", ".xpkg")
"""Suffixes of files that the compiler reads and writes itself."""


@dataclass(frozen=True)
class Constraint:
    """A condition on nodes; `operators` is empty if it is on all of them."""

    operators: Sequence[str]
    broken: Constrain
    """Return `None`, or why the node breaks it: the value found, the values allowed, what to do."""
    doc: str


class Backend:
    """
    A compiler backend: a function per operator that lowers it to ops of a dialect, and an emitter.

        @dataclass(frozen=True)
        class DemoTarget:
            name: str
            description: str
            max_elements: int

        demo = backend(plugin, "demo", DemoTarget, [Path(__file__).with_name("demo.toml")], suffix=".demo")

        @demo.lowers("Relu")
        def relu(node, target):
            return ReluOp(node.operands[0])

        @demo.emits
        def text(module, target):
            return "".join(f"{op.name}\\n" for op in module.walk())
    """

    def __init__(
        self,
        plugin: Plugin,
        name: str,
        properties: type,
        files: Sequence[str | Path],
        *,
        suffix: str,
        dialect: Dialect | None = None,
    ) -> None:
        self.plugin = plugin
        self.name = name
        self.suffix = suffix
        self.dialect = dialect
        self.lowerings: dict[str, Lower] = {}
        self.constraints: list[Constraint] = []
        self.emit: Emit | None = None
        self.run: Run | None = None
        self.properties: Any = properties
        if not name.isidentifier() or name != name.lower():
            raise PluginError(f"plug-in {plugin.name}: backend '{name}': the name must be as npu or npu_2")
        if not suffix.startswith(".") or suffix in TAKEN_SUFFIXES:
            raise PluginError(
                f"{self}: suffix '{suffix}'; it begins with a dot and is none of {', '.join(TAKEN_SUFFIXES)}"
            )
        self._require_properties()
        if not files:
            raise PluginError(f"{self}: no target; give the TOML file of one")
        self.targets: Mapping[str, Any] = {Path(file).stem: self._read(Path(file)) for file in files}

    def __str__(self) -> str:
        return f"backend {self.name} of plug-in {self.plugin.name}"

    def lowers(self, *operators: str) -> Callable[[LowerT], LowerT]:
        """
        Declare a function as the lowering of operators, by their ONNX names (`Relu`, `com.acme.AddN`).

        It gets the node and the target and returns what replaces the node, or raises `node.refuse(reason)`.
        The first line of its docstring is shown by `xonnc ops --target`.
        """

        def declare(function: LowerT) -> LowerT:
            for operator in operators:
                if operator in self.lowerings:
                    raise PluginError(f"{self}: {operator} has two lowerings")
                self.lowerings[operator] = function
            return function

        return declare

    def constraint(self, *operators: str) -> Callable[[ConstrainT], ConstrainT]:
        """
        Declare a function as a condition on the nodes of operators, or of all without any.

        It gets the node and the target and returns `None`, or why the target cannot run the node. Its
        docstring is shown by `xonnc ops --target`.
        """

        def declare(function: ConstrainT) -> ConstrainT:
            doc = " ".join((inspect.getdoc(function) or "").split())
            if not doc:
                name = getattr(function, "__name__", "")
                raise PluginError(f"{self}: constraint {name} needs a docstring that says what is allowed")
            self.constraints.append(Constraint(operators, function, doc))
            return function

        return declare

    def takes(self, op: Operation) -> bool:
        """Return whether the backend has a lowering of an operator."""
        # Imported late: nodes bring the readers of IR with them.
        from xonnc.plugins.backend_nodes import operator_of

        return operator_of(op) in self.lowerings

    def emits(self, function: EmitT) -> EmitT:
        """Declare the function that gives the output file for a lowered module and the target."""
        self.emit = function
        return function

    def runs(self, function: RunT) -> RunT:
        """
        Declare the function that runs an output file, on the device or a simulator.

        It gets the content of the file, the inputs in order and the target, and returns the outputs in order.
        """
        self.run = function
        return function

    def target_of(self, name: str) -> Any:
        """Return a target by its name or the path of a TOML file; `UnknownNameError` for another name."""
        if name in self.targets:
            return self.targets[name]
        if name.endswith(".toml"):
            return self._read(Path(name))
        hint = suggest(name, self.targets) or f"; there are {', '.join(self.targets)}"
        raise UnknownNameError(f"{self}: no target '{name}'{hint}")

    def _read(self, path: Path) -> Any:
        table = {key: value for key, value in read_toml(path).items() if key != "backend"}
        table = {"name": path.stem} | table
        return self.properties(**values_of(self.properties, table, str(path), given=()))

    def _require_properties(self) -> None:
        if not is_dataclass(self.properties):
            raise PluginError(f"{self}: the properties of its targets must be a dataclass")
        known = {field.name: type_name(field) for field in fields(self.properties)}
        for name, kind in known.items():
            if kind not in KINDS:
                raise PluginError(f"{self}: property '{name}' is a {kind}; properties are {', '.join(KINDS)}")
        for name in ("name", "description"):
            if known.get(name) != "str":
                raise PluginError(f"{self}: the properties of its targets must include {name}: str")
