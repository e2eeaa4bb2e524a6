"""Verification rules for the shapes of operands."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from xdsl.dialects.builtin import ComplexType, FixedBitwidthType, f32, f64, i1
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation
from xdsl.utils.exceptions import VerifyException

from xonnc.dialects.onnx.checks.values import require_range
from xonnc.dialects.onnx.checks.verifier import (
    DYNAMIC,
    Rule,
    constant_of,
    differ,
    element_of,
    integer_of,
    is_absent,
    length_of,
    refuse,
    refuse_rank,
    refuse_size,
    shape_of,
    shown,
    text_of,
    type_of,
    types_of,
    value_of,
    values_of,
)
from xonnc.dialects.onnx.types import is_ranked


def broadcast(*fields: str) -> Rule:
    """Operands broadcast to a common shape, as in NumPy."""

    def rule(op: Operation) -> None:
        _check_broadcast(op, [type_of(op, field) for field in fields])

    return rule


def broadcast_all(field: str) -> Rule:
    """All operands of a variadic group broadcast to a common shape."""

    def rule(op: Operation) -> None:
        _check_broadcast(op, types_of(op, field))

    return rule


def _check_broadcast(op: Operation, types: Sequence[Attribute]) -> None:
    # Types are memoised, so most operands of one shape have one type object: the common case costs nothing.
    if all(type_ is types[0] for type_ in types):
        return
    shapes = [type_.get_shape() for type_ in types if is_ranked(type_)]
    # Before opset 7 an axis aligned the operands; canonicalization replaces these two attributes.
    if not _broadcasts(shapes) and not {"axis", "broadcast"} <= op.attributes.keys():
        _refuse_broadcast(op, shapes)


def _broadcasts(shapes: Sequence[tuple[int, ...]]) -> bool:
    rank = max(map(len, shapes), default=0)
    for index in range(1, rank + 1):
        sizes = {shape[-index] for shape in shapes if len(shape) >= index} - {1, DYNAMIC}
        if len(sizes) > 1:
            return False
    return True


def _refuse_broadcast(op: Operation, shapes: Sequence[tuple[int, ...]]) -> None:
    texts = [
        "x".join("?" if size == DYNAMIC else str(size) for size in shape) or "scalar" for shape in shapes
    ]
    refuse(op, f"Broadcast op with incompatible shapes: {', '.join(texts)}")


def broadcast_into(field: str, onto: str, text: str) -> Rule:
    """An operand broadcasts to the shape of another (unidirectionally)."""

    def rule(op: Operation) -> None:
        shape, target = shape_of(op, field), shape_of(op, onto)
        if shape is None or target is None:
            return
        fits = len(shape) <= len(target) and all(
            a == 1 or not differ(a, b) for a, b in zip(reversed(shape), reversed(target), strict=False)
        )
        if not fits:
            refuse(op, text)

    return rule


def rank_is(field: str, *ranks: int, text: str = "") -> Rule:
    """An operand has one of these ranks; `text` may have `{}` for another one."""

    def rule(op: Operation) -> None:
        shape = shape_of(op, field)
        if shape is not None and len(shape) not in ranks:
            expected = " or ".join(map(str, ranks))
            rank = len(shape)
            if text:
                refuse(op, text.format(rank))
            refuse_rank(op, value_of(op, field), field, rank, expected)

    return rule


def rank_at_least(field: str, least: int, text: str = "") -> Rule:
    """An operand has at least this rank."""

    def rule(op: Operation) -> None:
        shape = shape_of(op, field)
        if shape is not None and len(shape) < least:
            if text:
                refuse(op, text)
            refuse_rank(op, value_of(op, field), field, len(shape), f"> {least - 1}")

    return rule


def rank_below(field: str, limit: int) -> Rule:
    """An operand has a lower rank than this."""

    def rule(op: Operation) -> None:
        shape = shape_of(op, field)
        if shape is not None and len(shape) >= limit:
            refuse_rank(op, value_of(op, field), field, len(shape), f"< {limit}")

    return rule


def rank_of(field: str, of: str) -> Rule:
    """An operand has the rank of another."""

    def rule(op: Operation) -> None:
        shape, other = shape_of(op, field), shape_of(op, of)
        if shape is not None and other is not None and len(shape) != len(other):
            refuse_rank(op, value_of(op, field), field, len(shape), str(len(other)))

    return rule


def same_rank(first: str, second: str) -> Rule:
    """Two operands have equal ranks."""

    def rule(op: Operation) -> None:
        a, b = shape_of(op, first), shape_of(op, second)
        if a is not None and b is not None and len(a) != len(b):
            raise VerifyException(
                f"{op.name}: '{first}' has rank {len(a)}, '{second}' has rank {len(b)}. "
                "The two inputs must have the same rank."
            )

    return rule


def same_size(first: str, axis: int, second: str, other: int, text: str) -> Rule:
    """Dimension `axis` of one operand equals dimension `other` of the other."""

    def rule(op: Operation) -> None:
        a, b = shape_of(op, first), shape_of(op, second)
        if a is None or b is None or not -len(a) <= axis < len(a) or not -len(b) <= other < len(b):
            return
        if differ(a[axis], b[other]):
            refuse(op, text)

    return rule


def size_is(field: str, axis: int, size: int, text: str) -> Rule:
    """A dimension has a fixed size."""

    def rule(op: Operation) -> None:
        shape = shape_of(op, field)
        if shape is not None and -len(shape) <= axis < len(shape) and differ(shape[axis], size):
            refuse(op, text)

    return rule


def divisible(field: str, axis: int, by: str, text: str, power: int = 1) -> Rule:
    """A dimension is a multiple of an INT property, or of its square."""

    def rule(op: Operation) -> None:
        shape, divisor = shape_of(op, field), integer_of(op, by)
        if shape is None or divisor is None or axis >= len(shape) or shape[axis] == DYNAMIC:
            return
        if shape[axis] % divisor**power:
            refuse(op, text)

    return rule


def matrix_product(first: str, second: str) -> Rule:
    """Operands are valid for `numpy.matmul`."""

    def rule(op: Operation) -> None:
        a, b = shape_of(op, first), shape_of(op, second)
        if a is None or b is None:
            return
        if not a or not b:
            refuse(op, "the product of matrices takes no scalars")
        if differ(a[-1], b[max(len(b) - 2, 0)]):
            refuse(op, "reduction dimension must be the same")
        if not _broadcasts([a[:-2], b[:-2]]):
            refuse(op, f"Incompatible size detected: stacks of {shown(a[:-2])} and {shown(b[:-2])} matrices")

    return rule


def gemm(op: Operation) -> None:
    """`Gemm`: the matrices can be multiplied after `transA` and `transB`."""
    shapes: list[tuple[int, ...] | None] = []
    for field, transposed in (("A", "transA"), ("B", "transB")):
        shape = shape_of(op, field)
        if shape is not None and len(shape) != 2:
            refuse(op, f"Gemm with {field} should be a 2D tensor")
        shapes.append(shape[::-1] if shape is not None and integer_of(op, transposed) else shape)
    a, b = shapes
    if a is not None and b is not None and differ(a[1], b[0]):
        refuse(op, "Gemm 2nd dim of A is different than 1st dim of B")
    c = shape_of(op, "C")
    if c is not None and len(c) > 2:
        refuse(op, "Gemm with C should be a 1D or 2D tensor")
    rows, columns = None if a is None else a[0], None if b is None else b[1]
    if c is not None and len(c) == 2 and rows is not None and c[0] != 1 and differ(c[0], rows):
        refuse(op, f"bias add has bad dimension on first dim: C has {c[0]}, the product {rows}")
    if c and columns is not None and c[-1] != 1 and differ(c[-1], columns):
        refuse(op, f"bias add has bad dimension on second dim: C has {c[-1]}, the product {columns}")


def concatenation(op: Operation) -> None:
    """`Concat`: tensors of equal rank whose shapes differ only along the axis."""
    inputs = values_of(op, "inputs")
    shapes = [
        (number, shape) for number, value in enumerate(inputs) if (shape := _shape(value.type)) is not None
    ]
    axis = integer_of(op, "axis")
    if not shapes or axis is None:
        return
    first = shapes[0][1]
    rank = len(first)
    require_range(op, "axis", axis, -rank, rank - 1)
    for number, shape in shapes[1:]:
        value, name = inputs[number], f"inputs[{number}]"
        if len(shape) != rank:
            refuse_rank(op, value, name, len(shape), str(rank))
        for index, (size, expected) in enumerate(zip(shape, first, strict=True)):
            if index != axis % rank and differ(size, expected):
                refuse_size(op, value, name, index, size, str(expected))


def parts(field: str, of: str) -> Rule:
    """`Split`: as many results as entries of `split`, or `num_outputs`."""

    def rule(op: Operation) -> None:
        count = integer_of(op, field)
        if count is not None and count != len(types_of(op, of)):
            refuse(op, "Split size not equal to the number of results")

    return rule


def holds_one(field: str, text: str = "") -> Rule:
    """A scalar, with `text` for another rank; a tensor of one element counts as one, as in onnxruntime."""

    def rule(op: Operation) -> None:
        shape = None if is_absent(op, field) else shape_of(op, field)
        if shape is not None and (len(shape) > 1 or (shape and differ(shape[0], 1))):
            if len(shape) > 1:
                expected = text or f"{field} tensor must have rank zero or one"
                refuse(op, f"{expected}, not {len(shape)}")
            refuse(op, f"{field} tensor of rank one must have size one, not {shape[0]}")

    return rule


def single_element(field: str) -> Rule:
    """
    A tensor of one element and of any rank.

    The specification asks of a condition that it "must contain a single element", and exporters pass the
    result of comparing one row and one column. onnxruntime takes any rank, for `Loop` and `Pad` too.
    """

    def rule(op: Operation) -> None:
        shape = None if is_absent(op, field) else shape_of(op, field)
        if shape is not None and any(differ(size, 1) for size in shape):
            refuse(op, f"{field} has the shape {shown(shape)}; a single element is needed")

    return rule


def same_shape(first: str, second: str) -> Rule:
    """Two operands have equal shapes."""

    def rule(op: Operation) -> None:
        if is_absent(op, first) or is_absent(op, second):
            return
        a, b = shape_of(op, first), shape_of(op, second)
        if a is None or b is None:
            return
        if len(a) != len(b) or any(differ(x, y) for x, y in zip(a, b, strict=True)):
            refuse(op, f"{first} has the shape {shown(a)}, {second} has {shown(b)}; they must be the same")

    return rule


def holds_for_axes(field: str, of: str, axes: str = "", each: int = 1, text: str = "") -> Rule:
    """A list of `each` values per axis of an operand, or per axis that `axes` lists."""

    def rule(op: Operation) -> None:
        shape = None if is_absent(op, field) else shape_of(op, field)
        count = _axes(op, of, axes)
        if shape is not None and len(shape) == 1 and count is not None and differ(shape[0], each * count):
            if shape[0]:
                message = f"{field} holds {shape[0]} numbers; {each * count} are needed for {count} axes"
                refuse(op, f"{text}: {message}" if text else message)

    return rule


def _axes(op: Operation, of: str, axes: str) -> int | None:
    """Return the number of axes; `None` if it is unknown."""
    if axes and axes in op.properties:
        return length_of(op, axes)
    if axes and axes not in _property_names(op) and not is_absent(op, axes):
        listed = shape_of(op, axes)
        return listed[0] if listed and listed[0] != DYNAMIC else None
    shape = shape_of(op, of)
    return None if shape is None else len(shape)


def _property_names(op: Operation) -> Collection[str]:
    return op.get_irdl_definition().properties if isinstance(op, IRDLOperation) else ()


def square(field: str) -> Rule:
    """The last two axes have equal sizes."""

    def rule(op: Operation) -> None:
        shape = shape_of(op, field)
        if shape is not None and len(shape) > 1 and differ(shape[-1], shape[-2]):
            refuse(
                op, f"{field} holds matrices of {shape[-2]} rows and {shape[-1]} columns; they must be square"
            )

    return rule


def affine_grid(op: Operation) -> None:
    """`AffineGrid`: transforms `[N, 2, 3]` for 4 sizes (2-D), `[N, 3, 4]` for 5 sizes (3-D)."""
    theta, size = shape_of(op, "theta"), shape_of(op, "size")
    if size is not None and size[0] != DYNAMIC and size[0] not in (4, 5):
        refuse(op, f"size holds {size[0]} numbers; 4 or 5 are needed")
    if theta is None:
        return
    constant = constant_of(op, "size")
    if constant is not None and differ(theta[0], int(constant[0])):
        refuse(op, f"theta has {theta[0]} maps for {int(constant[0])} images")
    fits = [not differ(theta[1], axes) and not differ(theta[2], axes + 1) for axes in (2, 3)]
    if not any(fits) or (size is not None and size[0] != DYNAMIC and not fits[size[0] - 4]):
        refuse(op, f"theta has the shape {shown(theta)}; maps of the plane are 2 by 3, of space 3 by 4")


def sampling_grid(op: Operation) -> None:
    """`GridSample`: the grid has one coordinate per spatial axis."""
    x, grid = shape_of(op, "X"), shape_of(op, "grid")
    if x is not None and len(x) < 3:
        refuse(op, f"X has rank {len(x)}; it has batch, channels and at least one axis")
    if x is not None and grid is not None and len(x) != len(grid):
        refuse(op, f"Input(={len(x)}) and grid(={len(grid)}) have different dim sizes.")
    if x is not None and grid is not None and differ(grid[-1], len(x) - 2):
        refuse(op, f"Grid last dim must have been '{len(x) - 2}' instead of '{grid[-1]}'.")


def grouped_channels(op: Operation) -> None:
    """`GroupNormalization`: equal groups of channels; scale and bias per channel or per group."""
    x, groups = shape_of(op, "X"), integer_of(op, "num_groups") or 1
    if x is None:
        return
    if len(x) < 2:
        refuse(op, f"X has rank {len(x)}; it has batches and channels")
    if x[1] != DYNAMIC and x[1] % groups:
        refuse(op, f"{x[1]} channels are no multiple of {groups} groups")
    expected = groups if op.name == "onnx.GroupNormalizationV18" else x[1]
    for field in ("scale", "bias"):
        shape = shape_of(op, field)
        if shape is not None and (len(shape) != 1 or differ(shape[0], expected)):
            refuse(op, f"{field} has the shape {shown(shape)}; [{expected}] is needed")


def labels_for(scores: str, labels: str, weights: str) -> Rule:
    """Scores `[N, C, …]`, one label per position `[N, …]`, and one weight per class."""

    def rule(op: Operation) -> None:
        x, y = shape_of(op, scores), shape_of(op, labels)
        w = None if is_absent(op, weights) else shape_of(op, weights)
        if x is None:
            return
        if len(x) < 2:
            refuse(op, f"{scores} has rank {len(x)}; it has batches and classes")
        expected = (x[0], *x[2:])
        if y is not None and (
            len(y) != len(expected) or any(differ(a, b) for a, b in zip(y, expected, strict=True))
        ):
            refuse(op, f"{labels} has the shape {shown(y)}; {shown(expected)} is needed")
        if w is not None and (len(w) != 1 or differ(w[0], x[1])):
            refuse(op, f"{weights} has the shape {shown(w)}; {shown([x[1]])} is needed")

    return rule


def listed_regions(op: Operation) -> None:
    """Regions of interest `[num, 4]` with batch indices; `MaxRoiPool` has these in front, `[num, 5]`."""
    found = shape_of(op, "rois")
    columns = 5 if op.name == "onnx.MaxRoiPool" else 4
    if found is None:
        return
    if len(found) != 2 or differ(found[1], columns):
        refuse(op, f"rois has the shape {shown(found)}; each is {columns} numbers")
    images = shape_of(op, "batch_indices") if columns == 4 else None
    if images is not None and differ(images[0], found[0]):
        refuse(op, f"batch_indices has {images[0]} elements for {found[0]} rois")


def causal_convolution(op: Operation) -> None:
    """`CausalConvWithState`: input `[N, C, L]`, weight `[C, 1, k]`, bias `[C]`, state `[N, C, k - 1]`."""
    x, w = shape_of(op, "input"), shape_of(op, "weight")
    if (x is not None and len(x) != 3) or (w is not None and len(w) != 3):
        refuse(op, "input and weight have rank 3")
    batch, channels = (DYNAMIC, DYNAMIC) if x is None else x[:2]
    taps = DYNAMIC if w is None else w[2]
    if w is not None and (differ(w[0], channels) or differ(w[1], 1) or taps == 0):
        refuse(op, f"weight has the shape {shown(w)}; {shown([channels, 1, taps])} is needed")
    state_size = DYNAMIC if taps == DYNAMIC else taps - 1
    for field, expected in (("bias", (channels,)), ("past_state", (batch, channels, state_size))):
        shape = None if is_absent(op, field) else shape_of(op, field)
        if shape is not None and (
            len(shape) != len(expected) or any(differ(a, b) for a, b in zip(shape, expected, strict=True))
        ):
            refuse(op, f"{field} has the shape {shown(shape)}; {shown(expected)} is needed")


def spectrum(op: Operation) -> None:
    """`DFT` and `STFT`: the last axis holds a real number, or a real and an imaginary part."""
    field = "signal" if op.name == "onnx.STFT" else "input"
    x = shape_of(op, field)
    if x is None:
        return
    # Runtimes take a signal of real numbers without the last axis.
    is_real = field == "signal" and len(x) == 2
    if not is_real and (len(x) < 2 or x[-1] not in (1, 2, DYNAMIC)):
        refuse(op, f"{field} has the shape {shown(x)}; it has rank 2 or more and ends in 1 or 2")
    if "axis" in op.properties:
        axis = integer_of(op, "axis")
        if axis is not None and not -len(x) <= axis < len(x) - 1:
            refuse(op, f"axis is {axis}; the accepted range is [{-len(x)}, {len(x) - 2}]")


def einsum(op: Operation) -> None:
    """`Einsum`: one term per operand, one letter per axis; letters of the result occur in the terms."""
    equation = (text_of(op, "equation") or "").replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms, shapes = left.split(","), [_shape(type_) for type_ in types_of(op, "Inputs")]
    prefix = f"equation '{equation}': "
    if len(terms) != len(shapes):
        counts = f"number of equation inputs {len(terms)} != number of actual inputs {len(shapes)}"
        refuse(op, prefix + counts)
    sizes: dict[str, int] = {}
    ellipsis: int | None = None
    for term, shape in zip(terms, shapes, strict=True):
        found = _check_term(op, prefix, term, shape)
        if found is not None and ellipsis not in (None, found):
            refuse(op, f"{prefix}inputs disagree on ellipsis rank, {ellipsis} vs {found}")
        ellipsis = ellipsis if found is None else found
        if shape is not None:
            _note_sizes(op, prefix, term, shape, sizes)
    if not arrow:
        return
    if ellipsis and "..." not in right:
        needed = "output needs ellipsis because inputs have non-empty ellipsis with rank"
        refuse(op, f"{prefix}{needed} {ellipsis}")
    letters = right.replace("...", "", 1)
    for letter in letters:
        if letters.count(letter) > 1:
            refuse(op, f"{prefix}subscript {letter} appears multiple times in the output")
        if letter not in left:
            refuse(op, f"{prefix}output subscript {letter} doesn't appear in inputs")


def _check_term(op: Operation, prefix: str, term: str, shape: tuple[int, ...] | None) -> int | None:
    """Check a term of an equation; return the number of axes of its ellipsis."""
    letters = term.replace("...", "", 1)
    if not all(letter.isalpha() and letter.isascii() for letter in letters):
        refuse(op, f"{prefix}invalid equation syntax: '{term}' has letters and one ...")
    if shape is None:
        return None
    subscripts = f"number of equation input parameter subscripts {len(letters)}"
    if "..." not in term:
        if len(letters) != len(shape):
            refuse(op, f"{prefix}{subscripts} != input type rank {len(shape)}")
        return None
    if len(letters) > len(shape):
        refuse(op, f"{prefix}{subscripts} exceeds input type rank {len(shape)}")
    return len(shape) - len(letters)


def _note_sizes(op: Operation, prefix: str, term: str, shape: Sequence[int], sizes: dict[str, int]) -> None:
    before, dots, after = term.partition("...")
    pairs = [*zip(before, shape, strict=False)]
    if dots and after:
        pairs += zip(after, shape[-len(after) :], strict=True)
    for letter, size in pairs:
        if size in (1, DYNAMIC):
            continue
        if sizes.setdefault(letter, size) != size:
            is_own = term.count(letter) > 1 and size in shape and sizes[letter] in shape
            message = "has axes with different dim sizes" if is_own else "has conflicting dim sizes"
            where = " in the same input" if is_own else ""
            refuse(op, f"{prefix}subscript '{letter}' {message} {sizes[letter]}, {size}{where}")


def _shape(type_: Attribute) -> tuple[int, ...] | None:
    return type_.get_shape() if is_ranked(type_) else None


def same_bits(first: str, second: str) -> Rule:
    """Element types of equal bit width."""

    def rule(op: Operation) -> None:
        a, b = (_bits(element_of(op, field)) for field in (first, second))
        if a is not None and b is not None and a != b:
            refuse(op, f"elements of {first} have {a} bits, those of {second} have {b}")

    return rule


_UNLIKE_THEIR_WIDTH: Mapping[Attribute, int] = {i1: 8, ComplexType(f32): 64, ComplexType(f64): 128}
"""Element types that take another number of bits than their type says: a bool takes a byte."""


def _bits(element: Attribute | None) -> int | None:
    if element is not None and element in _UNLIKE_THEIR_WIDTH:
        return _UNLIKE_THEIR_WIDTH[element]
    return element.bitwidth if isinstance(element, FixedBitwidthType) else None
