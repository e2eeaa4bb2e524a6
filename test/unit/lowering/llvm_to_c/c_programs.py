"""Models compiled to C source, built with a C compiler and run."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from xonnc.artifacts import compile_artifact

Array = npt.NDArray[Any]

MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include "net.h"

int main(void)
{
    net_model *m;
    int32_t code;
    int number;
    if ((code = net_create(&m, "net.weight"))) return puts(net_message(code)), 1;
    for (number = 0; number < net_input_count(); number++) {
        const size_t bytes = net_input_bytes(number);
        void *data = malloc(bytes);
        if (fread(data, 1, bytes, stdin) != bytes) return 2;
        if ((code = net_set_input(m, number, data, bytes))) return puts(net_message(code)), 1;
    }
    if ((code = net_run(m))) return puts(net_message(code)), 1;
    for (number = 0; number < net_output_count(); number++)
        fwrite(net_get_output(m, number), 1, net_output_bytes(number), stdout);
    return 0;
}
"""

FLAGS = ("-O1", "-march=native", "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic")


@cache
def files_of(model: bytes, target: str) -> Mapping[str, bytes]:
    """Return the C source, header and weights of a serialized model, by name."""
    with TemporaryDirectory() as folder:
        written = compile_artifact(
            onnx.load_model_from_string(model), Path(folder) / "net.c", target, prefix="net"
        )
        return {path.name: path.read_bytes() for path in written.files}


def outputs_of(
    folder: Path,
    model: onnx.ModelProto,
    inputs: Sequence[Array],
    like: Sequence[Array],
    target: str = "portable",
    flags: Sequence[str] = (),
    lacking: Sequence[str] = (),
) -> list[Array]:
    """
    Compile a model to C source, build it, run it, and return its outputs, typed and shaped like `like`.

    Preprocessor conditions in `lacking` are replaced by 0, as on a processor without that feature.
    """
    for name, content in files_of(model.SerializeToString(), target).items():
        (folder / name).write_bytes(content)
    source = (folder / "net.c").read_text()
    for condition in lacking:
        assert condition in source
        source = source.replace(condition, "0")
    (folder / "net.c").write_text(source)
    (folder / "main.c").write_text(MAIN)
    command = ["cc", *FLAGS, *flags, "main.c", "net.c", "-lm", "-o", "main"]
    subprocess.run(command, cwd=folder, check=True)
    data = b"".join(array.tobytes() for array in inputs)
    rest = subprocess.run(["./main"], cwd=folder, input=data, capture_output=True, check=True).stdout
    found: list[Array] = []
    for expected in like:
        found.append(np.frombuffer(rest[: expected.nbytes], expected.dtype).reshape(expected.shape))
        rest = rest[expected.nbytes :]
    assert not rest
    return found
