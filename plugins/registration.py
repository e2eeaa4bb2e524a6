"""Registration of plug-ins: op classes, schemas, shape inference, constant folding, kernels and rules."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute, Dialect, Operation, OpResult, SSAValue
from xdsl.irdl import VarOperandDef

from xonnc.dialects.onnx import registry
from xonnc.dialects.onnx.locations import describe
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.types import (
    NONE,
    element_type,
    element_type_of,
    numpy_dtype,
    static_shape,
    tensor_type,
    unranked,
)
from xonnc.errors import XonncError
from xonnc.formats.onnx import reference_evaluator, schemas
from xonnc.formats.onnx.made_schemas import AttributeParameter, FormalParameter, OpSchema, make_schema
from xonnc.formats.onnx.op_signatures import attribute_kinds
from xonnc.plugins.backends import register_backends, require_new_backends
from xonnc.plugins.builder import Builder, Value
from xonnc.plugins.c_sources import read_c_source
from xonnc.plugins.declaration_checks import require_valid_declaration
from xonnc.plugins.declarations import ElementTypes, ParameterDeclaration
from xonnc.plugins.elementwise_kernels import has_kernel_for
from xonnc.plugins.kept_operators import is_kept
from xonnc.plugins.layout_bodies import has_layout
from xonnc.plugins.layout_preferences import add_preferences, require_new_preferences
from xonnc.plugins.op_class import PluginOp, op_class, python_value
from xonnc.plugins.operators import Array, OperatorSpec, Plugin, PluginError, bind
from xonnc.plugins.target_bodies import add_target_bodies, require_unary_lookup
from xonnc.plugins.tensor_types import tensor_type_of
from xonnc.plugins.types import Dim, Size, TensorType
from xonnc.plugins.types import form_of as form_of_size
from xonnc.rewriting import extensions
from xonnc.rewriting.onnx import ONNX, forget_classes
from xonnc.rewriting.patterns import (
    ImperativeRewrite,
    MatchFailure,
    Node,
    RewriteResult,
    Template,
    rest,
    value,
)
from xonnc.rewriting.rules import RuleSet, rule
from xonnc.transforms.constant_evaluation import constant_value, result_parts
from xonnc.transforms.dims.dim_context import SIZES, DimContext, Partly
from xonnc.transforms.dims.expressions import DimExpr, DimSymbols
from xonnc.transforms.shapes.inference_context import SHAPE_FUNCTIONS, UNKNOWN, InferenceContext

DECOMPOSING = ("decompose-onnx", "legalize-versions-onnx")
"""The passes that decompose operators of plug-ins into ONNX operators, those with a kernel too."""

LOWERING = ("decompose-plugins-onnx", "legalize-onnx")
"""The passes that decompose operators of plug-ins without a kernel of their own."""

SIMPLIFYING = ("canonicalize-onnx", "constprop-onnx", "fuse-operators-onnx", "recompose-onnx")
"""The passes whose rules `simplify-onnx` applies together."""

FOLDING = ("constprop-onnx", "simplify-onnx", "onnx-hybrid-transform")
"""The passes that fold operators of plug-ins whose operands are constants."""

MAX_FOLDED_BYTES = 1 << 26
"""Maximum size in bytes of a folded result; larger ones are computed at run time, to keep models small."""

_registered: dict[str, Plugin] = {}


def registered() -> Sequence[Plugin]:
    """The plug-ins in use, in the order of their registration."""
    return list(_registered.values())


def register(plugin: Plugin) -> Plugin:
    """
    Register everything that a plug-in declares.

    Raises `PluginError`, before anything is registered, if its name or one of its operators is taken already.
    Registering the same plug-in again has no effect.
    """
    earlier = _registered.get(plugin.name)
    if earlier is plugin:
        return plugin
    if earlier is not None:
        raise PluginError(
            f"two plug-ins are called '{plugin.name}': "
            f"{earlier.source or 'one'} and {plugin.source or 'another'}"
        )
    _require_new_operators(plugin)
    if plugin.operators and extensions.is_dialect(plugin.name):
        raise PluginError(f"plug-in '{plugin.name}': a dialect of xonnc has this name; choose another")
    for spec in plugin.operators:
        require_valid_declaration(spec)
        spec.c_function = read_c_source(spec)
        has_layout(spec)
        require_unary_lookup(spec)
    require_new_backends(plugin)
    require_new_preferences(plugin)
    kinds = [_define(spec, plugin) for spec in plugin.operators]
    replaced = registry.register(kinds)
    for kind in replaced:
        SHAPE_FUNCTIONS.pop(kind.name, None)
    forget_classes()
    schemas.register([_schema(spec) for spec in plugin.operators])
    attribute_kinds.cache_clear()
    for spec in plugin.operators:
        _install(spec)
    for joining in plugin.rules:
        table = joining.table()
        extensions.extend(joining.into, table)
        if joining.into in SIMPLIFYING:
            extensions.extend("simplify-onnx", table)
    for name, joining in plugin.passes.items():
        extensions.add_pass(name, joining.kind)
        if joining.after is not None:
            extensions.join_stage(joining.after, name)
    register_backends(plugin)
    add_preferences(plugin)
    dialects = [backend.dialect for backend in plugin.backends if backend.dialect is not None]
    for dialect in [*dialects, *([dialect_of(plugin)] if kinds else [])]:
        extensions.add_dialect(dialect.name, partial(_held, dialect))
    extensions.add_identity(_identity(plugin))
    _registered[plugin.name] = plugin
    return plugin


def _schema(spec: OperatorSpec) -> OpSchema:
    """Return the schema of an operator, by which models are checked."""
    return make_schema(
        (spec.domain, spec.name, spec.since),
        [_parameter(port) for port in spec.inputs],
        [_parameter(port) for port in spec.outputs],
        [
            AttributeParameter(each.onnx_name, each.kind, each.default, each.is_required)
            for each in spec.attributes
        ],
        spec.doc,
        {name: _dtypes(allowed) for name, allowed in spec.variables.items()},
    )


def _held(dialect: Dialect) -> Dialect:
    return dialect


def dialect_of(plugin: Plugin) -> Dialect:
    """Return the dialect with the ops of a registered plug-in."""
    return Dialect(plugin.name, [spec.kind for spec in plugin.operators if spec.kind is not None])


def _identity(plugin: Plugin) -> str:
    """
    Return name, version and a digest of the source text, as a part of the key of the program cache.

    Programs compiled with another state of a plug-in are then not reused.
    """
    names = [spec.body.__module__ for spec in plugin.operators]
    names += [joining.kind.__module__ for joining in plugin.passes.values()]
    names += [joining.module for joining in plugin.rules]
    names += [function.__module__ for function in plugin.layouts.values()]
    digest = sha256()
    for module in map(sys.modules.get, dict.fromkeys(names)):
        if module is not None:
            with suppress(OSError, TypeError):
                digest.update(inspect.getsource(module).encode())
    for function in filter(None, (spec.c_function for spec in plugin.operators)):
        digest.update(function.source.encode())
    return f"{plugin.name} {plugin.version} {digest.hexdigest()}"


def _require_new_operators(plugin: Plugin) -> None:
    for spec in plugin.operators:
        found = registry.op_class(spec.domain, spec.name, spec.since)
        if found is None or plugin.override:
            continue
        is_other = issubclass(found, PluginOp)
        if is_other and found.SINCE != spec.since:
            continue
        owner = f"plug-in {found.DECLARATION.plugin.name}" if is_other else "xonnc"
        raise PluginError(
            f"plug-in {plugin.name}: {spec} is registered by {owner} already; "
            f"with Plugin('{plugin.name}', override=True) yours takes its place"
        )


def _parameter(port: ParameterDeclaration) -> FormalParameter:
    is_variable = isinstance(port.types, str)
    return FormalParameter(
        port.name,
        port.count,
        port.at_least,
        str(port.types) if is_variable else "",
        _dtypes(port.types),
    )


def _dtypes(allowed: ElementTypes) -> Sequence[np.dtype[Any]]:
    if isinstance(allowed, str):
        return ()
    return [np.dtype(each) for each in ([allowed] if isinstance(allowed, type) else allowed)]


def _define(spec: OperatorSpec, plugin: Plugin) -> type[PluginOp]:
    versions = sorted(
        each.since for each in plugin.operators if (each.domain, each.name) == (spec.domain, spec.name)
    )
    later = [since for since in versions if since > spec.since]
    # As in the onnx dialect, the newest version has the plain name.
    name = f"{plugin.name}.{spec.name}{f'V{spec.since}' if later else ''}"
    spec.kind = op_class(spec, name, min(later, default=spec.until))
    return spec.kind


def _install(spec: OperatorSpec) -> None:
    kind = spec.kind
    assert kind is not None
    name = kind.name
    if spec.function("infer") is not None:
        SHAPE_FUNCTIONS[name] = _static_shapes
        SIZES[name] = _symbolic_sizes
    root = _root(kind)
    if spec.function("reference") is not None:
        reference_evaluator.register_operator(_evaluated(spec))
        folding = _table(root, _fold, f"{name}:fold")
        for pass_name in FOLDING if getattr(spec.body, "folds", True) else ():
            extensions.extend(pass_name, folding)
    add_target_bodies(kind, lambda op, operands: _bound(op, operands, DimSymbols()), _bound_types)
    if spec.function("decompose") is not None:
        table = _table(root, _decompose_unless_kept, f"{name}:decompose")
        for pass_name in DECOMPOSING:
            extensions.extend(pass_name, table)
        lowered = _table(root, _decompose_without_kernel, f"{name}:decompose")
        for pass_name in LOWERING:
            extensions.extend(pass_name, lowered)


def _table(pattern: Node, result: Callable[[Operation], RewriteResult], name: str) -> RuleSet:
    """Return a rule set with one rule."""
    return RuleSet({name: replace(rule(pattern)(result), name=name)})


def _listed(found: Any) -> list[Any]:
    """Return the results of a body as a list, whether it returned one or several."""
    return [*cast("Sequence[Any]", found)] if isinstance(found, tuple | list) else [found]


def _root(kind: type[PluginOp]) -> Node:
    """Return a pattern that matches an op of this class with any operands."""
    operands = [
        rest.operands if isinstance(found, VarOperandDef) else getattr(value, name)
        for name, found in kind.get_irdl_definition().operands
    ]
    return Template(ONNX, kind.name)(*operands)


def spec_of(op: Operation) -> OperatorSpec:
    """Return the declaration of a plug-in's op."""
    assert isinstance(op, PluginOp)
    return op.DECLARATION


def _bound_types(op: Operation) -> Any:
    """Bind a node to its declaration, with the types of its operands as inputs."""
    symbols = DimSymbols()
    return _bound(op, [tensor_type_of(operand, symbols) for operand in op.operands], symbols)


def _bound(op: Operation, inputs: Sequence[Any], symbols: DimSymbols) -> Any:
    spec = spec_of(op)
    # The op of an operator with attributes="auto" has them as discardable attributes, not as properties.
    # Names with a dot are prefixed by a dialect: they are not the node's.
    attributes = {
        name: python_value(value)
        for name, value in {**op.attributes, **op.properties}.items()
        if "." not in name
    }
    site = InferenceContext(op)
    return bind(
        spec,
        f"{describe(op)} ({spec.name} of plug-in {spec.plugin.name})",
        inputs,
        attributes,
        [tensor_type_of(result, symbols) for result in op.results],
        site.constant,
        lambda index: _integers(site.partly(index)),
    )


def _integers(found: Sequence[int] | None) -> list[int | None] | None:
    return None if found is None else [None if each == UNKNOWN else each for each in found]


def _inferred(op: Operation, bound: Any) -> Sequence[TensorType | None]:
    infer = spec_of(op).function("infer")
    assert infer is not None
    try:
        found = infer(bound)
    except XonncError as error:
        raise error if str(error).startswith(bound.node) else bound.fail(str(error)) from error
    except Exception as error:
        raise bound.fail(f"infer raised {type(error).__name__}: {error}") from error
    types = [found] if isinstance(found, TensorType) or found is None else list(found)
    if len(types) != len(op.results):
        raise bound.fail(f"infer gave {len(types)} types for {len(op.results)} results")
    return types


def _static_shapes(site: InferenceContext) -> Sequence[Attribute | None]:
    return [None if each is None else _ir_type(each) for each in _inferred(site.op, _bound_types(site.op))]


def _ir_type(type_: TensorType) -> Attribute:
    element = element_type_of(np.dtype(type_.dtype))
    if type_.shape is None:
        return unranked(element)
    shape = tuple(UNKNOWN if isinstance(size, Dim) else int(size) for size in type_.shape)
    return tensor_type(shape, element)


def _symbolic_sizes(node: DimContext) -> Sequence[Partly | None]:
    """Run `infer` on symbolic sizes from the dimension analysis, so that equal dimensions stay equal."""
    op = node.op

    def sized(index: int) -> TensorType | None:
        plain = tensor_type_of(op.operands[index], node.symbols)
        sizes = node.sizes(index)
        if plain is None or sizes is None:
            return plain
        return plain.with_shape([_size(form, node.symbols) for form in sizes])

    bound = _bound(op, [sized(index) for index in range(len(op.operands))], node.symbols)
    return [
        None if each is None or each.shape is None else [form_of_size(size) for size in each.shape]
        for each in _inferred(op, bound)
    ]


def _size(form: DimExpr, symbols: DimSymbols) -> Size:
    return form.constant if not form.terms else Dim(form, symbols)


def _fold(root: Operation) -> RewriteResult:
    """Fold an operator whose operands are all constant, by the plug-in's `reference`."""
    operands = [constant_value(operand) for operand in root.operands]
    if any(operand is None for operand in operands):
        return MatchFailure("an operand is not constant")
    shapes = [static_shape(result.type) for result in root.results]
    for shape, result in zip(shapes, root.results, strict=True):
        element = element_type(result.type)
        if shape is not None and element is not None:
            if int(np.prod(shape, dtype=np.int64)) * numpy_dtype(element).itemsize > MAX_FOLDED_BYTES:
                return MatchFailure("the result is larger than what is folded")
    arrays = [cast("Array | None", operand.value) for operand in operands if operand is not None]
    results = zip(root.results, _computed(root, arrays), strict=False)
    parts = result_parts(root, [array for result, array in results if result.type != NONE])
    return parts if isinstance(parts, MatchFailure) else tuple(parts)


def _computed(op: Operation, arrays: Sequence[Array | None]) -> Sequence[Array]:
    spec = spec_of(op)
    bound = _bound(op, arrays, DimSymbols())
    return run_reference(spec, bound, arrays, len(op.results))


def run_reference(
    spec: OperatorSpec, bound: Any, arrays: Sequence[Array | None], count: int
) -> Sequence[Array]:
    """Run `reference` and return one array for each result; errors name the node."""
    reference = spec.function("reference")
    assert reference is not None
    try:
        with np.errstate(all="ignore"):
            found = reference(bound, *arrays)
    except XonncError:
        raise
    except Exception as error:
        raise bound.fail(f"reference raised {type(error).__name__}: {error}") from error
    results = _listed(found)
    if len(results) < count:
        raise bound.fail(f"reference gave {len(results)} arrays for {count} results")
    return [np.asarray(each) for each in results]


def _decompose(root: Operation) -> RewriteResult:
    """Replace the operator by the ONNX operators that the plug-in's `decompose` builds."""
    spec = spec_of(root)
    decompose = spec.function("decompose")
    assert decompose is not None

    def write(op: Operation) -> Sequence[SSAValue]:
        symbols = DimSymbols()

        def described(ssa: SSAValue) -> TensorType | None:
            return tensor_type_of(ssa, symbols)

        inputs = [
            None if tensor_type_of(operand, symbols) is None else Value(operand, described)
            for operand in op.operands
        ]
        bound = _bound(op, inputs, symbols)
        builder = Builder(op, described)
        try:
            found = decompose(bound, builder)
        except XonncError as error:
            raise bound.fail(str(error).removeprefix(f"{bound.node}: ")) from error
        except Exception as error:
            raise bound.fail(f"decompose raised {type(error).__name__}: {error}") from error
        results = _listed(found)
        is_requested = [result.type != NONE for result in op.results]
        if len(results) != len(op.results) or not all(
            isinstance(each, Value) or not is_wanted
            for each, is_wanted in zip(results, is_requested, strict=True)
        ):
            raise bound.fail(f"decompose gave {len(results)} values for {len(op.results)} results")
        _require_inferred_types(op, results, bound)
        _keep_location(op, results)
        # A result that the node leaves out is replaced by no value.
        return [
            each.ssa if is_wanted else builder.absent()
            for each, is_wanted in zip(results, is_requested, strict=True)
        ]

    return ImperativeRewrite(write)


def _require_inferred_types(op: Operation, results: Sequence[Value], bound: Any) -> None:
    """Raise the node's error for a decomposition whose results contradict what `infer` says of them."""
    if spec_of(op).function("infer") is None:
        return
    found = zip(op.results, _inferred(op, _bound_types(op)), results, strict=True)
    for index, (result, expected, given) in enumerate(found):
        if expected is not None and result.type != NONE and expected.contradicts(given.type):
            raise bound.fail(f"decompose gives {given.type} as result {index}, infer {expected}")


def _decompose_unless_kept(root: Operation) -> RewriteResult:
    """Decompose for a target that does not lower the op itself."""
    return MatchFailure("its target lowers it") if is_kept(root) else _decompose(root)


def _decompose_without_kernel(root: Operation) -> RewriteResult:
    """Decompose for native code, unless the op's `kernel` or C source computes it."""
    has_kernel = has_kernel_for(root) or spec_of(root).c_function is not None
    return MatchFailure("it has a kernel") if has_kernel else _decompose(root)


def _keep_location(op: Operation, results: Sequence[Value]) -> None:
    """Give the op that defines a single result the location of the node: its name and its outputs' names."""
    last = results[0].ssa
    if len(results) == 1 and isinstance(last, OpResult) and not isinstance(last.op, ConstantOp):
        last.op.location = op.location


def _evaluated(spec: OperatorSpec) -> reference_evaluator.CustomOperator:
    """Return the operator for the reference evaluator, which computes operators without a kernel."""

    def compute(arrays: Sequence[Array | None], attributes: dict[str, Any], count: int) -> Sequence[Array]:
        fixed = sum(port.count != "variadic" for port in spec.inputs)
        given = [*arrays, *[None] * (fixed - len(arrays))]
        bound = bind(spec, spec.name, given, attributes, outputs=[None] * count)
        return run_reference(spec, bound, given, count)

    return reference_evaluator.CustomOperator(spec.domain, spec.name, compute, spec.since)
