"""`shape-inference-onnx`: infer the most refined type of every result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, NoneType
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass

from xonnc.dialects.onnx.elements import DisposableElementsAttr, type_of_elements
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import ReturnOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import NONE, are_compatible, is_ranked, is_tensor, tensor_type
from xonnc.errors import InvalidModelError, XonncError
from xonnc.rewriting.editing import operands_of, retype, retype_function
from xonnc.rewriting.op_verification import node_message, unknown_attribute, verification_error
from xonnc.rewriting.remarks import warn
from xonnc.transforms.branch_types import forget_behind_branches
from xonnc.transforms.dims.bodies import enter_body
from xonnc.transforms.dims.dim_context import Partly
from xonnc.transforms.dims.functions import enter_function, leave_function, name_results
from xonnc.transforms.dims.shape_analysis import ShapeAnalysis, holds_integers, is_static
from xonnc.transforms.invalid_branches import drop_branch, drops_invalid_branches, drops_of_shapes
from xonnc.transforms.onnx_package_hooks import inference
from xonnc.transforms.shapes.axes_operands import write_axes
from xonnc.transforms.shapes.bodies import infer_body
from xonnc.transforms.shapes.control_flow import union
from xonnc.transforms.shapes.inference_context import (
    SHAPE_FUNCTIONS,
    UNKNOWN,
    InferenceContext,
    Integers,
    ShapeError,
    Types,
)
from xonnc.transforms.shapes.operand_types import refine_operands

WITH_BODY = frozenset(("Fused", "Loop", "Scan", "ScanV8", "SequenceMap"))
"""Ops whose body has arguments with types from outside."""


@dataclass(frozen=True)
class ShapeInference(ModulePass):
    """
    Infer the types of all values from the function arguments, then the result types of the functions.

    Static dimensions are kept and dynamic ones refined, those of operands too where another operand tells
    them: the common dimension of a matrix product, the input size of a recurrence. A contradiction is an
    error that names the node and both types. Axes become non-negative; those left out of Squeeze and Slice,
    and steps, become constants. Attributes of convolutions and pooling stay as they are. Dynamic dimensions
    of results that follow from named input dimensions are named (`onnx.dim_params`): `seq + 1`.
    """

    name = "shape-inference-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        # Where a function is called, its arguments have the types of the calls.
        called = {inner.callee.string_value() for inner in op.walk() if isinstance(inner, CallOp)}
        functions = [
            inner
            for inner in op.walk()
            if isinstance(inner, FuncOp) and inner.sym_name.data not in called and inner.body.blocks
        ]
        _Inference(op, keeps_windows=True).inside(op)
        while any([refine_operands(function) for function in functions]):
            _Inference(op, keeps_windows=True).inside(op)
        write_axes(op)


def infer_shapes(module: Operation) -> bool:
    """
    Infer all types in `module`; return whether one changed.

    Resolved attributes of convolutions and pooling are written, as lowerings expect them.
    """
    return learn_shapes(module)[0]


def correct_shapes(module: Operation) -> None:
    """
    Infer all types in `module`; where declared types contradict the operators, the inferred ones win.

    Exporters may declare wrong types of inner values and outputs; like onnxruntime, this only warns. Other
    errors raise `InvalidModelError`. What is declared behind branches is dropped first: which branch runs may
    be found only later, when its contradiction would be none that is corrected here.
    """
    forget_behind_branches(module)
    wrong: list[Wrong] = []
    corrections: Corrections = []
    _Inference(module, None, wrong, corrections).inside(module)
    refuse_wrong(wrong)
    _warn_of(corrections)


Corrections = list[tuple[Operation, str]]
"""Ops with results whose declared types were corrected, and the warning of each."""


def _warn_of(corrections: Corrections) -> None:
    """Warn once: one wrong declaration is often followed by those of all values computed from it."""
    if corrections:
        op, text = corrections[0]
        others = len({each for each, _ in corrections}) - 1
        warn(f"{text}; so it is at {others} other node{'s' * (others > 1)}" if others else text, op)


InferredOps = dict[Operation, tuple[object, ...]]
"""Inputs of the inference (operands, types, properties) of ops that need not be inferred again."""


def learn_shapes(
    module: Operation, settled: InferredOps | None = None, wrong: list[Wrong] | None = None
) -> tuple[bool, ShapeAnalysis]:
    """
    Infer all types in `module`; return whether one changed, and the shape analysis.

    Ops in `settled` whose inputs are unchanged are skipped; others are added. With `wrong`, every op is
    verified before its inference; errors, contradicting shapes included, are appended and not raised.
    """
    inference = _Inference(module, settled, wrong)
    return inference.inside(module), inference.facts


def find_wrong(module: Operation, doubtful: Iterable[SSAValue] = ()) -> list[Wrong]:
    """
    Infer shapes; return all errors of ops in `module`.

    The shapes of `doubtful` values are ignored, and their types too if these are `none`.
    """
    wrong: list[Wrong] = []
    inference = _Inference(module, None, wrong)
    inference.doubtful.update(doubtful)
    inference.inside(module)
    return wrong


def refuse_wrong(wrong: Sequence[Wrong]) -> None:
    """Raise `InvalidModelError` with all errors, if any."""
    if wrong:
        raise InvalidModelError([each.message for each in wrong], [each.op for each in wrong])


@dataclass(frozen=True)
class Wrong:
    """An invalid op and its error message."""

    op: Operation
    message: str
    is_shape: bool = False
    """Whether shapes contradict each other, which may depend on the input shapes."""


class _Inference:
    """One walk over a module in textual order."""

    def __init__(
        self,
        root: Operation,
        settled: InferredOps | None = None,
        wrong: list[Wrong] | None = None,
        corrections: Corrections | None = None,
        keeps_windows: bool = False,
    ) -> None:
        self.keeps_windows = keeps_windows
        self.corrections = corrections
        """Where types that contradict the operands are added and corrected; refused if `None`."""
        self.facts = ShapeAnalysis()
        self.settled = {} if settled is None else settled
        self.wrong = wrong
        self.doubtful: set[SSAValue] = set()
        """Results of invalid ops, and values derived from them; their shapes are not used."""
        self._root = root
        self._entered: set[str] = set()
        self._drops_branches = drops_invalid_branches(root)
        self._drops_shapes = drops_of_shapes(root)

    @cached_property
    def _functions(self) -> dict[str, FuncOp]:
        """The functions by name, which few models call."""
        regions = self._root.regions
        return {op.sym_name.data: op for region in regions for op in region.walk() if type(op) is FuncOp}

    def inside(self, op: Operation, certain: bool = False) -> bool:
        """Infer the ops nested in an op; `certain` says whether they run whenever the function does."""
        if isinstance(op, FuncOp):
            return self._function(op)
        changed = False
        for region in op.regions:
            for block in region.blocks:
                changed |= self._block(block, certain)
        return changed

    def _function(self, function: FuncOp) -> bool:
        name = function.sym_name.data
        if name in self._entered or function.body.blocks.first is None:
            return False
        self._entered.add(name)
        parameters = enter_function(function, self.facts)
        changed = False
        for block in function.body.blocks:
            changed |= self._block(block, certain=block is function.body.blocks.first)
        changed |= retype_function(function)
        name_results(function, self.facts)
        leave_function(function, parameters, self.facts)
        return changed

    def _block(self, block: Block, certain: bool) -> bool:
        changed = False
        for op in block.ops:
            if isinstance(op, OnnxOp):
                changed |= self._op(op, certain) if self.wrong is None else self._verified(op, certain)
            elif isinstance(op, CallOp):
                changed |= self._call(op)
            elif op.regions:
                changed |= self.inside(op)
        return changed

    def _op(self, op: OnnxOp, certain: bool) -> bool:
        changed = self._bodies(op) if op.regions else False
        if op.results and not self._is_settled(op) and not self._doubtful_operands(op):
            changed |= infer(op, self.facts, certain, self.corrections, self.keeps_windows)
            if is_sure(op) and not _holds_elements(op):
                self.settled[op] = _basis(op)
        return changed

    def _verified(self, op: OnnxOp, certain: bool) -> bool:
        """Verify, then infer an op, since shape functions rely on valid properties; collect errors."""
        assert self.wrong is not None
        if isinstance(op, ReturnOp):
            # Function results have the returned types, whatever was declared.
            return False
        count = len(self.wrong)
        doubtful = self._doubtful_operands(op)
        if self.corrections is not None and op.regions and not doubtful:
            # The verifier compares results with the bodies' results, whose types are corrected first.
            self._op(op, certain)
        is_unknown = any(value.type == NONE for value in doubtful)
        reason = unknown_attribute(op) if is_unknown else verification_error(op, in_model=True)
        if reason is not None:
            self._blame(op, node_message(op, reason))
        if doubtful or reason is not None:
            changed = self._verified_inside(op)
        else:
            changed = self._inferred(op, certain)
        if doubtful or len(self.wrong) > count:
            self.doubtful.update(op.results)
        return changed

    def _inferred(self, op: OnnxOp, certain: bool) -> bool:
        try:
            return self._op(op, certain)
        except XonncError as error:
            # A `ShapeError`, or an error of the onnx package for operators without a shape function here.
            self._blame(op, str(error), is_shape=True)
            return False

    def _blame(self, op: Operation, message: str, is_shape: bool = False) -> None:
        """Collect the error of an op once: bodies are walked several times."""
        if self.wrong is not None and not any(each.op is op for each in self.wrong):
            self.wrong.append(Wrong(op, message, is_shape))

    def _doubtful_operands(self, op: OnnxOp) -> list[SSAValue]:
        """Return the doubtful values that an op or its bodies use."""
        if not self.doubtful:
            return []
        ends = [region.block.last_op for region in op.regions if region.blocks]
        values = [*op.operands, *(value for end in ends if end is not None for value in end.operands)]
        return [value for value in values if value in self.doubtful]

    def _verified_inside(self, op: OnnxOp) -> bool:
        for region in op.regions:
            for block in region.blocks:
                self.doubtful.update(block.args)
                self._block(block, certain=False)
        return False

    def _is_settled(self, op: OnnxOp) -> bool:
        if isinstance(op, ConstantOp) and op.value is not None and is_sure(op):
            return type_of_elements(op.value) == op.output.type
        return op in self.settled and self.settled[op] == _basis(op)

    def _bodies(self, op: OnnxOp) -> bool:
        if op.name.removeprefix("onnx.") in WITH_BODY:
            ctx = InferenceContext(op, self.facts.integers)
            return infer_body(ctx, lambda block: self._body(ctx, block))
        is_if = op.name == "onnx.If"
        changed = self._branches(op) if is_if and self._drops_branches else self.inside(op)
        return (is_if and _widen(op)) or changed

    def _branches(self, op: OnnxOp) -> bool:
        """Infer branches; those without valid shapes become assertions if another one is valid."""
        changed, outside = False, self.wrong
        errors: dict[int, Sequence[Wrong]] = {}
        for number, region in enumerate(op.regions):
            self.wrong = inside = None if outside is None else list[Wrong]()
            try:
                changed |= self._block(region.block, certain=False)
            except XonncError as error:
                inside = [Wrong(op, str(error), is_shape=True)]
            if inside:
                errors[number] = inside
        self.wrong = outside
        for number, wrong in errors.items():
            may_drop = len(errors) < len(op.regions) and not (
                self._drops_shapes and any(not each.is_shape for each in wrong)
            )
            if may_drop and drop_branch(op, number, wrong[0].message):
                continue
            if outside is None:
                raise ShapeError(wrong[0].message)
            outside += wrong
        return changed or bool(errors)

    def _body(self, ctx: InferenceContext, block: Block) -> bool:
        for argument in block.args:
            # An earlier inference of the body may have known the rank of a carried value.
            if is_ranked(argument.type):
                self.facts.note(argument)
            else:
                self.facts.forget(argument)
        enter_body(ctx, self.facts)
        return self._block(block, certain=False)

    def _call(self, op: CallOp) -> bool:
        """Infer a function's results from those of its calls."""
        function = self._functions.get(op.callee.string_value())
        if function is None:
            return False
        changed = self._function(function)
        outputs = function.function_type.outputs.data
        if len(outputs) != len(op.results):
            return changed
        return _refine(op, outputs, self.corrections) or changed


def _widen(op: OnnxOp) -> bool:
    """Drop declared types of `onnx.If` results that a branch contradicts."""
    changed = False
    ends = [region.block.last_op for region in op.regions]
    given = [() if end is None else [value.type for value in end.operands] for end in ends]
    for result, *types in zip(op.results, *given, strict=False):
        both = union(types[0], types[1])
        if both is not None and not all(are_compatible(each, result.type) for each in types):
            retype(result, both)
            changed = True
    return changed


def infer(
    op: Operation,
    facts: ShapeAnalysis | None = None,
    certain: bool = False,
    corrections: Corrections | None = None,
    keeps_windows: bool = False,
) -> bool:
    """
    Infer the result types of one op; return whether one changed.

    `certain` says whether the op runs whenever the module does, so that its requirements hold everywhere;
    with `corrections`, declared types that contradict the inferred ones are replaced and added to these; with
    `keeps_windows`, attributes of convolutions and pooling are not resolved.
    """
    known = ShapeAnalysis() if facts is None else facts
    changed = _refine(op, _types(op, known.integers, keeps_windows), corrections)
    if is_sure(op):
        for result in op.results if changed else ():
            known.note(result)
        return changed
    found, equal = known.learn(op)
    if certain:
        for left, right in equal:
            known.symbols.equate(left, right)
    for result, sizes in zip(op.results, found, strict=False):
        type_ = None if sizes is None else _with_sizes(result.type, sizes)
        if type_ is not None and type_ != result.type:
            retype(result, type_)
            known.note(result, sizes)
            changed = True
    return changed


def is_sure(op: Operation) -> bool:
    """Return whether all result shapes are static and no result holds shape values that others may need."""
    return all(is_static(result) and not holds_integers(result) for result in op.results)


def _holds_elements(op: Operation) -> bool:
    """Return whether a property is a tensor, which must not be kept alive."""
    return any(isinstance(each, DisposableElementsAttr) for each in op.properties.values())


def _basis(op: Operation) -> tuple[object, ...]:
    """Return what the types of an op depend on: operands, their types, properties; and the types."""
    values = operands_of(op)
    return (
        values,
        tuple([value.type for value in values]),
        tuple([result.type for result in op.results]),
        tuple(op.properties.values()),
    )


def _types(op: Operation, known: Integers, keeps_windows: bool) -> Types:
    function = SHAPE_FUNCTIONS.get(op.name.removeprefix("onnx."))
    if function is not None:
        return function(InferenceContext(op, known, keeps_windows))
    infer = inference()
    return [None] * len(op.results) if infer is None else infer(op, known)


def _refine(op: Operation, types: Types, corrections: Corrections | None) -> bool:
    changed = False
    for result, inferred in zip(op.results, types, strict=True):
        if (
            not isinstance(inferred, Attribute)
            or inferred == result.type
            or isinstance(result.type, NoneType)
        ):
            continue
        merged = (
            merge(InferenceContext(op), result.type, inferred)
            if corrections is None
            else _corrected(op, result.type, inferred, corrections)
        )
        if merged != result.type:
            retype(result, merged)
            changed = True
    return changed


def _corrected(op: Operation, claimed: Attribute, inferred: Attribute, corrections: Corrections) -> Attribute:
    """Return the merged type; on a contradiction the inferred one, which is added to `corrections`."""
    try:
        return merge(InferenceContext(op), claimed, inferred)
    except ShapeError:
        what = f"its result is declared {claimed}, but its operands give {inferred}, which is used"
        corrections.append((op, what))
        return inferred


def _with_sizes(type_: Attribute, sizes: Partly) -> Attribute | None:
    """Return a type refined by the constant dimensions, or `None`."""
    numbers = [
        UNKNOWN if size is None or size.number is None or size.number < 0 else size.number for size in sizes
    ]
    if not is_tensor(type_):
        return None
    if not is_ranked(type_):
        return tensor_type(tuple(numbers), type_.element_type)
    shape = type_.get_shape()
    if len(shape) != len(numbers):
        return None
    made = tuple(new if old == UNKNOWN else old for old, new in zip(shape, numbers, strict=True))
    return None if made == shape else type(type_)(type_.element_type, made, type_.encoding)


def merge(ctx: InferenceContext, known: Attribute, inferred: Attribute) -> Attribute:
    """
    Merge two types: a dimension static in either is static (docs/internals/onnx-rules.md §1.5).

    Ranks 0 and 1 are compatible, the inferred one wins. Raises `ShapeError` on a contradiction.
    """
    if not is_ranked(inferred):
        return known if is_tensor(known) and is_tensor(inferred) and is_ranked(known) else inferred
    if not is_ranked(known):
        return inferred
    before, after = known.get_shape(), inferred.get_shape()
    if len(before) != len(after):
        if len(before) + len(after) == 1:
            return inferred
        raise _contradiction(ctx, known, inferred)
    sizes: list[int] = []
    for old, new in zip(before, after, strict=True):
        if UNKNOWN not in (old, new) and old != new:
            raise _contradiction(ctx, known, inferred)
        sizes.append(old if new == UNKNOWN else new)
    return type(known)(inferred.element_type, sizes, known.encoding)


def _contradiction(ctx: InferenceContext, known: Attribute, inferred: Attribute) -> ShapeError:
    return ctx.fail(f"the result is declared {known}, but its operands give {inferred}")
