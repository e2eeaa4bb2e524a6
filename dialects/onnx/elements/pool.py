"""
The pool of a context: makes its constants, counts their bytes, collects them between passes.

The pool holds constants weakly. What holds one for real are ops, other constants' pending expressions, and
Python code. So a constant dies with its last holder, except that erased ops survive in reference cycles:
the rewrite driver takes their attributes away at once (`drop_attributes`), and `collect` sweeps what other
rewriters left.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from weakref import WeakValueDictionary

import numpy as np
from xdsl.context import Context
from xdsl.dialect_interfaces import DialectInterface
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DenseResourceAttr, TensorType
from xdsl.ir import Attribute, Operation, TypedAttribute
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.builtin_attributes import (
    ResourceElementsAttr,
    SparseElementsAttr,
    StringElementsAttr,
)
from xonnc.dialects.onnx.elements.attribute import DisposableElementsAttr, Elements
from xonnc.dialects.onnx.elements.buffers import Array, Buffers
from xonnc.dialects.onnx.elements.dense import (
    STORAGE_DTYPES,
    PlainElementsAttr,
    dense_array,
    plain_attribute,
    resource_array,
)
from xonnc.dialects.onnx.elements.loop import DType, ElementwiseFunction
from xonnc.dialects.onnx.elements.payload import Payload
from xonnc.dialects.onnx.elements.roots import constants_of
from xonnc.dialects.onnx.types import element_type, element_type_of, is_ranked, numpy_dtype, tensor_type

ElementsAttr: TypeAlias = DisposableElementsAttr | PlainElementsAttr
"""A new constant: disposable while the pool is open, a plain attribute afterwards."""


@dataclass(frozen=True)
class PoolStatistics:
    """
    What a pool holds and has held: bytes in memory (now, at most, given back), in mapped files; constants.

    `created` counts every constant ever made, `alive` those that somebody still holds.
    """

    live_bytes: int
    peak_bytes: int
    freed_bytes: int
    mapped_bytes: int
    created: int
    alive: int

    @property
    def disposed(self) -> int:
        """Constants that are gone."""
        return self.created - self.alive


@dataclass(frozen=True)
class Collection:
    """What one `collect` found: constants in the modules, those it freed, those that only others hold."""

    reachable: int
    freed: int
    held_elsewhere: int


class DisposablePool(DialectInterface):
    """The constants of one context."""

    def __init__(self) -> None:
        self._alive: WeakValueDictionary[int, DisposableElementsAttr] = WeakValueDictionary()
        self._buffers = Buffers()
        self._created = 0
        self._open = True

    @staticmethod
    def of(ctx: Context) -> DisposablePool:
        """The pool of `ctx`, whose onnx dialect is loaded if need be; `ValueError` if it has none."""
        if "onnx" in ctx.registered_dialect_names and "onnx" not in {d.name for d in ctx.loaded_dialects}:
            ctx.load_registered_dialect("onnx")
        for dialect in ctx.loaded_dialects:
            if pool := dialect.get_interface(DisposablePool):
                return pool
        raise ValueError("the context has no onnx dialect: register xonnc.dialects.onnx.get_onnx first")

    def create(self, array: Array, type: TensorType[Attribute] | None = None) -> ElementsAttr:
        """
        Return a constant that is a view of `array`, which must not be written to afterwards.

        The element type follows from the array's unless `type` is given; an array of `str` objects is
        `!onnx.String`. Raises `ValueError` where `type` and array disagree.
        """
        return self._published(Payload.of(array, self._buffers), type)

    def adopt(self, attr: Attribute) -> DisposableElementsAttr | None:
        """`attr` itself if disposable, a disposable view of any other elements attribute, else `None`."""
        if isinstance(attr, DisposableElementsAttr):
            return attr
        array = elements_array(attr)
        if array is None or not isinstance(attr, TypedAttribute):
            return None
        element = element_type(attr.get_type())
        type_ = tensor_type(array.shape, element or element_type_of(array.dtype))
        return self.wrap(Payload.of(array, self._buffers), type_)

    def combine(
        self, function: ElementwiseFunction, *operands: Attribute, to: Attribute | None = None
    ) -> ElementsAttr:
        """
        `function` of the elements of `operands` (elements attributes) broadcast together, done when read.

        Computed in the operands' own numpy types, so integers wrap; then converted to the element type `to`,
        if given. Raises `ValueError` if an operand is no elements attribute or shapes do not broadcast.
        """
        adopted = [self.adopt(operand) for operand in operands]
        payloads = [operand.payload for operand in adopted if operand is not None]
        if len(payloads) != len(operands):
            raise ValueError("an operand of combine holds no elements")
        dtype = None if to is None else numpy_dtype(to)
        return self._published(self.compute(function, payloads, dtype), None)

    def compute(
        self, function: ElementwiseFunction, operands: Sequence[Payload], dtype: DType | None
    ) -> Payload:
        """The payload of an element-wise function; `combine` is the form for attributes."""
        return Payload.elementwise(function, operands, dtype, self._buffers)

    def wrap(self, payload: Payload, type_: TensorType[Attribute]) -> DisposableElementsAttr:
        """A constant with this payload; `ValueError` if `type_` does not fit it."""
        if type_.get_shape() != payload.shape or STORAGE_DTYPES.get(type_.element_type) != payload.dtype:
            raise ValueError(f"{type_} cannot hold {payload.dtype} elements of shape {list(payload.shape)}")
        attr = DisposableElementsAttr(Elements(self, type_, payload))
        self._alive[attr.number] = attr
        self._created += 1
        return attr

    def dispose(self, attr: DisposableElementsAttr) -> None:
        """Free the payload of `attr`, for callers that know it is unused; a later use raises an error."""
        attr.data.dispose()
        self._alive.pop(attr.number, None)

    def collect(self, modules: Iterable[Operation]) -> Collection:
        """
        Free the constants that no op of `modules` uses and nothing else references.

        A constant that is reachable from none of the ops may still be a clone's, or somebody's variable, so
        it is never disposed of here: Python's collector decides whether only garbage refers to it. That
        runs only if there is such a constant, and goes through all objects only if there still is one after
        it went through the young ones.
        """
        before = len(self._alive)
        reachable = {attr.number for attr in constants_of(modules) if attr.number in self._alive}
        for generation in (1, 2):
            if len(reachable) < len(self._alive):
                gc.collect(generation)
        return Collection(len(reachable), before - len(self._alive), len(self._alive) - len(reachable))

    def close(self) -> None:
        """From now on new constants are plain attributes."""
        self._open = False

    @property
    def is_open(self) -> bool:
        """Whether new constants are disposable."""
        return self._open

    @property
    def live_bytes(self) -> int:
        """Bytes in memory that constants of this pool hold, each buffer counted once."""
        return self._buffers.account.live

    @property
    def peak_bytes(self) -> int:
        """The most that `live_bytes` has been since the pool was made or `reset_peak`."""
        return self._buffers.account.peak

    @property
    def freed_bytes(self) -> int:
        """Bytes given back so far."""
        return self._buffers.account.freed

    @property
    def mapped_bytes(self) -> int:
        """Bytes of the mapped files that constants show; they cost memory only where read."""
        return self._buffers.account.mapped

    def reset_peak(self) -> None:
        """Starts a new measurement of `peak_bytes`, say for the next pass."""
        self._buffers.account.peak = self._buffers.account.live

    def statistics(self) -> PoolStatistics:
        """All figures at this moment."""
        account = self._buffers.account
        return PoolStatistics(
            account.live, account.peak, account.freed, account.mapped, self._created, len(self._alive)
        )

    def _published(self, payload: Payload, type_: TensorType[Attribute] | None) -> ElementsAttr:
        attr = self.wrap(payload, type_ or _default_type(payload))
        return attr if self._open else plain_attribute(payload, attr.type)


def elements_array(attr: Attribute) -> Array | None:
    """
    A read-only array of any elements attribute (disposable, dense, dense_resource, sparse), else `None`.

    A view wherever the attribute's bytes permit one. Raises `XonncError` if the data is missing or too short.
    """
    if isinstance(attr, DisposableElementsAttr):
        return attr.array()
    if isa(attr, DenseIntOrFPElementsAttr):
        return dense_array(attr)
    if isinstance(attr, DenseResourceAttr):
        return resource_array(attr)
    if isinstance(attr, StringElementsAttr | SparseElementsAttr | ResourceElementsAttr):
        return attr.array()
    return None


def type_of_elements(attr: Attribute | None) -> TensorType[Attribute] | None:
    """The type of any elements attribute, whose data is not looked at, else `None`."""
    if isinstance(
        attr, DisposableElementsAttr | StringElementsAttr | SparseElementsAttr | ResourceElementsAttr
    ):
        return attr.type
    if isa(attr, DenseIntOrFPElementsAttr):
        return tensor_type(attr.get_shape(), attr.get_element_type())
    if isinstance(attr, DenseResourceAttr) and is_ranked(attr.type):
        return tensor_type(attr.type.get_shape(), attr.type.element_type)
    return None


def _default_type(payload: Payload) -> TensorType[Attribute]:
    if payload.dtype.kind in "US":
        raise ValueError(
            f"no ONNX element type for {np.dtype(payload.dtype)}: strings are arrays of str objects"
        )
    return tensor_type(payload.shape, element_type_of(payload.dtype))
