"""
`convert-onnx-to-krnl`: lower ONNX operators to kernels of the krnl dialect.

```mlir
%y = "onnx.Relu"(%x) : (tensor<8xf32>) -> tensor<8xf32>
```

becomes a kernel `@relu_0` beside the model's function and a call of it on buffers:

```mlir
%b = "memref.alloc"() : () -> memref<8xf32>
"krnl.call"(%b, %a) {funcName = "relu_0", numOfOutput = 1 : si64} : (memref<8xf32>, memref<8xf32>) -> ()
```

An operator without a kernel stays, with the reason in its attribute `krnl.no_kernel`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, UnrealizedConversionCastOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from xonnc.dialects.krnl.attributes import no_kernel, ops_without_kernel, set_no_kernel
from xonnc.dialects.onnx.elements import DisposablePool, drop_attributes
from xonnc.dialects.onnx.locations import origin
from xonnc.dialects.onnx.op import OnnxOp
from xonnc.dialects.onnx.ops.builtin import CustomOp, NoValueOp, ReturnOp, YieldOp
from xonnc.dialects.onnx.ops.constant import ConstantOp
from xonnc.dialects.onnx.ops.nn import AttentionOp
from xonnc.dialects.onnx.ops.quantization import QuantizeLinearOp
from xonnc.dialects.onnx.types import NONE, is_ranked, static_shape
from xonnc.lowering.onnx_to_krnl.builders import views
from xonnc.lowering.onnx_to_krnl.builders.attention_sizes import has_attention_kernel
from xonnc.lowering.onnx_to_krnl.builders.blocking_tensors import blocking_tensor
from xonnc.lowering.onnx_to_krnl.builders.cache_slices import plan_cache_slices
from xonnc.lowering.onnx_to_krnl.builders.channel_blocking import unblocked
from xonnc.lowering.onnx_to_krnl.builders.data_dependent_shapes import is_outlined
from xonnc.lowering.onnx_to_krnl.builders.lowering_builder import (
    DATA_MOVEMENT,
    LOWERINGS,
    NO_DYNAMIC_KERNEL,
    SUPPORTS_DYNAMIC_SHAPES,
    SUPPORTS_EMPTY,
    LoweringBuilder,
    may_be_cut,
)
from xonnc.lowering.onnx_to_krnl.builders.narrow_caches import plan_narrow_caches
from xonnc.lowering.onnx_to_krnl.control_flow import control_flow
from xonnc.lowering.onnx_to_krnl.int8 import integer_matmul, quantize_linear
from xonnc.lowering.onnx_to_krnl.int8.int8_convolution import lower_int8_matmul
from xonnc.lowering.onnx_to_krnl.int8.int8_elementwise import lower_int8_elementwise, lower_int8_max_pool
from xonnc.lowering.onnx_to_krnl.int8.int8_layout import int8_to_row_major, lower_quantize
from xonnc.lowering.onnx_to_krnl.math import (
    activations,
    along_axis,
    casts,
    einsum,
    elementwise,
    fourier,
    hyperbolic,
    integer_arithmetic,
    layer_normalization,
    matmul,
    optimizers,
    random_numbers,
    reductions,
)
from xonnc.lowering.onnx_to_krnl.math.block_weights import plan_quantized_weights
from xonnc.lowering.onnx_to_krnl.math.elementwise_fusion import (
    ELEMENTWISE,
    ElementwisePlan,
    lower_elementwise,
    plan_elementwise,
)
from xonnc.lowering.onnx_to_krnl.math.matmul import plan_transposed
from xonnc.lowering.onnx_to_krnl.ml import (
    feature_preprocessing,
    linear_models,
    support_vector_machines,
    tf_idf,
    tree_ensembles,
)
from xonnc.lowering.onnx_to_krnl.nn import (
    attention,
    cache_updates,
    channel_normalization,
    conv_and_pooling,
    deformable_convolution,
    non_max_suppression,
    roi_pooling,
    rotary_embedding,
)
from xonnc.lowering.onnx_to_krnl.nn.cache_updates import plan_growth, unread_zeros
from xonnc.lowering.onnx_to_krnl.nn.convolution import lower_conv_fusion
from xonnc.lowering.onnx_to_krnl.planning.assigned_layouts import AssignedLayouts, strip_layouts
from xonnc.lowering.onnx_to_krnl.planning.bias_fusion import plan_biases
from xonnc.lowering.onnx_to_krnl.planning.contributed_operators import reason_without_kernel
from xonnc.lowering.onnx_to_krnl.planning.dynamic_shapes import DynamicShapes
from xonnc.lowering.onnx_to_krnl.planning.fusion_scope import FusionScope, dissolve_groups, shape_operands
from xonnc.lowering.onnx_to_krnl.planning.int8_fusion import plan_int8
from xonnc.lowering.onnx_to_krnl.planning.layout_plan import plan_layouts
from xonnc.lowering.onnx_to_krnl.planning.session_ops import CONTROL, is_session_op, operator_of
from xonnc.lowering.onnx_to_krnl.planning.symbolic_sizes import are_static
from xonnc.lowering.onnx_to_krnl.planning.tile_selection import Tiles
from xonnc.lowering.onnx_to_krnl.rnn import recurrent
from xonnc.lowering.onnx_to_krnl.tensor import (
    col2im,
    data_movement,
    generators,
    grid_sample,
    indexing,
    padding,
    resize,
    selection,
    sorting,
    unique,
)
from xonnc.rewriting.editing import erase
from xonnc.targets.cpu import require_threads

THEMES = (
    activations,
    along_axis,
    attention,
    cache_updates,
    casts,
    channel_normalization,
    col2im,
    control_flow,
    conv_and_pooling,
    data_movement,
    deformable_convolution,
    einsum,
    elementwise,
    feature_preprocessing,
    fourier,
    generators,
    grid_sample,
    hyperbolic,
    indexing,
    integer_arithmetic,
    integer_matmul,
    layer_normalization,
    linear_models,
    matmul,
    non_max_suppression,
    optimizers,
    padding,
    quantize_linear,
    random_numbers,
    recurrent,
    reductions,
    resize,
    roi_pooling,
    rotary_embedding,
    selection,
    sorting,
    support_vector_machines,
    tf_idf,
    tree_ensembles,
    unique,
    views,
)
"""The modules whose functions are registered in the tables of lowerings."""

KEPT = (ConstantOp, NoValueOp, ReturnOp, YieldOp)
"""Ops that need no kernel."""


@dataclass(frozen=True)
class ConvertOnnxToKrnl(ModulePass):
    """
    Lower ONNX operators to kernels of loops, and call them on buffers.

    With `unsafe`, indices are not checked to be in range. With `dynamic_shapes`, dynamic dimensions become
    arguments of kernels, computed by ops at the start of the function; with `dynamic_shapes=false`, ops
    with dynamic shapes stay. By default, kernels are dynamic where every operator has a dynamic kernel.
    Iterations of kernels are divided among `threads`; `portable` kernels are for C source.
    """

    name = "convert-onnx-to-krnl"

    processor: str = "avx512"
    unsafe: bool = False
    dynamic_shapes: bool | None = None
    threads: int = 1
    portable: bool = False
    open_sizes: bool | None = field(default=None, metadata={"hidden": True})
    """Old spelling of `dynamic_shapes`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Lower every function of the module."""
        require_threads(self.name, self.threads)
        requested = self.open_sizes if self.dynamic_shapes is None else self.dynamic_shapes
        if requested is not None:
            self.lower(ctx, op, requested)
            return
        static_because = _run_by_session(op)
        if has_dynamic_inputs(op):
            # Whether all operators have dynamic kernels is only known after lowering: try on a clone.
            tried = op.clone()
            self.lower(ctx, tried, is_dynamic=True)
            if next(ops_without_kernel(tried), None) is None:
                drop_attributes(ModuleOp(op.detach_region(0)))
                op.add_region(tried.detach_region(0))
                return
            static_because = _without_dynamic_kernel(tried)
            drop_attributes(tried)
        self.lower(ctx, op, is_dynamic=False, static_because=static_because)

    def lower(self, ctx: Context, module: ModuleOp, is_dynamic: bool, static_because: str = "") -> None:
        """Lower a module, with dynamic kernels or with those of static shapes, and why with these."""
        lower_module(
            module,
            Tiles.of(self.processor, self.portable, module),
            DisposablePool.of(ctx),
            unsafe=self.unsafe,
            is_dynamic=is_dynamic,
            threads=self.threads,
            static_because=static_because,
        )


def has_kernel(op: Operation) -> bool:
    """Whether there is a lowering for this kind of op, perhaps with conditions."""
    if isinstance(op, AttentionOp):
        return has_attention_kernel(op)
    return type(op) in LOWERINGS or type(op) in ELEMENTWISE or isinstance(op, KEPT)


def has_dynamic_inputs(module: ModuleOp) -> bool:
    """Whether the only dynamic shapes are those of inputs, and the runtime runs no operator itself."""
    functions = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    types = [argument.type for function in functions for argument in function.body.block.args]
    is_dynamic = any(is_ranked(type_) and DYNAMIC_INDEX in type_.get_shape() for type_ in types)
    has_outlined = any(map(is_outlined, functions))
    return is_dynamic and not has_outlined and not any(map(is_session_op, module.walk()))


def _without_dynamic_kernel(module: ModuleOp) -> str:
    """Return what has no dynamic kernel in a module that was lowered with them: the first such operator."""
    op = next(ops_without_kernel(module))
    if isinstance(op, FuncOp):
        return no_kernel(op)
    return f"'{origin(op)}' ({operator_of(op)}) needs static sizes"


def _run_by_session(module: ModuleOp) -> str:
    """Return which operator of a module the session runs, the first one; empty if there is none."""
    op = next(filter(is_session_op, module.walk()), None)
    return "" if op is None else f"the session runs '{origin(op)}' ({operator_of(op)})"


def lower_module(
    module: ModuleOp,
    tiles: Tiles,
    pool: DisposablePool,
    *,
    unsafe: bool = False,
    is_dynamic: bool = False,
    threads: int = 1,
    static_because: str = "",
) -> None:
    """
    Lower the functions of a module and append their kernels; ops that stay get `krnl.no_kernel`.

    `unsafe` leaves out the run-time checks of indices. With `is_dynamic`, kernels take dynamic dimensions as
    arguments, unless several `threads` could divide more work for static shapes; `static_because` says in
    reasons why they do not.
    """
    scope = FusionScope(dissolve_groups(module))
    assigned = strip_layouts(module)
    builder = LoweringBuilder(
        tiles, pool, to_row_major, scope, not unsafe, threads=threads, static_because=static_because
    )
    for function in [each for each in module.ops if isinstance(each, FuncOp) and each.body.blocks]:
        builder.dynamic_shapes = None
        is_of_data = is_outlined(function)
        if (is_dynamic or is_of_data) and operators_in(function.body.block):
            builder.dynamic_shapes = DynamicShapes(function, may_assume=not is_of_data)
            if not builder.dynamic_shapes.require_equal():
                set_no_kernel(function, "dimensions are equal only for certain values of inputs")
                return
            _drop_sizes(function.body.block)
        _lower(function.body.block, builder, assigned)
    for kernel in builder.kernels.values():
        module.body.block.add_op(kernel)


def _drop_sizes(block: Block) -> None:
    """Drop operands that only repeat the result's shape, and ops that nothing reads then."""
    for op in reversed(list(block.ops)):
        for index in () if may_be_cut(op) else shape_operands(op):
            none = NoValueOp()
            block.insert_op_before(none, op)
            op.operands[index] = none.results[0]
        is_read = any(result.uses.get_length() for result in op.results)
        if isinstance(op, OnnxOp) and op.results and not is_read and not op.regions:
            erase(op)


def to_row_major(value: SSAValue, builder: LoweringBuilder) -> SSAValue:
    """Return the row-major buffer of an image that is NCHWc or int8 NHWC."""
    return int8_to_row_major(value, builder) if value in builder.int8_buffers else unblocked(value, builder)


def _lower(block: Block, builder: LoweringBuilder, assigned: AssignedLayouts) -> None:
    """Lower the ops of a block in order; fusion and layouts are decided first."""
    # Bodies first: control flow itself is lowered natively only if all ops of its bodies were.
    for op in list(block.ops):
        if isinstance(op, CONTROL):
            _lower_bodies(op, builder, assigned)
    control_flow.lower_assertions(block, builder)
    ops = operators_in(block)
    builder.int8 = plan_int8(ops, builder.known_sizes, builder.scope, assigned.images)
    assigned.apply_to_bytes(builder.int8)
    builder.fused |= builder.int8.absorbed
    others = [op for op in ops if op not in builder.int8.absorbed and op not in builder.int8.fusions]
    builder.layouts = plan_layouts(
        others, builder.target.vector_bytes // 4, ELEMENTWISE, builder.known_sizes, builder.scope
    )
    assigned.apply(builder.layouts)
    builder.fused |= builder.layouts.fused_ops - set(builder.layouts.fusions)
    builder.biases = plan_biases(others, builder.scope)
    builder.fused |= {added for added, _ in builder.biases.values()}
    builder.quantized_weights = plan_quantized_weights(others, builder)
    builder.fused |= {each for weights in builder.quantized_weights.values() for each in weights.absorbed}
    builder.transposed = plan_transposed(others, builder)
    builder.fused |= set(builder.transposed.values())
    builder.growth = plan_growth(others, builder)
    builder.fused |= {*builder.growth.values(), *unread_zeros(builder.growth, builder.scope)}
    # An attention that stays, as of dynamic shapes here, reads the results of the operators that slice.
    computable = [op for op in others if all(map(builder.is_computable, _tensors(op)))]
    builder.cache_slices = plan_cache_slices(computable, builder.scope)
    builder.fused |= {each for slices in builder.cache_slices.values() for each in slices.members}
    builder.narrow_caches = plan_narrow_caches(computable, builder.scope)
    pairs = builder.narrow_caches.values()
    builder.fused |= {each for pair in pairs for cache in pair for each in cache.members}
    plans = _plans(others, builder)
    lowered: list[Operation] = []
    for op in ops:
        if op not in builder.fused:
            builder.set_insertion_point(op)
            if _lower_planned(op, builder):
                lowered.append(op)
                continue
            plan = plans.get(op)
            reason = _lower_op(op, builder) if plan is None else plan if isinstance(plan, str) else None
            if reason is not None:
                set_no_kernel(op, reason)
                continue
            if isinstance(plan, ElementwisePlan):
                lower_elementwise(op, plan, builder)
        lowered.append(op)
    _drop(lowered, builder)
    drop_constants(block)


def drop_constants(block: Block) -> None:
    """Erase the constants of a block that nothing reads."""
    for op in reversed(list(block.ops)):
        if isinstance(op, ConstantOp) and not any(result.uses.get_length() for result in op.results):
            erase(op)


def operators_in(block: Block) -> list[OnnxOp]:
    """Return the operators of a block that need a kernel."""
    return [op for op in block.ops if isinstance(op, OnnxOp) and not isinstance(op, KEPT)]


def _lower_planned(op: Operation, builder: LoweringBuilder) -> bool:
    """Lower the root of a fusion with its members; whether the op is one."""
    if op in builder.layouts.fusions:
        lower_conv_fusion(builder.layouts.fusions[op], builder)
    elif op in builder.int8.fusions:
        fusion = builder.int8.fusions[op]
        (lower_int8_matmul if fusion.is_dense else lower_int8_elementwise)(fusion, builder)
    elif op in builder.int8.pools:
        lower_int8_max_pool(op, builder.int8.pools[op], builder)
    elif op in builder.int8.heads and isinstance(op, QuantizeLinearOp):
        lower_quantize(op, builder)
    else:
        return False
    return True


def _lower_bodies(op: Operation, builder: LoweringBuilder, assigned: AssignedLayouts) -> None:
    """Lower the bodies of a control-flow op; buffers made inside are not visible outside."""
    for region in op.regions:
        with builder.nested_scope():
            _lower(region.block, builder, assigned)


def _plans(ops: Sequence[Operation], builder: LoweringBuilder) -> dict[Operation, ElementwisePlan | str]:
    plans: dict[Operation, ElementwisePlan | str] = {}
    for op in reversed(ops):
        is_taken = op in builder.fused or op in builder.layouts.fused_ops
        if type(op) in ELEMENTWISE and not is_taken and builder.is_computable(op.results[0]):
            plan = plans[op] = plan_elementwise(op, builder)
            if isinstance(plan, ElementwisePlan):
                builder.fused |= plan.fused - {op}
    return plans


def _tensors(op: Operation) -> list[SSAValue]:
    """Return the results and operands that an operator has."""
    return [value for value in (*op.results, *op.operands) if value.type != NONE]


def _lower_op(op: Operation, builder: LoweringBuilder) -> str | None:
    if isinstance(op, CONTROL):
        return LOWERINGS[type(op)](op, builder)
    if is_session_op(op):
        return control_flow.BY_SESSION
    if isinstance(op, CustomOp):
        return reason_without_kernel(op)
    if type(op) not in LOWERINGS and type(op) not in ELEMENTWISE:
        return "no kernel for this operator yet"
    values = _tensors(op)
    needed = [value for value in values if not may_be_cut(op) or not _is_open(value, op)]
    # Operands first: what is wrong with a result often follows from them.
    ordered = sorted(needed, key=lambda value: value.owner is op)
    reason = blocking_tensor(ordered, type(op) in DATA_MOVEMENT, builder)
    if reason is not None or type(op) not in LOWERINGS:
        return reason or "no kernel for these types yet"
    if (
        not all(are_static(builder.sizes(value)) for value in needed)
        and type(op) not in SUPPORTS_DYNAMIC_SHAPES
    ):
        return NO_DYNAMIC_KERNEL
    if any(0 in builder.sizes(result) for result in op.results if result in needed):
        return _lower_empty(op, builder)
    if any(0 in builder.sizes(value) for value in needed) and type(op) not in (
        SUPPORTS_EMPTY | DATA_MOVEMENT
    ):
        return "an operand is empty"
    return LOWERINGS[type(op)](op, builder)


def _is_open(value: SSAValue, op: Operation) -> bool:
    """Whether a value is a result of the op with a dynamic shape."""
    return value.owner is op and static_shape(value.type) is None


def _lower_empty(op: Operation, builder: LoweringBuilder) -> str | None:
    """Lower an op whose results have no elements."""
    results = [result for result in op.results if result.type != NONE]
    if any(map(lambda result: _is_open(result, op), results)):
        return "a result is empty"
    if any(0 not in builder.sizes(result) for result in results) and type(op) not in DATA_MOVEMENT:
        return "a result is empty"
    if any(0 not in builder.sizes(result) for result in results):
        return LOWERINGS[type(op)](op, builder)
    for result in results:
        builder.result(result)
    return None


def _drop(lowered: Sequence[Operation], builder: LoweringBuilder) -> None:
    """Erase lowered ops; remaining readers of their results get a cast of the buffer to a tensor."""
    for op in reversed(lowered):
        assert op.parent is not None
        for result in op.results:
            if result in builder.resized:
                result.replace_all_uses_with(builder.resized[result])
            buffer = builder.existing_buffer(result) if result.uses.get_length() else None
            if buffer is not None:
                cast = UnrealizedConversionCastOp.get([buffer], [result.type])
                op.parent.insert_op_before(cast, op)
                result.replace_all_uses_with(cast.results[0])
        op.detach()
        op.erase()
