"""Fusion groups: operators that one kernel computes."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    prop_def,
    region_def,
    traits_def,
    var_result_def,
)
from xdsl.traits import SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.krnl.loops import YieldOp
from xonnc.dialects.onnx.op import OnnxOp

KINDS = ("attention", "cache", "convolution", "elementwise", "int8", "matmul", "strings")
"""Kinds of groups, by the operator whose epilogue the others are, or by the type computed in."""


@irdl_op_definition
class FusedOp(IRDLOperation):
    """
    A fusion group: operators that one kernel computes, which captures its operands.

    The first operator of a `convolution` or `matmul` is the anchor; the others are its epilogue, computed
    before its results are stored. Instead, a `matmul` may begin with the DequantizeLinear of its weights. An
    `int8` group is written with QuantizeLinear and DequantizeLinear and
    computed in integers. An `elementwise` group is one loop nest. A
    `cache` is a TensorScatter into a tensor that a Concat with zeros makes longer. An `attention` begins with
    the slices of a cache that are its keys and values. A `strings` group is one step of the runtime, which
    counts tokens of texts.

    ```mlir
    %y = "krnl.fused"() <{kind = "convolution"}> ({
      %0 = "onnx.Conv"(%x, %w, %b) … : … -> tensor<1x8x4x4xf32>
      %1 = "onnx.Relu"(%0) : (tensor<1x8x4x4xf32>) -> tensor<1x8x4x4xf32>
      krnl.yield %1 : tensor<1x8x4x4xf32>
    }) : () -> tensor<1x8x4x4xf32>
    ```
    """

    name = "krnl.fused"

    kind = prop_def(StringAttr)
    body = region_def("single_block")
    results_ = var_result_def()

    traits = traits_def(SingleBlockImplicitTerminator(YieldOp))
    irdl_options = (ParsePropInAttrDict(),)

    def verify_(self) -> None:
        """A known kind, at least two operators, and results of the yielded types."""
        if self.kind.data not in KINDS:
            raise VerifyException(f"krnl.fused: kind is one of {', '.join(KINDS)}, found {self.kind.data}")
        block = self.body.block
        if block.args:
            raise VerifyException("krnl.fused: the body captures what it reads, it has no arguments")
        *members, end = block.ops
        if len(members) < 2:
            raise VerifyException(f"krnl.fused: a group has two operators or more, found {len(members)}")
        for member in members:
            if not isinstance(member, OnnxOp) or member.regions:
                raise VerifyException(
                    f"krnl.fused: members are onnx ops without regions, found {member.name}"
                )
        if [value.type for value in end.operands] != [result.type for result in self.results]:
            raise VerifyException("krnl.fused: results have the types of what the body yields")

    @property
    def members(self) -> list[Operation]:
        """The operators of the group, in order."""
        return list(self.body.block.ops)[:-1]

    @property
    def is_of_strings(self) -> bool:
        """Whether the runtime executes the group, not a kernel."""
        return self.kind.data == "strings"

    @staticmethod
    def of(kind: str, body: Region) -> FusedOp:
        """Return a group whose results are the yielded values."""
        end = body.block.last_op
        assert end is not None
        types = [value.type for value in end.operands]
        return FusedOp(properties={"kind": StringAttr(kind)}, regions=[body], result_types=[types])
