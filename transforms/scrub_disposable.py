"""`scrub-disposable`: convert disposable constants to plain dense attributes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.elements.attribute import DisposableElementsAttr
from xonnc.dialects.onnx.elements.dense import plain_attribute
from xonnc.dialects.onnx.elements.pool import DisposablePool
from xonnc.dialects.onnx.elements.roots import constants_in


@dataclass(frozen=True)
class ScrubDisposable(ModulePass):
    """
    Convert constants to plain attributes and close the pool, so that later constants are plain too.

    One constant at a time is converted, for all ops that share it, and freed, so that memory does not hold
    all constants twice.
    """

    name = "scrub-disposable"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert every constant in `op`."""
        for slots in _slots_by_constant(op).values():
            _scrub(slots)
        DisposablePool.of(ctx).close()


@dataclass(frozen=True)
class _ConstantSlot:
    """A property or attribute that holds a constant, directly or nested."""

    op: Operation
    is_property: bool
    key: str
    number: int

    @property
    def _held(self) -> dict[str, Attribute]:
        return self.op.properties if self.is_property else self.op.attributes

    def constant(self) -> DisposableElementsAttr:
        return next(found for found in constants_in(self._held[self.key]) if found.number == self.number)

    def put(self, replacement: Attribute) -> None:
        self._held[self.key] = _replaced(self._held[self.key], self.number, replacement)


def _slots_by_constant(module: ModuleOp) -> dict[int, list[_ConstantSlot]]:
    # Serial numbers, not attributes: references would keep all constants alive.
    slots: defaultdict[int, list[_ConstantSlot]] = defaultdict(list)
    for op in module.walk():
        for slot in (*_slots_of(op, op.properties, True), *_slots_of(op, op.attributes, False)):
            slots[slot.number].append(slot)
    return slots


def _slots_of(op: Operation, attributes: dict[str, Attribute], is_property: bool) -> Iterator[_ConstantSlot]:
    for key, attr in attributes.items():
        for number in {constant.number for constant in constants_in(attr)}:
            yield _ConstantSlot(op, is_property, key, number)


def _scrub(slots: list[_ConstantSlot]) -> None:
    constant = slots[0].constant()
    plain = plain_attribute(constant.payload, constant.type)
    for slot in slots:
        slot.put(plain)


def _replaced(attr: Attribute, number: int, replacement: Attribute) -> Attribute:
    if isinstance(attr, DisposableElementsAttr):
        return replacement if attr.number == number else attr
    if all(constant.number != number for constant in constants_in(attr)):
        return attr
    if isa(attr, ArrayAttr):
        return ArrayAttr(_replaced(part, number, replacement) for part in attr)
    if isinstance(attr, DictionaryAttr):
        return DictionaryAttr({k: _replaced(v, number, replacement) for k, v in attr.data.items()})
    assert isinstance(attr, ParametrizedAttribute)
    return type(attr).new([_replaced(part, number, replacement) for part in attr.parameters])
