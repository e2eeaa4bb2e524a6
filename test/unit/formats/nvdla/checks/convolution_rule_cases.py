"""Cases of the rules of the convolution core."""

from __future__ import annotations

from edited_vectors import CHUNKS, CONV, IMAGE, PLANES, SMALL, WINOGRAD, RuleCases

CONVOLUTION_CASES: RuleCases = {
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
        (CHUNKS, {"op[2].weight_reuse": 0}, "skip_weight_rls 1; the next convolution has no weight_reuse"),
        (CONV, {"op[0].skip_data_rls": 1}, "skip_data_rls 1; the next convolution has no data_reuse"),
    ],
}
