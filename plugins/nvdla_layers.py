"""Lowering of plug-in operators to hardware layers of NVDLA, by their `layers` body."""

from __future__ import annotations

from typing import Any, NoReturn, cast

from xdsl.ir import Operation, SSAValue

from xonnc.dialects.onnx.types import NONE
from xonnc.errors import XonncError
from xonnc.lowering.onnx_to_dla.builders.dla_builder import Cube, UnsupportedOperator
from xonnc.lowering.onnx_to_dla.builders.operator_builder import INT8_LOWERINGS
from xonnc.lowering.onnx_to_dla.fp16.fp16_builder import Fp16Builder, lowers_fp16
from xonnc.lowering.onnx_to_dla.int8.quantized_builder import QuantizedBuilder, lowers_int8
from xonnc.plugins.layer_builder import FeatureCube, LayerBuilder
from xonnc.plugins.nvdla_bodies import BindOperands
from xonnc.plugins.op_class import PluginOp
from xonnc.plugins.operators import Array


def add_layers(kind: type[PluginOp], bind: BindOperands) -> None:
    """Register the `layers` body of an operator as its lowering for NVDLA in float16."""
    layers = kind.DECLARATION.function("layers")
    assert layers is not None

    def lower(op: PluginOp, builder: Fp16Builder) -> list[Cube]:
        bound = bind(op, [_operand(value, builder) for value in op.operands])
        try:
            found = layers(bound, LayerBuilder(builder))
        except (UnsupportedOperator, XonncError):
            raise
        except Exception as error:
            raise bound.fail(f"layers raised {type(error).__name__}: {error}") from error
        results: list[Any] = [*cast("Any", found)] if isinstance(found, tuple | list) else [found]
        if len(results) != len(op.results) or not all(isinstance(each, FeatureCube) for each in results):
            raise bound.fail(f"layers gave {len(results)} values for {len(op.results)} results")
        for each, described in zip(results, bound.outputs, strict=True):
            if described is not None and described.shape is not None and each.shape != described.shape:
                raise bound.fail(f"layers gave shape {list(each.shape)}, infer gives {list(described.shape)}")
        return [each.cube for each in results]

    lower.__doc__ = kind.DECLARATION.doc
    lowers_fp16(kind)(lower)
    if kind not in INT8_LOWERINGS:
        lowers_int8(kind)(_refuse_int8)


def _refuse_int8(op: Operation, builder: QuantizedBuilder) -> NoReturn:
    """Refuse an operator that has no int8 form."""
    assert isinstance(op, PluginOp)
    plugin = op.DECLARATION.plugin.name
    builder.refuse(
        f"its layers of plug-in {plugin} compute in fp16, the network in int8; write decompose or lookup"
    )


def _operand(value: SSAValue, builder: Fp16Builder) -> FeatureCube | Array | None:
    if value.type == NONE:
        return None
    constant = builder.constant(value)
    return FeatureCube(builder.cube(value)) if constant is None else constant
