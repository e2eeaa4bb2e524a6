/* A tensor as functions of plug-ins get it; data is NULL for an operand or result that the node leaves out. */
#ifndef XONNC_TENSOR
#define XONNC_TENSOR
typedef struct xonnc_tensor {
    void *data;
    int64_t rank;
    const int64_t *shape;
    int64_t size; /* the number of elements */
    int32_t type; /* the element type, as in onnx.TensorProto.DataType */
} xonnc_tensor;
enum {
    XONNC_FLOAT = 1, XONNC_UINT8 = 2, XONNC_INT8 = 3, XONNC_UINT16 = 4, XONNC_INT16 = 5, XONNC_INT32 = 6,
    XONNC_INT64 = 7, XONNC_BOOL = 9, XONNC_FLOAT16 = 10, XONNC_DOUBLE = 11, XONNC_UINT32 = 12,
    XONNC_UINT64 = 13, XONNC_BFLOAT16 = 16
};
#endif
