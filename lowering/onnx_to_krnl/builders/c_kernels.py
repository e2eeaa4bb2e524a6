"""
Kernels written in C: declarations in IR that have their C source as attributes.

```mlir
func.func private @Hypot_1b2c3d4e(memref<8xf32>, memref<8xf32>, memref<8xf32>) -> () attributes {
  "krnl.c_source" = "static void hypot(…) { … }", "krnl.c_kernel" = "void Hypot_1b2c3d4e(…) { hypot(…); }"}
```

Such a kernel has the parameters of every kernel: pointers to results and operands, then dynamic dimensions.
It describes them as tensors (`xonnc_tensor`) and calls the function of the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from xdsl.dialects.builtin import FunctionType, IndexType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, Region, SSAValue

from xonnc.dialects.krnl.attributes import C_KERNEL, C_SOURCE
from xonnc.dialects.krnl.memory import CallOp
from xonnc.dialects.onnx.types import NONE, numpy_dtype
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import LoweringBuilder
from xonnc.lowering.onnx_to_krnl.planning.element_types import is_sub_byte
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import Size, SymbolicSize

WIDTHS = (8, 16, 32, 64)

TYPE_NAMES: Mapping[str, str] = {
    "float16": "XONNC_FLOAT16",
    "bfloat16": "XONNC_BFLOAT16",
    "float32": "XONNC_FLOAT",
    "float64": "XONNC_DOUBLE",
    "bool": "XONNC_BOOL",
    **{f"int{bits}": f"XONNC_INT{bits}" for bits in WIDTHS},
    **{f"uint{bits}": f"XONNC_UINT{bits}" for bits in WIDTHS},
}
"""The element types that functions in C take, by NumPy's names."""


@dataclass(frozen=True)
class CFunction:
    """A function in C, and the source that defines it."""

    name: str
    source: str


def lower_to_c(
    op: Operation, function: CFunction, arguments: Sequence[str], name: str, builder: LoweringBuilder
) -> str | None:
    """
    Lower an op to a call of a C function: operands, results, then `arguments`, which are C expressions.

    Returns the reason if it cannot be lowered.
    """
    values = [value for value in (*op.results, *op.operands) if value.type != NONE]
    for value in values:
        element = builder.element(value)
        if is_sub_byte(element) or numpy_dtype(element).name not in TYPE_NAMES:
            return f"C functions take no elements of type {element}"
    results = [builder.result(value) for value in op.results if value.type != NONE]
    operands = [builder.buffer(value) for value in op.operands if value.type != NONE]
    sizes = list(
        dict.fromkeys(
            size for value in values for size in builder.sizes(value) if isinstance(size, SymbolicSize)
        )
    )
    body = _body(op, function, arguments, {size: f"s{index}" for index, size in enumerate(sizes)}, builder)
    # The hash makes equal kernels one, in a program and where several models are linked.
    symbol = f"{name}_{sha256((function.source + body).encode()).hexdigest()[:16]}"
    if symbol not in builder.kernels:
        types = [each.type for each in (*results, *operands)] + [IndexType()] * len(sizes)
        declared = FuncOp(symbol, FunctionType.from_lists(types, []), Region(), "private")
        declared.location = op.location
        declared.attributes[C_SOURCE] = StringAttr(function.source)
        declared.attributes[C_KERNEL] = StringAttr(f"{_head(symbol, len(values), len(sizes))}\n{body}")
        builder.kernels[symbol] = declared
    builder.insert(CallOp.of(symbol, results, operands, sizes=[builder.extent(size) for size in sizes]))
    return None


def _head(symbol: str, buffers: int, sizes: int) -> str:
    parameters = [f"void *p{index}" for index in range(buffers)]
    parameters += [f"int64_t s{index}" for index in range(sizes)]
    return f"XONNC_C_KERNEL void {symbol}({', '.join(parameters)})"


def _body(
    op: Operation,
    function: CFunction,
    arguments: Sequence[str],
    names: Mapping[SymbolicSize, str],
    builder: LoweringBuilder,
) -> str:
    """Return the body of the kernel in C; `names` are those of the parameters with dynamic dimensions."""
    shapes: list[str] = []

    def tensor(value: SSAValue) -> str:
        if value.type == NONE:
            return "{0, 0, 0, 0, 0}"
        sizes = [_c_size(size, names) for size in builder.sizes(value)]
        index = len(shapes)
        # C has no empty arrays: that of a scalar has an element that nothing reads.
        shapes.append(f"    const int64_t d{index}[] = {{{', '.join(sizes) or '1'}}};")
        kind = TYPE_NAMES[numpy_dtype(builder.element(value)).name]
        return f"{{p{index}, {len(sizes)}, d{index}, {' * '.join(sizes) or '1'}, {kind}}}"

    outputs, inputs = ([tensor(value) for value in values] for values in (op.results, op.operands))
    passed = ", ".join(["inputs", "outputs", *arguments])
    lines = [
        "{",
        *shapes,
        f"    const xonnc_tensor outputs[] = {{{', '.join(outputs)}}};",
        f"    const xonnc_tensor inputs[] = {{{', '.join(inputs) or '{0, 0, 0, 0, 0}'}}};",
        f"    {function.name}({passed});",
        "}",
    ]
    return "\n".join(lines)


def _c_size(size: Size, names: Mapping[SymbolicSize, str]) -> str:
    return names[size] if isinstance(size, SymbolicSize) else str(size)
