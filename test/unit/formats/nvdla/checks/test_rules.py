"""Every rule of the checks: an edit of a golden vector that breaks it, and what is said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from xonnc.formats.nvdla.checks.catalogue import RULES, WARNINGS
from xonnc.formats.nvdla.checks.problem import Severity, Violation

CONV = "nv_full/conv_k3p1_int8"
CHUNKS = "nv_full/conv_hsplit_reuse_fp16"
FUSED = "nv_full/pdp_fly_max_fp16"
IMAGE = "nv_full/img_rgba_int8"
PLANES = "nv_full/img_y8_u8v8_int8"
WINOGRAD = "nv_full/conv_winograd_fp16"
SMALL = "nv_small/conv_k3p1_int8"
SDP = "nv_full/sdp_x1_kernel_both_int16"
TABLE = "nv_full/lut_sigmoid_int8"
POOL = "nv_full/pdp_max2s2_fp16"
LENET = "nv_small/graph_lenetish_int8"
SPLIT_ROW = "nv_full/pdp_split3_avg_fp16"
LRN = "nv_full/cdp_l5_int8"
SHARED = "nv_full/graph_residual_fp16"
SOFTMAX = "nv_full/emu_softmax"
TASKS = "nv_full/graph_submits_fp16"
"""Three tasks of the accelerator, one after another."""

CASES: dict[str, list[tuple[str, Mapping[str, Any], str]]] = {
    # The container.
    "lists-filled": [(CONV, {"submits": (), "tasks": ()}, "no task; the runtime loads nothing without one")],
    "ids-are-indexes": [
        (CONV, {"memories[1].id": 4}, "memory 1 has id 4; an id is the index in the list, here 1"),
        (CONV, {"addresses[2].id": 0}, "address 2 has id 0; an id is the index in the list, here 2"),
        (CONV, {"tasks[0].id": 1}, "task 0 has id 1; an id is the index in the list, here 0"),
        (CONV, {"tensors[1].id": 9}, "tensor 1 has id 9; an id is the index in the list, here 1"),
    ],
    "bindings-count-from-zero": [
        (CONV, {"memories[1].bind_id": 1}, "input bind ids [1]; they are [0], each once"),
        (CONV, {"memories[2].flags": 5}, "input bind ids [0, 0]; they are [0, 1], each once"),
    ],
    "blob-names-differ": [
        (CONV, {"blobs[0].name": "task-0-op_list"}, "2 blobs are called 'task-0-op_list'"),
    ],
    "tasks-are-submitted": [
        (CONV, {"submits[0].task_id": (0, 3)}, "a submit names task 3 of 1"),
        (CONV, {"submits[0].task_id": ()}, "task 0 is in no submit; it would never run"),
    ],
    "one-interface": [
        (CONV, {"blobs[3].version": (0, 11, 0)}, "DLA blobs of versions 0.11.0, 0.12.3; a file is for"),
    ],
    "blob-has-its-bytes": [(CONV, {"blobs[5].size": 9999}, "size 9999; it holds 3456 bytes")],
    "blob-interface-known": [(CONV, {"blobs[0].interface": 3}, "interface 3; it is 0 (data), 1 (DLA)")],
    "memory-is-allocated": [
        (CONV, {"memories[3].domain": 1}, "domain 1; the runtime allocates domain 0 (DRAM) only"),
        (CONV, {"memories[0].flags": 0}, "flags 0: neither ALLOC nor bound; a task would get no memory"),
    ],
    "memory-size-fits": [
        (CONV, {"memories[0].size": 1 << 32}, "size 4294967296; it is 1 to 4294967295"),
        (CONV, {"memories[0].size": 0}, "size 0; it is 1 to 4294967295"),
    ],
    "contents-are-complete": [
        (CONV, {"memories[3].offsets": ()}, "1 contents at 0 offsets; each content has one"),
        (CONV, {"memories[3].flags": 1}, "flags 1 without SET; its contents would never be copied"),
        (CONV, {"memories[3].contents": ("x",)}, "content 'x'; there is no blob of that name"),
    ],
    "contents-fit": [
        (CONV, {"memories[3].offsets": (1000,)}, "content 'tb-0' reaches byte 4456; the memory has 4096"),
        (
            CONV,
            {"memories[3].contents": ("tb-0", "tb-0"), "memories[3].offsets": (0, 64)},
            "content 'tb-0' at 64 overlaps 'tb-0', which ends at 3456",
        ),
    ],
    "bound-memory-has-a-tensor": [
        (CONV, {"memories[1].tensor_desc_id": 7}, "tensor_desc_id 7; there are 2 tensors"),
        (CONV, {"memories[1].tensor_desc_id": 2}, "tensor_desc_id 2; there are 2 tensors"),
        (CONV, {"tensors[0].size": 2015}, "size 2016; its tensor 'in0' has 2015, and that is allocated"),
    ],
    "address-is-in-memory": [
        (CONV, {"addresses[1].mem_id": 99}, "mem_id 99; there are 9 memories"),
        (CONV, {"addresses[1].offset": 5000}, "offset 5000; memory 3 has 4096 bytes"),
    ],
    "tensor-is-in-memory": [
        (CONV, {"tensors[0].mem_id": 99}, "mem_id 99; there are 9 memories"),
        (CONV, {"tensors[0].mem_id": 3}, "mem_id 3; that memory is neither input nor output"),
        (CONV, {"tensors[0].mem_id": 2}, "mem_id 2; that memory belongs to tensor 1"),
    ],
    "tensor-strides-agree": [
        (CONV, {"tensors[0].stride_0": 2}, "stride_0 2; it is 1"),
        (CONV, {"tensors[0].data_type": 0}, "data_type 0; it is 1 to 6"),
        (CONV, {"tensors[0].pixel_format": 38}, "pixel_format 38; it is 0 to 37"),
        (CONV, {"tensors[0].stride_2": 2000}, "stride_2 2000; 9 lines of 224 bytes take more"),
        (CONV, {"tensors[0].c": 33}, "1 x 2 surfaces of 2016 bytes at 0; its size is 2016"),
        (CONV, {"tensors[0].n": 3}, "3 x 1 surfaces of 2016 bytes at 0; its size is 2016"),
        (CONV, {"tensors[0].stride_1": 6}, "stride_1 6; it is 7 to 4294967295"),
        (CONV, {"tensors[0].stride_1": 64}, "1 x 20 planes of 2016 bytes at 0; its size is 2016"),
        (IMAGE, {"tensors[0].stride_1": 24}, "stride_1 24; a line of "),
        (IMAGE, {"tensors[0].n": 2}, "2 x 9 lines of 64 bytes at 0; its size is 576"),
    ],
    "tensor-has-a-shape": [
        (CONV, {"tensors[0].c": 0}, "dimensions n, c, h, w (1, 0, 9, 7); each is 1 or more"),
        (CONV, {"tensors[0].h": 10}, "10 lines of 224 bytes at 0; its size is 2016"),
    ],
    "task-goes-to-a-processor": [
        (CONV, {"tasks[0].interface": 0}, "interface 0; it is 1 (DLA) or 2 (CPU emulator)"),
        (CONV, {"tasks[0].instance": 1}, "instance 1; it is -1 (any) or 0"),
    ],
    "task-addresses-exist": [
        (CONV, {"tasks[0].address_list": ()}, "addresses 0; it is 1 to 6144"),
        (CONV, {"tasks[0].address_list[1]": 77}, "address 77; there are 9"),
    ],
    # Descriptors.
    "descriptors-decode": [
        (
            CONV,
            {"network.surface_desc_index": 40},
            "surface_desc_index = 40: the task has 9 addresses",
        ),
        (CONV, {"network.num_operations": 3}, "bytes at 0 of memory"),
        (CONV, {"graph[0].op_type": 6}, "operation 0: op_type 6; 0 to 5 are known"),
    ],
    "descriptors-begin-their-memory": [
        (
            CONV,
            {"memories[5].offsets": (64,), "addresses[5].offset": 64},
            "dependency_graph_index 4 is at offset 64 of its memory; the driver reads at 0",
        ),
    ],
    "dependency-graph-is-restored": [
        (
            CONV,
            {"memories[5].contents": ("graph",), "blobs[1].name": "graph"},
            "dependency_graph_index: its blob is called 'graph'; without 'dep_graph' in the name",
        ),
    ],
    "all-addresses-count": [(CONV, {"network.num_addresses": 8}, "num_addresses 8; the address list has 9")],
    "there-are-operations": [(CONV, {"network.num_operations": 0}, "num_operations 0; a task has one")],
    "regions-of-interest-are-static": [
        (CONV, {"network.dynamic_roi": 1}, "num_rois 1, dynamic_roi 1; they are 1 and 0"),
        (CONV, {"network.stat_list_index": 3}, "roi_array_index -1, stat_list_index 3; both are -1"),
    ],
    # The convolution core.
    "conv-fields": [
        (CONV, {"op[0].conv_stride_x": 9}, "conv_stride_x 9; it is 1 to 8"),
        (CONV, {"op[0].conv_stride_y": 0}, "conv_stride_y 0; it is 1 to 8"),
        (CONV, {"op[0].dilation_x": 0}, "dilation_x 0; it is 1 to 32"),
        (CONV, {"op[0].pad_x_left": 32}, "pad_x_left 32; it is 0 to 31"),
        (CONV, {"op[0].pad_y_bottom": 64}, "pad_y_bottom 64; it is 0 to 63"),
        (CONV, {"op[0].kernel_width_csc": 33}, "kernel_width_csc 33; it is 1 to 32"),
        (CONV, {"op[0].in_precision": 3}, "in_precision 3; it is one of 0 INT8, 1 INT16, 2 FP16"),
        (CONV, {"op[0].data_format": 37}, "data_format 37; it is 0 to 36"),
        (CONV, {"op[0].batch": 0}, "batch 0; it is 1 to 32"),
        (SMALL, {"op[0].batch": 2}, "batch 2; it is 1"),
        (CONV, {"op[0].out_cvt.truncate": 32}, "out_cvt.truncate 32; it is 0 to 31"),
        (CONV, {"op[0].in_cvt.truncate": 64}, "in_cvt.truncate 64; it is 0 to 63"),
        (CONV, {"op[0].pra_truncate": 4}, "pra_truncate 4; it is 0 to 3"),
        (CONV, {"surface[0].src_data.width": 8193}, "src_data.width 8193; it is 1 to 8192"),
        (CONV, {"surface[0].dst_data.channel": 0}, "dst_data.channel 0; it is 1 to 8192"),
    ],
    "conv-memory-types": [
        (CONV, {"surface[0].src_data.type": 1}, "src_data.type 1; it is 0"),
        ("nv_full/conv_wcompress_int8", {"surface[0].wgs_data.type": 1}, "wgs_data.type 1; it is 0"),
        (CONV, {"surface[0].dst_data.type": 0}, "dst_data.type 0; it is 2"),
        (CONV, {"surface[0].dst_data.address": 2}, "dst_data.address 2; it is -1"),
    ],
    "conv-features": [
        (
            SMALL,
            {"op[0].in_precision": 2, "op[0].out_precision": 2},
            "in_precision FP16; nv_small computes in int8",
        ),
        (SMALL, {"op[0].conv_mode": 1}, "conv_mode 1 (WINOGRAD); nv_small convolves directly only"),
        (
            SMALL,
            {"op[0].weight_format": 1},
            "weight_format 1 (COMPRESSED); nv_small takes plain weights only",
        ),
    ],
    "one-conv-precision": [(CONV, {"op[0].out_precision": 1}, "out_precision 1; it is in_precision 0")],
    "only-clips": [
        (CONV, {"op[0].out_cvt.scale": 2}, "out_cvt.scale 2; it is 1"),
        (CONV, {"op[0].out_cvt.offset": -1}, "out_cvt.offset -1; it is 0"),
    ],
    "input-size": [
        (CONV, {"op[0].input_width_csc": 8}, "input_width_csc 8; it is 7"),
        (WINOGRAD, {"op[0].pad_x_right": 0}, "pad_x_right: the padded input has"),
    ],
    "channels-agree": [
        (CONV, {"op[0].input_channel_csc": 19}, "input_channel_csc 19; it is 20"),
        (CONV, {"op[0].kernel_channel_csc": 21}, "kernel_channel_csc 21; it is 20"),
        (IMAGE, {"op[0].kernel_channel_csc": 10}, "kernel_channel_csc 10; it is a multiple of 4"),
        (IMAGE, {"op[0].data_format": 0}, "src_data.channel 4; it is 1"),
        (WINOGRAD, {"op[0].input_channel_csc": 5}, "input_channel_csc 5; it is "),
    ],
    "image-kernels-are-flat": [
        (IMAGE, {"op[0].kernel_width_csc": 3}, "kernel_width_csc 3; it is 1"),
        (IMAGE, {"op[0].dilation_x": 2}, "dilation_x 2; it is 1"),
        (IMAGE, {"op[0].conv_mode": 1}, "conv_mode 1 (WINOGRAD); it takes feature cubes, not pixels"),
        (CONV, {"op[0].post_extension": 1}, "post_extension 1; it is for pixels, so 0"),
        (CONV, {"op[0].mean_format": 1}, "mean_format 1; it is for pixels, so 0"),
    ],
    "image-lines-are-aligned": [
        (
            IMAGE,
            {"surface[0].src_data.line_stride": 48},
            "src_data.line_stride 48; lines of pixels are multiples",
        ),
        (PLANES, {"surface[0].in_line_uv_stride": 33}, "in_line_uv_stride 33; lines of pixels are multiples"),
    ],
    "post-extension-fits": [
        ("nv_small/img_rgba_int8", {"op[0].post_extension": 1}, "post_extension 1; 2 rows of"),
    ],
    "pixels-fit-the-precision": [
        ("nv_full/img_r16i_int16", {"op[0].data_format": 5}, "data_format 5 (R16_F) with in_precision INT16"),
        ("nv_full/img_r16f_fp16", {"op[0].data_format": 4}, "data_format 4 (R16_I) with in_precision FP16"),
    ],
    "feature-converter-is-for-integers": [
        (CHUNKS, {"op[0].in_cvt.enable": 1}, "in_cvt.enable 1; FP16 features are not converted, so 0"),
    ],
    "output-size": [
        (CONV, {"op[0].input_height_cmac": 8}, "input_height_cmac 8; it is 9"),
        (
            CONV,
            {"op[0].pad_y_top": 0},
            "dst_data 7x9 (width x height); input, pads, kernel and stride give 7x8",
        ),
        (
            WINOGRAD,
            {"surface[0].dst_data.width": 6},
            "dst_data.width 6; winograd's output is a multiple of 4",
        ),
    ],
    "small-outputs-are-packed": [
        (
            "nv_full/conv_fc_fp16",
            {"surface[0].dst_data.line_stride": 64},
            "dst_data.line_stride 64; it is 32",
        ),
    ],
    "winograd-shape": [
        (WINOGRAD, {"op[0].kernel_width_csc": 3}, "kernel_width_csc 3; it is 4"),
        (WINOGRAD, {"op[0].conv_stride_x": 2}, "conv_stride_x 2; it is 1"),
    ],
    "entries-per-slice": [
        (CONV, {"op[0].entry_per_slice": 3}, "entry_per_slice 3; it is 2"),
        (IMAGE, {"op[0].entry_per_slice": 2}, "entry_per_slice 2; it is 1"),
        (WINOGRAD, {"op[0].entry_per_slice": 1}, "entry_per_slice 1; it is "),
    ],
    "banks-hold-the-data": [
        (CONV, {"op[0].data_bank": 0}, "data_bank 0; the input takes 1"),
        (CONV, {"op[0].weight_bank": 0}, "weight_bank 0; a group of kernels takes 1"),
    ],
    "banks-exist": [
        (CONV, {"op[0].data_bank": 16}, "data_bank 16 and weight_bank 1; there are 16 in all"),
        (
            "nv_full/conv_wcompress_int8",
            {"op[0].data_bank": 15},
            "data_bank 15 and weight_bank 1; there are 15 in all",
        ),
    ],
    "kernel-bytes": [(CONV, {"op[0].bytes_per_kernel": 181}, "bytes_per_kernel 181; it is 180")],
    "compressed-tables-agree": [
        (
            "nv_full/conv_wcompress_int8",
            {"surface[0].wmb_data.address": 1, "surface[0].wmb_data.offset": 128},
            "wgs_data counts 5721 bytes of weights; the masks of wmb_data keep 7655",
        ),
        (
            "nv_full/conv_wcompress_int8",
            {"surface[0].wmb_data.address": 1},
            "wgs_data counts 5721 bytes of weights; the masks of wmb_data keep 7666",
        ),
        (
            "nv_full/conv_wcompress_int8",
            {"surface[0].wgs_data.address": 4},
            "wmb_data and wgs_data; each is a constant of the file",
        ),
        (
            # One more than the last address of the task.
            "nv_full/conv_wcompress_int8",
            {"surface[0].wgs_data.address": 11},
            "wmb_data and wgs_data; each is a constant of the file",
        ),
        (
            "nv_full/conv_wcompress_int8",
            {"surface[0].weight_data.size": 1280},
            "weight_data.size 1280; the masks of wmb_data keep 5721",
        ),
    ],
    "weight-size": [
        (CONV, {"surface[0].weight_data.size": 3420}, "weight_data.size 3420; it is 3456"),
        # Rounded to 128 bytes as on nv_full: what nv_small reads wrong from the second convolution on.
        (SMALL, {"surface[0].weight_data.size": 3456}, "weight_data.size 3456; it is "),
        (
            "nv_full/conv_wcompress_int8",
            {"surface[0].weight_data.size": 100},
            "weight_data.size 100; compressed",
        ),
        (
            "nv_full/conv_wcompress_int8",
            {"surface[0].weight_data.size": 0},
            "weight_data.size 0; compressed weights take a multiple of 128 up to 14464",
        ),
        (
            "nv_full/conv_wcompress_int8",
            {"surface[0].weight_data.size": 14464 + 128},
            "weight_data.size 14592; compressed weights take a multiple of 128 up to 14464",
        ),
        ("nv_full/conv_wcompress_int8", {"surface[0].wgs_data.size": 12}, "wgs_data.size 12; it is 8"),
        ("nv_full/conv_wcompress_int8", {"surface[0].wmb_data.size": 1}, "wmb_data.size 1; it is "),
    ],
    "rows-are-fetched-and-released": [
        (CONV, {"op[0].fetch_grain": 0}, "fetch_grain 0; it is 1 to 9"),
        (CONV, {"op[0].release": 10}, "release 10; it is 1 to 9"),
    ],
    "reuse-follows-keeping": [
        (CONV, {"op[0].weight_reuse": 1}, "weight_reuse 1; no convolution comes before this one"),
        (
            CHUNKS,
            {"op[0].skip_weight_rls": 0},
            "weight_reuse 1; the convolution before has skip_weight_rls 0",
        ),
        (CHUNKS, {"op[2].data_reuse": 1}, "data_reuse 1; the convolution before has skip_data_rls 0"),
        (CHUNKS, {"op[2].data_bank": 3}, "data_bank 3, weight_bank 2; what is used again lies in the banks"),
        (
            CHUNKS,
            {"surface[2].weight_data.offset": 128},
            "weight_reuse 1; weight_data is not that of the convolution before",
        ),
        (
            CHUNKS,
            {"op[0].skip_data_rls": 1, "op[2].data_reuse": 1},
            "data_reuse 1; src_data is not that of the convolution before",
        ),
    ],
    "what-is-kept-is-used": [
        (CHUNKS, {"op[2].weight_reuse": 0}, "skip_weight_rls 1; the convolution behind has no weight_reuse"),
        (CONV, {"op[0].skip_data_rls": 1}, "skip_data_rls 1; the convolution behind has no data_reuse"),
    ],
    # The SDP.
    "sdp-fields": [
        (SDP, {"op[0].dst_precision": 3}, "dst_precision 3; it is one of 0 INT8, 1 INT16, 2 FP16"),
        (SDP, {"op[0].x1_op.alu_type": 4}, "x1_op.alu_type 4; it is one of 0 MAX, 1 MIN, 2 SUM, 3 EQL"),
        (SDP, {"op[0].x1_op.shift_value": 64}, "x1_op.shift_value 64; it is 0 to 63"),
        (SDP, {"op[0].out_cvt.truncate": 64}, "out_cvt.truncate 64; it is 0 to 63"),
        (SDP, {"op[0].batch_num": 0}, "batch_num 0; it is 1 to 32"),
        (CONV, {"surface[1].src_data.width": 0}, "src_data.width 0; it is 1 to 8192"),
    ],
    "sdp-memory-types": [
        (SDP, {"surface[0].src_data.type": 1}, "src_data.type 1; it is 0 (DRAM) or 2 (on the fly)"),
        (SDP, {"surface[0].x1_data.type": 2}, "x1_data.type 2; it is 0"),
        (CONV, {"surface[1].src_data.address": 1}, "src_data.address 1; it is -1"),
    ],
    "sdp-features": [
        (SMALL, {"op[1].y_op.enable": 1}, "y_op.enable 1; nv_small has stages X1 and X2 only"),
        (SMALL, {"op[1].dst_precision": 1}, "dst_precision INT16; nv_small computes in int8"),
    ],
    "precision-pairs": [
        (
            "nv_full/sdp_identity_fp16",
            {"op[0].dst_precision": 0},
            "dst_precision INT8; FP16 from memory gives FP16, INT16",
        ),
        (
            "nv_full/conv_k3p1_int16",
            {"op[1].dst_precision": 0},
            "dst_precision INT8; INT16 from a convolution gives INT16",
        ),
    ],
    "output-scale": [(SDP, {"op[0].out_cvt.scale": 0}, "out_cvt.scale 0; every result would be 0")],
    "operand-precision": [
        (SDP, {"op[0].x1_op.precision": 2}, "x1_op.precision 2; 2 (FP16) goes with an FP16 source only"),
        (
            "nv_full/sdp_x2_kernel_both_int16",
            {"op[0].x2_op.precision": 0},
            "x2_op.precision 0; with a 16-bit source this stage takes operands of 2 bytes",
        ),
    ],
    "stage-units": [
        (SDP, {"op[0].x1_op.act": 2}, "x1_op.act 2 (LUT); the lookup table is in Y"),
        (SDP, {"op[0].x1_op.alu_type": 3}, "x1_op.alu_type 3 (EQL); only Y compares"),
        (SDP, {"op[0].x1_op.act": 3}, "x1_op.type 3 with PReLU; the slope is multiplied, so 1 (MUL)"),
        (SDP, {"op[0].x1_op.type": 0}, "x1_op.mode 1 with type 0 (NONE); its operands would not be used"),
        (
            "nv_full/sdp_y_layer_add_int8",
            {"op[0].y_op.alu_type": 3},
            "y_op.alu_type 3 (EQL); the comparison ends in a status register, no result is written",
        ),
        (
            "nv_large/sdp_y_layer_add_int8",
            {"op[0].y_op.act": 1},
            "y_op.act 1 (RELU); Y has none and negative numbers would pass",
        ),
    ],
    "operand-converters": [
        (TABLE, {"op[0].y_op.mul_cvt.enable": 1}, "y_op alu_cvt or mul_cvt enabled with mode 0 (PER_LAYER)"),
    ],
    "lookup-table": [
        (TABLE, {"op[0].lut_index": -1}, "lut_index -1; it is 0"),
        (SDP, {"op[0].lut_index": 1}, "lut_index 1; it is -1"),
    ],
    "one-pixel-is-packed": [
        ("nv_full/sdp_1x1_fp16", {"surface[0].x1_data.surf_stride": 32}, "x1_data.surf_stride 32; it is 64"),
        (
            "nv_full/sdp_1x1_fp16",
            {"surface[0].dst_data.line_stride": 64},
            "dst_data.line_stride 64; it is 32",
        ),
    ],
    "takes-what-the-convolution-gives": [
        (CONV, {"surface[1].src_data.channel": 18}, "src_data.channel 18; the convolution gives 19"),
        (
            CONV,
            {"op[1].src_precision": 1, "op[1].dst_precision": 1},
            "src_precision 1; the convolution gives 0",
        ),
        (SDP, {"op[0].conv_mode": 1}, "conv_mode 1; it is 0"),
    ],
    # The pooling engine.
    "pdp-fields": [
        (POOL, {"op[0].stride_x": 0}, "stride_x 0; it is 1 to 8"),
        (POOL, {"op[0].pool_width": 8}, "pool_width 8; it is 0 to 7"),
        (POOL, {"op[0].split_num": 0}, "split_num 0; it is 1 to 64"),
        (POOL, {"op[0].padding_value[2]": 1}, "padding_value[2] 1; it is 0"),
        (
            "nv_full/pdp_max2s2_int8",
            {"op[0].padding_value[6]": 1 << 18},
            "padding_value[6] 262144; it is -262144 to",
        ),
    ],
    "pdp-memory-types": [
        (POOL, {"surface[0].src_data.type": 1}, "src_data.type 1; it is 0 (DRAM) or 2 (on the fly)"),
        (POOL, {"surface[0].dst_data.type": 2}, "dst_data.type 2; it is 0"),
    ],
    "pdp-precision": [
        ("nv_small/pdp_max2s2_int8", {"op[0].precision": 1}, "precision INT16; nv_small computes")
    ],
    "pooled-size": [
        (POOL, {"surface[0].dst_data.channel": 3}, "dst_data.channel 3; it is "),
        (POOL, {"op[0].stride_x": 1}, "(width x height); input, pads, window and stride give"),
    ],
    "pads-are-below-the-window": [
        (POOL, {f"op[0].pad_{side}": 2}, f"pad_{side} 2; it is 0 to 1")
        for side in ("left", "right", "top", "bottom")
    ],
    "pooled-row-fits": [
        (SPLIT_ROW, {"op[0].partial_width_first": 500}, "partial_width_first 500; it is 0 to 128"),
        (
            POOL,
            {"surface[0].dst_data.width": 129, "surface[0].src_data.width": 258},
            "dst_data.width 129; without a split 128 are held",
        ),
    ],
    "split-covers-the-row": [
        (
            SPLIT_ROW,
            {"op[0].partial_width_last": 2},
            "split_num 3: the parts give 9 columns; dst_data.width is 10",
        ),
        (
            SPLIT_ROW,
            {"op[0].partial_in_width_mid": 7},
            "partial_in_width_mid: 7 columns with pads and overlap; 3",
        ),
        (SPLIT_ROW, {"op[0].partial_width_first": 0}, "partial_width_first 0; it is 1 or more"),
        (SPLIT_ROW, {"op[0].split_num": 1}, "partial_in_width_first 8; it is 0"),
        (FUSED, {"op[2].split_num": 2}, "split_num 2; what comes on the fly cannot be split, so 1"),
    ],
    "takes-what-the-sdp-gives": [
        (FUSED, {"op[2].precision": 1}, "precision 1; the SDP gives 2"),
        (FUSED, {"surface[2].src_data.width": 9}, "src_data.width 9; the SDP gives 8"),
        (
            FUSED,
            {"op[0].batch": 2, "op[1].batch_num": 2},
            "the SDP gives a batch of 2; on the fly there is one image",
        ),
    ],
    # From memory to memory.
    "cdp-fields": [
        (LRN, {"op[0].local_size": 4}, "local_size 4; it is 3, 5, 7 or 9"),
        (LRN, {"op[0].bypass_sqsum": 2}, "bypass_sqsum 2; it is 0 to 1"),
    ],
    "cdp-in-memory": [
        (LRN, {"surface[0].src_data.type": 2}, "src_data.type 2; it is 0"),
        (LRN, {"surface[0].dst_data.channel": 1}, "dst_data.channel 1; it is "),
    ],
    "cdp-precision": [(LRN, {"op[0].out_precision": 1}, "out_precision 1; it is in_precision 0")],
    "cdp-table": [
        (LRN, {"op[0].lut_index": 1}, "lut_index 1; the task has 1 tables and the engine needs one")
    ],
    "lut-fields": [(LRN, {"lut[0].method": 2}, "method 2; it is one of 0 EXPONENTIAL, 1 LINEAR")],
    "rubik-fields": [
        ("nv_full/rubik_contract_int8", {"op[0].stride_x": 33}, "stride_x 33; it is 1 to 32"),
        (
            "nv_full/rubik_contract_int8",
            {"op[0].mode": 3},
            "mode 3; it is one of 0 CONTRACT, 1 SPLIT, 2 MERGE",
        ),
    ],
    "rubik-exists": [
        ("nv_full/rubik_contract_int8", {"surface[0].dst_data.type": 1}, "dst_data.type 1; it is 0"),
    ],
    "rubik-sizes": [
        ("nv_full/rubik_contract_int8", {"op[0].stride_x": 3}, "src_data.channel 128; it is 192"),
        ("nv_full/rubik_split_int8", {"surface[0].dst_data.width": 3}, "dst_data.width 3; it is "),
    ],
    "rubik-planes": [
        ("nv_full/rubik_split_int8", {"surface[0].dst_data.plane_stride": 0}, "a split writes a plane"),
        ("nv_full/rubik_merge_int8", {"surface[0].src_data.plane_stride": 0}, "a merge reads a plane"),
    ],
    "bdma-exists": [("nv_full/bdma_1", {"surface[0].source_type": 1}, "source_type 1; it is 0")],
    "bdma-transfers": [
        ("nv_full/bdma_1", {"surface[0].num_transfers": 21}, "num_transfers 21; it is 0 to 20"),
        ("nv_full/bdma_1", {"op[0].num_transfers": 2}, "num_transfers 2; the surface has 1"),
        (
            "nv_full/bdma_1",
            {"surface[0].transfers[0].line_size": 48},
            "transfers[0].line_size 48; it is a multiple",
        ),
        (
            "nv_full/bdma_1",
            {"surface[0].transfers[0].line_repeat": 0},
            "transfers[0].line_repeat 0; it is 1 to",
        ),
    ],
    # The emulator.
    "one-operation": [
        (SOFTMAX, {"emu_network.num_operations": 0}, "num_operations 0; a task of the emulator has 1")
    ],
    "emu-formats": [
        (SOFTMAX, {"source[0].format": 1}, "source format 1; on nv_full it is 0 (INT8) or 3 (FF16)"),
        (SOFTMAX, {"destination[0].format": 0}, "destination format 0; it is that of the source, 3"),
    ],
    "surfaces-cover-lines": [
        (
            "nv_full/emu_power",
            {"source[0].surf_stride": 352},
            "source surf_stride 352; what it steps over has 384 bytes",
        ),
        (
            "nv_full/emu_power",
            {"destination[0].line_stride": 160},
            "destination surf_stride 384; what it steps over has 448 bytes",
        ),
    ],
    "emu-sizes": [
        (SOFTMAX, {"source[0].channel": 0}, "source channel 0; it is 1 or more"),
        (SOFTMAX, {"destination[0].channel": 1}, "destination channel 1; it is "),
    ],
    "softmax-is-of-one-pixel": [
        (SOFTMAX, {"source[0].width": 2}, "source 2x1; the emulator takes one pixel"),
        (SOFTMAX, {"source[0].height": 2}, "source 1x2; the emulator takes one pixel"),
        (SOFTMAX, {"source[0].channel": 40, "source[0].surf_stride": 64}, "source surf_stride 64; it is 32"),
    ],
    # Cubes.
    "addresses-exist": [
        (CONV, {"surface[0].src_data.address": 9}, "src_data address 9; the task has 9 addresses"),
        (CONV, {"surface[0].weight_data.address": -1}, "weight_data address -1; the task has 9 addresses"),
    ],
    "cubes-are-aligned": [
        (
            CONV,
            {"surface[0].src_data.offset": 8},
            "src_data begins at byte 8 of its memory; it is a multiple of 32",
        ),
        (
            SMALL,
            {"surface[0].src_data.offset": 4},
            "src_data begins at byte 4 of its memory; it is a multiple of 8",
        ),
        (CONV, {"surface[1].dst_data.line_stride": 225}, "dst_data line_stride 225; it is a multiple of 32"),
    ],
    "strides-cover-extents": [
        (
            CONV,
            {"surface[0].src_data.line_stride": 192},
            "src_data line_stride 192; what it steps over has 224 bytes",
        ),
        (
            SDP,
            {"surface[0].dst_data.surf_stride": 928},
            "dst_data surf_stride 928; what it steps over has 960 bytes",
        ),
    ],
    "cubes-keep-off-descriptors": [
        (
            CONV,
            {"surface[0].src_data.address": 0},
            "src_data address 0; that is memory 4 of 'task-0-addr0'",
        ),
    ],
    "cubes-name-their-memory": [
        (CONV, {"surface[0].src_data.type": 1}, "src_data.type 1; memory 1 of domain 0 needs 0"),
    ],
    "cubes-are-in-memory": [
        (
            CONV,
            {"surface[0].src_data.offset": 32},
            "src_data reaches from byte 32 to 2048; memory 1 has 2016 bytes",
        ),
        # 16 bits become 8 with 16-bit surfaces read in pairs.
        (
            "nv_full/sdp_i16_to_i8",
            {"surface[0].src_data.channel": 36, "surface[0].dst_data.surf_stride": 960},
            "src_data reaches from byte 2880 to 3840; memory 1 has 1920 bytes",
        ),
    ],
    # The graph.
    "consumers-exist": [
        (CONV, {"graph[0].consumers[2].index": 5}, "operation 0 consumers[SDP] 5; there are 2 operations"),
        (CONV, {"graph[0].consumers[3].index": 1}, "operation 0 consumers[PDP] 1; that operation is for SDP"),
        (
            CONV,
            {"graph[0].consumers[1].index": 0},
            "operation 0 consumers[CONV] 0; it is the operation itself",
        ),
        (CONV, {"graph[0].consumers[2].event": 6}, "operation 0 consumers[SDP] 1 event 6; it is 1 to 5"),
    ],
    "heads-begin-queues": [
        (
            CONV,
            {"network.op_head[1]": -1},
            "op_head[CONV] -1: the queue from there does not lead to operation 0",
        ),
        (CONV, {"network.op_head[2]": 0}, "op_head[SDP] 0; it is -1 or an operation for SDP"),
        (
            CHUNKS,
            {"graph[7].consumers[2].index": 1},
            "op_head[SDP] 1: the queue from there comes back to itself; -1 ends a queue",
        ),
    ],
    "counts-are-the-events": [
        (CONV, {"graph[0].dependency_count": 2}, "operation 0 (CONV) dependency_count 2; 1 events arrive"),
        (CONV, {"graph[1].dependency_count": 0}, "operation 1 (SDP) dependency_count 0; 1 events arrive"),
    ],
    "fused-pairs-know-each-other": [
        (
            CONV,
            {"graph[0].consumers[2].event": 1},
            "operation 1 (SDP) is woken by its fused_parent's event 1; it is 2",
        ),
        (
            CONV,
            {"graph[1].fused_parent.event": 1},
            "operation 1 (SDP) fused_parent event 1; it is 3 (OP_ENABLED)",
        ),
        (CONV, {"graph[1].fused_parent.index": -1}, "operation 1 (SDP) src_data type 2 with fused_parent -1"),
        (
            CONV,
            {"graph[1].fused_parent.index": 7},
            "operation 1 (SDP) fused_parent 7; there is no such operation",
        ),
        (
            CONV,
            {"graph[0].consumers[2].index": -1},
            "operation 1 (SDP) fused_parent 0; that operation does not wake it",
        ),
        (
            FUSED,
            {"graph[2].fused_parent.index": 0},
            "operation 2 (PDP) fused_parent 0 is for CONV; CONV feeds SDP",
        ),
        (
            FUSED,
            {"surface[1].dst_data.type": 0},
            "operation 2 (PDP) fused_parent 1; that operation writes to memory",
        ),
    ],
    "task-ends": [
        # The second SDP of the residual wakes the convolution that has to come first.
        (
            SHARED,
            {
                "graph[3].consumers[1].index": 0,
                "graph[3].consumers[1].event": 1,
                "graph[0].dependency_count": 2,
            },
            "deadlocks; blocked operations:",
        ),
    ],
    # Memory.
    "ordered": [
        (
            SHARED,
            {"graph[1].consumers[1].event": 2},
            "src_data in memory 3 from byte 0 reads what operation 1 (SDP) dst_data writes; no chain",
        ),
        (
            SHARED,
            {"graph[3].consumers[2].event": 2},
            "src_data in memory 6 from byte 0 reads what operation 3 (SDP) dst_data writes; no chain",
        ),
        # What is written begins behind the first byte that is read.
        (
            SHARED,
            {
                "graph[1].consumers[1].event": 2,
                "surface[1].dst_data.offset": 32,
                "memories[3].size": 8192,
            },
            "src_data in memory 3 from byte 32 reads what operation 1 (SDP) dst_data writes; no chain",
        ),
    ],
    "in-place": [
        (
            POOL,
            {"surface[0].dst_data.address": 1},
            "src_data in memory 2 from byte 0 reads what it writes itself",
        ),
    ],
    "written-before-read": [
        (
            CONV,
            {"surface[0].weight_data.offset": 64},
            "weight_data in memory 3 from byte 3456 (64 bytes) is read, but nothing has written it",
        ),
        (
            SHARED,
            {"surface[2].src_data.address": 8},
            "src_data in memory 8 from byte 0 (1152 bytes) is read, but nothing has written it",
        ),
    ],
    "live-data-kept": [
        # The second task writes into what the third still wants of the first.
        (
            TASKS,
            {
                "task[1].surface[1].dst_data.address": 4,
                "task[1].surface[1].dst_data.offset": 96,
                "task[2].surface[0].src_data.address": 4,
            },
            "src_data holds what task 0 operation 1 (SDP) wrote, of which task 1 operation 1 (SDP) has "
            "overwritten 192 of 288 bytes",
        ),
    ],
    "given-data-kept": [
        (
            TASKS,
            {"task[2].surface[0].dst_data.address": 2},
            "dst_data writes to memory 1, input 0; a second run would not find what the first did",
        ),
        (
            TASKS,
            {"task[2].surface[0].dst_data.address": 1},
            "dst_data writes to memory 2, the constants 'tb-0'; a second run would not find",
        ),
    ],
    "no-rows-over-on-the-fly": [
        (
            FUSED,
            {"op[2].pool_height": 0},
            "src_data.height 8; the windows end at 7 and what is over makes it hang",
        ),
    ],
    "rows-over-before-a-pooling": [
        (
            LENET,
            {"op[2].pool_height": 0},
            "the windows leave 1 row over; the next pooling would hang, so let its source end where its",
        ),
    ],
    "nothing-over-in-a-queue": [
        (
            LENET,
            {
                "op[2].pool_width": 0,
                "graph[2].consumers[1].index": -1,
                "graph[3].dependency_count": 2,
            },
            "the windows leave 1 column over and operation 5 (PDP) may start before it is complete; the",
        ),
    ],
    "results-are-read": [
        (
            TASKS,
            {
                "task[2].surface[0].src_data.address": 5,
                "task[2].surface[0].x1_data.address": 5,
                "task[2].surface[0].dst_data.address": 8,
            },
            "overwrites all that task 1 operation 1 (SDP) wrote before anybody reads it",
        ),
        (
            SHARED,
            {"surface[4].dst_data.address": 4},
            "what it writes to memory 3 from byte 0 is read by none",
        ),
    ],
    "outputs-are-written": [
        (SHARED, {"surface[4].dst_data.address": 4}, "output 0; no operation writes to it"),
        (
            SHARED,
            {"memories[8].size": 1184, "tensors[1].size": 1184, "surface[4].dst_data.offset": 32},
            "output 0 from byte 0 (32 of 1152 bytes); no operation writes there",
        ),
    ],
}


WARNED: dict[str, list[tuple[str, Mapping[str, Any], str]]] = {
    "rows-over-at-the-end": [
        (
            POOL,
            {"op[0].pool_height": 0},
            "the windows leave 1 row over; the next inference may hang, so let",
        ),
        (
            LENET,
            {"op[5].pool_height": 0},
            "the windows leave 1 row over; the next inference may hang, so let",
        ),
    ],
    "bank-split-waits": [
        (
            "nv_full/conv_hsplit_fp16",
            {"op[2].data_bank": 2, "graph[2].consumers[1].event": 1},
            "2 data and 1 weight banks after operation 0 with 1 and 1; nv_full may hang, so wake it by 1",
        ),
    ],
}

SILENT = [
    # Columns over alone, or with rows, break nothing: seen on the RTL.
    (POOL, {"op[0].pool_width": 0}),
    (POOL, {"op[0].pool_height": 0, "op[0].pool_width": 0}),
    (LENET, {"op[2].pool_width": 0}),
    (FUSED, {"op[2].pool_width": 0}),
    # The next convolution waits, has the same banks, or the target may change them.
    ("nv_full/conv_hsplit_fp16", {"op[0].data_bank": 2, "graph[0].consumers[1].event": 1}),
    ("nv_large/conv_hsplit_int8", {"op[2].data_bank": 2}),
]


def test_every_rule_has_a_case():
    assert set(CASES) == set(RULES)
    assert set(WARNED) == set(WARNINGS)


@pytest.mark.parametrize(
    ("rule", "name", "edits", "reason"),
    [(rule, *case) for rule, cases in WARNED.items() for case in cases],
)
def test_what_may_go_wrong_is_a_warning(
    rule: str,
    name: str,
    edits: Mapping[str, Any],
    reason: str,
    find_edited: Callable[[str, Mapping[str, Any]], list[Violation]],
):
    (problem,) = find_edited(name, edits)
    assert (problem.rule, problem.severity) == (rule, Severity.WARNING)
    assert reason in problem.reason


@pytest.mark.parametrize(("name", "edits"), SILENT)
def test_what_runs_everywhere_is_no_warning(
    name: str, edits: Mapping[str, Any], find_edited: Callable[[str, Mapping[str, Any]], list[Violation]]
):
    assert find_edited(name, edits) == []


@pytest.mark.parametrize(
    ("rule", "name", "edits", "reason"),
    [(rule, *case) for rule, cases in CASES.items() for case in cases],
    ids=[f"{rule}-{number}" for rule, cases in CASES.items() for number in range(len(cases))],
)
def test_a_broken_rule_is_named(
    rule: str,
    name: str,
    edits: Mapping[str, Any],
    reason: str,
    check_edited: Callable[[str, Mapping[str, Any]], list[Violation]],
):
    said = [problem for problem in check_edited(name, edits) if problem.rule == rule]
    assert [problem for problem in said if reason in problem.reason], said
    assert all("\n" not in str(problem) for problem in said)
