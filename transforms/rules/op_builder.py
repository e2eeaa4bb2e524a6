"""Builder of op sequences, for decompositions that no pattern can express."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.elements.dense import stored_form
from xonnc.dialects.onnx.locations import derived
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import NoValueOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import NONE, element_type_of, tensor_type
from xonnc.rewriting.attribute_conversion import encode
from xonnc.rewriting.editing import insert_before
from xonnc.rewriting.onnx import ONNX
from xonnc.rewriting.patterns import Array, Literal, Template
from xonnc.transforms.shape_inference_onnx import infer


@dataclass(frozen=True)
class OpBuilder:
    """Inserts ops before the op that they replace, in order of the calls; locations keep its node name."""

    root: Operation

    def __call__(
        self,
        template: Template,
        *operands: SSAValue,
        types: Sequence[Attribute] = (),
        **properties: Literal | Attribute | None,
    ) -> SSAValue:
        """Create an op; return its first result, of inferred type unless given."""
        return self.all(template, *operands, types=types, **properties)[0]

    def all(
        self,
        template: Template,
        *operands: SSAValue,
        types: Sequence[Attribute] = (),
        **properties: Literal | Attribute | None,
    ) -> Sequence[SSAValue]:
        """Create an op; return all results, of inferred types unless given."""
        op_class = ONNX.op_class(template.name)
        assert op_class is not None
        encoded = {name: encode(given) for name, given in properties.items() if given is not None}
        op = op_class.create(
            operands=operands,
            result_types=types or ONNX.result_types(op_class, operands, encoded),
            properties=encoded,
            location=derived(self.root.location),
        )
        insert_before(self.root, [op])
        if not types:
            infer(op)
        return op.results

    def op(
        self,
        kind: type[OnnxOp],
        operands: Sequence[SSAValue],
        properties: Mapping[str, Attribute],
        results: int,
        present: int,
    ) -> Operation:
        """Create an op with this many results of inferred types; those after `present` are absent."""
        types: Sequence[Attribute] = ONNX.result_types(kind, operands, dict(properties))
        types = [types[min(index, len(types) - 1)] if index < present else NONE for index in range(results)]
        op = kind.create(
            operands=operands,
            result_types=types,
            properties=dict(properties),
            location=derived(self.root.location),
        )
        insert_before(self.root, [op])
        infer(op)
        return op

    def last(
        self, template: Template, *operands: SSAValue, **properties: Literal | Attribute | None
    ) -> Sequence[SSAValue]:
        """Create the op that replaces the root: with its result types and location."""
        results = self.all(template, *operands, types=self.root.result_types, **properties)
        made = results[0].owner
        assert isinstance(made, Operation)
        made.location = self.root.location
        return results

    def constant(self, array: Array) -> SSAValue:
        """Create a constant."""
        type_ = tensor_type(array.shape, element_type_of(array.dtype))
        elements = DenseIntOrFPElementsAttr.new((type_, BytesAttr(stored_form(array).tobytes())))
        op = ConstantOp.from_attr(elements, derived(self.root.location))
        insert_before(self.root, [op])
        return op.output

    def ints(self, *numbers: int) -> SSAValue:
        """Create an int64 vector constant."""
        return self.constant(np.array(numbers, np.int64))

    def none(self) -> SSAValue:
        """Create an absent operand."""
        op = NoValueOp(derived(self.root.location))
        insert_before(self.root, [op])
        return op.results[0]
