"""
Native code of a package's CPU parts for the machine that runs it: object files for a triple.

    compile_package("model.onnx", "nv_small", host="aarch64-linux-gnu").write("model.xpkg")
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import onnx

from xonnc.errors import RefusalError, XonncError
from xonnc.runtime.native.jit import is_foreign
from xonnc.targets.cpu import cpu_names, load_cpu

ARCHITECTURES = {"aarch64": "aarch64", "arm64": "aarch64", "x86_64": "portable", "amd64": "portable"}
"""The processor kind for each architecture of a triple."""

ENVIRONMENTS = ("", "gnu", "musl")
"""The last component of triples; code calls only functions of the C library that these have in common."""


def host_processor(host: str) -> str:
    """
    Return the processor kind that code for a host is compiled for.

    Parameters:
        host: a triple such as `aarch64-linux-gnu`, or a processor kind such as `avx2`.

    Raises: `XonncError` for a host without code generation.

    Example:
        >>> host_processor("aarch64-unknown-linux-gnu")
        'aarch64'
    """
    if host in cpu_names():
        return host
    architecture, *rest = host.split("-")
    # The vendor may be left out, and stands before the system.
    environment = rest[rest.index("linux") + 1 :] if "linux" in rest[:2] else None
    reason = None
    if architecture not in ARCHITECTURES:
        reason = f"there is no code generation for {architecture or 'it'}"
    elif environment is None:
        reason = "object files are for Linux"
    elif "-".join(environment) not in ENVIRONMENTS:
        reason = f"there is no code generation for the environment {'-'.join(environment)}"
    elif not load_cpu(ARCHITECTURES[architecture]).triple and is_foreign(host):
        reason = f"code for {architecture} is compiled on {architecture}"
    if reason is not None:
        raise XonncError(
            f"host '{host}': {reason}; hosts are aarch64-linux-gnu, x86_64-linux-gnu, "
            f"{', '.join(cpu_names())}; 'xonnc deploy' writes C source for any other"
        )
    return ARCHITECTURES[architecture]


def host_code(model: onnx.ModelProto, number: int, host: str) -> dict[str, bytes]:
    """
    Compile a CPU part for a host.

    Parameters:
        model: the part.
        number: its index in the package.
        host: a triple, or a processor kind.

    Returns: the files by their names in the package: object file, header and, if they are not in the object,
        weights.

    Raises:
        RefusalError: with every operator that has no native code.
        XonncError: for a host without code generation.

    Example:
        >>> list(host_code(model, 0, "aarch64-linux-gnu"))
        ['parts/0.o', 'parts/0.h']
    """
    # Here, since packages without a host need no code generation, which takes a second to load.
    from xonnc.artifacts import compile_artifact

    with TemporaryDirectory() as folder:
        prefix = part_prefix(number)
        path = Path(folder) / f"{prefix}.o"
        try:
            artifact = compile_artifact(model, path, host_processor(host), prefix=prefix)
        except RefusalError as refused:
            # The last line is about the object file: its operators need native code.
            reasons = [reason for reason in refused.reasons if not reason.startswith(f"{path.name}: ")]
            hint = (
                f"part {number}: it has to run without Python; without --host, a package runs these in Python"
            )
            reasons.append(hint)
            raise RefusalError(reasons).at(f"host {host}") from None
        return {f"parts/{number}{file.suffix}": file.read_bytes() for file in artifact.files}


def part_prefix(number: int) -> str:
    """
    Return the prefix of a part's C functions.

    Parameters:
        number: its index in the package.
    """
    return f"part{number}"
