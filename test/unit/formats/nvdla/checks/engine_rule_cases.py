"""Cases of the rules of the engines but the convolution core."""

from __future__ import annotations

from edited_vectors import CONV, FUSED, LRN, POOL, SDP, SMALL, SOFTMAX, SPLIT_ROW, TABLE, RuleCases

ENGINE_CASES: RuleCases = {
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
}
