"""Builder of ONNX operators for the decompositions and rewrite rules of plug-ins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from xonnc.dialects.onnx.attribute_builders import int_attr
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.ops.builtin import YieldOp
from xonnc.dialects.onnx.ops.controlflow import ScanOp
from xonnc.dialects.onnx.registry import op_class
from xonnc.dialects.onnx.types import element_type_of, is_ranked, tensor_type, unranked
from xonnc.errors import XonncError
from xonnc.formats.onnx.op_signatures import attribute_kinds, op_signature_of
from xonnc.formats.onnx.schemas import newest_opset
from xonnc.formats.onnx.tensors import ELEMENT_TYPES
from xonnc.plugins.types import Size, TensorType
from xonnc.rewriting.editing import insert_before
from xonnc.transforms.rules.op_builder import OpBuilder

Given: TypeAlias = (
    "Value | npt.NDArray[Any] | np.generic | float | int | bool | Sequence[int] | Sequence[float] | None"
)
"""An operand: a value, a Python or NumPy value that becomes a constant, or `None` for an absent one."""

N_ARY = frozenset({"Add", "And", "Mul", "Or", "Xor"})
"""Binary operators that the builder accepts with any number of operands, folded from left to right."""


Step: TypeAlias = "Callable[[Builder, list[Value], list[Value]], tuple[Sequence[Value], Sequence[Value]]]"
"""The body of a Scan: from states and slices of the inputs to the next states and outputs."""


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
    results returns a tuple. `outputs=n` is the number of results of an operator with variadic or optional
    results; further ones are absent.
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
        count = outputs if signature.has_variadic_result else signature.results
        if not count:
            raise XonncError(f"{name} has as many results as its node says; give their number: outputs=2")
        present = min(outputs or count, count)
        made = self._writer.op(found, values, properties, count, present)
        written = tuple(Value(result, self._describe) for result in made.results[:present])
        return written[0] if len(written) == 1 else written

    def scan(
        self, body: Step, states: Sequence[Value], inputs: Sequence[Value]
    ) -> tuple[list[Value], list[Value]]:
        """
        Build a Scan over the first axis of `inputs`: the final states, and the stacked outputs of all steps.

        `body(b, states, slices)` builds one step: it returns the next states, whose types are those of
        `states`, and the outputs.
        """
        root = self._writer.root
        slices = [sliced(each) for each in inputs]
        block = Block(arg_types=[*(each.ssa.type for each in states), *slices])
        end = YieldOp()
        end.location = root.location
        block.add_op(end)
        arguments = [Value(each, self._describe) for each in block.args]
        count = len(states)
        following, outputs = body(Builder(end, self._describe), arguments[:count], arguments[count:])
        if len(following) != count:
            raise XonncError(f"scan: the body gives {len(following)} states, not {count}")
        end.operands = [each.ssa for each in (*following, *outputs)]
        size = inputs[0].shape[0] if inputs[0].shape is not None else None
        stacked = [stack_of(each, size if isinstance(size, int) else None) for each in outputs]
        op = ScanOp.create(
            operands=[each.ssa for each in (*states, *inputs)],
            result_types=[*(each.ssa.type for each in states), *stacked],
            properties={"num_scan_inputs": int_attr(len(inputs))},
            regions=[Region(block)],
            location=derived(root.location),
        )
        insert_before(root, [op])
        results = [Value(each, self._describe) for each in op.results]
        return results[:count], results[count:]

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
        from xonnc.plugins.op_class import encoded
        from xonnc.rewriting.attribute_conversion import encode

        if key in type_properties:
            # ONNX's numbers of element types, such as TensorProto.FLOAT, serve as NumPy's types do.
            return ELEMENT_TYPES[value] if type(value) is int else element_type_of(np.dtype(value))
        kind = kinds.get(key)
        named = {each: name for name, each in _onnx_kinds().items()}
        if kind is None or kind not in named or named[kind] == "TENSOR":
            return encode(value)
        return encoded(named[kind], value)


def sliced(value: Value) -> Attribute:
    """Return the type of a slice along the first axis."""
    type_ = value.ssa.type
    element = element_type_of(value.dtype)
    return tensor_type(type_.get_shape()[1:], element) if is_ranked(type_) else unranked(element)


def stack_of(value: Value, size: int | None) -> Attribute:
    """Return the type of `size` values stacked along a new first axis; the size may be dynamic."""
    type_ = value.ssa.type
    element = element_type_of(value.dtype)
    first = DYNAMIC_INDEX if size is None else size
    return tensor_type((first, *type_.get_shape()), element) if is_ranked(type_) else unranked(element)


def _onnx_kinds() -> dict[str, Any]:
    from xonnc.formats.onnx.node_attributes import KINDS

    return dict(KINDS)
