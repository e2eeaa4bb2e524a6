"""Products of matrices: MatMul, Gemm, Einsum, attention, and what is folded into them."""

from __future__ import annotations

import numpy as np

from xonnc.fuzzing.draft import F32, F64, I8, I32, I64, U8, Draft, Unfit, Value
from xonnc.fuzzing.themes.layers import normalized

KINDS = (F32, F32, F32, F64)


def multiplied(draft: Draft, x: Value, columns: int) -> Value:
    """x times a matrix, constant more often than not."""
    if not x.rank:
        raise Unfit
    y = draft.like(x, x.shape[-1], columns)
    return draft.node("MatMul", x, y)


def product(draft: Draft) -> None:
    """MatMul of all ranks, and in part what may be folded into a Gemm or into its weights."""
    x = draft.take((*KINDS, *KINDS, I32, I64), (1, 2, 3, 4))
    columns = draft.random.choice((1, 2, 3, 4))
    value = multiplied(draft, x, columns)
    for _ in range(draft.random.randint(0, 3)):
        if draft.chance(0.15):
            draft.keep(value)
        op_type = draft.random.choice(("Add", "Add", "Mul", "Sub", "Div"))
        shape = draft.random.choice(((columns,), (1, columns), (), (1,), draft.broadcastable(value.shape)))
        constant = (draft.positive if op_type == "Div" else draft.weights)(x.dtype, *shape)
        value = draft.node(
            op_type, *((value, constant) if op_type == "Div" or draft.chance(0.7) else (constant, value))
        )
    draft.keep(value)


def added_product(draft: Draft) -> None:
    """A product of matrices plus something that is not constant."""
    x = draft.take((*KINDS, I32), (2, 3))
    value = multiplied(draft, x, draft.random.choice((1, 2, 3)))
    draft.keep(draft.node("Add", value, draft.like(value, *draft.broadcastable(value.shape))))


def transposed_product(draft: Draft) -> None:
    """A product of matrices one of which is transposed before, or the result after."""
    x = draft.take(KINDS, (2, 3))
    perm = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
    given = perm if x.rank > 2 or draft.chance(0.7) else None
    if draft.chance(0.5):
        x = draft.node("Transpose", x, perm=given)
        value = multiplied(draft, x, 3)
    else:
        y = draft.like(x, *x.shape[:-2], 2, x.shape[-1])
        value = draft.node("MatMul", x, draft.node("Transpose", y, perm=given))
    draft.keep(draft.node("Transpose", value, perm=perm) if draft.chance(0.4) else value)


def general_product(draft: Draft) -> None:
    """Gemm with and without a third operand, transposed in attributes or before, normalised in part."""
    x = draft.take(KINDS, (2,))
    columns = draft.random.choice((1, 2, 3))
    flip_a, flip_b = draft.chance(0.3), draft.chance(0.4)
    rows, inner = reversed(x.shape) if flip_a else x.shape
    y = draft.like(x, *((columns, inner) if flip_b else (inner, columns)))
    if draft.chance(0.3):
        y = draft.node("Transpose", y, perm=[1, 0] if draft.chance(0.7) else None)
        flip_b = not flip_b
    shape = draft.random.choice(((columns,), (1, columns), (rows, columns), (), (1,), (rows, 1)))
    if draft.opset < 11 and not shape:
        shape = (1,)
    c = draft.like(x, *shape) if draft.opset < 11 or draft.chance(0.7) else None
    value = draft.node(
        "Gemm",
        x,
        y,
        c,
        transA=1 if flip_a else None,
        transB=1 if flip_b else None,
        alpha=draft.random.choice((None, 0.5, 2.0)),
        beta=draft.random.choice((None, 0.5, 0.0)),
    )
    kind = draft.random.randrange(5)
    if kind == 0 and value.size:
        value = normalized(draft, value)
    elif kind == 1:
        value = draft.node(draft.random.choice(("Mul", "Add")), value, draft.weights(x.dtype, columns))
    elif kind == 2:
        value = draft.node("Relu", value)
    draft.keep(value)


def products_of_one(draft: Draft) -> None:
    """Two to four products of one value with constant weights, as before attention, biased in part."""
    x = draft.take(KINDS, (2, 3))
    biased = draft.chance(0.4)
    widths = [draft.random.choice((2, 2, 3))] * 3 if draft.chance(0.7) else [2, 3, 1]
    for width in widths[: draft.random.randint(2, 3)]:
        value = draft.node("MatMul", x, draft.weights(x.dtype, x.shape[-1], width))
        draft.keep(draft.node("Add", value, draft.weights(x.dtype, width)) if biased else value)


def attention(draft: Draft) -> None:
    """softmax(q k' / sqrt(d)) v in its parts."""
    kind = draft.random.choice((F32, F32, F64))
    q = draft.input(kind, (1, 2, 3, 4))
    k, v = (draft.input(kind, (1, 2, 5, 4)) for _ in range(2))
    if draft.chance(0.5):
        q = draft.node("Mul", q, draft.scalar(kind, 0.5))
    scores = draft.node("MatMul", q, draft.node("Transpose", k, perm=[0, 1, 3, 2]))
    if draft.chance(0.5):
        scores = draft.node("Div", scores, draft.scalar(kind, 2.0))
    if draft.chance(0.4):
        scores = draft.node("Add", scores, draft.like(scores, 1, 1, 3, 5))
    axis = -1 if draft.opset >= 11 else 3
    draft.keep(draft.node("MatMul", draft.node("Softmax", scores, axis=axis), v))


def summed_product(draft: Draft) -> None:
    """Einsum: products of matrices, sums, diagonals, outer products."""
    kind = draft.random.choice((F32, F64))
    equation, shapes = draft.random.choice(
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
        draft.input(kind, shape) if index == 0 else draft.weights(kind, *shape)
        for index, shape in enumerate(shapes)
    ]
    draft.keep(draft.node("Einsum", *operands, equation=equation))


def product_of_constants(draft: Draft) -> None:
    """A product of two constants, and a chain that association makes smaller."""
    kind = draft.random.choice((F32, F64, I32))
    size = draft.random.choice((2, 3))
    value = draft.node("MatMul", draft.weights(kind, size, 3), draft.weights(kind, 3, size))
    draft.keep(draft.node("Add", value, draft.input(kind, (size,))))


def integer_product(draft: Draft) -> None:
    """MatMulInteger and ConvInteger with and without zero points."""
    kind = draft.random.choice((U8, I8))
    zero = draft.constant(np.array(3, kind)) if draft.chance(0.6) else None
    if draft.chance(0.5):
        draft.keep(
            draft.node("MatMulInteger", draft.input(U8, (2, 3)), draft.weights(kind, 3, 2), None, zero)
        )
    else:
        draft.keep(
            draft.node(
                "ConvInteger",
                draft.input(U8, (1, 2, 4, 4)),
                draft.weights(U8, 3, 2, 2, 2),
                draft.constant(np.array(1, np.uint8)),
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
