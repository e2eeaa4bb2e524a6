"""
Evaluate `krnl.pack` on constants: weights are stored in the order in which kernels read them.

```mlir
%w = "krnl.global"() {name = "constant_1", value = dense<…> : tensor<8x10xf32>, …} : () -> memref<8x10xf32>
%p = krnl.pack %w {form = "gemm_panels", sizes = {width = 32 : i64}} : memref<8x10xf32> -> memref<256xf32>
```

becomes

```mlir
%p = "krnl.global"() {name = "constant_1", value = dense<…> : tensor<256xf32>, …} : () -> memref<256xf32>
```
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.hints import isa

from xonnc.dialects.krnl.memory import GlobalOp
from xonnc.dialects.krnl.packing import PackOp
from xonnc.dialects.krnl.prepacked_weights import PrepackedWeights
from xonnc.dialects.onnx.elements import DisposablePool, elements_array
from xonnc.errors import XonncError
from xonnc.rewriting.editing import erase


@dataclass(frozen=True)
class PrepackWeights(ModulePass):
    """
    Store constant weights in the order in which kernels read them.

    Programs for other shapes of the same model share packed weights.
    """

    name = "prepack-weights"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Replace every `krnl.pack` of the module by a constant."""
        pool, cache = DisposablePool.of(ctx), PrepackedWeights.of(ctx)
        for pack in [each for each in op.walk() if isinstance(each, PackOp)]:
            _prepack(pack, pool, cache)


def _prepack(pack: PackOp, pool: DisposablePool, cache: PrepackedWeights) -> None:
    source = pack.source.owner
    weights = None
    if isinstance(source, GlobalOp) and source.value is not None:
        weights = elements_array(source.value)
    if weights is None or not isinstance(source, GlobalOp):
        raise XonncError("krnl.pack: the weights are not a krnl.global with a value")
    how = pack.form, pack.sizes, pack.factor
    value = pool.create(cache.packed(weights, how, lambda: pack.evaluate(weights)))
    type_ = pack.result.type
    assert isa(type_, MemRefType)
    packed = GlobalOp.of(source.symbol.data, value, type_)
    packed.location = pack.location
    block = pack.parent
    assert block is not None
    block.insert_op_before(packed, pack)
    pack.result.replace_all_uses_with(packed.output)
    erase(pack)
    if not source.output.uses.get_length():
        erase(source)
