"""
The pool of a context: creates constants, counts their bytes, frees unused ones between passes.

The pool has weak references to constants. Strong references are those of ops, of other constants' pending
expressions, and of Python code. So a constant is freed with its last reference, except that erased ops
survive in reference cycles: the rewrite driver drops their attributes at once (`drop_attributes`), and
`collect` frees what other rewriters left.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
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
    Statistics of a pool: bytes in memory (live, peak, freed), bytes of mapped files, and constants.

    `created` counts all constants ever created, `alive` those still referenced.
    """

    live_bytes: int
    peak_bytes: int
    freed_bytes: int
    mapped_bytes: int
    created: int
    alive: int

    @property
    def disposed(self) -> int:
        """Number of freed constants."""
        return self.created - self.alive


@dataclass(frozen=True)
class Collection:
    """Result of `collect`: constants used in the modules, freed ones, and those referenced from elsewhere."""

    reachable: int
    freed: int
    held_elsewhere: int


class DisposablePool(DialectInterface):
    """The constants of one context."""

    def __init__(self) -> None:
        self._alive: WeakValueDictionary[int, DisposableElementsAttr] = WeakValueDictionary()
        self._buffers = Buffers()
        self._created = 0
        self._held: frozenset[int] = frozenset()
        self._open = True

    @staticmethod
    def of(ctx: Context) -> DisposablePool:
        """Return the pool of `ctx`; loads its onnx dialect if needed, `ValueError` if none is registered."""
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

    def create_deferred(
        self, shape: tuple[int, ...], dtype: DType, make: Callable[[], Array]
    ) -> ElementsAttr:
        """
        Return a constant whose elements, of that shape and type, `make` computes at the first read.

        It is for large ones that may never be read. What `make` refers to is not counted as memory of the
        pool.
        """
        return self._published(Payload.made(shape, dtype, make, self._buffers), None)

    def adopt(self, attr: Attribute) -> DisposableElementsAttr | None:
        """Return `attr` if disposable, a disposable view of another elements attribute, else `None`."""
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
        Apply `function` to elements attributes broadcast together, deferred until the first read.

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
        """Return the payload of an elementwise function; `combine` does the same for attributes."""
        return Payload.elementwise(function, operands, dtype, self._buffers)

    def wrap(self, payload: Payload, type_: TensorType[Attribute]) -> DisposableElementsAttr:
        """Return a constant with this payload; `ValueError` if `type_` does not match it."""
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

    def collect(
        self,
        modules: Iterable[Operation],
        live: Iterable[DisposableElementsAttr] = (),
        *,
        rescan: bool = True,
    ) -> Collection:
        """
        Free the constants that no op of `modules` uses and nothing else references, except those in `live`.

        A constant that no op uses may still belong to a clone or a Python variable, so it is not disposed of
        here: Python's cycle collector decides whether only garbage refers to it. The collector runs only if
        there is such a constant: on the young generations first, on all objects only if one remains.

        Without `rescan`, constants that the last run on all objects found referenced from elsewhere are
        taken to be so still. That is for callers that collect after each pass: a module that is compiled
        beside others would cost a run on all objects for each of its passes, to free nothing.
        """
        before = len(self._alive)
        used = {attr.number for attr in chain(constants_of(modules), live) if attr.number in self._alive}
        known = used if rescan else used | self._held
        if not known.issuperset(self._alive):
            gc.collect(1)
        if not known.issuperset(self._alive):
            gc.collect()
            self._held = frozenset(self._alive) - used
        return Collection(len(used), before - len(self._alive), len(self._alive) - len(used))

    def close(self) -> None:
        """Close the pool: new constants become plain dense attributes."""
        self._open = False

    @property
    def is_open(self) -> bool:
        """Return whether new constants are disposable."""
        return self._open

    @property
    def live_bytes(self) -> int:
        """Bytes in memory of the constants of this pool; each buffer counts once."""
        return self._buffers.account.live

    @property
    def peak_bytes(self) -> int:
        """The maximum of `live_bytes` since the pool was created or `reset_peak`."""
        return self._buffers.account.peak

    @property
    def freed_bytes(self) -> int:
        """Bytes freed so far."""
        return self._buffers.account.freed

    @property
    def mapped_bytes(self) -> int:
        """Bytes of mapped files that constants view; they take memory only once read."""
        return self._buffers.account.mapped

    def reset_peak(self) -> None:
        """Reset `peak_bytes`, for example before a pass."""
        self._buffers.account.peak = self._buffers.account.live

    def statistics(self) -> PoolStatistics:
        """Return the current statistics."""
        account = self._buffers.account
        return PoolStatistics(
            account.live, account.peak, account.freed, account.mapped, self._created, len(self._alive)
        )

    def _published(self, payload: Payload, type_: TensorType[Attribute] | None) -> ElementsAttr:
        attr = self.wrap(payload, type_ or _default_type(payload))
        return attr if self._open else plain_attribute(payload, attr.type)


def elements_array(attr: Attribute) -> Array | None:
    """
    Return a read-only array of an elements attribute (disposable, dense, resource, sparse), else `None`.

    It is a view where the attribute's bytes permit one. Raises `XonncError` if data is missing or too short.
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
    """Return the type of an elements attribute without reading its data, else `None`."""
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
