"""Vectors of any number of lanes: no byte behind the last is read or written."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from xdsl.dialects import llvm
from xdsl.dialects.builtin import f32, f64, i8, i64
from xdsl.ir import Attribute, Block, Region

from xonnc.dialects.krnl.types import size_of
from xonnc.lowering.krnl_to_llvm.llvm_builder import LLVMBuilder
from xonnc.lowering.krnl_to_llvm.llvm_ops import POINTER
from xonnc.lowering.llvm_to_c.c_functions import c_function
from xonnc.lowering.llvm_to_c.c_source import PRELUDE
from xonnc.lowering.llvm_to_c.scalar_expressions import c_type
from xonnc.lowering.llvm_to_c.vector_functions import VectorFunctions
from xonnc.native_compilation import resolve_processor

COUNTS: dict[Attribute, range] = {f32: range(2, 18), f64: range(2, 10), i64: range(2, 8), i8: range(2, 70, 3)}


def program(native: int) -> str:
    """Functions that copy so many elements, called with memory that is no longer."""
    vectors = VectorFunctions()
    functions: list[str] = []
    calls: list[str] = []
    for element, counts in COUNTS.items():
        for count in counts:
            name = f"copy_{element}_{count}"
            region = Region(Block(arg_types=[POINTER, POINTER]))
            builder = LLVMBuilder(region)
            target, source = region.block.args
            builder.store(builder.load(source, element, count), target)
            builder.insert(llvm.ReturnOp())
            kernel = llvm.FuncOp(name, llvm.LLVMFunctionType([POINTER, POINTER]), body=region)
            functions.append(c_function(kernel, vectors))
            calls.append(f"    failed += copies({name}, {count * size_of(element)});")
            assert c_type(element) in vectors.text()
    return "\n".join(
        [
            "#include <stdio.h>\n#include <stdlib.h>",
            f"#define XONNC_VECTOR_BYTES {native}",
            PRELUDE.read_text(),
            vectors.text(),
            *functions,
            COPIES,
            "int main(void)\n{\n    int failed = 0;",
            *calls,
            "    return failed;\n}\n",
        ]
    )


COPIES = """
static int copies(void (*copy)(xonnc_bytes, xonnc_bytes), int bytes)
{
    xonnc_bytes from = malloc((size_t)bytes), to = malloc((size_t)bytes + 128);
    int i, failed = 0;
    for (i = 0; i < bytes; i++) from[i] = (unsigned char)(7 * i + 3);
    memset(to, 255, (size_t)bytes + 128);
    copy(to, from);
    for (i = 0; i < bytes + 128; i++) failed |= to[i] != (i < bytes ? (unsigned char)(7 * i + 3) : 255);
    if (failed) printf("%d bytes\\n", bytes);
    free(from);
    free(to);
    return failed;
}
"""


SIZES = [size for size in (16, 32, 64) if size <= resolve_processor("cpu").vector_bytes]


@pytest.mark.parametrize(
    ("native", "has_masks"), [(0, False), *((size, held) for size in SIZES for held in (False, True))]
)
def test_ends_of_vectors(tmp_path: Path, native: int, has_masks: bool) -> None:
    text = program(native)
    assert "#define XONNC_MASKS" in text
    if not has_masks:
        text = text.replace("#define XONNC_MASKS", "")
    (tmp_path / "main.c").write_text(text)
    command = ["cc", "-O1", "-march=native", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsanitize=address"]
    subprocess.run([*command, "main.c", "-lm", "-o", "main"], cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
