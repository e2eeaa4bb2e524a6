"""Functions of the llvm dialect that are not written as C are refused."""

from __future__ import annotations

from importlib import import_module

import pytest
from xdsl.dialects import llvm
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, Block, Region

from xonnc.errors import XonncError
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder
from xonnc.lowering.krnl_to_llvm.llvm_ops import POINTER
from xonnc.lowering.llvm_to_c.c_functions import c_function
from xonnc.lowering.llvm_to_c.vector_functions import VectorFunctions
from xonnc.lowering.native.read_program import KernelGroup


class Kernel:
    """A function of pointers, which `to` writes."""

    def __init__(self) -> None:
        self.region = Region(Block(arg_types=[POINTER, POINTER]))
        self.builder = LLVMBuilder(self.region)
        self.source, self.target = self.region.block.args

    def text(self) -> str:
        """The function in C, and those of vectors before it."""
        self.builder.insert(llvm.ReturnOp())
        types: list[Attribute] = [POINTER, POINTER]
        vectors = VectorFunctions()
        text = c_function(llvm.FuncOp("kernel", llvm.LLVMFunctionType(types), body=self.region), vectors)
        return vectors.text() + text


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


def test_vectors_are_loaded_added_and_stored(kernel: Kernel) -> None:
    builder = kernel.builder
    loaded = builder.load(kernel.source, f32, 5)
    builder.store(builder.fadd(loaded, builder.constant(1.0, loaded.type)), kernel.target)
    text = kernel.text()
    assert "const xonnc_f32x8 v1 = xonnc_load_f32x8_5(a0);" in text
    assert "const xonnc_f32x8 v2 = xonnc_add_f32x8(v1, xonnc_splat_f32x8(0x1.0000000000000p+0f));" in text
    assert "xonnc_store_f32x8_5(a1, v2);" in text


def test_a_function_is_written_once(kernel: Kernel) -> None:
    builder = kernel.builder
    loaded = builder.load(kernel.source, f32, 4)
    builder.store(builder.fadd(builder.fadd(loaded, loaded), loaded), kernel.target)
    assert (
        kernel.text().count("xonnc_add_f32x4(xonnc_f32x4 a, xonnc_f32x4 b)\n") == 2
    )  # as vector and as array


def test_inserting_into_a_vector_is_refused(kernel: Kernel) -> None:
    builder = kernel.builder
    loaded, number = builder.load(kernel.source, f32, 4), builder.load(kernel.source, f32)
    builder.store(builder.add(llvm.InsertElementOp(loaded, number, builder.constant(0, i32))), kernel.target)
    with pytest.raises(XonncError, match=r"C has no llvm.insertelement into a vector; a shared library"):
        kernel.text()


def test_vectors_of_single_numbers_are_refused(kernel: Kernel) -> None:
    builder = kernel.builder
    first, second = builder.load(kernel.source, f32, 1), builder.load(kernel.target, f32, 1)
    builder.store(builder.shuffle_pair(first, second, [0, 1]), kernel.target)
    with pytest.raises(XonncError, match=r"C has no llvm.shufflevector of scalars; a shared library"):
        kernel.text()


def test_pointers_hidden_from_analysis_are_the_pointers(kernel: Kernel) -> None:
    builder = kernel.builder
    builder.store(builder.load(builder.opaque(kernel.source), f32), kernel.target)
    text = kernel.text()
    assert "ptrmask" not in text
    assert "= a0;" in text


def test_what_is_fetched_ahead_is_left_out(kernel: Kernel) -> None:
    builder = kernel.builder
    builder.prefetch(kernel.source, 2048)
    builder.store(builder.load(kernel.source, f32), kernel.target)
    text = kernel.text()
    assert "2048" not in text
    assert "prefetch" not in text


def test_c_source_has_one_thread():
    """Options refuse more than one: a group of kernels for several threads is an error of the compiler."""
    sequence = import_module("xonnc.lowering.llvm_to_c.c_source").__dict__["_sequence"]
    with pytest.raises(AssertionError, match=r"^C source is single-threaded$"):
        sequence([KernelGroup("main_0")], None, "")
