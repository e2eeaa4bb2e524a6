"""Cases of the rules of cubes, the graph and memory."""

from __future__ import annotations

from edited_vectors import CHUNKS, CONV, FUSED, LENET, POOL, SDP, SHARED, SMALL, TASKS, RuleCases

GRAPH_CASES: RuleCases = {
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
