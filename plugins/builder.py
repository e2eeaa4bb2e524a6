"""Builder of ONNX operators for the decompositions and rewrite rules of plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.registry import op_class
from xonnc.errors import XonncError
from xonnc.formats.onnx.op_signatures import attribute_kinds, op_signature_of
from xonnc.formats.onnx.schemas import newest_opset
from xonnc.plugins.types import Size, TensorType
from xonnc.transforms.rules.op_builder import OpBuilder

Given: TypeAlias = (
    "Value | npt.NDArray[Any] | np.generic | float | int | bool | Sequence[int] | Sequence[float] | None"
)
"""An operand: a value, a Python or NumPy value that becomes a constant, or `None` for an absent one."""

N_ARY = frozenset({"Add", "And", "Mul", "Or", "Xor"})
"""Binary operators that the builder accepts with any number of operands, folded from left to right."""


class Value:
    """A value of the graph."""

    def __init__(self, ssa: SSAValue, describe: Callable[[SSAValue], TensorType | None]) -> None:
        self.ssa = ssa
        self._describe = describe

    @property
    def type(self) -> TensorType:
        """The tensor type; raises `XonncError` for a value that is no tensor."""
        found = self._describe(self.ssa)
        if found is None:
            raise XonncError(f"{self.ssa.type} is no tensor")
        return found

    @property
    def shape(self) -> tuple[Size, ...] | None:
        """The shape; `None` if the rank is unknown."""
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The element type."""
        return self.type.dtype


class Builder:
    """
    A builder of operators of the newest opset: `b.Mul(x, 2.0)`, `b.Softmax(x, axis=-1)`.

    Operands are values, `None` for an absent one, or Python scalars and arrays, which become constants; a
    Python scalar gets the element type of the first value among the operands (for Where, not that of the
    condition). An operator with several
    results returns a tuple. `outputs=n` is the number of results of an operator with variadic results.
    """

    def __init__(self, root: Operation, describe: Callable[[SSAValue], TensorType | None]) -> None:
        self._writer = OpBuilder(root)
        self._describe = describe

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        def write(*operands: Given, outputs: int = 0, **attributes: Any) -> Any:
            return self.call("", name, operands, attributes, outputs)

        return write

    def call(
        self, domain: str, name: str, operands: Sequence[Given], attributes: dict[str, Any], outputs: int = 0
    ) -> Any:
        """Build an operator of any domain, including those of other plug-ins."""
        if name in N_ARY and domain == "" and len(operands) != 2:
            return self._fold(name, operands)
        opset = newest_opset(domain) or 1
        found = op_class(domain, name, opset)
        if found is None:
            raise XonncError(f"{domain or 'ai.onnx'} has no operator '{name}'")
        signature = op_signature_of(found)
        if len(operands) > signature.operands and not signature.has_variadic_operand:
            raise XonncError(f"{name} takes at most {signature.operands} operands, not {len(operands)}")
        is_where = name == "Where" and domain == ""
        values = self._values(operands, operands[1:] if is_where else operands)
        values += [self._writer.none() for _ in range(signature.operands - len(values))]
        kinds = attribute_kinds(domain, name, opset)
        unknown = [each for each in attributes if each not in signature.properties]
        if unknown:
            allowed = ", ".join(sorted(signature.properties)) or "none"
            raise XonncError(f"{name} has no attribute '{unknown[0]}'; it has {allowed}")
        properties = dict(signature.defaults)
        for key, value in attributes.items():
            if value is not None:
                properties[key] = self._property(kinds, signature.type_properties, key, value)
        made = self._writer.op(
            found, values, properties, outputs if signature.has_variadic_result else signature.results
        )
        written = tuple(Value(result, self._describe) for result in made.results)
        return written[0] if len(written) == 1 else written

    def constant(self, value: Any, like: Value | None = None) -> Value:
        """Build a constant with the element type of `like`; without it, Python floats become float32."""
        array = np.asarray(value, None if like is None else like.dtype)
        if array.dtype == np.float64 and like is None and not isinstance(value, np.ndarray | np.generic):
            array = array.astype(np.float32)
        return Value(self._writer.constant(array), self._describe)

    def absent(self) -> SSAValue:
        """Build the `none` value that stands for an absent operand or result."""
        return self._writer.none()

    def _fold(self, name: str, operands: Sequence[Given]) -> Any:
        if not operands:
            raise XonncError(f"{name} needs an operand")
        first, *others = operands
        result: Any = first if isinstance(first, Value) else self.constant(first)
        for other in others:
            result = self.call("", name, [result, other], {})
        return result

    def _values(self, operands: Sequence[Given], typed: Sequence[Given]) -> list[SSAValue]:
        like = next((each for each in typed if isinstance(each, Value)), None)
        found: list[SSAValue] = []
        for each in operands:
            if each is None:
                found.append(self._writer.none())
            elif isinstance(each, Value):
                found.append(each.ssa)
            elif isinstance(each, np.ndarray | np.generic):
                found.append(self.constant(each).ssa)
            elif isinstance(each, float | int):
                found.append(self.constant(each, like).ssa)
            else:
                listed = np.asarray(each)
                found.append(
                    self.constant(
                        listed.astype(np.int64) if listed.dtype.kind in "iu" or not listed.size else listed
                    ).ssa
                )
        return found

    def _property(self, kinds: Any, type_properties: frozenset[str], key: str, value: Any) -> Any:
        from xonnc.dialects.onnx.types import element_type_of
        from xonnc.plugins.op_class import encoded
        from xonnc.rewriting.literals import encode

        if key in type_properties:
            return element_type_of(np.dtype(value))
        kind = kinds.get(key)
        named = {each: name for name, each in _onnx_kinds().items()}
        if kind is None or kind not in named or named[kind] == "TENSOR":
            return encode(value)
        return encoded(named[kind], value)


def _onnx_kinds() -> dict[str, Any]:
    from xonnc.formats.onnx.node_attributes import KINDS

    return dict(KINDS)
