"""Models with dynamic shapes compiled to files run from C on any shapes, with the outputs of the session."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import parser

import xonnc
from xonnc.artifacts import compile_artifact
from xonnc.errors import RefusalError, XonncError

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "net.h"

/* Reads, run after run, sizes of the inputs and their numbers; writes sizes and numbers of the outputs. */
int main(int count, char **arguments)
{
    net_model *m;
    int32_t code;
    if ((code = net_create(&m, count > 1 ? arguments[1] : NULL))) return puts(net_message(code)), 1;
    for (;;) {
        void *data[16];
        int number, axis;
        for (number = 0; number < net_input_count(); number++) {
            const int32_t rank = net_input_rank(number);
            int64_t shape[8] = {0};
            uint64_t bytes = net_input_element_bytes(number);
            if (fread(shape, 8, (size_t)rank, stdin) != (size_t)rank) return net_destroy(m), 0;
            if ((code = net_set_shape(m, number, shape, rank))) return puts(net_message(code)), 1;
            for (axis = 0; axis < rank; axis++) bytes *= (uint64_t)shape[axis];
            data[number] = malloc(bytes + 1);
            if (fread(data[number], 1, bytes, stdin) != bytes) return 2;
            if (net_set_input(m, number, data[number], bytes + 1) == 0) return 3;
            if ((code = net_set_input(m, number, data[number], bytes))) return puts(net_message(code)), 1;
        }
        if ((code = net_run(m))) return puts(net_message(code)), 1;
        for (number = 0; number < net_output_count(); number++) {
            const int64_t *shape = net_get_output_shape(m, number);
            fwrite(shape, 8, (size_t)net_output_rank(number), stdout);
            fwrite(net_get_output(m, number), 1, net_get_output_bytes(m, number), stdout);
        }
        for (number = 0; number < net_input_count(); number++) free(data[number]);
    }
}
"""

FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror")

Feeds = Mapping[str, npt.NDArray[np.generic]]


def text(body: str, inputs: str, outputs: str) -> onnx.ModelProto:
    return parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : 21]> net ({inputs}) => ({outputs}) {{ {body} }}'
    )


def attention() -> onnx.ModelProto:
    """Heads, their scores and a mask, for texts of any length in any number."""
    return text(
        "s = Constant<value_ints = [8, 24]>() w = ConstantOfShape<value = float[1] {0.03}>(s) "
        "p = MatMul(x, w) a, b, c = Split<axis = 2, num_outputs = 3>(p) "
        "h = Constant<value_ints = [0, 0, 2, 4]>() "
        "d = Reshape(a, h) e = Reshape(b, h) f = Reshape(c, h) q = Transpose<perm = [0, 2, 1, 3]>(d) "
        "k = Transpose<perm = [0, 2, 3, 1]>(e) v = Transpose<perm = [0, 2, 1, 3]>(f) "
        "r = MatMul(q, k) t = Add(r, mask) u = Softmax(t) z = MatMul(u, v) "
        "o = Transpose<perm = [0, 2, 1, 3]>(z) g = Constant<value_ints = [0, 0, 8]>() y = Reshape(o, g) "
        "n = Shape(x)",
        "float[N, S, 8] x, float[N, 1, 1, S] mask",
        "float[N, S, 8] y, int64[3] n, float[N, 2, S, S] u",
    )


def images() -> onnx.ModelProto:
    return text(
        "s = Constant<value_ints = [20, 3, 3, 3]>() w = ConstantOfShape<value = float[1] {0.1}>(s) "
        "c = Conv<pads = [1, 1, 1, 1]>(x, w) r = Relu(c) p = MaxPool<kernel_shape = [2, 2]>(r) "
        "g = GlobalAveragePool(p) y = Flatten(g)",
        "float[N, 3, 6, 6] x",
        "float[N, 20] y",
    )


def inputs_given_back() -> onnx.ModelProto:
    return text(
        "y = Relu(x) same = Identity(other) z = Neg(other)",
        "float[N, 3] x, float[M, 2] other",
        "float[N, 3] y, float[M, 2] same, float[M, 2] z",
    )


def floats(*shape: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(len(shape)).normal(size=shape).astype(np.float32)


def build(model: onnx.ModelProto, folder: Path, suffix: str, *flags: str) -> Path:
    compile_artifact(model, folder / f"net{suffix}", prefix="net")
    (folder / "main.c").write_text(MAIN)
    command = ["cc", *FLAGS, "-O1", "-o", "program", "main.c", f"net{suffix}", "-lm", "-Wl,-rpath,.", *flags]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "program"


def given(feeds: Feeds) -> bytes:
    return b"".join(np.array(each.shape, np.int64).tobytes() + each.tobytes() for each in feeds.values())


@pytest.mark.parametrize("suffix", [".so", ".o", ".c"])
@pytest.mark.parametrize("make", [attention, images, inputs_given_back])
def test_one_file_for_all_sizes(tmp_path: Path, suffix: str, make: Callable[[], onnx.ModelProto]) -> None:
    model = make()
    session = xonnc.compile(model, cache=False)
    runs: list[Feeds] = [{"x": floats(count, 3, 6, 6)} for count in (1, 3, 2)]
    if make is attention:
        sizes = ((1, 4), (3, 37), (2, 1), (1, 64))
        runs = [{"x": floats(n, s, 8), "mask": floats(n, 1, 1, s)} for n, s in sizes]
    if make is inputs_given_back:
        runs = [{"x": floats(n, 3), "other": floats(m, 2)} for n, m in ((1, 4), (5, 1), (2, 9))]
    program = build(model, tmp_path, suffix, *(["-march=native"] if suffix == ".c" else []))
    found = subprocess.run(
        [program], cwd=tmp_path, input=b"".join(map(given, runs)), capture_output=True, check=True
    ).stdout
    offset = 0
    for feeds in runs:
        for expected in session.run(None, feeds):
            assert isinstance(expected, np.ndarray)
            shape = np.frombuffer(found, np.int64, expected.ndim, offset)
            assert tuple(shape) == expected.shape
            offset += shape.nbytes
            numbers = np.frombuffer(found, expected.dtype, expected.size, offset).reshape(expected.shape)
            offset += expected.nbytes
            if suffix == ".c":
                given_there, given_here = numbers.astype(np.float64), expected.astype(np.float64)
                np.testing.assert_allclose(given_there, given_here, rtol=2e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(numbers, expected)
    assert offset == len(found)


@pytest.mark.parametrize(
    ("feeds", "said"),
    [
        ({"x": floats(2, 4, 8), "mask": floats(3, 1, 1, 4)}, b"axis 0 of input 'mask' does not fit"),
        ({"x": floats(2, 4, 9), "mask": floats(2, 1, 1, 4)}, b"an input of another shape"),
    ],
)
def test_sizes_that_do_not_fit_are_told(tmp_path: Path, feeds: Feeds, said: bytes) -> None:
    program = build(attention(), tmp_path, ".so")
    run = subprocess.run([program], cwd=tmp_path, input=given(feeds), capture_output=True, check=False)
    assert (run.returncode, run.stdout.strip()) == (1, said)


def test_sizes_beyond_memory_are_told(tmp_path: Path) -> None:
    (tmp_path / "main.c").write_text(
        '#include "net.h"\n#include <stdio.h>\nint main(void) { net_model *m; const int64_t shape[] = '
        "{INT64_C(1) << 30, INT64_C(1) << 30, 8}, mask[] = {INT64_C(1) << 30, 1, 1, INT64_C(1) << 30}; "
        "return net_create(&m, NULL) || net_get_output_shape(m, 0) != NULL || "
        "puts(net_message(net_run(m))) < 0 || "
        "net_run(m) == 0 || net_set_shape(m, 0, shape, 3) || net_set_shape(m, 1, mask, 4) || "
        "net_get_output_shape(m, 0) != NULL || puts(net_message(net_run(m))) < 0; }"
    )
    compile_artifact(attention(), tmp_path / "net.so", prefix="net")
    command = ["cc", *FLAGS, "-o", "program", "main.c", "net.so", "-lm", "-Wl,-rpath,."]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = subprocess.run([tmp_path / "program"], cwd=tmp_path, capture_output=True, check=True).stdout
    assert said.splitlines() == [b"the shape of an input is not set", b"sizes beyond any memory"]


def test_static_arrays_are_for_known_sizes(tmp_path: Path) -> None:
    with pytest.raises(XonncError, match="static arrays need static shapes; give them with --input-shape"):
        compile_artifact(images(), tmp_path / "net.c", no_malloc=True)
    assert not list(tmp_path.iterdir())


def test_what_has_no_code_for_any_sizes_names_the_way_out(tmp_path: Path) -> None:
    model = text("y = Hardmax(x)", "float[N, 3] x", "float[N, 3] y")
    with pytest.raises(RefusalError, match=r"not every operator has code for .*; pass --input-shape x:\?,3"):
        compile_artifact(model, tmp_path / "net.so")
