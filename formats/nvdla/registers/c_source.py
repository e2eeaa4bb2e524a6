"""
Register sequences as C: a table of steps and a function that performs them.

Registers, fields and values are macros of the core's own `opendla.h`, so that a name that a core lacks is an
error of the C compiler.
"""

from __future__ import annotations

from collections.abc import Iterator

from xonnc.formats.nvdla.registers.program import RegisterProgram
from xonnc.formats.nvdla.registers.writes import (
    AddressWrite,
    FieldValue,
    Launch,
    Poll,
    RegisterValue,
    Remark,
    SelectGroup,
    Step,
    Wait,
    Write,
)

_BLOCKS = (
    *("CACC", "CMAC_A", "CMAC_B", "CSC", "CDMA", "SDP", "SDP_RDMA", "PDP", "PDP_RDMA"),
    *("CDP", "CDP_RDMA", "RBK", "BDMA"),
)
_ENGINE_BLOCKS = {"RUBIK": "RBK"}
_BYTES_A_LINE = 20

_HEADER = """\
/* {about} */
#ifndef {guard}
#define {guard}

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* Bytes of memory that NVDLA reads and writes, from an address that is a multiple of 4096. */
#define {upper}_MEMORY_BYTES {memory}u
{tensors}
/* A platform: registers by their byte offset in opendla.h. */
struct {name}_platform {{
    void *context;
    void (*write)(void *context, uint32_t reg, uint32_t value);
    uint32_t (*read)(void *context, uint32_t reg);
    /* Called while an interrupt or a register is awaited; 0, or an error that ends the run. May be null. */
    int (*idle)(void *context);
}};

/* The register groups that come next, which alternate with every operation: zero after reset. */
struct {name}_state {{
    uint8_t group[{blocks}];
}};

/* Copy weights and constants into the memory: once, not for every run. */
void {name}_load(void *memory);

/* Run the network on the inputs in memory, which is at `address` for NVDLA. Returns 0, or an error of `idle`.
   The caller writes back and invalidates caches before and after, if memory is cached. */
int {name}_run(const struct {name}_platform *platform, struct {name}_state *state, uint64_t address);

#ifdef __cplusplus
}}
#endif
#endif
"""

_PRELUDE = """\
/* {about} */
#include <string.h>

#include "opendla.h"
#include "{name}.h"

#ifdef NVDLA_PREFIX /* headers of the hardware tree: NVDLA_CDMA_D_BANK_0 */
#define R(block, name) NVDLA_##block##_##name##_0
#define F(block, name, field, value) \\
    (((uint32_t)(value) << NVDLA_##block##_##name##_0_##field##_SHIFT) & \\
     (uint32_t)NVDLA_##block##_##name##_0_##field##_FIELD)
#define E(block, name, field, value) F(block, name, field, NVDLA_##block##_##name##_0_##field##_##value)
#else /* headers of the driver: CDMA_D_BANK_0 */
#define R(block, name) block##_##name##_0
#define F(block, name, field, value) \\
    (((uint32_t)(value) << block##_##name##_0_##field##_SHIFT) & (uint32_t)block##_##name##_0_##field##_FIELD)
#define E(block, name, field, value) F(block, name, field, block##_##name##_0_##field##_##value)
#endif

enum kind {{ WRITE, ADDRESS_LOW, ADDRESS_HIGH, BY_GROUP, WAIT, POLL }};

/* A step: `value` is the word or the position in memory. Steps of a register group have two forms, of which
   the second is for a block whose groups are exchanged. */
struct step {{
    uint8_t kind, block;
    uint32_t reg, value, other_reg, other_value;
}};

static const struct step steps[] = {{
"""

_RUN = """\
}};

/* Operations of each block, of which an odd number exchanges its groups for the next run. */
static const uint8_t odd[{blocks}] = {{{odd}}};

int {name}_run(const struct {name}_platform *platform, struct {name}_state *state, uint64_t address)
{{
    uint32_t arrived = 0;
    for (uint32_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {{
        const struct step *s = &steps[i];
        int other = (s->kind == BY_GROUP || s->kind == WAIT) && state->group[s->block];
        uint32_t reg = other ? s->other_reg : s->reg, value = other ? s->other_value : s->value;
        int error = 0;
        switch (s->kind) {{
        case ADDRESS_LOW:
            value = (uint32_t)(address + value);
            break;
        case ADDRESS_HIGH:
            value = (uint32_t)((address + value) >> 32);
            break;
        case WAIT:
            while (!(arrived & value) && error == 0) {{
                uint32_t status = platform->read(platform->context, reg);
                if (status)
                    platform->write(platform->context, reg, status);
                arrived |= status;
                if (!status && platform->idle)
                    error = platform->idle(platform->context);
            }}
            if (error)
                return error;
            arrived &= ~value;
            continue;
        case POLL:
            while (!(platform->read(platform->context, reg) & value)) {{
                if (platform->idle && (error = platform->idle(platform->context)) != 0)
                    return error;
            }}
            continue;
        default:
            break;
        }}
        platform->write(platform->context, reg, value);
    }}
    for (uint32_t i = 0; i < {blocks}; i++)
        state->group[i] ^= odd[i];
    return 0;
}}

void {name}_load(void *memory)
{{
    uint8_t *bytes = memory;
    (void)bytes;
{copies}}}
"""


def c_files(program: RegisterProgram, name: str, about: str) -> dict[str, str]:
    """Return the C source and header of a program by file name; `about` is a remark at their beginning."""
    return {f"{name}.h": _header(program, name, about), f"{name}.c": _source(program, name, about)}


def _header(program: RegisterProgram, name: str, about: str) -> str:
    upper = name.upper()
    lines: list[str] = []
    for role, tensors in (("INPUT", program.inputs), ("OUTPUT", program.outputs)):
        for index, tensor in enumerate(tensors):
            lines.append(f"/* {role.lower()} {_remark(tensor.name)} */")
            lines.append(f"#define {upper}_{role}_{index}_OFFSET {tensor.position}u")
            lines.append(f"#define {upper}_{role}_{index}_BYTES {tensor.size}u")
    tensors = "".join(line + "\n" for line in lines)
    return _HEADER.format(
        about=_remark(about),
        guard=f"{upper}_H",
        upper=upper,
        name=name,
        memory=program.memory_bytes,
        tensors=tensors,
        blocks=len(_BLOCKS),
    )


def _remark(text: str) -> str:
    """Return a text without what would end a comment."""
    return text.replace("*/", "* /").replace("\n", " ")


def _source(program: RegisterProgram, name: str, about: str) -> str:
    parts = [_PRELUDE.format(about=_remark(about), name=name)]
    parts += [line for step in program.steps for line in _step(step)]
    copies: list[str] = []
    arrays: list[str] = []
    for index, image in enumerate(program.images):
        arrays.append(_array(index, image.data))
        copies.append(f"    memcpy(bytes + {image.position}u, image_{index}, sizeof(image_{index}));\n")
    run = _RUN.format(
        name=name, blocks=len(_BLOCKS), odd=", ".join(map(str, _odd(program))), copies="".join(copies)
    )
    table, function = run.split("void ", 1)
    return "".join([*parts, table, *arrays, "void ", function])


def _odd(program: RegisterProgram) -> list[int]:
    """Return for each block whether it has an odd number of operations."""
    started = [
        step.block for step in program.steps if isinstance(step, Write) and step.register == "D_OP_ENABLE"
    ]
    started += ["BDMA" for step in program.steps if isinstance(step, Launch)]
    return [started.count(block) % 2 for block in _BLOCKS]


def _array(index: int, data: bytes) -> str:
    rows = [data[start : start + _BYTES_A_LINE] for start in range(0, len(data), _BYTES_A_LINE)]
    body = "".join(f"    {','.join(map(str, row))},\n" for row in rows)
    return f"static const uint8_t image_{index}[{len(data)}] = {{\n{body}}};\n\n"


def _step(step: Step) -> Iterator[str]:
    match step:
        case Write(block, register, value):
            yield _entry("WRITE", _register(block, register), _value(block, register, value))
        case AddressWrite(block, register, position, is_high):
            kind = "ADDRESS_HIGH" if is_high else "ADDRESS_LOW"
            yield _entry(kind, _register(block, register), f"{position}u")
        case SelectGroup(block, group):
            pair = [_value(block, "S_POINTER", {"PRODUCER": which}) for which in (group, 1 - group)]
            register = _register(block, "S_POINTER")
            yield _pair("BY_GROUP", block, (register, pair[0]), (register, pair[1]))
        case Launch(group):
            pair = [
                (
                    _register("BDMA", f"CFG_LAUNCH{which}"),
                    _value("BDMA", f"CFG_LAUNCH{which}", {f"GRP{which}_LAUNCH": 1}),
                )
                for which in (group, 1 - group)
            ]
            yield _pair("BY_GROUP", "BDMA", *pair)
        case Wait(engine, group):
            register = _register("GLB", "S_INTR_STATUS")
            pair = [
                (register, _value("GLB", "S_INTR_STATUS", {f"{engine}_DONE_STATUS{which}": 1}))
                for which in (group, 1 - group)
            ]
            yield _pair("WAIT", _ENGINE_BLOCKS.get(engine, engine), *pair)
        case Poll(block, register, field, value):
            yield _entry("POLL", _register(block, register), _value(block, register, {field: value}))
        case Remark(text):
            yield f"    /* {_remark(text)} */\n"


def _register(block: str, register: str) -> str:
    return f"R({block}, {register})"


def _value(block: str, register: str, value: RegisterValue) -> str:
    if isinstance(value, int):
        return f"{value}u"
    return " | ".join(_field(block, register, field, each) for field, each in value.items())


def _field(block: str, register: str, field: str, value: FieldValue) -> str:
    macro = "E" if isinstance(value, str) else "F"
    return f"{macro}({block}, {register}, {field}, {value})"


def _entry(kind: str, register: str, value: str) -> str:
    return f"    {{{kind}, 0, {register}, {value}, 0, 0}},\n"


def _pair(kind: str, block: str, first: tuple[str, str], second: tuple[str, str]) -> str:
    index = _BLOCKS.index(block)
    return f"    {{{kind}, {index}, {first[0]}, {first[1]}, {second[0]}, {second[1]}}},\n"
