"""The base class of all `onnx` ops."""

from __future__ import annotations

from abc import ABC
from collections.abc import Set as AbstractSet
from functools import cache
from typing import ClassVar

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.locations import NODE_NAME


class OnnxOp(IRDLOperation, ABC):
    """
    An operation of the `onnx` dialect.

    An op that stands for an ONNX operator says which and for which opsets; operands and results have
    the schema's names, attributes are properties, a missing optional value has the type `none`.
    """

    DOMAIN: ClassVar[str] = ""
    """The operator's domain; empty for ai.onnx."""

    OP_TYPE: ClassVar[str] = ""
    """The operator's name in an ONNX file; empty for an op that ONNX does not have."""

    SINCE: ClassVar[int] = 0
    """The first opset this class stands for."""

    PLUGIN: ClassVar[str] = ""
    """The name of the plug-in that declares the operator."""

    UNTIL: ClassVar[int | None] = None
    """The first opset for which another class, of a different meaning, takes over."""

    def verify_(self) -> None:
        """
        Refuse attributes that the ONNX operator does not have; attributes of the compiler contain a dot.
        """
        if self.OP_TYPE and self.attributes:
            for name in self.attributes:
                if "." not in name and not name.startswith("__") and name not in _bare_names(type(self)):
                    known = ", ".join(sorted(self.get_irdl_definition().properties)) or "none"
                    owner = f" (plug-in {self.PLUGIN})" if self.PLUGIN else ""
                    raise VerifyException(
                        f"'{self.name}' op unknown attribute '{name}'; the operator's are: {known}{owner}"
                    )


_FORMS = {"BatchNormalizationInferenceMode": "BatchNormalization", "MaxPoolSingleOut": "MaxPool"}
"""Operators by the names of ops that stand for them with one result."""


def operator_name(op: Operation) -> str:
    """Return the name of an op for messages: of its ONNX operator, else its own without the dialect."""
    name = op.name.removeprefix("onnx.")
    return (isinstance(op, OnnxOp) and op.OP_TYPE) or _FORMS.get(name, name)


@cache
def _bare_names(kind: type[OnnxOp]) -> frozenset[str]:
    """
    Attributes with bare names that an op may carry beside its properties.

    onnx-mlir leaves what only older versions of an operator have on the op of today (`axis` of Add).
    """
    versions = [
        each for each in OnnxOp.__subclasses__() if (each.DOMAIN, each.OP_TYPE) == (kind.DOMAIN, kind.OP_TYPE)
    ]
    names = {name for each in versions for name in each.get_irdl_definition().properties}
    return frozenset(names | {NODE_NAME})


class RandomEffect(MemoryEffect):
    """
    Memory effect of random operators: an unused op is dead, but two equal ops are not merged (CSE).

    xDSL expresses this as the allocation of the results.
    """

    @classmethod
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.ALLOC, result) for result in op.results}
