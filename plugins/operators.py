"""The declarations of plug-ins and their operators."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy.typing as npt

from xonnc.errors import PluginFunctionError, XonncError
from xonnc.plugins.declarations import AttributeDeclaration, ElementTypes, ParameterDeclaration, Ports
from xonnc.plugins.types import TensorType

if TYPE_CHECKING:
    from xdsl.passes import ModulePass

    from xonnc.lowering.onnx_to_krnl.builders.c_kernels import CFunction
    from xonnc.plugins.backend_declarations import Backend
    from xonnc.plugins.op_class import PluginOp
    from xonnc.rewriting.rules import RuleSet

Array = npt.NDArray[Any]
ClassT = TypeVar("ClassT", bound=type)


class PluginError(XonncError):
    """A plug-in is invalid, or conflicts with xonnc or with another plug-in."""


@dataclass
class Plugin:
    """
    A named set of operators, rules, passes, backends and layout preferences.

    The name is the dialect prefix of its ops in IR (`acme.AddN`). With `override` it may replace operators
    that are registered already under the same domain, name and version.
    """

    name: str
    version: str = "0"
    override: bool = False
    operators: list[OperatorSpec] = field(default_factory=list["OperatorSpec"])
    rules: list[JoiningRule] = field(default_factory=list["JoiningRule"])
    passes: dict[str, JoiningPass] = field(default_factory=dict[str, "JoiningPass"])
    backends: list[Backend] = field(default_factory=list["Backend"])
    layouts: dict[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    """Layout preferences by ONNX operator."""
    source: str = ""
    """Its origin, for messages: a file or a package."""

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise PluginError(f"plug-in '{self.name}': the name must be an identifier, as acme")


@dataclass(frozen=True)
class JoiningRule:
    """A rewrite rule, and the pass `into` whose rules it is added to."""

    into: str
    name: str
    table: Callable[[], RuleSet]
    """Create the rule set; called once the operators in the pattern are registered."""
    module: str = ""
    """The Python module that declares it."""


@dataclass(frozen=True)
class JoiningPass:
    """A pass, and the stage of the pipelines after which it runs; `None` if only tools run it."""

    kind: type[ModulePass]
    after: str | None = None


@dataclass(eq=False)
class OperatorSpec:
    """The declaration of one version of an operator."""

    plugin: Plugin
    domain: str
    name: str
    since: int
    body: type
    """The user's class that declares it."""
    inputs: Sequence[ParameterDeclaration]
    outputs: Sequence[ParameterDeclaration]
    attributes: Sequence[AttributeDeclaration[Any]]
    takes_any_attribute: bool
    variables: Mapping[str, ElementTypes]
    doc: str
    until: int | None = None
    """The version of its domain that withdrew it."""
    kind: type[PluginOp] | None = None
    """The op class, once the plug-in is registered."""
    c_function: CFunction | None = None
    """The function in C that computes it, once the plug-in is registered."""

    def function(self, name: str) -> Callable[..., Any] | None:
        """Return a function of the declaring class, such as `infer`; `None` if it has none."""
        found = inspect.getattr_static(self.body, name, None)
        if isinstance(found, staticmethod):
            found = found.__func__
        return found if callable(found) else None

    def __str__(self) -> str:
        return f"{self.domain or 'ai.onnx'}.{self.name} since version {self.since}"


def operator(
    plugin: Plugin, *, name: str, domain: str = "", since: int = 1, until: int | None = None
) -> Callable[[ClassT], ClassT]:
    """
    Declare a class as an operator of `plugin`, from version `since` of its domain to the one before `until`.

    The class has `inputs` and `outputs` (`one`, `optional`, `variadic`, or a tuple of them), attributes, and
    any of the functions `infer(op)`, `reference(op, *arrays)`, `decompose(op, b)`, `kernel(op, *scalars)`.
    `c_source = c_function(…)` gives native code in C.
    `attributes = "auto"` takes a node's attributes by their names. `types` restricts type variables:
    `types = type_variables(T=[np.float32])`. `folds = False` keeps an operator of constants.
    """

    def declare(body: ClassT) -> ClassT:
        where = f"plug-in {plugin.name}: {name}"
        if not isinstance(cast("object", since), int) or since < 1:
            raise PluginError(f"{where}: since={since!r}; versions are integers from 1")
        if until is not None and until <= since:
            raise PluginError(f"{where}: until={until}; it is a version after since={since}")
        if not isinstance(cast("object", domain), str):
            raise PluginError(f"{where}: domain={domain!r}; it is a string, as 'com.acme'")
        inputs = _ports(getattr(body, "inputs", ()), "input", where)
        outputs = _ports(getattr(body, "outputs", ()), "output", where)
        if not outputs:
            raise PluginError(f"{where}: no outputs; write outputs = one('T')")
        declared: list[AttributeDeclaration[Any]] = [
            cast("AttributeDeclaration[Any]", value)
            for value in vars(body).values()
            if isinstance(value, AttributeDeclaration)
        ]
        spec = OperatorSpec(
            plugin,
            "" if domain == "ai.onnx" else domain,
            name,
            since,
            body,
            inputs,
            outputs,
            declared,
            getattr(body, "attributes", None) == "auto",
            getattr(body, "types", {}),
            inspect.getdoc(body) or "",
            until,
        )
        same = [
            each
            for each in plugin.operators
            if (each.domain, each.name, each.since) == (spec.domain, name, since)
        ]
        if same:
            raise PluginError(f"{where}: declared twice for version {since}")
        plugin.operators.append(spec)
        return body

    return declare


def _ports(given: Ports | Any, default: str, where: str) -> Sequence[ParameterDeclaration]:
    listed = cast("Sequence[object]", given if isinstance(given, tuple | list) else (given,))
    ports = [port for port in listed if isinstance(port, ParameterDeclaration)]
    if len(ports) < len(listed):
        raise PluginError(
            f"{where}: {default}s is {given!r}; it is one(…), optional(…), variadic(…), or a tuple of them"
        )
    named: list[ParameterDeclaration] = []
    for index, port in enumerate(ports):
        if port.count == "variadic" and index < len(ports) - 1:
            raise PluginError(f"{where}: a variadic group is the last of the {default}s")
        name = port.name or (default if len(ports) == 1 else f"{default}{index}")
        named.append(ParameterDeclaration(port.types, name, port.count, port.at_least, port.at_most))
    return named


class BoundOperator:
    """A node as the functions of its operator see it: `inputs`, attributes, `outputs` and name."""

    inputs: Any
    outputs: Sequence[TensorType | None]
    """The types of the results; `None` for those that are unknown."""
    node: str
    """The name of the node in messages."""

    def constant(self, index: int) -> Array | None:
        """Return the value of an operand; `None` if it is not constant."""
        constants: Callable[[int], Array | None] = vars(self)["constants_"]
        return constants(index)

    def integers(self, index: int) -> list[int | None] | None:
        """
        Return the elements of an integer operand of rank 0 or 1 as far as they are known at compile time.

        Unknown elements are `None`; so is the result if nothing is known.
        """
        integers: Callable[[int], list[int | None] | None] = vars(self)["integers_"]
        return integers(index)

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute by its name in the model, for operators with `attributes = "auto"`."""
        return vars(self)["attributes_"].get(name, default)

    def fail(self, problem: str) -> XonncError:
        """Return the error for an invalid node: `raise op.fail("…")`."""
        return PluginFunctionError(f"{self.node}: {problem}")


_BOUND: dict[type, type] = {}


def bind(
    spec: OperatorSpec,
    node: str,
    inputs: Sequence[Any],
    attributes: Mapping[str, Any],
    outputs: Sequence[TensorType | None] = (),
    constants: Callable[[int], Array | None] = lambda index: None,
    integers: Callable[[int], list[int | None] | None] = lambda index: None,
) -> Any:
    """Return an instance of the declaring class for a node; `attributes` are by their names in the model."""
    bound = _BOUND.get(spec.body)
    if bound is None:
        bound = _BOUND[spec.body] = type(spec.body.__name__, (spec.body, BoundOperator), {})
    made = cast("object", object.__new__(bound))
    values = {
        declared.name: attributes.get(declared.onnx_name, declared.default) for declared in spec.attributes
    }
    members = vars(made)
    members.update(
        attributes_={**attributes, **values},
        constants_=constants,
        integers_=integers,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        node=node,
    )
    for port, value in zip(spec.inputs, inputs, strict=False):
        if port.count != "variadic" and port.name not in values:
            members[port.name] = value
    return made
