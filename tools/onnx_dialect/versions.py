"""
Versions of an operator that share one class.

A class takes the newest schema of a run of versions. An older version joins the run if its models are
valid under that schema and mean there what they meant. What a schema cannot say, a new meaning under
the same signature, is decided by hand: a step whose documentation changes joins only if `COMPATIBLE_VERSIONS`
says why it may. Whatever is not listed there gets a class of its own, so forgetting is safe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from xonnc.tools.onnx_dialect.schemas import FormalParameter, OperatorSchema, SchemaAttribute, operators
from xonnc.tools.onnx_dialect.version_semantics import COMPATIBLE_VERSIONS, ONNX_MLIR_BOUNDARIES


@dataclass(frozen=True)
class OpClass:
    """One class to be written: an operator over a run of its versions."""

    operator: OperatorSchema
    """The newest schema of the run; its types are the union over the run."""
    versions: tuple[int, ...]
    """Every version of the run, oldest first."""
    until: int | None
    """The first opset of the next class."""

    @property
    def name(self) -> str:
        """The op's name after `onnx.`: with a suffix unless it is the newest class."""
        suffix = "" if self.until is None else f"V{self.operator.since}"
        return self.operator.name + suffix

    @property
    def since(self) -> int:
        """The first opset of the run."""
        return self.versions[0]


def op_classes() -> dict[tuple[str, str], tuple[OpClass, ...]]:
    """The classes of every operator, newest first, by domain and name."""
    return {key: tuple(_classes(versions)) for key, versions in operators().items()}


def _classes(versions: Sequence[OperatorSchema]) -> Iterator[OpClass]:
    until = None
    remaining = list(versions)
    while remaining:
        run = [remaining.pop()]
        newest = run[0]
        while remaining and _keeps_meaning(remaining[-1], run[0]):
            widened = _with_types_of(newest, remaining[-1])
            if not admits(widened, remaining[-1]):
                break
            newest = widened
            run.insert(0, remaining.pop())
        yield OpClass(newest, tuple(operator.since for operator in run), until)
        until = run[0].since


def _keeps_meaning(old: OperatorSchema, new: OperatorSchema) -> bool:
    """Whether every model that is valid in version `old` means the same in the next version, `new`."""
    if new.since in ONNX_MLIR_BOUNDARIES.get(new.name, ()):
        return False
    if new.since in COMPATIBLE_VERSIONS.get(new.name, {}):
        return True
    return _says_the_same(old, new) and admits(new, old)


def _says_the_same(old: OperatorSchema, new: OperatorSchema) -> bool:
    """Whether documentation and names are equal: only the types can differ then."""
    return (
        old.text == new.text
        and old.attributes == new.attributes
        and [value.name for value in old.values] == [value.name for value in new.values]
    )


def _with_types_of(new: OperatorSchema, old: OperatorSchema) -> OperatorSchema:
    """`new` with the types of `old` added at the same positions; some versions drop a type."""
    return replace(new, inputs=_joined(new.inputs, old.inputs), outputs=_joined(new.outputs, old.outputs))


def _joined(new: Sequence[FormalParameter], old: Sequence[FormalParameter]) -> tuple[FormalParameter, ...]:
    words: dict[str, frozenset[str]] = {}
    for value, before in zip(new, old, strict=False):
        words[value.variable or value.name] = (
            value.words | before.words | words.get(value.variable, frozenset())
        )
    return tuple(replace(value, words=words.get(value.variable or value.name, value.words)) for value in new)


def admits(new: OperatorSchema, old: OperatorSchema) -> bool:
    """Whether every node that is valid under `old` is so under `new`, the meaning left aside."""
    return (
        _values_admit(new.inputs, old.inputs)
        and _values_admit(new.outputs, old.outputs)
        and _agreement_admits(new.values_beside(old), old.values_beside(new))
        and _attributes_admit(new.attributes, old.attributes)
    )


def _values_admit(new: Sequence[FormalParameter], old: Sequence[FormalParameter]) -> bool:
    if len(new) < len(old) or any(not value.is_optional for value in new[len(old) :]):
        return False
    return all(
        value.is_variadic == before.is_variadic
        and value.least <= before.least
        and value.is_optional >= before.is_optional
        and value.words >= before.words
        for value, before in zip(new, old, strict=False)
    )


def _agreement_admits(new: Sequence[FormalParameter], old: Sequence[FormalParameter]) -> bool:
    """Whether values that must agree in type under `new` always do under `old`."""
    for index, value in enumerate(new):
        for other in range(index):
            must_agree = value.variable and value.variable == new[other].variable
            if must_agree and not _agree(old[index], old[other]):
                return False
    return True


def _agree(a: FormalParameter, b: FormalParameter) -> bool:
    if a.variable:
        return a.variable == b.variable
    return len(a.words) == 1 and a.words == b.words


def _attributes_admit(new: Iterable[SchemaAttribute], old: Iterable[SchemaAttribute]) -> bool:
    before: Mapping[str, SchemaAttribute] = {attribute.name: attribute for attribute in old}
    after: Mapping[str, SchemaAttribute] = {attribute.name: attribute for attribute in new}
    if not before.keys() <= after.keys():
        return False
    if any(attribute.is_required and name not in before for name, attribute in after.items()):
        return False
    return all(
        after[name].kind == attribute.kind
        and after[name].default == attribute.default
        and after[name].is_required <= attribute.is_required
        for name, attribute in before.items()
    )
