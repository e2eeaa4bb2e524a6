"""Register sequences: traces performed on the simulator's engines, and C compiled with a stand-in header."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import pytest
from golden_vectors import FEW
from trace_player import TracePlayer, play

from xonnc.errors import XonncError
from xonnc.formats.nvdla.enumerations import Event, MemoryDomain, MemoryFlags
from xonnc.formats.nvdla.loadable import Loadable
from xonnc.formats.nvdla.reader import read_loadable
from xonnc.formats.nvdla.records import ConvOp
from xonnc.formats.nvdla.registers import program
from xonnc.formats.nvdla.registers.c_source import c_files
from xonnc.formats.nvdla.registers.definitions import Definitions, read_definitions
from xonnc.formats.nvdla.registers.program import RegisterProgram, register_program
from xonnc.formats.nvdla.registers.trace import image_file, image_text, trace_text
from xonnc.formats.nvdla.registers.writes import AddressWrite, Launch, Poll, SelectGroup, Wait, Write
from xonnc.formats.nvdla.tasks import DlaTask, EmuTask, decode_tasks
from xonnc.runtime.nvdla.simulator import Simulator
from xonnc.targets import load_target
from xonnc.tools.driver import main

CC = shutil.which("cc")
BASE = 0x1_8000_0000
"""A device address whose high word is not zero."""

CASES = [
    "nv_small/conv_hsplit_reuse_int8",
    "nv_full/conv_winograd_fp16",
    "nv_full/conv_wcompress_int8",
    "nv_full/img_y8_u8v8_int8",
    "nv_small/img_rgba_int8",
    "nv_full/sdp_x1x2y_int16",
    "nv_full/sdp_i16_to_i8",
    "nv_full/sdp_y_point_add_fp16",
    "nv_full/lut_two_tables_int8",
    "nv_full/pdp_split3_avg_fp16",
    "nv_full/pdp_fly_max_fp16",
    "nv_full/cdp_l5_exp5_int16",
    "nv_full/rubik_contract_int8",
    "nv_full/rubik_split_fp16",
    "nv_full/rubik_merge_int16",
    "nv_full/bdma_strided",
    "nv_full/graph_submits_fp16",
    "nv_full/graph_residual_int16_iface011",
    "nv_small/graph_two_in_two_out_int8",
    "nv_large/graph_lenetish_int8",
]


def case(name: str) -> tuple[Loadable, list[bytes]]:
    """A golden vector with its inputs."""
    folder = FEW / name
    inputs = [path.read_bytes() for path in sorted(folder.glob("input_*.bin"))]
    return read_loadable(folder / "loadable.nvdla"), inputs


def program_of(name: str) -> RegisterProgram:
    return register_program(case(name)[0], load_target(name.partition("/")[0]))


def written(program: RegisterProgram, folder: Path, definitions: Definitions | None = None) -> None:
    (folder / "trace.cfg").write_text(trace_text(program, BASE, definitions))
    for index, image in enumerate(program.images):
        (folder / image_file(index)).write_text(image_text(image.data))


def assert_performs(loadable: Loadable, name: str, inputs: list[bytes], folder: Path) -> None:
    """Assert that a trace gives the bytes of the simulator, performed as early and as late as it allows."""
    target = load_target(name)
    program = register_program(loadable, target)
    written(program, folder)
    outputs = Simulator(loadable, target).run(inputs)
    named = {tensor.name: data for tensor, data in zip(program.inputs, inputs, strict=True)}
    for eager in (True, False):
        player = play(folder, target, named, eager=eager)
        assert player.performed == program.operations
        for output in outputs:
            assert bytes(player.bytes_of("output", output.name)) == output.raw


@pytest.mark.parametrize("name", CASES)
def test_traces_give_the_bytes_of_the_simulator(name: str, tmp_path: Path):
    loadable, inputs = case(name)
    assert_performs(loadable, name.partition("/")[0], inputs, tmp_path)


NETWORK = """<ir_version: 8, opset_import: ["": 17]>
g (float[1, 3, 12, 12] image) => (float[1, 10] scores)
<float[16, 3, 3, 3] w, float[16, 16, 3, 3] v, float[10, 16] f> {
    a = Conv <pads = [1, 1, 1, 1]> (image, w)  b = Relu (a)
    c = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (b)
    d = Conv <pads = [1, 1, 1, 1]> (c, v)  e = Add (c, d)  h = Sigmoid (e)
    p = GlobalAveragePool (h)  r = Flatten (p)  scores = Gemm <transB = 1> (r, f)
}"""


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A compiled network of convolutions, a residual, a lookup table, poolings and a product."""
    model = onnx.parser.parse_model(NETWORK)
    random = np.random.default_rng(1)
    for info in model.graph.value_info:
        shape = [size.dim_value for size in info.type.tensor_type.shape.dim]
        weights = (0.2 * random.standard_normal(shape)).astype(np.float32)
        model.graph.initializer.append(onnx.numpy_helper.from_array(weights, info.name))
    del model.graph.value_info[:]
    folder = tmp_path_factory.mktemp("network")
    (folder / "network.onnx").write_bytes(model.SerializeToString())
    path = folder / "network.nvdla"
    assert main(["compile", str(folder / "network.onnx"), "-q", "--require-dla", "-o", str(path)]) == 0
    return path


def test_a_network(network: Path, tmp_path: Path):
    loadable = read_loadable(network)
    size = next(entry.size for entry in loadable.memories if entry.flags & MemoryFlags.INPUT)
    image = np.random.default_rng(3).standard_normal(size // 2).astype(np.float16).tobytes()
    assert_performs(loadable, "nv_full", [image], tmp_path)


def test_a_trace_without_a_wait_is_found(tmp_path: Path):
    """The player notices a wait that is missing, so that the tests above say something."""
    loadable, inputs = case("nv_large/graph_lenetish_int8")
    program = register_program(loadable, load_target("nv_large"))
    written(program, tmp_path)
    lines = (tmp_path / "trace.cfg").read_text().splitlines()
    first = next(index for index, line in enumerate(lines) if line.startswith("sync_wait"))
    (tmp_path / "trace.cfg").write_text("\n".join(lines[:first] + lines[first + 1 :]))
    player = TracePlayer(tmp_path, load_target("nv_large"), eager=False)
    player.bytes_of("input", program.inputs[0].name)[:] = np.frombuffer(inputs[0], np.uint8)
    with pytest.raises(AssertionError):
        player.run()


def test_the_trace_of_a_convolution():
    text = trace_text(program_of("nv_small/conv_k1_int8"), BASE)
    for line in (
        "reg_write(NVDLA_GLB.S_INTR_MASK_0, 0x0);",
        "reg_write(NVDLA_CDMA.S_POINTER_0, PRODUCER=0);",
        "reg_write(NVDLA_CSC.D_DATAIN_FORMAT_0, DATAIN_FORMAT=FEATURE);",
        "reg_write(NVDLA_CDMA.D_DAIN_ADDR_HIGH_0_0, 0x1);",
        "poll_reg_equal(NVDLA_CDMA.S_CBUF_FLUSH_STATUS_0, FLUSH_DONE=1);",
        "reg_write(NVDLA_SDP.D_OP_ENABLE_0, OP_EN=1);",
        "intr_notify(CACC_0, done_0);",
        "sync_wait(done_1);",
    ):
        assert line in text.splitlines()


def test_banks_are_numbers_less_one():
    loadable, _ = case("nv_small/conv_hsplit_reuse_int8")
    tasks = (task for task in decode_tasks(loadable) if isinstance(task, DlaTask))
    ops = [each.op for task in tasks for each in task.operations if isinstance(each.op, ConvOp)]
    program = register_program(loadable, load_target("nv_small"))
    writes = [step for step in program.steps if isinstance(step, Write) and step.register == "D_BANK"]
    for block in ("CSC", "CDMA"):
        assert [step.value for step in writes if step.block == block] == [
            {"DATA_BANK": op.data_bank - 1, "WEIGHT_BANK": op.weight_bank - 1} for op in ops
        ]
    assert max(op.data_bank for op in ops) > 1


@pytest.mark.parametrize(
    ("name", "lines", "surfaces"),
    [
        ("nv_full/conv_c1_int8", "TRUE", "TRUE"),
        ("nv_full/conv_hsplit_fp16", "TRUE", "FALSE"),
        ("nv_full/img_r16f_fp16", "FALSE", "TRUE"),
        ("nv_small/conv_stride_gap_int8", "FALSE", "FALSE"),
    ],
)
def test_cubes_without_gaps_are_packed(name: str, lines: str, surfaces: str):
    steps = program_of(name).steps
    maps = [step.value for step in steps if isinstance(step, Write) and step.register == "D_DAIN_MAP"]
    assert maps
    assert all(each == {"LINE_PACKED": lines, "SURF_PACKED": surfaces} for each in maps)


def test_receivers_start_before_senders():
    """The SDP is enabled before the convolution, and the CDMA, which starts the flow, last of the core."""
    steps = program_of("nv_small/conv_k1_int8").steps
    enabled = [step.block for step in steps if isinstance(step, Write) and step.register == "D_OP_ENABLE"]
    assert enabled[-5:] == ["CACC", "CMAC_A", "CMAC_B", "CSC", "CDMA"]
    assert set(enabled[:-5]) <= {"SDP_RDMA", "SDP"}
    assert enabled[-6] == "SDP"


def test_read_dmas_take_groups_of_their_own(network: Path):
    """A layer whose SDP reads nothing takes a group of the SDP, but none of its read DMA."""
    steps = register_program(read_loadable(network), load_target("nv_full")).steps
    groups: dict[str, list[int]] = defaultdict(list)
    for step in steps:
        if isinstance(step, SelectGroup):
            groups[step.block].append(step.group)
    assert 0 < len(groups["SDP_RDMA"]) < len(groups["SDP"])
    # A group is selected when an operation is programmed, and again when it is enabled.
    for taken in groups.values():
        assert taken.count(0) - taken.count(1) in (0, 2)


def test_the_emulator_has_no_registers():
    with pytest.raises(XonncError, match=r"task 1 runs on the CPU emulator .*; compile the model without"):
        register_program(case("nv_full/emu_conv_softmax")[0], load_target("nv_full"))


def test_events_of_fetches_are_refused(monkeypatch: pytest.MonkeyPatch):
    loadable = case("nv_small/graph_lenetish_int8")[0]
    tasks = decode_tasks(loadable)
    first = tasks[0]
    assert isinstance(first, DlaTask)
    operation = first.operations[0]
    slots = tuple(
        replace(slot, event=Event.CDMA_WT_DONE) if slot.index >= 0 else slot
        for slot in operation.dependency.consumers
    )
    changed = replace(operation, dependency=replace(operation.dependency, consumers=slots))
    tasks[0] = replace(first, operations=(changed, *first.operations[1:]))

    def decoded(loadable: Loadable) -> list[DlaTask | EmuTask]:
        return tasks

    monkeypatch.setattr(program, "decode_tasks", decoded)
    with pytest.raises(XonncError, match="operation 0: an operation depends on its event CDMA_WT_DONE"):
        register_program(loadable, load_target("nv_small"))


def test_memory_in_sram_is_refused():
    loadable = case("nv_small/conv_k1_int8")[0]
    memories = [replace(entry, domain=MemoryDomain.SRAM) for entry in loadable.memories]
    with pytest.raises(XonncError, match="memory 1 is in SRAM; register sequences place all memory"):
        register_program(replace(loadable, memories=memories), load_target("nv_small"))


Fields = dict[tuple[str, str], dict[str, set[int | str]]]
"""The values of every field of registers, by block and register."""


def fields_of(sequence: RegisterProgram) -> Fields:
    """Return all registers that a program or its C source names."""
    fields: Fields = defaultdict(dict)
    for step in sequence.steps:
        match step:
            case Write(block, register, value):
                known = fields[block, register]
                if not isinstance(value, int):
                    for field, number in value.items():
                        known.setdefault(field, set()).add(number)
            case AddressWrite(block, register, _, _):
                fields[block, register].update()
            case SelectGroup(block, _):
                fields[block, "S_POINTER"]["PRODUCER"] = {1}
            case Launch(_):
                for group in (0, 1):
                    fields["BDMA", f"CFG_LAUNCH{group}"][f"GRP{group}_LAUNCH"] = {1}
            case Wait(engine, _):
                for group in (0, 1):
                    fields["GLB", "S_INTR_STATUS"][f"{engine}_DONE_STATUS{group}"] = {1}
            case Poll(block, register, field, _):
                fields[block, register][field] = {1}
            case _:
                pass
    return fields


def header_of(sequence: RegisterProgram) -> str:
    """
    Return a header in the style of NVIDIA's for the registers of a program, with an invented layout.

    It stands in for the header of a core: every macro that the C source needs, but for no hardware.
    """
    lines = ["#define _MK_SHIFT_CONST(x) (x)", "#define _MK_FIELD_CONST(m, s) ((m) << (s))"]
    for offset, ((block, register), known) in enumerate(fields_of(sequence).items()):
        name = f"{block}_{register}_0"
        lines.append(f"#define {name} {4 * offset + 0x1000:#x}")
        shift = 0
        for field, values in known.items():
            names = sorted(value for value in values if isinstance(value, str))
            numbers = [abs(value) * 2 for value in values if isinstance(value, int)]
            width = max([1, len(names).bit_length(), *(number.bit_length() for number in numbers)])
            lines.append(f"#define {name}_{field}_SHIFT (_MK_SHIFT_CONST({shift}))")
            mask = hex((1 << width) - 1)
            lines.append(f"#define {name}_{field}_FIELD (_MK_FIELD_CONST({mask}, {name}_{field}_SHIFT))")
            lines += [f"#define {name}_{field}_{each} {index}" for index, each in enumerate(names, start=1)]
            shift += width
        assert shift <= 32, name
    return "\n".join(lines) + "\n"


HARNESS = """
#include <stdio.h>
#include <stdlib.h>
#include "net.h"
static int idles;
static void put(void *c, uint32_t reg, uint32_t value) { (void)c; printf("%x %x\\n", reg, value); }
static uint32_t get(void *c, uint32_t reg) { (void)c; (void)reg; return idles ? 0xffffffffu : 0; }
static int idle(void *c) { (void)c; idles++; return 0; }
static int give_up(void *c) { (void)c; return 7; }
int main(void)
{
    struct net_platform platform = {0, put, get, idle};
    struct net_state state = {{0}};
    unsigned char *memory = calloc(1, NET_MEMORY_BYTES);
    net_load(memory);
    for (int run = 0; run < 2; run++) {
        if (net_run(&platform, &state, 0x180000000u))
            return 1;
        puts("done");
    }
    idles = 0;
    platform.idle = give_up;
    printf("%d\\n", net_run(&platform, &state, 0));
    fwrite(memory, 1, NET_MEMORY_BYTES, stderr);
    return 0;
}
"""


def c_run(program: RegisterProgram, folder: Path, header: str, *flags: str) -> tuple[list[str], bytes]:
    """Compile the C source with a harness that prints the writes; return the lines, and the memory."""
    (folder / "opendla.h").write_text(header)
    for name, text in c_files(program, "net", "a network").items():
        (folder / name).write_text(text)
    (folder / "main.c").write_text(HARNESS)
    warnings = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command = ["cc", *warnings, *flags, "net.c", "main.c", "-o", "program"]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([folder / "program"], capture_output=True, check=True)
    return done.stdout.decode().splitlines(), done.stderr


def trace_writes(folder: Path, header: str) -> list[str]:
    """Return the writes of a trace of numbers, as the harness prints them."""
    offsets = dict(re.findall(r"#define (\w+_0) (0x\w+)", header))
    found = re.findall(r"reg_write\(NVDLA_(\w+)\.(\w+), (0x\w+)\);", (folder / "trace.cfg").read_text())
    return [f"{int(offsets[f'{block}_{name}'], 16):x} {int(value, 16):x}" for block, name, value in found]


@pytest.mark.skipif(CC is None, reason="needs a C compiler")
@pytest.mark.parametrize(
    "name", ["nv_large/graph_lenetish_int8", "nv_full/lut_two_tables_int8", "nv_full/bdma_strided"]
)
def test_c_writes_what_the_trace_writes(name: str, tmp_path: Path):
    sequence = program_of(name)
    header = header_of(sequence)
    lines, memory = c_run(sequence, tmp_path, header)
    written(sequence, tmp_path, read_definitions(tmp_path / "opendla.h"))
    status = re.search(r"#define GLB_S_INTR_STATUS_0 (\w+)", header)
    assert status
    # The trace player clears interrupts by itself.
    first = lines[: lines.index("done")]
    own = [line for line in first if not line.startswith(f"{int(status[1], 16):x} ")]
    assert own == trace_writes(tmp_path, header)
    assert lines[-1] == "7"
    for image in sequence.images:
        assert memory[image.position : image.position + len(image.data)] == image.data


@pytest.mark.skipif(CC is None, reason="needs a C compiler")
def test_c_exchanges_groups_after_an_odd_number_of_operations(tmp_path: Path):
    sequence = program_of("nv_small/conv_k1_int8")
    header = header_of(sequence)
    lines, _ = c_run(sequence, tmp_path, header)
    first = lines.index("done")
    one, two = lines[:first], lines[first + 1 : lines.index("done", first + 1)]
    pointers = {f"{int(reg, 16):x}" for reg in re.findall(r"#define \w+_S_POINTER_0 (\w+)", header)}
    found = re.search(r"#define GLB_S_INTR_STATUS_0 (\w+)", header)
    assert found
    status = f"{int(found[1], 16):x}"
    for writes, group in ((one, "0"), (two, "1")):
        pairs = [line.split() for line in writes]
        assert {value for reg, value in pairs if reg in pointers} == {group}
    others = [[line for line in each if line.split()[0] not in {*pointers, status}] for each in (one, two)]
    assert others[0] == others[1]


@pytest.mark.skipif(CC is None, reason="needs a C compiler")
def test_a_missing_name_is_an_error_of_the_c_compiler(tmp_path: Path):
    sequence = program_of("nv_small/conv_k1_int8")
    header = header_of(sequence).replace("CDMA_D_BANK_0_DATA_BANK_SHIFT", "CDMA_D_BANK_0_OTHER_SHIFT")
    with pytest.raises(subprocess.CalledProcessError):
        c_run(sequence, tmp_path, header)


@pytest.mark.skipif(CC is None, reason="needs a C compiler")
def test_headers_with_a_prefix(tmp_path: Path):
    sequence = program_of("nv_small/conv_k1_int8")
    header = re.sub(r"\b(?=[A-Z_]+_(?:D|S)_)", "NVDLA_", header_of(sequence))
    lines, _ = c_run(sequence, tmp_path, header, "-DNVDLA_PREFIX")
    assert "done" in lines
    word = read_definitions(tmp_path / "opendla.h").pack("CDMA", "D_BANK", {"WEIGHT_BANK": 1})
    assert word


def definitions(tmp_path: Path, text: str) -> Definitions:
    (tmp_path / "opendla.h").write_text(text)
    return read_definitions(tmp_path / "opendla.h")


SMALL_HEADER = """
#define CDMA_D_BANK_0_DATA_BANK_SHIFT (_MK_SHIFT_CONST(4))  // remark 9
#define CDMA_D_BANK_0_DATA_BANK_FIELD (_MK_FIELD_CONST(0x1f, CDMA_D_BANK_0_DATA_BANK_SHIFT))
#define CDMA_D_BANK_0_DATA_BANK_LAST (_MK_ENUM_CONST(0x1fU))
#define CDMA_D_BANK_0_WEIGHT_BANK_SHIFT 16
#define CDMA_D_BANK_0_WEIGHT_BANK_MASK 0xf0000u
"""


def test_fields_are_packed_by_the_header(tmp_path: Path):
    header = definitions(tmp_path, SMALL_HEADER)
    assert header.pack("CDMA", "D_BANK", {"DATA_BANK": 3, "WEIGHT_BANK": -1}) == 0xF0030
    assert header.pack("CDMA", "D_BANK", {"DATA_BANK": "LAST"}) == 0x1F0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"DATA_BANK": 32}, "CDMA_D_BANK_0_DATA_BANK has 5 bits, which do not hold 32"),
        ({"DATA_BANK": "FIRST"}, "no definition of CDMA_D_BANK_0_DATA_BANK_FIRST; give the opendla.h"),
    ],
)
def test_fields_that_the_header_does_not_have(fields: dict[str, int | str], message: str, tmp_path: Path):
    with pytest.raises(XonncError, match=message):
        definitions(tmp_path, SMALL_HEADER).pack("CDMA", "D_BANK", fields)


def test_a_file_that_is_no_header(tmp_path: Path):
    with pytest.raises(XonncError, match="no definitions of register fields; give NVIDIA"):
        definitions(tmp_path, "#define A 1\n")
    with pytest.raises(XonncError, match=r"none\.h: cannot be read: No such file"):
        read_definitions(tmp_path / "none.h")


def test_the_command(network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    output = tmp_path / "out"
    command = ["registers", str(network), "-o", str(output)]
    assert main([*command, "--base", "0x100000"]) == 0
    assert "trace.cfg, by fields; --header for numbers" in capsys.readouterr().out
    assert "at 0x100000" in (output / "trace.cfg").read_text()
    assert {"network.c", "network.h", "memory-0.dat"} <= {path.name for path in output.iterdir()}
    assert main(command) == 1
    assert "there is such a file or folder; name another with --output" in capsys.readouterr().err
    (tmp_path / "opendla.h").write_text(
        header_of(register_program(read_loadable(network), load_target("nv_full")))
    )
    command[-1] = str(tmp_path / "other")
    assert main([*command, "--header", str(tmp_path / "opendla.h"), "--name", "net", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"trace.cfg", "net.c", "net.h"} <= set(listed["files"])
    assert [one["name"] for one in listed["inputs"]] == ["image"]
    assert "=" not in "".join(
        line for line in (tmp_path / "other" / "trace.cfg").read_text().splitlines() if line[0] != "/"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--name", "7up"], "name '7up': C names are of letters, digits and _; give one with --name"),
        (["--base", "0x10"], "--base 0x10: the memory begins at a multiple of 4096 below 2^64"),
        (["--target", "nv_small"], "it is sound for nv_full"),
    ],
)
def test_options_that_are_refused(
    options: list[str], message: str, network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    output = tmp_path / "out"
    command = ["registers", str(network), "-o", str(output), *options]
    assert main(command) == 1
    assert message in capsys.readouterr().err
    assert not output.exists()


def test_packages_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["registers", str(tmp_path / "m.xpkg"), "-o", str(tmp_path / "out")]) == 1
    assert "a package, whose CPU parts have no registers; name a loadable" in capsys.readouterr().err
