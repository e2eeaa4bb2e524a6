"""
An executor of register traces: it reads the text, keeps registers as the hardware does, rebuilds every
operation from them, and runs it on the engines of the simulator.

It performs operations as late as a trace allows (when the trace awaits them), or as early (when they are
enabled), so that a trace with a missing wait gives different bytes in one of the two.
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from xonnc.formats.nvdla.enumerations import (
    AluType,
    ConvMode,
    LutMethod,
    PixelFormat,
    PoolMode,
    Precision,
    RubikMode,
    WeightFormat,
)
from xonnc.formats.nvdla.records import (
    BdmaSurface,
    BdmaTransfer,
    CdpOp,
    CdpSurface,
    ConvOp,
    ConvSurface,
    CvtParam,
    DataCube,
    LutParam,
    LutSlope,
    PdpOp,
    PdpSurface,
    RubikOp,
    RubikSurface,
    SdpOp,
    SdpSubOp,
    SdpSurface,
)
from xonnc.runtime.nvdla import bdma, cdp, pdp, rubik, sdp
from xonnc.runtime.nvdla.conv import ConvolutionCore
from xonnc.runtime.nvdla.lookup_table import LookupTable, lookup_table
from xonnc.runtime.nvdla.memory import AddressSpace, MemoryLocation, allocate
from xonnc.runtime.nvdla.operation_context import OperationContext
from xonnc.targets import NvdlaTarget

CONV = ("CACC", "CMAC_A", "CMAC_B", "CSC", "CDMA")
HW = 2

Registers = dict[str, Any]


class TracePlayer:
    """A core with the memory of one trace, `folder`; `eager` performs operations when they are enabled."""

    def __init__(self, folder: Path, target: NvdlaTarget, *, eager: bool):
        text = (folder / "trace.cfg").read_text()
        found = re.search(r"// memory: (\d+) bytes at (0x[0-9a-f]+)", text)
        assert found
        self.base = int(found[2], 16)
        self.memory = allocate(int(found[1]))
        self.lines = text.splitlines()
        self.folder = folder
        self.target = target
        self.eager = eager
        self.groups: dict[tuple[str, int], Registers] = defaultdict(dict)
        self.shared: dict[str, Registers] = defaultdict(dict)
        self.tables: dict[tuple[str, str], list[int]] = defaultdict(list)
        self.producer: dict[str, int] = defaultdict(int)
        self.consumer: dict[str, int] = defaultdict(int)
        self.enabled: set[tuple[str, int]] = set()
        self.transfers: list[Registers] = []
        self.launched: dict[int, list[Registers]] = {}
        self.arrived: set[tuple[str, int]] = set()
        self.notified: dict[str, tuple[str, int]] = {}
        self.core = ConvolutionCore()
        self.performed = 0

    def run(self) -> None:
        """Perform the trace; an operation that is never awaited is an error."""
        for line in self.lines:
            if line and not line.startswith("//"):
                call = re.fullmatch(r"(\w+)\((.*)\);", line)
                assert call, line
                getattr(self, "_" + call[1])(*call[2].split(", "))
        assert [*self.enabled, *self.launched, *self.arrived] == []

    def bytes_of(self, role: str, name: str) -> Any:
        """Return the memory of an input or output."""
        found = re.search(
            rf"// {role} {re.escape(name)}: (\d+) bytes at (0x[0-9a-f]+)", "\n".join(self.lines)
        )
        assert found
        start = int(found[2], 16) - self.base
        return self.memory.data[start : start + int(found[1])]

    def _mem_load(self, memory: str, address: str, file: str) -> None:
        assert memory == "pri_mem"
        start = int(address, 16) - self.base
        for line in (self.folder / file.strip('"')).read_text().splitlines()[1:-1]:
            found = re.fullmatch(r"\{offset:(\w+), size:(\d+), payload:([\w ]+)\},", line)
            assert found, line
            data = [int(byte, 16) for byte in found[3].split()]
            assert len(data) == int(found[2])
            first = start + int(found[1], 16)
            self.memory.data[first : first + len(data)] = data

    def _reg_write(self, name: str, *values: str) -> None:
        named = re.fullmatch(r"NVDLA_(\w+)\.(\w+)_0", name)
        assert named, name
        block, register = named[1], named[2]
        value: Any = int(values[0], 16) if "=" not in values[0] else dict(_field(each) for each in values)
        if register == "S_POINTER":
            self.producer[block] = value["PRODUCER"]
        elif register == "D_OP_ENABLE":
            group = block, self.producer[block]
            assert group not in self.enabled
            self.enabled.add(group)
            if self.eager:
                self._perform_all()
        elif block == "BDMA":
            self._bdma(register, value)
        elif register == "S_LUT_ACCESS_DATA":
            self.tables[block, self.shared[block]["S_LUT_ACCESS_CFG"]["LUT_TABLE_ID"]].append(value)
        elif register.startswith("S_"):
            assert not any(busy == block for busy, _ in self.enabled), f"{block} is busy"
            if register == "S_LUT_ACCESS_CFG":
                self.tables[block, value["LUT_TABLE_ID"]] = []
            self.shared[block][register] = value
        else:
            group = block, self.producer[block]
            assert group not in self.enabled, f"{name} is written while its group runs"
            self.groups[group][register] = value

    def _bdma(self, register: str, value: Any) -> None:
        launch = re.fullmatch(r"CFG_LAUNCH([01])", register)
        if launch:
            assert value == {f"GRP{launch[1]}_LAUNCH": 1}
            self.launched[int(launch[1])] = self.transfers
            self.transfers = []
        elif register == "CFG_OP":
            self.transfers.append(dict(self.shared["BDMA"]))
        else:
            self.shared["BDMA"][register] = value
        if self.eager:
            self._perform_all()

    def _poll_reg_equal(self, name: str, value: str) -> None:
        assert (name, value) == ("NVDLA_CDMA.S_CBUF_FLUSH_STATUS_0", "FLUSH_DONE=1")

    def _intr_notify(self, interrupt: str, name: str) -> None:
        engine, group = interrupt.rsplit("_", 1)
        self.notified[name] = engine, int(group)

    def _sync_wait(self, name: str) -> None:
        expected = self.notified.pop(name)
        while expected not in self.arrived:
            assert self._perform(expected[0]), f"{expected} never arrives"
        self.arrived.remove(expected)

    def _perform_all(self) -> None:
        while any(self._perform(engine) for engine in ("CACC", "SDP", "PDP", "CDP", "RUBIK", "BDMA")):
            pass

    def _perform(self, engine: str) -> bool:
        """Perform the next operation of an engine with those that it is fused with, if it may start."""
        if engine == "BDMA":
            return self._copy()
        if engine == "RUBIK":
            return self._alone("RUBIK", ("RBK",), self._rubik)
        if engine == "CDP":
            return self._alone("CDP", ("CDP", "CDP_RDMA"), self._cdp)
        if engine == "PDP" and self._ready("PDP") and not self._flies("PDP"):
            return self._alone("PDP", ("PDP", "PDP_RDMA"), lambda: self._pdp(None))
        return self._fused()

    def _ready(self, *blocks: str) -> bool:
        return all((block, self.consumer[block]) in self.enabled for block in blocks)

    def _flies(self, block: str) -> bool:
        register = "D_OPERATION_MODE_CFG" if block == "PDP" else "D_FEATURE_MODE_CFG"
        return self._of(block)[register]["FLYING_MODE"] in ("ON", "ON_FLYING")

    def _of(self, block: str) -> Registers:
        return self.groups[block, self.consumer[block]]

    def _alone(self, engine: str, blocks: tuple[str, ...], perform: Any) -> bool:
        if not self._ready(*blocks):
            return False
        perform()
        self._finish(engine, blocks)
        return True

    def _finish(self, engine: str, blocks: tuple[str, ...]) -> None:
        self.arrived.add((engine, self.consumer[blocks[0]]))
        for block in blocks:
            self.enabled.remove((block, self.consumer[block]))
            self.consumer[block] ^= 1
        self.performed += 1

    def _fused(self) -> bool:
        """The SDP, after the convolution and before the pooling as its registers say."""
        if not self._ready("SDP"):
            return False
        flies, registers = self._flies("SDP"), self._of("SDP")
        reads = not flies or "MEM" in (
            registers.get(f"D_DP_{stage}_{unit}_CFG", {}).get(f"{stage}_{unit}_SRC")
            for stage in ("BS", "BN", "EW")
            for unit in ("ALU", "MUL")
            if registers[f"D_DP_{stage}_CFG"][f"{stage}_BYPASS"] == "NO"
            and registers[f"D_DP_{stage}_CFG"][f"{stage}_{unit}_BYPASS"] == "NO"
        )
        pools = registers["D_FEATURE_MODE_CFG"]["OUTPUT_DST"] == "PDP"
        blocks = ("SDP", "SDP_RDMA") if reads else ("SDP",)
        if not self._ready(*blocks) or (flies and not self._ready(*CONV)):
            return False
        if pools and not (self._ready("PDP") and self._flies("PDP")):
            return False
        accumulators = self._conv() if flies else None
        pixels = self._sdp(accumulators, reads)
        if flies:
            self._finish("CACC", CONV)
        self._finish("SDP", blocks)
        if pools:
            self._alone("PDP", ("PDP",), lambda: self._pdp(pixels))
        return True

    def _scope(self, engine: str) -> OperationContext:
        space = AddressSpace([MemoryLocation(self.memory, 0)])
        return OperationContext(f"{engine} {self.performed}", space, self.target, False)

    def _at(self, registers: Registers, low: str, high: str) -> dict[str, int]:
        return {"address": 0, "offset": registers[low] + (registers[high] << 32) - self.base}

    def _conv(self) -> Any:
        cacc, csc, cdma = (self._of(block) for block in ("CACC", "CSC", "CDMA"))
        for block in ("CMAC_A", "CMAC_B"):
            assert self._of(block)["D_MISC_CFG"] == cacc["D_MISC_CFG"]
        assert csc["D_BANK"] == cdma["D_BANK"]
        assert csc["D_WEIGHT_BYTES"] == cdma["D_WEIGHT_BYTES"]
        precision = Precision[cdma["D_MISC_CFG"]["IN_PRECISION"]]
        pixel_format = cdma["D_DATAIN_FORMAT"].get("PIXEL_FORMAT", "T_FEATURE").removeprefix("T_")
        converter, mean = cdma["D_CVT_CFG"], cdma.get("D_MEAN_GLOBAL_0", {}) | cdma.get("D_MEAN_GLOBAL_1", {})
        converts = converter["CVT_EN"] == "ENABLE"
        op = ConvOp(
            conv_mode=ConvMode[csc["D_MISC_CFG"]["CONV_MODE"]],
            data_reuse=csc["D_MISC_CFG"]["DATA_REUSE"],
            weight_reuse=csc["D_MISC_CFG"]["WEIGHT_REUSE"],
            skip_data_rls=csc["D_MISC_CFG"]["SKIP_DATA_RLS"],
            skip_weight_rls=csc["D_MISC_CFG"]["SKIP_WEIGHT_RLS"],
            entry_per_slice=csc["D_ENTRY_PER_SLICE"] + 1,
            data_format=PixelFormat[pixel_format],
            fetch_grain=cdma["D_FETCH_GRAIN"] + 1,
            batch=cacc["D_BATCH_NUMBER"] + 1,
            weight_format=WeightFormat[csc["D_WEIGHT_FORMAT"]["WEIGHT_FORMAT"]],
            data_bank=csc["D_BANK"]["DATA_BANK"] + 1,
            weight_bank=csc["D_BANK"]["WEIGHT_BANK"] + 1,
            batch_stride=cdma["D_BATCH_STRIDE"],
            post_extension=csc["D_POST_Y_EXTENSION"],
            pixel_override=int(cdma["D_DATAIN_FORMAT"].get("PIXEL_SIGN_OVERRIDE") == "SIGNED_INT"),
            release=csc["D_RELEASE"] + 1,
            input_width_csc=csc["D_DATAIN_SIZE_EXT_0"]["DATAIN_WIDTH_EXT"] + 1,
            input_height_csc=csc["D_DATAIN_SIZE_EXT_0"]["DATAIN_HEIGHT_EXT"] + 1,
            input_channel_csc=csc["D_DATAIN_SIZE_EXT_1"]["DATAIN_CHANNEL_EXT"] + 1,
            kernel_width_csc=csc["D_WEIGHT_SIZE_EXT_0"]["WEIGHT_WIDTH_EXT"] + 1,
            kernel_height_csc=csc["D_WEIGHT_SIZE_EXT_0"]["WEIGHT_HEIGHT_EXT"] + 1,
            kernel_channel_csc=csc["D_WEIGHT_SIZE_EXT_1"]["WEIGHT_CHANNEL_EXT"] + 1,
            input_width_cmac=csc["D_DATAOUT_SIZE_0"]["DATAOUT_WIDTH"] + 1,
            input_height_cmac=csc["D_DATAOUT_SIZE_0"]["DATAOUT_HEIGHT"] + 1,
            bytes_per_kernel=cdma["D_WEIGHT_SIZE_0"] + 1,
            mean_ry=mean.get("MEAN_RY", 0),
            mean_gu=mean.get("MEAN_GU", 0),
            mean_bv=mean.get("MEAN_BV", 0),
            mean_ax=mean.get("MEAN_AX", 0),
            mean_format=int(cdma["D_MEAN_FORMAT"]["MEAN_FORMAT"] == "ENABLE"),
            conv_stride_x=csc["D_CONV_STRIDE_EXT"]["CONV_X_STRIDE_EXT"] + 1,
            conv_stride_y=csc["D_CONV_STRIDE_EXT"]["CONV_Y_STRIDE_EXT"] + 1,
            pad_x_left=cdma["D_ZERO_PADDING"]["PAD_LEFT"],
            pad_x_right=cdma["D_ZERO_PADDING"]["PAD_RIGHT"],
            pad_y_top=cdma["D_ZERO_PADDING"]["PAD_TOP"],
            pad_y_bottom=cdma["D_ZERO_PADDING"]["PAD_BOTTOM"],
            dilation_x=csc["D_DILATION_EXT"]["X_DILATION_EXT"] + 1,
            dilation_y=csc["D_DILATION_EXT"]["Y_DILATION_EXT"] + 1,
            pra_truncate=csc["D_PRA_CFG"],
            in_precision=precision,
            out_precision=Precision[csc["D_MISC_CFG"]["PROC_PRECISION"]],
            pad_val=_signed(cdma["D_ZERO_PADDING_VALUE"], 16),
            in_cvt=CvtParam(
                scale=_signed(cdma["D_CVT_SCALE"], 16) if converts else 0,
                truncate=converter.get("CVT_TRUNCATE", 0),
                enable=int(converts),
                offset=_signed(cdma["D_CVT_OFFSET"], 16) if converts else 0,
            ),
            out_cvt=CvtParam(scale=1, truncate=cacc["D_CLIP_CFG"], enable=1),
        )
        source = self._at(cdma, "D_DAIN_ADDR_LOW_0", "D_DAIN_ADDR_HIGH_0")
        chroma = self._at(cdma, "D_DAIN_ADDR_LOW_1", "D_DAIN_ADDR_HIGH_1")
        mask = groups = DataCube()
        if op.weight_format == WeightFormat.COMPRESSED:
            location = self._at(cdma, "D_WMB_ADDR_LOW", "D_WMB_ADDR_HIGH")
            mask = DataCube(**location, size=cdma["D_WMB_BYTES"])
            kernels = self.target.atomic_k // (1 if precision is Precision.INT8 else 2)
            count = -(-(cdma["D_WEIGHT_SIZE_1"] + 1) // kernels)
            groups = DataCube(**self._at(cdma, "D_WGS_ADDR_LOW", "D_WGS_ADDR_HIGH"), size=4 * count)
        surface = ConvSurface(
            weight_data=DataCube(
                **self._at(cdma, "D_WEIGHT_ADDR_LOW", "D_WEIGHT_ADDR_HIGH"),
                size=cdma["D_WEIGHT_BYTES"],
                width=op.kernel_width_csc,
                height=op.kernel_height_csc,
                channel=op.kernel_channel_csc,
            ),
            wmb_data=mask,
            wgs_data=groups,
            src_data=DataCube(
                **source,
                width=cdma["D_DATAIN_SIZE_0"]["DATAIN_WIDTH"] + 1,
                height=cdma["D_DATAIN_SIZE_0"]["DATAIN_HEIGHT"] + 1,
                channel=cdma["D_DATAIN_SIZE_1"]["DATAIN_CHANNEL"] + 1,
                line_stride=cdma["D_LINE_STRIDE"],
                surf_stride=cdma["D_SURF_STRIDE"],
            ),
            dst_data=DataCube(
                type=HW,
                width=cacc["D_DATAOUT_SIZE_0"]["DATAOUT_WIDTH"] + 1,
                height=cacc["D_DATAOUT_SIZE_0"]["DATAOUT_HEIGHT"] + 1,
                channel=cacc["D_DATAOUT_SIZE_1"]["DATAOUT_CHANNEL"] + 1,
                line_stride=cacc["D_LINE_STRIDE"],
                surf_stride=cacc["D_SURF_STRIDE"],
            ),
            offset_u=chroma["offset"] - source["offset"],
            in_line_uv_stride=cdma["D_LINE_UV_STRIDE"],
        )
        return self.core.run(op, surface, self._scope("CONV"))

    def _sdp(self, accumulators: Any, reads: bool) -> Any:
        registers = self._of("SDP")
        rdma: Registers = self._of("SDP_RDMA") if reads else {}
        flies, mode = accumulators is not None, registers["D_FEATURE_MODE_CFG"]
        destination = Precision[registers["D_DATA_FORMAT"]["OUT_PRECISION"]]
        processing = Precision[registers["D_DATA_FORMAT"]["PROC_PRECISION"]]
        source = Precision[rdma["D_FEATURE_MODE_CFG"]["IN_PRECISION"]] if reads else processing
        stages = {
            "x1": ("BS", "BRDMA"),
            "x2": ("BN", "NRDMA"),
            "y": ("EW", "ERDMA"),
        }
        found = {role: self._stage(registers, rdma, *names) for role, names in stages.items()}
        lut = found["y"][0].act == 2
        op = SdpOp(
            src_precision=source,
            dst_precision=destination,
            lut_index=0 if lut else -1,
            out_cvt=CvtParam(
                scale=_signed(registers["D_CVT_SCALE"], 16),
                truncate=registers["D_CVT_SHIFT"],
                enable=1,
                offset=_signed(registers["D_CVT_OFFSET"], 32),
            ),
            conv_mode=int(mode["WINOGRAD"] == "ON"),
            batch_num=mode["BATCH_NUMBER"] + 1,
            batch_stride=registers["D_DST_BATCH_STRIDE"],
            **{f"{role}_op": stage for role, (stage, _) in found.items()},
        )
        size = {
            "width": registers["D_DATA_CUBE_WIDTH"] + 1,
            "height": registers["D_DATA_CUBE_HEIGHT"] + 1,
            "channel": registers["D_DATA_CUBE_CHANNEL"] + 1,
        }
        src = DataCube(type=HW, **size)
        if not flies:
            src = DataCube(
                **self._at(rdma, "D_SRC_BASE_ADDR_LOW", "D_SRC_BASE_ADDR_HIGH"),
                **size,
                line_stride=rdma["D_SRC_LINE_STRIDE"],
                surf_stride=rdma["D_SRC_SURFACE_STRIDE"],
            )
        dst = DataCube(type=HW)
        if mode["OUTPUT_DST"] == "MEM":
            dst = self._destination(registers)
        surface = SdpSurface(
            src_data=src, dst_data=dst, **{f"{role}_data": cube for role, (_, cube) in found.items()}
        )
        luts = [self._lut("SDP", 32)] if lut else []
        return sdp.run(op, surface, accumulators, luts, self._scope("SDP"))

    def _destination(self, registers: Registers, **size: int) -> DataCube:
        return DataCube(
            **self._at(registers, "D_DST_BASE_ADDR_LOW", "D_DST_BASE_ADDR_HIGH"),
            **size,
            line_stride=registers["D_DST_LINE_STRIDE"],
            surf_stride=registers["D_DST_SURFACE_STRIDE"],
        )

    def _stage(self, registers: Registers, rdma: Registers, name: str, dma: str) -> tuple[SdpSubOp, DataCube]:
        config = registers[f"D_DP_{name}_CFG"]
        if config[f"{name}_BYPASS"] == "YES":
            return SdpSubOp(), DataCube()
        adds, multiplies = (config[f"{name}_{unit}_BYPASS"] == "NO" for unit in ("ALU", "MUL"))
        alu: Registers = registers[f"D_DP_{name}_ALU_CFG"] if adds else {}
        mul: Registers = registers[f"D_DP_{name}_MUL_CFG"] if multiplies or name != "EW" else {}
        from_memory = "MEM" in (alu.get(f"{name}_ALU_SRC"), mul.get(f"{name}_MUL_SRC")) and (
            adds or multiplies
        )
        fetch: Registers = rdma[f"D_{dma}_CFG"] if from_memory else {}
        bits = 32 if name == "EW" else 16
        activation = 3 if config[f"{name}_MUL_PRELU"] == "YES" else 0
        if config.get(f"{name}_RELU_BYPASS") == "NO":
            activation = 1
        if config.get(f"{name}_LUT_BYPASS") == "NO":
            activation = 2
        shift = registers["D_DP_EW_TRUNCATE_VALUE"] if name == "EW" else mul[f"{name}_MUL_SHIFT_VALUE"]
        size = 0 if fetch.get(f"{dma}_DATA_SIZE") == "ONE_BYTE" else 1
        if rdma and rdma["D_FEATURE_MODE_CFG"]["IN_PRECISION"] == "FP16":
            size = 2
        stage = SdpSubOp(
            enable=1,
            alu_type=AluType[config[f"{name}_ALU_ALGO"]],
            type=multiplies + 2 * adds,
            mode=0 if not from_memory else 1 + (fetch[f"{dma}_DATA_MODE"] == "PER_ELEMENT"),
            act=activation,
            shift_value=alu.get(f"{name}_ALU_SHIFT_VALUE", 0),
            truncate=shift,
            precision=size if from_memory else 0,
            alu_operand=_signed(registers.get(f"D_DP_{name}_ALU_SRC_VALUE", 0), bits),
            mul_operand=_signed(registers.get(f"D_DP_{name}_MUL_SRC_VALUE", 0), bits),
            alu_cvt=_operand_converter(registers, alu, "ALU"),
            mul_cvt=_operand_converter(registers, mul, "MUL"),
        )
        if not from_memory:
            return stage, DataCube()
        assert fetch[f"{dma}_DATA_USE"] == {1: "MUL", 2: "ALU", 3: "BOTH"}[stage.type]
        cube = DataCube(
            **self._at(rdma, f"D_{name}_BASE_ADDR_LOW", f"D_{name}_BASE_ADDR_HIGH"),
            line_stride=rdma[f"D_{name}_LINE_STRIDE"],
            surf_stride=rdma[f"D_{name}_SURFACE_STRIDE"],
        )
        return stage, cube

    def _pdp(self, pixels: Any) -> None:
        pooling = self._of("PDP")
        mode, kernel = pooling["D_OPERATION_MODE_CFG"], pooling["D_POOLING_KERNEL_CFG"]
        pads, split = pooling["D_POOLING_PADDING_CFG"], mode["SPLIT_NUM"] + 1
        names = {"in_width": "IN", "width": "OUT"}
        partial = {
            f"partial_{field}_{part.lower()}": pooling[f"D_PARTIAL_WIDTH_{way}"][
                f"PARTIAL_WIDTH_{way}_{part}"
            ]
            + (1 if split > 1 and (part != "MID" or split > 2) else 0)
            for field, way in names.items()
            for part in ("FIRST", "MID", "LAST")
        }
        op = PdpOp(
            **partial,
            split_num=split,
            pool_mode={"AVERAGE": 0, "MAX": 1, "MIN": 2}[
                mode["POOLING_METHOD"].removeprefix("POOLING_METHOD_")
            ],
            pool_width=kernel["KERNEL_WIDTH"],
            pool_height=kernel["KERNEL_HEIGHT"],
            stride_x=kernel["KERNEL_STRIDE_WIDTH"] + 1,
            stride_y=kernel["KERNEL_STRIDE_HEIGHT"] + 1,
            pad_left=pads["PAD_LEFT"],
            pad_right=pads["PAD_RIGHT"],
            pad_top=pads["PAD_TOP"],
            pad_bottom=pads["PAD_BOTTOM"],
            precision=Precision[pooling["D_DATA_FORMAT"]["INPUT_DATA"]],
            padding_value=tuple(
                _signed(pooling[f"D_POOLING_PADDING_VALUE_{count}_CFG"], 19) for count in range(1, 8)
            ),
        )
        assert PoolMode(op.pool_mode) in PoolMode
        size = {
            "width": pooling["D_DATA_CUBE_IN_WIDTH"] + 1,
            "height": pooling["D_DATA_CUBE_IN_HEIGHT"] + 1,
            "channel": pooling["D_DATA_CUBE_IN_CHANNEL"] + 1,
        }
        src = DataCube(type=HW, **size)
        if pixels is None:
            rdma = self._of("PDP_RDMA")
            assert rdma["D_PARTIAL_WIDTH_IN"] == pooling["D_PARTIAL_WIDTH_IN"]
            src = DataCube(
                **self._at(rdma, "D_SRC_BASE_ADDR_LOW", "D_SRC_BASE_ADDR_HIGH"),
                **size,
                line_stride=rdma["D_SRC_LINE_STRIDE"],
                surf_stride=rdma["D_SRC_SURFACE_STRIDE"],
            )
        dst = self._destination(
            pooling,
            width=pooling["D_DATA_CUBE_OUT_WIDTH"] + 1,
            height=pooling["D_DATA_CUBE_OUT_HEIGHT"] + 1,
            channel=pooling["D_DATA_CUBE_OUT_CHANNEL"] + 1,
        )
        pdp.run(op, PdpSurface(src_data=src, dst_data=dst), pixels, self._scope("PDP"))

    def _cdp(self) -> None:
        rdma, norm = self._of("CDP_RDMA"), self._of("CDP")
        size = {
            "width": rdma["D_DATA_CUBE_WIDTH"] + 1,
            "height": rdma["D_DATA_CUBE_HEIGHT"] + 1,
            "channel": rdma["D_DATA_CUBE_CHANNEL"] + 1,
        }
        bypass = norm["D_FUNC_BYPASS"]
        op = CdpOp(
            in_precision=Precision[rdma["D_DATA_FORMAT"]["INPUT_DATA"]],
            out_precision=Precision[norm["D_DATA_FORMAT"]["INPUT_DATA_TYPE"]],
            lut_index=0,
            in_cvt=_converter(norm, "D_DATIN", 16),
            out_cvt=_converter(norm, "D_DATOUT", 32),
            local_size=int(norm["D_LRN_CFG"]["NORMALZ_LEN"].removeprefix("LEN")),
            bypass_sqsum=int(bypass["SQSUM_BYPASS"] == "ENABLE"),
            bypass_out_mul=int(bypass["MUL_BYPASS"] == "ENABLE"),
        )
        src = DataCube(
            **self._at(rdma, "D_SRC_BASE_ADDR_LOW", "D_SRC_BASE_ADDR_HIGH"),
            **size,
            line_stride=rdma["D_SRC_LINE_STRIDE"],
            surf_stride=rdma["D_SRC_SURFACE_STRIDE"],
        )
        surface = CdpSurface(src_data=src, dst_data=self._destination(norm, **size))
        cdp.run(op, surface, [self._lut("CDP", 38)], self._scope("CDP"))

    def _lut(self, block: str, bits: int) -> LookupTable:
        shared = self.shared[block]
        config, info = shared["S_LUT_CFG"], shared["S_LUT_INFO"]
        exponential = config["LUT_LE_FUNCTION"] == "EXPONENTIAL"

        def bound(name: str) -> int:
            if bits == 32:
                return shared[f"S_LUT_{name}"]
            value = shared[f"S_LUT_{name}_LOW"] + (shared[f"S_LUT_{name}_HIGH"] << 32)
            return _signed(value, bits) & ((1 << 64) - 1)

        def slope(table: str, end: str) -> LutSlope:
            prefix = f"LUT_{table}_SLOPE"
            scale = shared[f"S_{prefix}_SCALE"][f"{prefix}_{end}_SCALE"]
            return LutSlope(scale=scale, shifter=shared[f"S_{prefix}_SHIFT"][f"{prefix}_{end}_SHIFT"])

        record = LutParam(
            linear_exp_table=tuple(_signed(entry, 16) for entry in self.tables[block, "LE"]),
            linear_only_table=tuple(_signed(entry, 16) for entry in self.tables[block, "LO"]),
            linear_exp_offset=info["LUT_LE_INDEX_OFFSET" if exponential else "LUT_LE_INDEX_SELECT"],
            linear_only_offset=info["LUT_LO_INDEX_SELECT"],
            le_start=bound("LE_START"),
            le_end=bound("LE_END"),
            lo_start=bound("LO_START"),
            lo_end=bound("LO_END"),
            le_underflow=slope("LE", "UFLOW"),
            le_overflow=slope("LE", "OFLOW"),
            lo_underflow=slope("LO", "UFLOW"),
            lo_overflow=slope("LO", "OFLOW"),
            hybrid_priority=int(config["LUT_HYBRID_PRIORITY"] == "LO"),
            underflow_priority=int(config["LUT_UFLOW_PRIORITY"] == "LO"),
            overflow_priority=int(config["LUT_OFLOW_PRIORITY"] == "LO"),
            method=LutMethod.EXPONENTIAL if exponential else LutMethod.LINEAR,
        )
        assert (len(record.linear_exp_table), len(record.linear_only_table)) == (65, 257)
        return lookup_table(record)

    def _rubik(self) -> None:
        reshape = self._of("RBK")
        mode = RubikMode[reshape["D_MISC_CFG"]["RUBIK_MODE"]]
        size = {
            "width": reshape["D_DATAIN_SIZE_0"]["DATAIN_WIDTH"] + 1,
            "height": reshape["D_DATAIN_SIZE_0"]["DATAIN_HEIGHT"] + 1,
        }
        strides = reshape.get("D_DECONV_STRIDE", {"DECONV_X_STRIDE": 0, "DECONV_Y_STRIDE": 0})
        sx, sy = strides["DECONV_X_STRIDE"] + 1, strides["DECONV_Y_STRIDE"] + 1
        op = RubikOp(
            mode=mode, precision=Precision[reshape["D_MISC_CFG"]["IN_PRECISION"]], stride_x=sx, stride_y=sy
        )
        src = DataCube(
            **self._at(reshape, "D_DAIN_ADDR_LOW", "D_DAIN_ADDR_HIGH"),
            **size,
            channel=reshape["D_DATAIN_SIZE_1"]["DATAIN_CHANNEL"] + 1,
            line_stride=reshape["D_DAIN_LINE_STRIDE"],
            surf_stride=reshape.get("D_DAIN_SURF_STRIDE", 0),
            plane_stride=reshape.get("D_DAIN_PLANAR_STRIDE", 0),
        )
        dst = DataCube(
            **self._at(reshape, "D_DAOUT_ADDR_LOW", "D_DAOUT_ADDR_HIGH"),
            width=size["width"] * sx,
            height=size["height"] * sy,
            channel=reshape["D_DATAOUT_SIZE_1"]["DATAOUT_CHANNEL"] + 1,
            line_stride=reshape["D_DAOUT_LINE_STRIDE"],
            surf_stride=reshape.get("D_DAOUT_SURF_STRIDE", 0),
            plane_stride=reshape.get("D_DAOUT_PLANAR_STRIDE", 0),
        )
        rubik.run(op, RubikSurface(src_data=src, dst_data=dst), self._scope("RUBIK"))

    def _copy(self) -> bool:
        group = self.consumer["BDMA"]
        if group not in self.launched:
            return False
        transfers: list[BdmaTransfer] = []
        locations: list[MemoryLocation] = []
        for registers in self.launched.pop(group):
            for side in ("SRC", "DST"):
                at = self._at(registers, f"CFG_{side}_ADDR_LOW", f"CFG_{side}_ADDR_HIGH")
                locations.append(MemoryLocation(self.memory, at["offset"]))
            transfers.append(
                BdmaTransfer(
                    source_address=len(locations) - 2,
                    destination_address=len(locations) - 1,
                    line_size=(registers["CFG_LINE"] + 1) * 32,
                    line_repeat=registers["CFG_LINE_REPEAT"] + 1,
                    source_line=registers["CFG_SRC_LINE"],
                    destination_line=registers["CFG_DST_LINE"],
                    surface_repeat=registers["CFG_SURF_REPEAT"] + 1,
                    source_surface=registers["CFG_SRC_SURF"],
                    destination_surface=registers["CFG_DST_SURF"],
                )
            )
        scope = OperationContext(f"BDMA {self.performed}", AddressSpace(locations), self.target, False)
        bdma.run(BdmaSurface(num_transfers=len(transfers), transfers=tuple(transfers)), scope)
        self.arrived.add(("BDMA", group))
        self.consumer["BDMA"] ^= 1
        self.performed += 1
        return True


def _field(text: str) -> tuple[str, int | str]:
    name, value = text.split("=")
    return name, int(value) if re.fullmatch(r"-?\d+", value) else value


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def _converter(registers: Registers, prefix: str, bits: int) -> CvtParam:
    return CvtParam(
        scale=_signed(registers[f"{prefix}_SCALE"], 16),
        truncate=registers[f"{prefix}_SHIFTER"],
        enable=1,
        offset=_signed(registers[f"{prefix}_OFFSET"], bits),
    )


def _operand_converter(registers: Registers, config: Registers, unit: str) -> CvtParam:
    if config.get(f"EW_{unit}_CVT_BYPASS") != "NO":
        return CvtParam()
    prefix = f"D_DP_EW_{unit}_CVT"
    return CvtParam(
        scale=_signed(registers[f"{prefix}_SCALE_VALUE"], 16),
        truncate=registers[f"{prefix}_TRUNCATE_VALUE"],
        enable=1,
        offset=_signed(registers[f"{prefix}_OFFSET_VALUE"], 32),
    )


def play(folder: Path, target: NvdlaTarget, inputs: dict[str, bytes], *, eager: bool) -> TracePlayer:
    """Run a trace on inputs by name and return the player."""
    player = TracePlayer(folder, target, eager=eager)
    for name, data in inputs.items():
        player.bytes_of("input", name)[: len(data)] = np.frombuffer(data, np.uint8)
    player.run()
    return player
