"""
Made-up inputs that a model can take.

Inputs are normal numbers, then numbers of all magnitudes and signs with zeros among them, then nothing but
zeros, and so on. What they must be is read from the model where it can be: sizes that follow from weights or
from each other, indices within the axis that they are looked up in, masks of 0 and 1, words that the model
knows. The rest, what a dynamic size or an integer may be, is found by trying until the model takes them:
first the same size for all, then the smallest at which every sliding window has a position and every reshape
has as many elements as it needs, then small sizes for each by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerType, ModuleOp, StringAttr, i1
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from xonnc.dialects.onnx.attribute_builders import is_array
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.types import element_type
from xonnc.errors import XonncError
from xonnc.formats.onnx.importer import import_model
from xonnc.runtime.reference import ModelParameter
from xonnc.transforms.dims.analysis import DimAnalysis
from xonnc.transforms.dims.expressions import ONE, DimExpr
from xonnc.transforms.shape_inference_onnx import infer_shapes
from xonnc.transforms.shapes.elementwise import BROADCASTING, COMPARING
from xonnc.transforms.shapes.inference_context import InferenceContext, constant_array

Array: TypeAlias = npt.NDArray[Any]
Feeds: TypeAlias = Mapping[str, Array]

Profile: TypeAlias = Literal[
    "normal", "wide", "zeros", "negative", "extremes", "nan-inf", "denormal", "edge-shapes"
]
"""
Distribution of the elements of inputs.

`wide`: all magnitudes and signs, with zeros; `negative`: no positive element; `extremes`: the limits of the
type; `nan-inf`: NaN and infinities among normal ones; `denormal`: subnormal floats; `edge-shapes`: normal
elements in dynamic dimensions of 1, 0 and odd sizes.
"""

PROFILES: tuple[Profile, ...] = get_args(Profile)

CYCLE: tuple[Profile, ...] = ("normal", "wide", "zeros")
"""The profiles that inputs have in turn if none is asked for."""

EDGE_SIZES = (1, 0, 17, 3)
"""Dynamic dimensions of the profile `edge-shapes`."""

SPECIAL_SHARE = 0.25
"""Share of NaN and infinities in the profile `nan-inf`."""

DYNAMIC_SIZES = (1, 32, 224, 4096)
"""Dynamic sizes that are tried after 2, 3 or 1."""

SEARCHED_SIZES = (1, 2, 3, 4, 6, 8)
"""Values tried for each independent dynamic size if no size fits all of them."""

MAX_SEARCHED = 256
"""Combinations of these and of sizes in the model that are tried, drawn at random if there are more."""

MAX_FITTED_SIZE = 1024
"""Dynamic sizes up to this are tried for windows and shapes."""

MAX_TARGET_SIZE = 512
"""Larger constants in shapes are hardly a dynamic size that was traced."""

MAX_UNIFORM_SIZE = 3
"""Larger sizes are tried with a batch, the first axis, of 2 before all sizes are so large."""

MAX_ELEMENTS = 1 << 20
"""Inputs larger than this get no large dynamic sizes: what is made of them may be larger by far."""

MAX_FLOAT = 1e3
MAX_INTEGER = 100
"""Wider integers than 16 bits may be sizes and counts: larger ones could ask for all memory there is."""

OUT_OF_VOCABULARY = ("", "unknown", "Ünknown 9")
"""Strings that few models know."""

PASS_THROUGH_OPERATORS = frozenset(
    (
        *("Cast", "Concat", "Expand", "Flatten", "Identity", "Pad", "Reshape", "Slice", "Split"),
        *("Squeeze", "Tile", "Transpose", "Unsqueeze", "Where"),
    )
)
"""Operators whose results hold elements of what they read."""

INTEGER_ARITHMETIC = frozenset("Abs Add Clip Max Min Mod Mul Sub".split())
"""Operators that, of integers, wrap negative indices, shift and select them: results bound what they read."""

INDEX_OPERATORS = frozenset("Gather GatherElements GatherND Scatter ScatterElements ScatterND".split())
"""Operators whose second operand holds places in the first."""

WINDOW_OPERATORS = frozenset("AveragePool Conv LpPool MaxPool QLinearConv".split())
"""Operators whose windows may be larger than what they slide over."""

RECURRENT = frozenset("GRU LSTM RNN".split())

BROADCASTING_OPERATORS = frozenset((*BROADCASTING.split(), *COMPARING.split(), "Where"))
"""Operators that broadcast their operands together."""


@dataclass(frozen=True)
class InputConstraint:
    """The requirements of a model on one input."""

    sizes: tuple[DimExpr, ...]
    """Sizes without which the model fails."""
    likely_sizes: tuple[DimExpr, ...]
    """Sizes if none is broadcast to another."""
    below: tuple[DimExpr, ...] = ()
    """Exclusive upper bounds of its integers."""
    least: int = 0
    is_mask: bool = False
    """Whether it holds 0 and 1."""


@dataclass(frozen=True)
class InputConstraints:
    """The requirements of a model on its inputs, by name, and the words and sizes in it."""

    inputs: Mapping[str, InputConstraint] = field(default_factory=dict[str, InputConstraint])
    words: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    """Constant sizes that it reshapes or expands to: exporters leave some of the sizes they traced with."""
    positive: tuple[DimExpr, ...] = ()
    """Sizes of results that are at least 1 if the inputs are large enough."""
    multiples: tuple[tuple[DimExpr, int], ...] = ()
    """Numbers of elements, and what they must be multiples of to fill the shape they are reshaped to."""


UNCONSTRAINED = InputConstraints()


def input_constraints(model: Path, context: Context) -> InputConstraints:
    """Requirements from the graph of a model; none for one that cannot be imported."""
    try:
        return constraints_of(import_model(model, context, inline_functions=True))
    except XonncError:
        return UNCONSTRAINED


def constraints_of(module: ModuleOp) -> InputConstraints:
    """Requirements from the graph of a module, whose types are inferred; none if they contradict."""
    try:
        infer_shapes(module)
        function = next(op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks)
        sizes = DimAnalysis(module)
    except XonncError:
        return UNCONSTRAINED
    arguments = function.body.block.args
    known = [sizes.sizes(argument) or () for argument in arguments]
    _assume_no_broadcasts(function, sizes)
    likely = [sizes.sizes(argument) or () for argument in arguments]
    found: dict[str, InputConstraint] = {}
    for argument, attributes, first, second in zip(
        arguments, function.arg_attrs or (), known, likely, strict=False
    ):
        name = _name(attributes)
        below, least, is_mask = _element_constraints(argument, sizes)
        is_mask |= "mask" in name.lower()
        found[name] = InputConstraint(first, second, tuple(below), least, is_mask)
    targets = sorted({size for size in _target_sizes(function, sizes) if 1 < size <= MAX_TARGET_SIZE})
    symbols = frozenset(
        symbol for rule in found.values() for form in rule.likely_sizes for symbol in form.symbols
    )
    return InputConstraints(
        found,
        tuple(dict.fromkeys(_words(function))),
        tuple(targets),
        tuple(form for form in dict.fromkeys(_window_results(function, sizes)) if form.symbols <= symbols),
        tuple(each for each in dict.fromkeys(_reshaped(function, sizes)) if each[0].symbols <= symbols),
    )


def _name(attribute: Attribute) -> str:
    name = attribute.data.get("onnx.name") if isinstance(attribute, DictionaryAttr) else None
    return name.data if isinstance(name, StringAttr) else ""


def _assume_no_broadcasts(function: FuncOp, known: DimAnalysis) -> None:
    """Take sizes that meet in an elementwise operator for equal, unless one of them is 1."""
    for op in function.walk():
        if _operator(op) not in BROADCASTING_OPERATORS:
            continue
        shapes = [sizes for operand in op.operands if (sizes := known.sizes(operand)) is not None]
        rank = max(map(len, shapes), default=0)
        for axis in range(1, rank + 1):
            sizes = [shape[-axis] for shape in shapes if len(shape) >= axis and shape[-axis] != ONE]
            for other in sizes[1:]:
                known.symbols.equate(sizes[0], other)


def _operator(op: Operation) -> str:
    """The name of an operator, of whatever version."""
    return re.sub(r"V\d+$", "", op.name.removeprefix("onnx."))


def _element_constraints(argument: SSAValue, known: DimAnalysis) -> tuple[list[DimExpr], int, bool]:
    """Requirements of the readers of an input on its elements: limits, the minimum, whether it is a mask."""
    below: list[DimExpr] = []
    least, is_mask = 0, False
    waiting, seen = [argument], {argument}
    while waiting:
        value = waiting.pop()
        for use in value.uses:
            op, index = use.operation, use.index
            if not isinstance(op, OnnxOp):
                continue
            below += _exclusive_bounds(op, index, known)
            least = max(least, int(_is_length(op, index)))
            is_mask |= _is_boolean_mask(op, index)
            if _passes_on(op, index):
                new = [result for result in op.results if result not in seen]
                waiting += new
                seen.update(new)
    return below, least, is_mask


def _passes_on(op: OnnxOp, index: int) -> bool:
    """Whether limits of an operator's results are limits of an operand."""
    name = _operator(op)
    if name in INTEGER_ARITHMETIC:
        return isinstance(element_type(op.results[0].type), IntegerType)
    return name in PASS_THROUGH_OPERATORS or (name == "Gather" and index == 0)


def _exclusive_bounds(op: OnnxOp, index: int, known: DimAnalysis) -> list[DimExpr]:
    """The exclusive upper bound of an operand's integers."""
    name, site = _operator(op), InferenceContext(op, known.integers)
    sizes = known.sizes(op.operands[0])
    if sizes is None:
        return []
    if name in INDEX_OPERATORS and index == 1:
        if not name.endswith("ND"):
            return [sizes[site.integer("axis")]] if sizes else []
        indices = known.sizes(op.operands[1])
        count = indices[-1].number if indices else None
        first = site.integer("batch_dims")
        return list(sizes[first : first + count]) if count is not None else []
    if name == "OneHot" and index == 0:
        depth = known.integers(op.operands[1])
        return [DimExpr(depth[0])] if depth and depth[0] > 0 else []
    if _is_length(op, index) and len(sizes) > 1:
        axis = site.integer("time_axis") if name == "ReverseSequence" else site.integer("layout")
        return [sizes[axis] + ONE]
    return []


def _is_length(op: OnnxOp, index: int) -> bool:
    """Whether an operand says how long sequences are."""
    name = _operator(op)
    return (name in RECURRENT and index == 4) or (name == "ReverseSequence" and index == 1)


def _is_boolean_mask(op: OnnxOp, index: int) -> bool:
    """Whether an operand is taken for true and false: as a boolean, or for 1 less it."""
    if _operator(op) == "Cast":
        return element_type(op.results[0].type) == i1
    if _operator(op) != "Sub" or index != 1:
        return False
    first = constant_array(op.operands[0])
    return first is not None and first.size == 1 and float(first.reshape(())) == 1.0


def _words(function: FuncOp) -> Iterator[str]:
    """The strings in the constants and lists of a model."""
    for op in function.walk():
        for attribute in (*op.properties.values(), *op.attributes.values()):
            if is_array(attribute):
                yield from (each.data for each in attribute.data if isinstance(each, StringAttr))
        if op.name == "onnx.Constant" and (array := constant_array(op.results[0])) is not None:
            yield from (each for each in array.ravel()[:100].tolist() if isinstance(each, str))


def _target_sizes(function: FuncOp, known: DimAnalysis) -> Iterator[int]:
    """The constants in the shapes that a model reshapes or expands to."""
    for op in function.walk():
        if _operator(op) in ("Expand", "Reshape"):
            yield from known.integers(op.operands[1]) or ()


def _window_results(function: FuncOp, known: DimAnalysis) -> Iterator[DimExpr]:
    """The dynamic sizes of the results of windows that slide."""
    for op in function.walk():
        if _operator(op) in WINDOW_OPERATORS:
            yield from (size for size in (known.sizes(op.results[0]) or ())[2:] if size.number is None)


def _reshaped(function: FuncOp, known: DimAnalysis) -> Iterator[tuple[DimExpr, int]]:
    """Dynamic numbers of elements, and the product of the constant sizes that they are reshaped to."""
    for op in function.walk():
        if _operator(op) != "Reshape":
            continue
        sizes, target = known.sizes(op.operands[0]), known.integers(op.operands[1])
        if sizes is None or target is None or 0 in target:
            continue
        count = reduce(DimExpr.__mul__, sizes, ONE)
        fixed = prod(size for size in target if size > 0)
        if count.number is None and fixed > 1:
            yield count, fixed


def trial_feeds(
    ports: Sequence[ModelParameter],
    index: int,
    seed: int = 0,
    rules: InputConstraints = UNCONSTRAINED,
    profile: Profile | None = None,
) -> Iterator[Feeds]:
    """
    Inputs of a profile (default: that of number `index` in `CYCLE`), each tamer than the one before.
    """
    kind = profile or CYCLE[index % len(CYCLE)]

    def drawn(shapes: Shapes, largest: int) -> Feeds:
        generator = np.random.default_rng((seed, index))
        return {
            port.name: _random_input(port, shape, limits, kind, largest, rules, generator)
            for port, (shape, limits) in zip(ports, shapes, strict=True)
        }

    first = EDGE_SIZES[index % len(EDGE_SIZES)] if kind == "edge-shapes" else 2 + index % 2
    for size, shapes in _trial_shapes(ports, first, rules):
        if size > MAX_UNIFORM_SIZE and any(prod(shape) > MAX_ELEMENTS for shape, _ in shapes):
            continue
        for largest in (MAX_INTEGER, 1, 0):
            yield drawn(shapes, largest)
    for shapes in (*_minimal_shapes(ports, rules), *_searched_shapes(ports, rules)):
        if all(prod(shape) <= MAX_ELEMENTS for shape, _ in shapes):
            yield drawn(shapes, 1)


Shapes: TypeAlias = list[tuple[tuple[int, ...], list[int]]]
"""The shape of each input, and what its integers must be below."""


def _trial_shapes(
    ports: Sequence[ModelParameter], first: int, rules: InputConstraints
) -> Iterator[tuple[int, Shapes]]:
    """Shapes to try, and the size that they come from; no shapes twice in a row."""
    last: Shapes | None = None
    for size in (first, *DYNAMIC_SIZES):
        batches = (2, size) if size > MAX_UNIFORM_SIZE and rules.inputs else (size,)
        attempts = ((True, 1), (True, 0), (False, 0)) if rules.inputs else ((False, 0),)
        for batch, (is_likely, step) in product(batches, attempts):
            found = _shapes(ports, rules, size, batch, is_likely, step)
            if found != last:
                yield size, found
            last = found


def _minimal_shapes(ports: Sequence[ModelParameter], rules: InputConstraints) -> Iterator[Shapes]:
    """Shapes with the smallest sizes that windows and reshapes need; one symbol after the other is larger."""
    asked = (*rules.positive, *(count for count, _ in rules.multiples))
    symbols = sorted({symbol for form in asked for symbol in form.symbols})

    def fit(values: Mapping[int, int], with_multiples: bool) -> bool:
        return all(_evaluated(form, values) > 0 for form in rules.positive) and not (
            with_multiples
            and any(
                (count := _evaluated(form, values)) <= 0 or count % divisor
                for form, divisor in rules.multiples
            )
        )

    equal = (dict.fromkeys(symbols, size) for size in range(1, MAX_FITTED_SIZE + 1))
    least = next((values for values in equal if fit(values, False)), None)
    if least is None or not symbols:
        return
    for symbol in symbols:
        lower = (least | {symbol: size} for size in range(1, least[symbol]))
        least = next((values for values in lower if fit(values, False)), least)
    for more in (0, 1, 2):
        for symbol in symbols:
            others = {other: size + more for other, size in least.items()}
            larger = (others | {symbol: size} for size in range(least[symbol], MAX_FITTED_SIZE + 1))
            if (found := next((values for values in larger if fit(values, True)), None)) is not None:
                yield _shapes_of(ports, rules, True, found, 1, 0)


def _evaluated(form: DimExpr, values: Mapping[int, int]) -> int:
    return form.constant + sum(
        coefficient * prod(values[symbol] for symbol in factors) for factors, coefficient in form.terms
    )


def _searched_shapes(ports: Sequence[ModelParameter], rules: InputConstraints) -> Iterator[Shapes]:
    """
    Shapes in which the symbols are small and independent of each other.

    A mask may have to be as long as a past and a sequence together though no operator equates the sizes.
    """
    symbols = sorted(
        {symbol for rule in rules.inputs.values() for form in rule.likely_sizes for symbol in form.symbols}
    )
    choices = tuple(dict.fromkeys((*SEARCHED_SIZES, *rules.sizes)))
    if len(choices) ** len(symbols) <= MAX_SEARCHED:
        combinations = product(choices, repeat=len(symbols))
    else:
        drawn = np.random.default_rng(0).choice(choices, (MAX_SEARCHED, len(symbols))).tolist()
        combinations = [*_with_one_of_its_own(choices, len(symbols)), *drawn]
    for sizes in combinations if symbols else ():
        yield _shapes_of(ports, rules, True, dict(zip(symbols, sizes, strict=True)), 1, 0)


def _with_one_of_its_own(choices: Sequence[int], count: int) -> Iterator[tuple[int, ...]]:
    """Lists of sizes in which all but one are 1, or all but one are 2."""
    for common, position, size in product((1, 2), range(count), choices):
        if size != common:
            yield (*(common,) * position, size, *(common,) * (count - position - 1))


def _shapes(
    ports: Sequence[ModelParameter],
    rules: InputConstraints,
    size: int,
    batch: int,
    is_likely: bool,
    step: int,
) -> Shapes:
    """Shapes in which symbols are `size`, `batch` on first axes, every other one larger by `step`."""
    values: dict[int, int] = {}
    for rule in rules.inputs.values() if batch != size else ():
        sizes = rule.likely_sizes if is_likely else rule.sizes
        if len(sizes) > 1 and sizes[0].symbol is not None:
            values[sizes[0].symbol] = batch
    return _shapes_of(ports, rules, is_likely, values, size, step)


def _shapes_of(
    ports: Sequence[ModelParameter],
    rules: InputConstraints,
    is_likely: bool,
    values: dict[int, int],
    size: int,
    step: int,
) -> Shapes:
    """Shapes in which symbols without a value are `size`, every other one larger by `step`."""

    def evaluated(form: DimExpr) -> int:
        for symbol in sorted(form.symbols):
            values.setdefault(symbol, size + step * (len(values) % 2))
        return _evaluated(form, values)

    found: Shapes = []
    for port in ports:
        rule = rules.inputs.get(port.name)
        sizes = () if rule is None else rule.likely_sizes if is_likely else rule.sizes
        if rule is None or len(sizes) != len(port.shape):
            found.append((tuple(size if extent is None else extent for extent in port.shape), []))
            continue
        shape = tuple(
            max(evaluated(form), min(size, 1)) if extent is None else extent
            for form, extent in zip(sizes, port.shape, strict=True)
        )
        found.append((shape, [evaluated(form) for form in rule.below]))
    return found


def _random_input(
    port: ModelParameter,
    shape: tuple[int, ...],
    limits: Sequence[int],
    kind: Profile,
    largest: int,
    rules: InputConstraints,
    generator: np.random.Generator,
) -> Array:
    """One input: what its rule says, else whatever there is of its type."""
    rule = rules.inputs.get(port.name)
    if port.dtype.kind == "O":
        words = np.array([*rules.words, *OUT_OF_VOCABULARY], object)
        return generator.choice(words[-len(OUT_OF_VOCABULARY) :] if kind == "zeros" else words, shape)
    is_bounded = bool(limits) and port.dtype.kind in "iuf"
    if rule is None or port.dtype.kind == "b" or not (is_bounded or rule.is_mask):
        return _array(port.dtype, shape, kind, largest, generator)
    top = min([*limits, *((2,) if rule.is_mask else ())]) - 1
    if largest <= 1:
        top = min(top, max(largest, rule.least))
    low, high = min(rule.least, max(top, 0)), max(top, 0)
    if kind == "zeros":
        return np.full(shape, low, port.dtype)
    if kind in ("normal", "edge-shapes"):
        return generator.integers(low, high, shape, endpoint=True).astype(port.dtype)
    return generator.choice(np.array([low, high], port.dtype), shape)


def _array(
    dtype: np.dtype[Any], shape: Sequence[int], kind: Profile, largest: int, generator: np.random.Generator
) -> Array:
    """An input of a profile; integers of more than 16 bits have magnitudes up to `largest`."""
    if kind == "zeros" or (largest == 0 and dtype.kind != "f"):
        return np.zeros(shape, dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(np.bool_)
    if dtype.kind == "f":
        return _floats(dtype, shape, kind, generator).astype(dtype)
    limits = np.iinfo(dtype)
    low, high = limits.min, limits.max
    if dtype.itemsize > 2 or largest == 1:
        low, high = max(low, -largest if largest > 1 else 0), min(high, largest)
    if kind == "negative":
        high = min(high, max(low, 0))
    if kind in ("normal", "negative", "edge-shapes"):
        return generator.integers(low, high, shape, dtype, endpoint=True)
    return generator.choice(np.array([low, high, 0, 1], dtype), shape)


def _floats(
    dtype: np.dtype[Any], shape: Sequence[int], kind: Profile, generator: np.random.Generator
) -> Array:
    """Floats of a profile."""
    limits = np.finfo(dtype)
    numbers = generator.standard_normal(shape)
    if kind == "wide":
        return _log_uniform(dtype, shape, generator)
    if kind == "negative":
        return -np.abs(numbers)
    if kind == "extremes":
        top, least = float(limits.max), float(limits.tiny)
        return generator.choice(np.array([-top, top, -least, least, -1.0, 1.0, -0.0, 0.0]), shape)
    if kind == "nan-inf":
        # At least one NaN, however few elements there are.
        order = generator.permutation(numbers.size)[: max(int(SPECIAL_SHARE * numbers.size), 1)]
        special = generator.choice(np.array([np.nan, np.inf, -np.inf]), order.shape)
        special[:1] = np.nan
        flat = numbers.reshape(-1)
        flat[order] = special
        return flat.reshape(shape)
    if kind == "denormal":
        return generator.uniform(-1, 1, shape) * float(limits.tiny)
    return numbers


def _log_uniform(dtype: np.dtype[Any], shape: Sequence[int], generator: np.random.Generator) -> Array:
    """Numbers from a thousandth to as large as can be squared twice, of both signs, one in eight a zero."""
    top = np.log10(min(MAX_FLOAT, float(np.finfo(dtype).max) ** 0.25))
    numbers = 10 ** generator.uniform(-3, top, shape) * generator.choice([-1, 1], shape)
    return np.where(generator.random(shape) < 0.125, 0.0, numbers)
