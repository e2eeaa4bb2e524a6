"""The text of functions of the llvm dialect is what LLVM makes the machine code of xDSL's own backend of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx.parser
import pytest
from xdsl.backend.llvm.convert import convert_module
from xdsl.dialects import llvm, test
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    ModuleOp,
    StringAttr,
    TensorType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from xonnc import native_compilation
from xonnc.errors import XonncError
from xonnc.lowering.krnl_to_llvm import llvm_ops
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder
from xonnc.lowering.krnl_to_llvm.llvm_ops import POINTER, vector_of
from xonnc.lowering.krnl_to_llvm.llvm_printer import module_text, type_text
from xonnc.native import compile_native
from xonnc.runtime.native.jit import Code, machine_code

INF, NAN = float("inf"), float("nan")


def function(write: Callable[[LLVMBuilder, SSAValue], None], name: str = "f") -> llvm.FuncOp:
    """A function of one pointer, with what `write` appends to it."""
    region = Region(Block(arg_types=[POINTER]))
    builder = LLVMBuilder(region)
    write(builder, region.block.args[0])
    builder.insert(llvm.ReturnOp())
    return llvm.FuncOp(name, llvm.LLVMFunctionType([POINTER]), body=region)


def filled(module: ModuleOp, size: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """What the function `f` of a module writes to a buffer of ones."""
    found = np.ones(size, dtype)
    code = Code(machine_code(module_text(module, "")), {"f": None})
    code.entries["f"](found.ctypes.data)
    return found


@pytest.mark.parametrize(
    ("type_", "dtype", "values"),
    [
        (f16, np.float16, [0.1, -0.0, NAN, INF, -INF, 65504.0, 6e-8, -1.5]),
        (f32, np.float32, [0.1, -0.0, NAN, INF, -INF, 1e-45, 3.4e38, 2.0]),
        (f64, np.float64, [0.1, -0.0, NAN, INF, -INF, 5e-324, 1e308, 2.0]),
        (i8, np.int8, [-128, 127, 0, -1, 1, 2, 3, 4]),
        (i64, np.int64, [-(2**63), 2**63 - 1, 0, -1, 1, 2, 3, 4]),
    ],
)
@pytest.mark.parametrize("is_vector", [False, True])
def test_constants(type_: Attribute, dtype: type[np.generic], values: list[float], is_vector: bool) -> None:
    expected = np.array(values, dtype)

    def write(builder: LLVMBuilder, pointer: SSAValue) -> None:
        if is_vector:
            vector = vector_of(type_, len(values))
            held = BytesAttr(expected.tobytes())
            elements = DenseIntOrFPElementsAttr.new((vector, held))
            builder.store(builder.add(llvm_ops.constant(elements, vector)), pointer)
            return
        for index, value in enumerate(values):
            builder.store(builder.constant(value, type_), builder.address(pointer, index, type_))

    found = filled(ModuleOp([function(write)]), len(values), dtype)
    bits = np.dtype(f"u{expected.itemsize}")
    np.testing.assert_array_equal(found.view(bits), expected.view(bits))


def test_a_truth() -> None:
    def write(builder: LLVMBuilder, pointer: SSAValue) -> None:
        for index, value in enumerate((True, False)):
            builder.store(builder.constant(value, i1), builder.address(pointer, index, i8))

    assert filled(ModuleOp([function(write)]), 3, np.int8).tolist() == [1, 0, 1]


def test_loops_that_carry_values() -> None:
    """Each next Fibonacci number: the carried values of an iteration come from a later block."""

    def write(builder: LLVMBuilder, pointer: SSAValue) -> None:
        def body(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
            a, b = carried
            builder.store(a, builder.address(pointer, index, i64))
            return [b, builder.iadd(a, b)]

        zero, one = builder.constant(0), builder.constant(1)
        builder.loop(zero, builder.constant(9), 1, [zero, one], body)

    assert filled(ModuleOp([function(write)]), 10, np.int64).tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 1]


@pytest.mark.parametrize("shape", [(4,), (2, 3), (0,)])
def test_constants_in_memory(shape: tuple[int, ...]) -> None:
    numbers = np.arange(np.prod(shape)).astype(np.float32) - 1.5
    value = DenseIntOrFPElementsAttr.from_list(TensorType[AnyFloat](f32, shape), numbers.tolist())
    type_: Attribute = f32
    for size in reversed(shape):
        type_ = llvm.LLVMArrayType(size, type_)

    def write(builder: LLVMBuilder, pointer: SSAValue) -> None:
        table = builder.add(llvm.AddressOfOp("table", POINTER))
        for index in range(numbers.size):
            builder.store(
                builder.load(builder.address(table, index, f32), f32), builder.address(pointer, index, f32)
            )

    table = llvm.GlobalOp(type_, "table", "internal", constant=True, value=value, alignment=64)
    module = ModuleOp([function(write), table])
    assert ", align 64" in module_text(module, "")
    np.testing.assert_array_equal(filled(module, numbers.size, np.float32), numbers)


def test_names_of_functions() -> None:
    def write(builder: LLVMBuilder, pointer: SSAValue) -> None:
        builder.call_function("a.b", [pointer], [])
        builder.call_function("pool", [pointer], [])

    types = llvm.LLVMFunctionType([POINTER])
    declared = [llvm.FuncOp(name, types, linkage=llvm.LinkageAttr("external")) for name in ("a.b", "pool")]
    text = module_text(ModuleOp([function(write), *declared]), "", is_local=True, elsewhere={"pool"})
    assert 'define internal void @"f"(ptr %0)' in text
    assert [line for line in text.splitlines() if "declare" in line] == ['declare void @"a.b"(ptr)']


MODELS = {
    "vectors": "(float[3, 37] x) => (float[3, 37] y) { y = Softmax (x) }",
    "carried values": "(float[3, 37] x) => (int64[1, 37] y) { y = ArgMax (x) }",
    "tiles": "(float[9, 33] x, float[33, 20] w) => (float[9, 20] y) { y = MatMul (x, w) }",
    "bytes": "(uint8[9, 32] x, int8[32, 20] w) => (int32[9, 20] y) { y = MatMulInteger (x, w) }",
    "half precision": "(float16[3, 37] x) => (float16[3, 37] y) { y = Tanh (x) }",
    "truths": "(double[5] x, double[5] z) => (bool[5] y) { a = Less (x, z) b = IsNaN (x) y = Or (a, b) }",
    "structures": "(float[40] x) => (float[3] y, int64[3] i) <int64[1] k = {3}> { y, i = TopK (x, k) }",
    "powers": "(float[7] x, float[7] z) => (float[7] y) { a = Pow (x, z) y = Mod <fmod = 1> (a, z) }",
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("graph", MODELS.values(), ids=MODELS)
def test_machine_code_is_that_of_the_backend_of_xdsl(
    monkeypatch: pytest.MonkeyPatch, graph: str, threads: int
) -> None:
    modules: list[ModuleOp] = []
    make = native_compilation.llvm_module

    def kept(*arguments: Any) -> ModuleOp:
        modules.append(make(*arguments))
        return modules[-1]

    monkeypatch.setattr(native_compilation, "llvm_module", kept)
    text = f'<ir_version: 9, opset_import: ["": 18]> g {graph}'
    compile_native(onnx.parser.parse_model(text), threads=threads, cache=False)
    (module,) = modules
    assert not any(isinstance(op, llvm.GlobalOp) for op in module.ops)
    # Its backend has no attributes of functions.
    for op in module.ops:
        op.properties.pop("passthrough", None)
    theirs = str(convert_module(module, fallback_target_triple=None)).replace("llvm.fma.", "llvm.fmuladd.")
    assert machine_code(module_text(module, "")) == machine_code(theirs)


def test_attributes_of_functions() -> None:
    pair = ArrayAttr([StringAttr("alignstack"), StringAttr("32")])
    made = function(lambda builder, pointer: None)
    module = ModuleOp([made])
    made.properties["passthrough"] = ArrayAttr([pair])
    assert 'define void @"f"(ptr %0) alignstack(32)' in module_text(module, "")
    made.properties["passthrough"] = ArrayAttr([StringAttr("cold")])
    with pytest.raises(XonncError, match='f: "cold" in passthrough is not a name and a value'):
        module_text(module, "")


def test_operations_that_kernels_have_not() -> None:
    def write(builder: LLVMBuilder, pointer: SSAValue) -> None:
        builder.add(test.TestOp.create(result_types=[i32]))

    with pytest.raises(XonncError, match=r"test\.op: no LLVM IR is printed for it"):
        module_text(ModuleOp([function(write)]), "")
    with pytest.raises(XonncError, match=r"test\.op: no LLVM IR is printed for it"):
        module_text(ModuleOp([test.TestOp.create()]), "")
    with pytest.raises(XonncError, match="bf16: no type of LLVM IR is printed for it"):
        type_text(bf16)
    with pytest.raises(XonncError, match="no type of LLVM IR"):
        type_text(StringAttr("f32"))
