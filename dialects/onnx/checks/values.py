"""Verification rules for the values of properties."""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, DictionaryAttr, IntegerAttr
from xdsl.ir import Operation
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.hints import isa

from xonnc.dialects.onnx.checks.verifier import (
    DYNAMIC,
    Rule,
    constant_of,
    differ,
    element_of,
    integer_of,
    integers_of,
    is_absent,
    length_of,
    real_of,
    refuse,
    shape_of,
    text_of,
    texts_of,
    types_of,
    values_of,
)
from xonnc.dialects.onnx.types import is_ranked


def require_range(op: Operation, name: str, value: int, low: int, high: int) -> None:
    """Refuse a value outside of a range."""
    if not low <= value <= high:
        raise VerifyException(f"{op.name}: '{name}' value is {value}, accepted range is [{low}, {high}]")


def axis_in_range(field: str, of: str, beyond: int = 0, text: str = "") -> Rule:
    """An axis of operand `of`, negative ones from the end; up to `beyond` further axes are allowed."""

    def rule(op: Operation) -> None:
        axis, shape = integer_of(op, field), shape_of(op, of)
        if axis is not None and shape is not None:
            rank = len(shape)
            if text and not -rank <= axis < rank:
                refuse(op, f"{text}: {axis} is not in [{-rank}, {rank - 1}]")
            require_range(op, field, axis, -rank, rank - 1 + beyond)

    return rule


def new_axis_in_range(field: str, of: str, text: str = "") -> Rule:
    """An axis of the result, whose rank is one more than that of operand `of`."""

    def rule(op: Operation) -> None:
        axis, shape = integer_of(op, field), shape_of(op, of)
        if axis is None or shape is None:
            return
        low, high = -len(shape) - 1, len(shape)
        if text and not low <= axis <= high:
            refuse(op, f"{text}: {axis} is not in [{low}, {high}]")
        require_range(op, field, axis, low, high)

    return rule


def axes_in_range(field: str, of: str, text: str = "") -> Rule:
    """Axes of operand `of`, without repetition."""

    def rule(op: Operation) -> None:
        axes, shape = integers_of(op, field), shape_of(op, of)
        if axes is None or shape is None:
            return
        rank = len(shape)
        for axis in axes:
            if text and not -rank <= axis < rank:
                refuse(op, f"{text}: {axis} is not in [{-rank}, {rank - 1}]")
            require_range(op, field, axis, -rank, rank - 1)
        if len({axis % rank for axis in axes}) != len(axes):
            refuse(op, f"{field} names an axis twice: {list(axes)}")

    return rule


def new_axes_differ(field: str) -> Rule:
    """Axes of the result, without textual repetition."""

    def rule(op: Operation) -> None:
        axes = integers_of(op, field)
        if axes is not None and len(set(axes)) != len(axes):
            refuse(op, "Duplicated axes")

    return rule


def is_permutation(field: str, of: str) -> Rule:
    """A permutation of the axes of operand `of`."""

    def rule(op: Operation) -> None:
        perm = integers_of(op, field)
        if perm is None:
            return
        shape = shape_of(op, of)
        rank = len(perm) if shape is None else len(shape)
        for index, axis in enumerate(perm):
            if axis < 0:
                refuse(op, f"Transpose op with too low a permute value ({axis} at index {index})")
            if axis >= rank:
                refuse(op, f"Transpose op with too high a permute value ({axis} at index {index})")
        if len(perm) != rank or len(set(perm)) != rank:
            refuse(op, f"{field} is {list(perm)}, which is no permutation of {rank} axes")

    return rule


def constant_axis_in_range(field: str, of: str) -> Rule:
    """An axis of operand `of`, if the operand that gives the axis is constant."""

    def rule(op: Operation) -> None:
        axes, shape = constant_of(op, field), shape_of(op, of)
        if axes is not None and shape is not None:
            for axis in axes.reshape(-1).tolist():
                require_range(op, field, axis, -len(shape), len(shape) - 1)

    return rule


def constants_at_least(field: str, low: int, text: str = "") -> Rule:
    """Values of at least `low`, if the operand that holds them is constant."""

    def rule(op: Operation) -> None:
        constant = constant_of(op, field)
        for number in () if constant is None else constant.reshape(-1).tolist():
            if number < low:
                refuse(op, f"{text}: {number}" if text else f"{field} has {number}; it is at least {low}")

    return rule


def integer_in(field: str, low: int, high: int, text: str = "") -> Rule:
    """An integer from `low` to `high`; `text` may have `{}` for another value."""

    def rule(op: Operation) -> None:
        value = integer_of(op, field)
        if value is None:
            return
        if text and not low <= value <= high:
            refuse(op, text.format(value))
        require_range(op, field, value, low, high)

    return rule


def at_least(field: str, low: int, text: str = "") -> Rule:
    """An integer or float of at least `low`."""

    def rule(op: Operation) -> None:
        value = integer_of(op, field)
        if value is None:
            value = real_of(op, field)
        if value is not None and value < low:
            refuse(op, text or f"{field} is {value}; it is at least {low}")

    return rule


def one_of(field: str, *values: str, text: str = "") -> Rule:
    """One of the strings that ONNX defines; `text` may have `{}` for another value."""

    def rule(op: Operation) -> None:
        value = text_of(op, field)
        if value is not None and value not in values:
            refuse(op, text.format(value) or f'{field} is "{value}"; it is one of {", ".join(values)}')

    return rule


def either(first: str, second: str) -> Rule:
    """Exactly one of two lists; one without elements, which exporters write, counts as absent."""

    def rule(op: Operation) -> None:
        found = [field for field in (first, second) if length_of(op, field)]
        if len(found) != 1:
            refuse(op, f"takes either {first} or {second}, found {' and '.join(found) or 'neither'}")

    return rule


def same_length(first: str, second: str) -> Rule:
    """Two lists have equal lengths."""

    def rule(op: Operation) -> None:
        lengths = length_of(op, first), length_of(op, second)
        if None not in lengths and lengths[0] != lengths[1]:
            refuse(op, f"{first} and {second} should have the same size")

    return rule


def each_at_least(field: str, low: int, text: str = "") -> Rule:
    """A list of integers of at least `low`."""

    def rule(op: Operation) -> None:
        for value in integers_of(op, field) or ():
            if value < low:
                message = f"{field} has {value}; each is at least {low}"
                refuse(op, f"{text} {message}" if text else message)

    return rule


def one_for_each_axis(field: str, of: str, each: int = 1) -> Rule:
    """A list with `each` values per axis of an operand."""

    def rule(op: Operation) -> None:
        found, shape = length_of(op, field), shape_of(op, of)
        if found is not None and shape is not None and found != each * len(shape):
            refuse(op, f"{field} has {found} values; {each * len(shape)} are needed for {len(shape)} axes")

    return rule


def one_for_each_of(field: str, values: str) -> Rule:
    """A list with one value per operand or result of a variadic group."""

    def rule(op: Operation) -> None:
        found, count = length_of(op, field), len(values_of(op, values))
        if found is not None and found != count:
            refuse(op, f"{field} has {found} values for {count} {values}")

    return rule


def same_rows(values: str) -> Rule:
    """Matrices, or columns of rank 1, of equal numbers of rows."""

    def rule(op: Operation) -> None:
        shapes = [type_.get_shape() for type_ in types_of(op, values) if is_ranked(type_)]
        if any(len(shape) not in (1, 2) for shape in shapes):
            refuse(op, f"ranks of {values} are {[len(shape) for shape in shapes]}; they are 1 or 2")
        rows = {shape[0] for shape in shapes} - {DYNAMIC}
        if len(rows) > 1:
            refuse(op, f"{values} have {', '.join(map(str, sorted(rows)))} rows; they must be the same")

    return rule


def same_lengths(*fields: str) -> Rule:
    """Lists of equal lengths; absent and empty lists are ignored."""

    def rule(op: Operation) -> None:
        found = {field: length for field in fields if (length := length_of(op, field))}
        if len(set(found.values())) > 1:
            lengths_text = ", ".join(f"{field} {length}" for field, length in found.items())
            refuse(op, f"lists that belong together have different lengths: {lengths_text}")

    return rule


approximation = one_of(
    "approximate",
    "none",
    "tanh",
    text="This value is unsupported. The approximate attribute should be a value of none or tanh. "
    "The value received was approximate = {}",
)
sampling_mode = one_of(
    "mode",
    "linear",
    "nearest",
    "cubic",
    text="mode needs to be linear, bilinear, trilinear, nearest or cubic; "
    "since opset 20 linear, nearest or cubic, not {}",
)
early_sampling_mode = one_of(
    "mode",
    "bilinear",
    "nearest",
    "bicubic",
    text="mode needs to be linear, bilinear, trilinear, nearest or cubic; "
    "before opset 20 bilinear, nearest or bicubic, not {}",
)
recurrent_direction = one_of(
    "direction",
    "forward",
    "reverse",
    "bidirectional",
    text="direction attribute must be one of the strings: forward, reverse, and bidirectional, not {}",
)


def each_one_of(field: str, *texts: str) -> Rule:
    """A list of strings that ONNX defines."""

    def rule(op: Operation) -> None:
        for text in texts_of(op, field) or ():
            if text not in texts:
                refuse(op, f'{field} has "{text}"; each is one of {", ".join(texts)}')

    return rule


def modulus(op: Operation) -> None:
    """`Mod`: before opset 28, floats need `fmod = 1` (C's fmod)."""
    if integer_of(op, "fmod") or not isinstance(element_of(op, "A"), AnyFloat):
        return
    opset = _opset(op)
    if opset is not None and opset < 28:
        text = "fmod must be 1 when the input type is floating point"
        refuse(op, f"{text}, which is C's fmod; opset {opset} has no other")


def _opset(op: Operation) -> int | None:
    """Return the opset of the model around an op; `None` outside of a model."""
    around: Operation = op
    while (parent := around.parent_op()) is not None:
        around = parent
    imports = around.attributes.get("onnx.opset_imports")
    version = imports.data.get("") if isinstance(imports, DictionaryAttr) else None
    return version.value.data if isa(version, IntegerAttr) else None


def parts_of(field: str, of: str, results: str, axis: str) -> Rule:
    """`Split` by a property: one size per result; their sum is the dimension of the axis."""

    def rule(op: Operation) -> None:
        sizes, shape, axis_index = integers_of(op, field), shape_of(op, of), integer_of(op, axis)
        if sizes is None:
            return
        if len(sizes) != len(values_of(op, results)):
            refuse(op, "Split size not equal to the number of results")
        if min(sizes, default=0) < 0:
            refuse(op, f"{field} has {min(sizes)}; each is at least 0")
        if shape is None or axis_index is None or not -len(shape) <= axis_index < len(shape):
            return
        if differ(shape[axis_index], sum(sizes)):
            refuse(op, f"{field} adds up to {sum(sizes)}; axis {axis_index} has {shape[axis_index]} elements")

    return rule


def resampling(op: Operation) -> None:
    """`Resize`: either scales or sizes; `roi` for `tf_crop_and_resize`."""
    scales = is_absent(op, "scales") or shape_of(op, "scales") == (0,)
    if scales == is_absent(op, "sizes"):
        refuse(op, f"scales() and sizes() cannot both be {'absent' if scales else 'defined'}")
    if text_of(op, "coordinate_transformation_mode") == "tf_crop_and_resize" and is_absent(op, "roi"):
        refuse(op, "coordinate_transformation_mode tf_crop_and_resize needs roi")


def sequence_split(op: Operation) -> None:
    """`SplitToSequence` by constants: a positive size, or sizes whose sum is the dimension of the axis."""
    listed = None if is_absent(op, "split") else shape_of(op, "split")
    if listed is not None and len(listed) > 1:
        refuse(op, f": split has rank {len(listed)} > 1")
    constant = None if listed is None else constant_of(op, "split")
    if constant is None:
        return
    sizes: list[int] = constant.reshape(-1).tolist()
    if constant.ndim == 0 and sizes[0] <= 0:
        refuse(op, f": split scalar {sizes[0]} <= 0")
    for index, size in enumerate(sizes):
        if size < 0:
            refuse(op, f": split tensor has entry {size} < 0, at index {index}")
    shape, axis = shape_of(op, "input"), integer_of(op, "axis")
    if constant.ndim and shape is not None and axis is not None and differ(shape[axis], sum(sizes)):
        total = f"{sum(sizes)} != axis dimension size {shape[axis]}"
        refuse(op, f": split tensor entries sum to {total}")


def ngrams(op: Operation) -> None:
    """`TfIdfVectorizer`: n-gram lengths of at least 1, one pool, and an index (and weight) per n-gram."""
    least, most = integer_of(op, "min_gram_length") or 0, integer_of(op, "max_gram_length") or 0
    skipped = integer_of(op, "max_skip_count") or 0
    if not 1 <= least <= most:
        refuse(op, f"n-grams have {least} to {most} items; at least 1, and no fewer than the least")
    if skipped < 0:
        refuse(op, f"max_skip_count is {skipped}; it is at least 0")
    starts = integers_of(op, "ngram_counts") or ()
    pools = [length for name in ("pool_int64s", "pool_strings") if (length := length_of(op, name))]
    if len(pools) != 1:
        refuse(op, f"takes either pool_int64s or pool_strings, found {'both' if pools else 'neither'}")
    if len(starts) < most:
        refuse(op, f"ngram_counts has {len(starts)} starts; n-grams of up to {most} items need {most}")
    if list(starts) != sorted(starts) or (starts and not 0 <= starts[0] <= starts[-1] <= pools[0]):
        refuse(op, f"ngram_counts {list(starts)} do not rise within a pool of {pools[0]}")
    weights, indexes = length_of(op, "weights"), integers_of(op, "ngram_indexes") or ()
    if weights is not None and weights != len(indexes):
        refuse(op, f"weights has {weights} values for {len(indexes)} n-grams")
    if min(indexes, default=0) < 0:
        refuse(op, f"ngram_indexes has {min(indexes)}; each is at least 0")
