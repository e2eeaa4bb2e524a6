"""Matrix products: MatMul, Gemm, Einsum, attention, and operators that fuse into them."""

from __future__ import annotations

import numpy as np

from xonnc.fuzzing.model_builder import F32, F64, I8, I32, I64, U8, ModelBuilder, ModelValue, NotApplicable
from xonnc.fuzzing.motifs.layers import normalized

KINDS = (F32, F32, F32, F64)


def multiplied(builder: ModelBuilder, x: ModelValue, columns: int) -> ModelValue:
    """x times a matrix, constant more often than not."""
    if not x.rank:
        raise NotApplicable
    y = builder.like(x, x.shape[-1], columns)
    return builder.node("MatMul", x, y)


def product(builder: ModelBuilder) -> None:
    """MatMul of all ranks, and in part what may be folded into a Gemm or into its weights."""
    x = builder.take((*KINDS, *KINDS, I32, I64), (1, 2, 3, 4))
    columns = builder.random.choice((1, 2, 3, 4))
    value = multiplied(builder, x, columns)
    for _ in range(builder.random.randint(0, 3)):
        if builder.chance(0.15):
            builder.keep(value)
        op_type = builder.random.choice(("Add", "Add", "Mul", "Sub", "Div"))
        shape = builder.random.choice(
            ((columns,), (1, columns), (), (1,), builder.broadcastable(value.shape))
        )
        constant = (builder.positive if op_type == "Div" else builder.weights)(x.dtype, *shape)
        value = builder.node(
            op_type, *((value, constant) if op_type == "Div" or builder.chance(0.7) else (constant, value))
        )
    builder.keep(value)


def added_product(builder: ModelBuilder) -> None:
    """A product of matrices plus something that is not constant."""
    x = builder.take((*KINDS, I32), (2, 3))
    value = multiplied(builder, x, builder.random.choice((1, 2, 3)))
    builder.keep(builder.node("Add", value, builder.like(value, *builder.broadcastable(value.shape))))


def transposed_product(builder: ModelBuilder) -> None:
    """A product of matrices one of which is transposed before, or the result after."""
    x = builder.take(KINDS, (2, 3))
    perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    given = perm if x.rank > 2 or builder.chance(0.7) else None
    if builder.chance(0.5):
        x = builder.node("Transpose", x, perm=given)
        value = multiplied(builder, x, 3)
    else:
        y = builder.like(x, *x.shape[:-2], 2, x.shape[-1])
        value = builder.node("MatMul", x, builder.node("Transpose", y, perm=given))
    builder.keep(builder.node("Transpose", value, perm=perm) if builder.chance(0.4) else value)


def general_product(builder: ModelBuilder) -> None:
    """Gemm with and without a third operand, transposed in attributes or before, normalised in part."""
    x = builder.take(KINDS, (2,))
    columns = builder.random.choice((1, 2, 3))
    flip_a, flip_b = builder.chance(0.3), builder.chance(0.4)
    rows, inner = reversed(x.shape) if flip_a else x.shape
    y = builder.like(x, *((columns, inner) if flip_b else (inner, columns)))
    if builder.chance(0.3):
        y = builder.node("Transpose", y, perm=[1, 0] if builder.chance(0.7) else None)
        flip_b = not flip_b
    shape = builder.random.choice(((columns,), (1, columns), (rows, columns), (), (1,), (rows, 1)))
    if builder.opset < 11 and not shape:
        shape = (1,)
    c = builder.like(x, *shape) if builder.opset < 11 or builder.chance(0.7) else None
    value = builder.node(
        "Gemm",
        x,
        y,
        c,
        transA=1 if flip_a else None,
        transB=1 if flip_b else None,
        alpha=builder.random.choice((None, 0.5, 2.0)),
        beta=builder.random.choice((None, 0.5, 0.0)),
    )
    kind = builder.random.randrange(5)
    if kind == 0 and value.size:
        value = normalized(builder, value)
    elif kind == 1:
        value = builder.node(builder.random.choice(("Mul", "Add")), value, builder.weights(x.dtype, columns))
    elif kind == 2:
        value = builder.node("Relu", value)
    builder.keep(value)


def products_of_one(builder: ModelBuilder) -> None:
    """Two to four products of one value with constant weights, as before attention, biased in part."""
    x = builder.take(KINDS, (2, 3))
    biased = builder.chance(0.4)
    widths = [builder.random.choice((2, 2, 3))] * 3 if builder.chance(0.7) else [2, 3, 1]
    for width in widths[: builder.random.randint(2, 3)]:
        value = builder.node("MatMul", x, builder.weights(x.dtype, x.shape[-1], width))
        builder.keep(builder.node("Add", value, builder.weights(x.dtype, width)) if biased else value)


def attention(builder: ModelBuilder) -> None:
    """softmax(q k' / sqrt(d)) v in its parts."""
    kind = builder.random.choice((F32, F32, F64))
    q = builder.input(kind, (1, 2, 3, 4))
    k, v = (builder.input(kind, (1, 2, 5, 4)) for _ in range(2))
    if builder.chance(0.5):
        q = builder.node("Mul", q, builder.scalar(kind, 0.5))
    scores = builder.node("MatMul", q, builder.node("Transpose", k, perm=[0, 1, 3, 2]))
    if builder.chance(0.5):
        scores = builder.node("Div", scores, builder.scalar(kind, 2.0))
    if builder.chance(0.4):
        scores = builder.node("Add", scores, builder.like(scores, 1, 1, 3, 5))
    axis = -1 if builder.opset >= 11 else 3
    builder.keep(builder.node("MatMul", builder.node("Softmax", scores, axis=axis), v))


def summed_product(builder: ModelBuilder) -> None:
    """Einsum: products of matrices, sums, diagonals, outer products."""
    kind = builder.random.choice((F32, F64))
    equation, shapes = builder.random.choice(
        (
            ("bij,bjk->bik", ((2, 2, 3), (2, 3, 4))),
            ("ij,kj->ik", ((2, 3), (4, 3))),
            ("ij->ji", ((2, 3),)),
            ("ij->", ((2, 3),)),
            ("ii->i", ((3, 3),)),
            ("i,j->ij", ((2,), (3,))),
            ("...ij,...jk->...ik", ((2, 2, 3), (2, 3, 1))),
            ("bhid,bhjd->bhij", ((1, 2, 3, 4), (1, 2, 2, 4))),
            ("ij,jk", ((2, 3), (3, 2))),
        )
    )
    operands = [
        builder.input(kind, shape) if index == 0 else builder.weights(kind, *shape)
        for index, shape in enumerate(shapes)
    ]
    builder.keep(builder.node("Einsum", *operands, equation=equation))


def product_of_constants(builder: ModelBuilder) -> None:
    """A product of two constants, and a chain that association makes smaller."""
    kind = builder.random.choice((F32, F64, I32))
    size = builder.random.choice((2, 3))
    value = builder.node("MatMul", builder.weights(kind, size, 3), builder.weights(kind, 3, size))
    builder.keep(builder.node("Add", value, builder.input(kind, (size,))))


def integer_product(builder: ModelBuilder) -> None:
    """MatMulInteger and ConvInteger with and without zero points."""
    kind = builder.random.choice((U8, I8))
    zero_point = builder.constant(np.array(3, kind)) if builder.chance(0.6) else None
    if builder.chance(0.5):
        builder.keep(
            builder.node(
                "MatMulInteger", builder.input(U8, (2, 3)), builder.weights(kind, 3, 2), None, zero_point
            )
        )
    else:
        builder.keep(
            builder.node(
                "ConvInteger",
                builder.input(U8, (1, 2, 4, 4)),
                builder.weights(U8, 3, 2, 2, 2),
                builder.constant(np.array(1, np.uint8)),
            )
        )


MOTIFS = (
    product,
    product,
    product,
    added_product,
    transposed_product,
    general_product,
    general_product,
    products_of_one,
    attention,
    summed_product,
    product_of_constants,
    integer_product,
)
