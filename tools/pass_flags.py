"""Passes as command-line options: `--cse --constprop-onnx='expansion-bound=2'`, `-p "cse,dce"`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, ParameterListType, ParameterType, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError
from xdsl.utils.hints import isa

from xonnc.tools.nested_passes import on_each_function
from xonnc.tools.peer_flags import peer_flags
from xonnc.tools.usage import UsageError

PassFactories = Mapping[str, Callable[[], type[ModulePass]]]

ALIASES = {"shape-inference": "shape-inference-onnx"}
"""onnx-mlir's names for passes of ours whose own name xDSL has taken."""

VALUES = {"append-decoding-strategy": "strategy", "replace-op-with-its-operand": "list-id-regex"}
"""Passes that onnx-mlir's driver has as options with a value, and which option of theirs the value is."""

_WITHOUT_EFFECT = {
    "canonicalize": {"max-iterations", "max-num-rewrites", "region-simplify", "test-convergence", "top-down"}
}
"""MLIR's options of passes for which xDSL's passes have no use."""

_OPTION = re.compile(r"""\s*([\w-]+)(?:=(?:"([^"]*)"|'([^']*)'|\{([^}]*)\}|([^\s{}"']*)))?(?=\s|$)""")


MODULE, FUNCTION = "builtin.module", "func.func"
"""Ops that passes are nested in."""

_NESTED = re.compile(r"([\w.]+)\s*\((.*)\)", re.DOTALL)


@dataclass(frozen=True)
class PassSpec(ArgSpec):
    """A pass with its options, and the op that it runs on: the module, or each function by itself."""

    anchor: str = MODULE


@dataclass
class PassFlags:
    """The requested passes in order, and the remaining arguments."""

    passes: list[PassSpec] = field(default_factory=list["PassSpec"])
    rest: list[str] = field(default_factory=list[str])


def suggest_pass(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the most similar known name, or an empty string."""
    found = difflib.get_close_matches(name, list(known), 1, 0.6) or _by_words(name, known)
    return f"; did you mean '{found[0]}'?" if found else ""


def split_pass_flags(argv: Sequence[str], known: Iterable[str], options: Mapping[str, bool]) -> PassFlags:
    """
    Extract the passes from `argv`; `options` maps the tool's own options to whether they take a value.

    A long option may have one dash as in MLIR. Raises `UsageError` for what is neither pass nor option.
    """
    names = set(known)
    flags = PassFlags()
    arguments = iter(argv)
    for argument in arguments:
        if not argument.startswith("-") or argument == "-":
            flags.rest.append(argument)
            continue
        name, equals, value = argument.lstrip("-").partition("=")
        if argument in ("-p", "--passes", "--pass-pipeline") or name in ("passes", "pass-pipeline"):
            flags.passes += pipeline_specs(value if equals else next(arguments, ""), names)
        elif name in options:
            _take_option(flags.rest, name, equals, value, options[name], arguments)
        elif name in ALIASES or name in names:
            flags.passes.append(PassSpec(ALIASES.get(name, name), _pass_options(value, name)))
        elif argument[1:2] in options and not argument.startswith("--"):
            # One letter with its value attached: `-oout.mlir`, `-O3`, `-j4`.
            _take_option(flags.rest, argument[1], "=", argument[2:], options[argument[1]], arguments)
        else:
            raise UsageError(
                f"no pass or option '{name}'{suggest_pass(name, {*names, *ALIASES, *options, *peer_flags()})}"
            )
    return flags


def pipeline_specs(text: str, known: Iterable[str], anchor: str = MODULE) -> list[PassSpec]:
    """
    Return the passes of `a,b{k=v},func.func(c)`, without an enclosing `builtin.module(…)` or `any(…)`.

    Raises `UsageError` for what cannot be read, an unknown pass, or ops that passes do not nest in.
    """
    names = {*known, *ALIASES}
    found: list[PassSpec] = []
    for part in _split_pipeline(text):
        nested = _NESTED.fullmatch(part)
        if nested is None:
            found += [PassSpec(spec.name, spec.parameters, anchor) for spec in _flat_specs(part, text, names)]
        elif nested[1] in (MODULE, "any") and anchor == MODULE:
            found += pipeline_specs(nested[2], known)
        elif nested[1] in (FUNCTION, "any"):
            found += pipeline_specs(nested[2], known, FUNCTION)
        else:
            raise UsageError(
                f'cannot read the pipeline "{text}": passes nest in {MODULE} and {FUNCTION}, '
                f"not in {nested[1]}" + (f" inside {anchor}" if nested[1] == MODULE else "")
            )
    return found


def _flat_specs(part: str, text: str, names: Iterable[str]) -> list[ArgSpec]:
    try:
        specs = list(parse_pipeline(part))
    except ArgSpecParseError as error:
        reason = str(error).strip().splitlines()[-1].strip()
        raise UsageError(f'cannot read the pipeline "{text}": {reason}') from error
    for spec in specs:
        if spec.name not in names:
            raise UsageError(f"no pass '{spec.name}'{suggest_pass(spec.name, names)}")
    return [ArgSpec(ALIASES.get(spec.name, spec.name), spec.parameters) for spec in specs]


def _split_pipeline(text: str) -> list[str]:
    """Split at the commas outside of parentheses, braces and quotes; `UsageError` for unbalanced ones."""
    parts, depth, quote = [""], 0, ""
    for character in text.strip():
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "({":
            depth += 1
        elif character in ")}":
            depth -= 1
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
        if depth < 0:
            break
    if depth or quote:
        raise UsageError(f'cannot read the pipeline "{text}": a parenthesis, brace or quote is not closed')
    return [part.strip() for part in parts]


def make_pass(spec: ArgSpec, factories: PassFactories) -> ModulePass:
    """Create a pass from its options; `UsageError` for an unknown option or an invalid value."""
    if spec.name not in factories:
        raise UsageError(f"no pass '{spec.name}'{suggest_pass(spec.name, factories)}")
    cls = factories[spec.name]()
    hints = get_type_hints(cls)
    known = {option.name.replace("_", "-") for option in fields(cls) if option.init and option.name != "name"}
    parameters: dict[str, ParameterListType] = {}
    for key, values in spec.parameters.items():
        option = key.replace("_", "-")
        if option in known:
            parameters[option] = _fitting(values, hints[option.replace("-", "_")])
        elif option not in _WITHOUT_EFFECT.get(spec.name, ()):
            listed = f" (it has {', '.join(sorted(known))})" if known else " (it has none)"
            raise UsageError(
                f"pass '{spec.name}' has no option '{option}'{suggest_pass(option, known) or listed}"
            )
    if isinstance(spec, PassSpec) and spec.anchor == FUNCTION:
        cls = on_each_function(cls)
    try:
        return cls.from_pass_spec(ArgSpec(spec.name, parameters))
    except ValueError as error:
        raise UsageError(f"pass '{spec.name}': {error}") from error


def _by_words(name: str, known: Iterable[str]) -> list[str]:
    """Return the known name that shares the most words with `name` (`onnx-fold`), if any."""
    words = {_MEANT.get(word, word) for word in re.split("[-_]", name)}
    scored = [(len(words & set(other.split("-"))), other) for other in known]
    best = max((score for score, _ in scored), default=0)
    return sorted((other for score, other in scored if score == best), key=len)[:1] if best else []


_MEANT = {"fold": "constprop", "constant": "constprop", "propagate": "constprop", "infer": "inference"}
"""Words people try for words that passes are called by."""


def _take_option(
    rest: list[str], name: str, equals: str, value: str, takes_value: bool, arguments: Iterable[str]
) -> None:
    dashed = f"--{name}" if len(name) > 1 else f"-{name}"
    if not takes_value:
        if equals and value not in ("true", "1", "false", "0"):
            raise UsageError(f"option '{dashed}' takes no value, found '{value}'")
        if value not in ("false", "0"):
            rest.append(dashed)
        return
    if not equals:
        found = next(iter(arguments), None)
        if found is None:
            raise UsageError(f"option '{dashed}' needs a value")
        value = found
    rest.append(f"{dashed}={value}" if len(name) > 1 else f"{dashed}{value}")


def _pass_options(text: str, name: str) -> dict[str, ParameterListType]:
    """Parse the options in `k=v flag k2="a b"`, or the value of a pass that is an option with a value."""
    options: dict[str, ParameterListType] = {}
    position = 0
    text = text.strip()
    if text and name in VALUES and text.partition("=")[0].replace("_", "-") != VALUES[name]:
        return {VALUES[name]: _values(text)}
    while position < len(text):
        match = _OPTION.match(text, position)
        if match is None:
            raise UsageError(f"cannot read '{text[position:].strip()}' among the options of pass '{name}'")
        given = [group for group in match.groups()[1:] if group is not None]
        options[match[1]] = _values(given[0]) if given else ()
        position = match.end()
    return options


def _values(text: str) -> ParameterListType:
    return tuple(text.split(",")) if text else ()


def _fitting(values: ParameterListType, hint: Any) -> ParameterListType:
    """Convert values to the declared type of an option if possible; else return them unchanged."""
    if not values:
        return (True,) if isa(True, hint) else values
    texts = tuple(value if isinstance(value, str) else str(value) for value in values)
    typed = tuple(_typed(text) for text in texts)
    floats = tuple(float(value) if type(value) is int else value for value in typed)
    for reading in (typed, floats, texts):
        if (len(reading) == 1 and isa(reading[0], hint)) or isa(reading, hint):
            return reading
    return values


def _typed(text: str) -> ParameterType:
    if text in ("true", "false"):
        return text == "true"
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text
