"""Verifiers judge whatever they are given: they accept or say why not, and never fail otherwise."""

from __future__ import annotations

import random

import pytest
from xdsl.dialects import test as testing
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntegerAttr, StringAttr, f32, i1, i64
from xdsl.ir import Attribute, Block, Region
from xdsl.irdl import OperandDef, ResultDef, VarOperandDef, VarResultDef
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.attribute_builders import float_attr, int_array_attr, int_attr, string_attr
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import YieldOp
from xonnc.dialects.onnx.registry import op_classes
from xonnc.dialects.onnx.types import NONE, SeqType, tensor_type, unranked

ROUNDS = 60


def any_type(chance: random.Random, element: Attribute) -> Attribute:
    """A tensor of a random shape, more often than nothing or something else."""
    if chance.random() < 0.1:
        return chance.choice([NONE, unranked(element), SeqType(unranked(element)), unranked(i1)])
    sizes = (0, 1, 2, 3, 4, DYNAMIC_INDEX)
    return tensor_type(tuple(chance.choice(sizes) for _ in range(chance.randrange(6))), element)


def any_property(chance: random.Random, default: Attribute | None) -> Attribute:
    """A value like the default, or any."""
    if isinstance(default, IntegerAttr) or chance.random() < 0.2:
        return int_attr(chance.choice((-9, -2, -1, 0, 1, 2, 3, 9)))
    if isinstance(default, StringAttr):
        return string_attr(chance.choice((default.data, "NOTSET", "SAME_UPPER", "")))
    if isinstance(default, ArrayAttr) or chance.random() < 0.8:
        return int_array_attr(*(chance.choice((-1, 0, 1, 2, 3)) for _ in range(chance.randrange(5))))
    return float_attr(-1.0)


def any_use(chance: random.Random, op: type[OnnxOp]) -> OnnxOp:
    """An op of the class with random operands, results, properties and empty or yielding regions."""
    definition = op.get_irdl_definition()
    element = chance.choice((f32, f32, f32, i64))

    def some(found: OperandDef | ResultDef) -> list[Attribute]:
        count = chance.randrange(4) if isinstance(found, VarOperandDef | VarResultDef) else 1
        return [any_type(chance, element) for _ in range(count)]

    types = [type_ for _, found in definition.operands for type_ in some(found)]
    producer = testing.TestOp(result_types=types)
    properties = {
        name: any_property(chance, found.default_value)
        for name, found in definition.properties.items()
        if chance.random() < 0.5
    }
    blocks = [Block(arg_types=types[: chance.randrange(4)]) for _ in definition.regions]
    for block in blocks:
        if chance.random() < 0.7:
            block.add_op(YieldOp(*block.args))
    return op.create(
        operands=producer.results,
        result_types=[type_ for _, found in definition.results for type_ in some(found)],
        properties=properties,
        regions=[Region(block) for block in blocks],
    )


@pytest.mark.parametrize("op", op_classes(), ids=lambda op: op.name)
def test_a_verifier_accepts_or_says_why_not(op: type[OnnxOp]):
    chance = random.Random(op.name)
    reasons = [refusal(any_use(chance, op)) for _ in range(ROUNDS)]
    assert "" not in reasons


def refusal(op: OnnxOp) -> str | None:
    """Why the verifier refuses the op; `None` if it does not."""
    try:
        op.verify_()
    except VerifyException as error:
        return str(error)
    return None
