"""Each rule that the declaration and registration of a plug-in checks, with its message."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xonnc.errors import XonncError
from xonnc.plugin import (
    Plugin,
    PluginError,
    attribute,
    layout_preference,
    module_pass,
    one,
    operator,
    ops,
    optional,
    register,
    registered,
    rewrite,
    type_variables,
    value,
    variadic,
)

ROOT = Path(__file__).resolve().parents[3]

ELSEWHERE = {
    "backend_declarations.py": "test_backends.py",
    "backends.py": "test_backends.py",
    "c_sources.py": "test_c_sources.py",
    "loading.py": "test_loading.py",
}
"""Modules whose messages another file tests."""

ANY: Any = None
"""The type of values that a type checker refuses."""

MIXED: Any = [np.int8, str]


def nothing(*values: object) -> object:
    """A function of a declaration, which is not called."""
    return values


def declare(name: str = "Op", domain: Any = "org.declared", since: Any = 1, **members: Any) -> Plugin:
    """A plug-in with one operator, of one operand and one result if `members` say nothing else."""
    plugin = Plugin("declared")
    until = members.pop("until", None)
    body = type("Op", (), {"inputs": one("T"), "outputs": one("T"), **members})
    operator(plugin, domain=domain, name=name, since=since, until=until)(body)
    return plugin


def op(**members: Any) -> None:
    """Register such a plug-in."""
    register(declare(**members))


def twice() -> None:
    plugin = declare()
    operator(plugin, domain="org.declared", name="Op")(type("Op", (), {"outputs": one("T")}))


def a_name_of_two_plugins() -> None:
    register(Plugin("named_twice", source="a.py"))
    register(Plugin("named_twice", source="b.py"))


def an_operator_of_two_plugins() -> None:
    owner = Plugin("owner")
    operator(owner, domain="org.owner", name="Op")(type("Op", (), {"outputs": one("T")}))
    register(owner)
    op(domain="org.owner")


def a_pass(function: Any = nothing, name: str = "declared-pass", after: str | None = None) -> None:
    module_pass(Plugin("declared"), name=name, after=after)(function)


def with_an_option(module: object, context: object, tile: object = None) -> None:
    """A pass whose option has no type."""


def a_rule(into: str = "simplify-onnx", pattern: Any = None, where: Any = None) -> None:
    plugin = Plugin("declared")

    def f(b: Any, x: Any) -> Any:
        return x

    rewrite(plugin, into=into, pattern=pattern or ops.Relu(value.x), where=where)(f)
    register(plugin)


def int_list(default: Any) -> None:
    op(k=attribute(list[int], default=default))


def no_preference(node: object) -> None:
    """Leave the layout to the compiler: registered plug-ins stay for all tests of this process."""


def a_preference(*operators: str, name: str = "declared") -> Plugin:
    plugin = Plugin(name)
    for operator_name in operators:
        layout_preference(plugin, operator_name)(no_preference)
    return plugin


def two_preferences() -> None:
    register(a_preference("Elu", name="preferring_plugin"))
    register(a_preference("Elu"))


def a_condition(z: object) -> bool:
    return z is not None


OPERATOR = "plug-in declared: org.declared.Op since version 1: "

JOINED = (
    "rules join canonicalize-onnx, constprop-onnx, decompose-onnx, fuse-operators-onnx, legalize-onnx, "
    "recompose-onnx, simplify-onnx"
)

RULES: list[tuple[Callable[[], object], str]] = [
    # A plug-in.
    (lambda: Plugin("no name"), "plug-in 'no name': the name must be an identifier, as acme"),
    (a_name_of_two_plugins, "two plug-ins are called 'named_twice': a.py and b.py"),
    (lambda: register(renamed("onnx")), "plug-in 'onnx': a dialect of xonnc has this name; choose another"),
    # Versions, and conflicts.
    (lambda: op(since=0), "plug-in declared: Op: since=0; versions are integers from 1"),
    (lambda: op(since="2"), "plug-in declared: Op: since='2'; versions are integers from 1"),
    (lambda: op(since=3, until=3), "plug-in declared: Op: until=3; it is a version after since=3"),
    (twice, "plug-in declared: Op: declared twice for version 1"),
    (
        an_operator_of_two_plugins,
        "plug-in declared: org.owner.Op since version 1 is registered by plug-in owner already; "
        "with Plugin('declared', override=True) yours takes its place",
    ),
    (
        lambda: op(name="Relu", domain="ai.onnx", since=14),
        "plug-in declared: ai.onnx.Relu since version 14 is registered by xonnc already; "
        "with Plugin('declared', override=True) yours takes its place",
    ),
    # Names.
    (lambda: op(domain=5), "plug-in declared: Op: domain=5; it is a string, as 'com.acme'"),
    (
        lambda: op(name="Add N"),
        f"{OPERATOR.replace('Op', 'Add N')}the name 'Add N' must be an identifier, as AddN",
    ),
    (
        lambda: op(inputs=one("T", name="x y")),
        f"{OPERATOR}'x y' must be an identifier, as it is a member of the operator",
    ),
    *(
        (
            lambda bad=bad: op(**bad),
            f"{OPERATOR}two operands, results or attributes are called 'k'; rename one",
        )
        for bad in (
            {"inputs": (one("T", name="k"), optional("T", name="k"))},
            {"inputs": one("T", name="k"), "outputs": one("T", name="k")},
            {"inputs": one("T", name="k"), "k": attribute(int)},
            {"k": attribute(int), "other": attribute(int, source="k")},
        )
    ),
    *(
        (
            lambda bad=bad: op(**bad),
            f"{OPERATOR}'{name}' is a member of every operator; rename the operand, result or attribute",
        )
        for name, bad in (
            ("operands", {"inputs": one("T", name="operands")}),
            ("name", {"outputs": one("T", name="name")}),
            ("properties", {"k": attribute(int, source="properties")}),
            ("node", {"node": attribute(int, source="k")}),
        )
    ),
    # Operands and results.
    (lambda: op(outputs=()), "plug-in declared: Op: no outputs; write outputs = one('T')"),
    (
        lambda: op(inputs="T"),
        "plug-in declared: Op: inputs is 'T'; it is one(…), optional(…), variadic(…), or a tuple of them",
    ),
    (
        lambda: op(outputs=3),
        "plug-in declared: Op: outputs is 3; it is one(…), optional(…), variadic(…), or a tuple of them",
    ),
    (
        lambda: op(inputs=(variadic("T"), one("T"))),
        "plug-in declared: Op: a variadic group is the last of the inputs",
    ),
    *(
        (
            lambda least=least, most=most: op(inputs=variadic("T", at_least=least, at_most=most)),
            f"{OPERATOR}'input' has at_least={least} and at_most={most}, which no node can have",
        )
        for least, most in ((-1, None), (3, 2), (0, 0))
    ),
    # Types.
    (
        lambda: op(types=[np.float32]),
        f"{OPERATOR}types is [<class 'numpy.float32'>]; write types = type_variables(T=[np.float32])",
    ),
    (
        lambda: op(types=type_variables(Q=[np.float32])),
        f"{OPERATOR}types restricts 'Q', which no operand or result has",
    ),
    *(
        (
            lambda bad=bad: op(**bad),
            f"{OPERATOR}{where} has the type <class '{name}'>; element types are NumPy's, as np.float32",
        )
        for where, name, bad in (
            ("type variable 'T'", "str", {"types": {"T": [np.float32, str]}}),
            ("'input'", "numpy.datetime64", {"inputs": one(np.datetime64)}),
            ("'output'", "str", {"outputs": one(MIXED)}),
        )
    ),
    # Attributes.
    (
        lambda: attribute(set[int]),
        "attributes are of int, float, str, list[int], list[float], list[str] and np.ndarray, "
        "not of set[int]",
    ),
    (
        lambda: op(attributes="all"),
        f"{OPERATOR}attributes is 'all'; write attributes = 'auto', or declare each by attribute(…)",
    ),
    (
        lambda: op(k=attribute(int, default=ANY or 1.5)),
        f"{OPERATOR}attribute 'k' is of kind INT; its default is 1.5",
    ),
    (
        lambda: op(k=attribute(int, default=2**63)),
        f"{OPERATOR}attribute 'k' is of kind INT; its default is 9223372036854775808",
    ),
    (
        lambda: op(k=attribute(str, default=ANY or 3)),
        f"{OPERATOR}attribute 'k' is of kind STRING; its default is 3",
    ),
    (lambda: int_list(3), f"{OPERATOR}attribute 'k' is of kind INTS; its default is 3"),
    (lambda: int_list([1, "a"]), f"{OPERATOR}attribute 'k' is of kind INTS; its default is [1, 'a']"),
    (
        lambda: op(k=attribute(int, choices=ANY or ("a",))),
        f"{OPERATOR}attribute 'k' is of kind INT; a choice is 'a'",
    ),
    (
        lambda: op(k=attribute(int, default=3, choices=(1, 2))),
        f"{OPERATOR}attribute 'k' takes 1, 2; its default is 3",
    ),
    (
        lambda: op(k=attribute(np.ndarray, default=np.ones(3))),
        f"{OPERATOR}attribute 'k' is a tensor, which has no default but None",
    ),
    # Functions.
    (lambda: op(infer=5), f"{OPERATOR}infer is 5; it is a function of the node"),
    (
        lambda: op(inputs=(one("T"), one("T")), lookup=nothing),
        f"{OPERATOR}a lookup is of one operand and one result",
    ),
    (
        lambda: op(layout="NHWC", kernel=nothing),
        f"{OPERATOR}layout is 'NHWC'; it is 'NCHW' or 'NCHWc', or a function of the node",
    ),
    (lambda: op(layout="NCHW"), f"{OPERATOR}a layout is of operators with a kernel(op, *scalars)"),
    # Layouts of operators of ONNX.
    (lambda: a_preference("Conv", "Conv"), "plug-in declared: Conv has two layout preferences"),
    (
        two_preferences,
        "plug-in declared: layout preference of Elu: plug-in preferring_plugin has one; "
        "with Plugin('declared', override=True) yours takes its place",
    ),
    (
        lambda: register(a_preference("Convv")),
        "plug-in declared: layout preference of Convv: its layout is not chosen; did you mean 'Conv'?",
    ),
    (
        lambda: register(a_preference("MatMul")),
        "plug-in declared: layout preference of MatMul: its layout is not chosen; "
        "those of Conv, pools, Concat and elementwise operators are",
    ),
    # Rules and passes.
    (
        lambda: a_rule("fuse-onyx"),
        f"plug-in declared: 'fuse-onyx' is no pass; {JOINED}",
    ),
    (
        lambda: a_rule("legalise-onnx"),
        "plug-in declared: 'legalise-onnx' is no pass; did you mean 'legalize-onnx'?",
    ),
    (
        lambda: a_rule("assign-layout"),
        f"plug-in declared: 'assign-layout' applies no rules of plug-ins; {JOINED}",
    ),
    (
        lambda: a_rule(where=a_condition),
        "plug-in declared: the condition takes 'z'; the rule's function takes x",
    ),
    (lambda: a_pass(name="simplify-onnx"), "plug-in declared: there is a pass 'simplify-onnx' already"),
    (
        lambda: a_pass(after="simplifed"),
        "plug-in declared: pass 'declared-pass': no stage 'simplifed'; did you mean 'simplified'?",
    ),
    (
        lambda: a_pass(with_an_option),
        "plug-in declared: pass 'declared-pass': parameter 'tile' needs a default of type int, float, bool, "
        "str",
    ),
]


def renamed(name: str) -> Plugin:
    plugin = declare()
    plugin.name = name
    return plugin


@pytest.mark.parametrize(("break_rule", "message"), RULES, ids=[message[-40:] for _, message in RULES])
def test_each_rule_has_its_message(break_rule: Callable[[], object], message: str):
    before = {plugin.name for plugin in registered()} | {"named_twice", "owner", "preferring_plugin"}
    with pytest.raises(XonncError) as error:
        break_rule()
    assert str(error.value) == message
    assert {plugin.name for plugin in registered()} <= before


def test_integers_are_defaults_of_floats():
    plugin = Plugin("defaults")
    members = {"k": attribute(float, default=3), "l": attribute(list[float], default=[1, 2.5])}
    operator(plugin, domain="org.defaults", name="Op")(type("Op", (), {"outputs": one("T"), **members}))
    register(plugin)
    assert [each.default for each in plugin.operators[0].attributes] == [3.0, [1.0, 2.5]]


def templates(path: Path) -> Iterator[str]:
    """Yield a regular expression for each message that a module raises or yields."""
    for node in ast.walk(ast.parse(path.read_text())):
        text: ast.expr | None = None
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id="PluginError"), args=[message])):
                text = message
            case ast.Yield(value=message) if path.name == "declaration_checks.py":
                text = message
            case _:
                continue
        match text:
            case ast.JoinedStr(values=values):
                yield "".join(
                    re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".*" for part in values
                )
            case ast.Constant(value=str(constant)):
                yield re.escape(constant)
            case _:
                raise AssertionError(f"{path.name}:{node.lineno}: a message that is no text")


def test_every_message_is_in_the_table():
    modules = [*(ROOT / "plugins").glob("*.py"), ROOT / "src" / "xonnc" / "plugin.py"]
    found = {(path.name, each) for path in modules for each in templates(path)}
    assert {name for name, _ in found} >= {*ELSEWHERE, "declaration_checks.py", "operators.py", "rewrites.py"}
    missing = [
        (name, each)
        for name, each in sorted(found)
        if name not in ELSEWHERE and not any(re.search(f"{each}$", message) for _, message in RULES)
    ]
    assert not missing
    # Elsewhere a test has at least a part of the constant text of each message.
    for name, each in sorted(found):
        if name in ELSEWHERE:
            tests = Path(__file__).with_name(ELSEWHERE[name]).read_text()
            parts = [part.replace("\\", "").strip(" :;'") for part in each.split(".*")]
            long = [part for part in parts if len(part) > 4]
            assert not long or any(part[:20] in tests or part[-12:] in tests for part in long), (name, each)


def test_plugin_errors_are_errors_of_xonnc():
    assert issubclass(PluginError, XonncError)
