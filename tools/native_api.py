"""
Generate `lowering/native/native_api.ll` from `native_api.c` with clang.

Run it as `python -m xonnc.tools.native_api`.

It needs the clang in the package `ziglang` of PyPI (`pip install ziglang==0.17.1`), which has the version of
LLVM that llvmlite has. The IR is for any 64-bit processor: it names neither features nor a data layout.
"""

from __future__ import annotations

import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory

from xonnc.formats.atomic_write import atomic_write
from xonnc.lowering.native.c_api import IR, SOURCE
from xonnc.lowering.native.c_header import TEMPLATE

DECLARATIONS = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "header.h"
extern const int64_t xonnc_info[], xonnc_ports[], xonnc_shapes[], xonnc_plan[];
extern const char *const xonnc_texts[];
extern const unsigned char *const xonnc_inside;
int xonnc_main(const void *weights, void *arena, const void *const *inputs, void *const *outputs,
    const int64_t *sizes);
"""
"""The prologue of the text if it is compiled by itself."""

FLAGS = (
    *("-target", "x86_64-linux-musl", "-std=c11", "-Oz", "-g0", "-Wno-unused-command-line-argument"),
    *("-fno-builtin-memcmp", "-fno-sanitize=all", "-fno-stack-protector"),
)


def source_digest() -> str:
    """Return a digest of the sources from which the IR is generated."""
    return sha256(SOURCE.read_bytes() + TEMPLATE.read_bytes()).hexdigest()


def main() -> int:
    """Compile, strip and write the IR."""
    names = {"prefix": "PREFIX", "PREFIX": "PREFIX", "model": "a model", "ports": " *"}
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "header.h").write_text(Template(TEMPLATE.read_text()).substitute(names))
        (folder / "api.c").write_text(DECLARATIONS + SOURCE.read_text())
        command = [sys.executable, "-m", "ziglang", "cc", *FLAGS, "-S", "-emit-llvm", "api.c", "-o", "api.ll"]
        subprocess.run(command, cwd=folder, check=True)
        text = (folder / "api.ll").read_text()
    with atomic_write(IR) as file:
        file.write(f"; native_api.c, {source_digest()}\n{stripped(text)}".encode())
    return 0


def stripped(text: str) -> str:
    """Remove from the IR what depends on processor or optimization, or is defined by a model's tables."""
    text = re.sub(r",? !\w[\w.]* !\d+", "", text)
    text = re.sub(r" #\d+", "", text)
    text = text.replace(" local_unnamed_addr", "").replace(" dso_local", "")
    text = text.replace("@.str", "@xonnc_api_text")
    tables = tuple(f"@xonnc_{name} " for name in ("info", "ports", "shapes", "plan", "texts", "inside"))
    dropped = ("target ", "source_filename", "attributes ", "!", "; ", "declare i32 @xonnc_main", *tables)
    lines = [line for line in text.splitlines() if not line.startswith(dropped)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines).strip()) + "\n"


if __name__ == "__main__":
    sys.exit(main())
