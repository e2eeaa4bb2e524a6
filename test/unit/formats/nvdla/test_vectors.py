"""Every field of the golden vectors against what their makers wrote down beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from xonnc.formats.nvdla.enumerations import (
    Activation,
    AluType,
    EmuOpType,
    Event,
    MemoryType,
    OpType,
    PoolMode,
    Precision,
    RubikMode,
    SdpMode,
    SdpOpType,
)
from xonnc.formats.nvdla.reader import parse_loadable, read_loadable
from xonnc.formats.nvdla.records import BdmaSurface, ConvSurface, CvtParam, SdpSubOp
from xonnc.formats.nvdla.tasks import EmuOperation, Operation, decode_tasks
from xonnc.formats.nvdla.writer import to_bytes

NAMES: dict[str, dict[str, str]] = {}
"""What the vectors' case.json calls the fields of each structure, where not as we do."""

NAMES["CONV"] = {
    "eps": "entry_per_slice",
    "post_ext": "post_extension",
    "pix_override": "pixel_override",
    "iw_csc": "input_width_csc",
    "ih_csc": "input_height_csc",
    "ic_csc": "input_channel_csc",
    "kw_csc": "kernel_width_csc",
    "kh_csc": "kernel_height_csc",
    "kc_csc": "kernel_channel_csc",
    "iw_cmac": "input_width_cmac",
    "ih_cmac": "input_height_cmac",
    "bpk": "bytes_per_kernel",
    "sx": "conv_stride_x",
    "sy": "conv_stride_y",
    "pl": "pad_x_left",
    "pr": "pad_x_right",
    "pt": "pad_y_top",
    "pb": "pad_y_bottom",
    "dx": "dilation_x",
    "dy": "dilation_y",
    "pra": "pra_truncate",
    "in_prec": "in_precision",
    "out_prec": "out_precision",
}
NAMES["SDP"] = {
    "src_prec": "src_precision",
    "dst_prec": "dst_precision",
    "lut": "lut_index",
    "batch": "batch_num",
    "x1": "x1_op",
    "x2": "x2_op",
    "y": "y_op",
}
NAMES["STAGE"] = {
    "en": "enable",
    "alu": "alu_type",
    "shift": "shift_value",
    "trunc": "truncate",
    "prec": "precision",
    "aluop": "alu_operand",
    "mulop": "mul_operand",
}
NAMES["PDP"] = {
    "inf": "partial_in_width_first",
    "inm": "partial_in_width_mid",
    "inl": "partial_in_width_last",
    "outf": "partial_width_first",
    "outm": "partial_width_mid",
    "outl": "partial_width_last",
    "split": "split_num",
    "mode": "pool_mode",
    "sx": "stride_x",
    "sy": "stride_y",
    "pl": "pad_left",
    "pr": "pad_right",
    "pt": "pad_top",
    "pb": "pad_bottom",
    "prec": "precision",
    "padv": "padding_value",
}
NAMES["CDP"] = {
    "inp": "in_precision",
    "outp": "out_precision",
    "lut": "lut_index",
    "local": "local_size",
    "bsq": "bypass_sqsum",
    "bmul": "bypass_out_mul",
}
NAMES["RUBIK"] = {"prec": "precision", "sx": "stride_x", "sy": "stride_y"}
NAMES["BDMA"] = {"src": "source_type", "dst": "destination_type", "n": "num_transfers", "tr": "transfers"}
NAMES["TRANSFER"] = {
    "sa": "source_address",
    "da": "destination_address",
    "ls": "line_size",
    "lr": "line_repeat",
    "sl": "source_line",
    "dl": "destination_line",
    "sr": "surface_repeat",
    "ss": "source_surface",
    "ds": "destination_surface",
}
NAMES["EMU"] = {"isc": "input_scale", "osc": "output_scale"}
NAMES["CUBE"] = {
    "addr": "address",
    "off": "offset",
    "w": "width",
    "h": "height",
    "c": "channel",
    "line": "line_stride",
    "surf": "surf_stride",
    "plane": "plane_stride",
}
NAMES["BUFFER"] = NAMES["CUBE"] | {
    "addr": "address_index",
    "off": "address_index_offset",
    "fmt": "format",
}
RESERVED = {"r"}

KINDS = {
    "src_prec": Precision,
    "dst_prec": Precision,
    "in_prec": Precision,
    "out_prec": Precision,
    "inp": Precision,
    "outp": Precision,
    "prec": Precision,
    "alu": AluType,
    "act": Activation,
}


def number(engine: str, key: str, value: Any) -> Any:
    """What a value of case.json is in its field."""
    if key in ("in_cvt", "out_cvt", "alu_cvt", "mul_cvt"):
        scale, truncate, enable, offset = value
        return CvtParam(scale=scale, truncate=truncate, enable=enable, offset=offset)
    if key == "padv":
        return tuple(value)
    if not isinstance(value, str):
        return value
    if engine == "CUBE":
        return {"DRAM": MemoryType.MC, "on-the-fly": MemoryType.HW}[value]
    kinds = KINDS | {"type": SdpOpType, "mode": {"PDP": PoolMode, "RUBIK": RubikMode}.get(engine, SdpMode)}
    return kinds[key][value.upper()]


def differences(engine: str, described: dict[str, Any], record: Any) -> Iterator[str]:
    """Fields of `record` that are not as `described`."""
    for key, value in described.items():
        if key in RESERVED:
            continue
        found = getattr(record, NAMES[engine].get(key, key))
        if isinstance(found, SdpSubOp):
            yield from differences("STAGE", value, found)
        elif key in ("pool_width", "pool_height"):
            if found != value - 1:
                yield f"{key} {found}, not {value} - 1"
        elif found != number(engine, key, value):
            yield f"{engine} {key} {found}, not {value}"


def operation_differences(described: dict[str, Any], operation: Operation) -> Iterator[str]:
    """What differs between an operation and its description."""
    engine, entry = described["op"], operation.dependency
    if operation.engine.name != engine:
        yield f"engine {operation.engine.name}, not {engine}"
        return
    consumers = {
        OpType(slot).name: [consumer.index, Event(consumer.event).name]
        for slot, consumer in enumerate(entry.consumers)
        if consumer.index != -1
    }
    graph = (entry.dependency_count, consumers, entry.fused_parent.index)
    if graph != (described["dependency_count"], described["consumers"], described["fused_parent"]):
        yield f"dependencies {graph}"
    params = dict(described["params"])
    surface = operation.surface
    if isinstance(surface, BdmaSurface):
        transfers = params.pop("tr")
        yield from differences("BDMA", params, surface)
        for transfer, found in zip(transfers, surface.transfers, strict=False):
            yield from differences("TRANSFER", transfer, found)
        return
    if isinstance(surface, ConvSurface):
        offsets = params.pop("uv")
        if [surface.offset_u, surface.in_line_uv_stride] != offsets:
            yield f"second plane, not {offsets}"
    yield from differences(engine, params, operation.op)
    for role, cube in described["cubes"].items():
        yield from differences("CUBE", cube, getattr(surface, f"{role}_data"))


def emulator_differences(described: dict[str, Any], operation: EmuOperation) -> Iterator[str]:
    """What differs between an emulator's operation and its description."""
    if f"EMU_{EmuOpType(operation.op.op_type).name}" != described["op"]:
        yield f"op_type {operation.op.op_type}"
    yield from differences("EMU", described["params"], operation.op)
    for role, buffer in (("src", operation.source), ("dst", operation.destination)):
        yield from differences("BUFFER", described["cubes"][role], buffer)


def case_differences(folder: Path) -> Iterator[str]:
    described: list[dict[str, Any]] = json.loads((folder / "case.json").read_text())["ops"]
    tasks = decode_tasks(read_loadable(folder / "loadable.nvdla"))
    operations = [(task, operation) for task in tasks for operation in task.operations]
    if [op["task"] for op in described] != [task.id for task, _ in operations]:
        yield "tasks and their operations"
    for op, (_, operation) in zip(described, operations, strict=False):
        if isinstance(operation, Operation):
            yield from operation_differences(op, operation)
        else:
            yield from emulator_differences(op, operation)


@pytest.mark.parametrize("configuration", ["nv_small", "nv_large", "nv_full"])
def test_every_field_is_as_the_vectors_describe_it(vectors: Path, configuration: str):
    folders = [path.parent for path in sorted((vectors / configuration).glob("*/case.json"))]
    assert len(folders) > 20
    found = {folder.name: list(case_differences(folder)) for folder in folders}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_a_field_that_differs_is_noticed(vectors: Path):
    folder = vectors / "nv_small" / "conv_k3p1_int8"
    (task,) = decode_tasks(read_loadable(folder / "loadable.nvdla"))
    described = json.loads((folder / "case.json").read_text())["ops"]
    operation = task.operations[0]
    assert isinstance(operation, Operation)
    described[0]["params"]["eps"] += 1
    described[0]["cubes"]["src"]["line"] += 1
    assert len(list(operation_differences(described[0], operation))) == 2


@pytest.mark.parametrize("configuration", ["nv_small", "nv_large", "nv_full"])
def test_what_is_read_and_written_reads_the_same(vectors: Path, configuration: str):
    for path in sorted((vectors / configuration).glob("*/loadable.nvdla")):
        loadable = read_loadable(path)
        written = to_bytes(loadable)
        assert parse_loadable(written) == loadable, path
        assert to_bytes(parse_loadable(written)) == written, path
