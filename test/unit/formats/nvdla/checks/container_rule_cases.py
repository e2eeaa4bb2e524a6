"""Cases of the rules of the container and of descriptors."""

from __future__ import annotations

from edited_vectors import CONV, IMAGE, RuleCases

CONTAINER_CASES: RuleCases = {
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
}
