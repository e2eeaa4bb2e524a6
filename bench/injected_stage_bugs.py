"""Injected bugs in all stages of the compiler, from rewrite rules to machine code, C and loadables."""

from __future__ import annotations

from typing import NamedTuple


class Bug(NamedTuple):
    """One edit of the source, a model that shows it, and what bisection has to name."""

    name: str
    file: str
    old: str
    new: str
    body: str
    pass_name: str
    what: str
    """The rule, or the operator of the kernel or layer."""
    shape: str = "4"
    """The shape of the model's input."""
    form: str = "native"
    """The engine that shows it."""


RULES = "transforms/rules/"
FUSE, CANONICALIZE = "fuse-operators-onnx", "canonicalize-onnx"
RULE_BUGS = (
    Bug(
        "double Not",
        f"{RULES}fuse_elementwise.py",
        "RemoveDoubleNot=rule(Not(Not(x)), x,",
        "RemoveDoubleNot=rule(Not(Not(x)), Not(x),",
        "p = Less (x, d) q = Not (p) r = Not (q) b = Exp (x) y = Where (r, x, b)",
        FUSE,
        "RemoveDoubleNot",
    ),
    Bug(
        "identity Transpose",
        f"{RULES}canonicalize_movement.py",
        "RemoveIdentityTransposePattern=rule(Transpose(x, perm=attr.perm), x, where=keeps_order)",
        "RemoveIdentityTransposePattern=rule(Transpose(x, perm=attr.perm), x)",
        "a = Exp (x) b = Transpose <perm = [1, 0]> (a) y = CumSum (b, origin)",
        CANONICALIZE,
        "RemoveIdentityTransposePattern",
        "3,3",
    ),
    Bug(
        "repeated Relu",
        f"{RULES}canonicalize_arithmetic.py",
        'RemoveRepeatedReluPattern=rule(Relu(Relu(x).named("inner")), Relu(x))',
        'RemoveRepeatedReluPattern=rule(Relu(Relu(x).named("inner")), x)',
        "a = Sin (x) b = Relu (a) c2 = Relu (b) y = Exp (c2)",
        CANONICALIZE,
        "RemoveRepeatedReluPattern",
    ),
    Bug(
        "equal nodes",
        "transforms/cse.py",
        "        frozenset((name, _exactly(value)) for name, value in op.properties.items()),\n",
        "",
        "a = LeakyRelu <alpha = 0.1> (x) b = LeakyRelu <alpha = 0.9> (x) y = Concat <axis = 0> (a, b)",
        "onnx-cse-with-node-name",
        "merge",
    ),
    Bug(
        "Add of constants",
        f"{RULES}constprop_elementwise.py",
        '"AddConstProp": binary(Add, np.add)',
        '"AddConstProp": binary(Add, np.maximum)',
        "k = Add (c, d) a = Exp (x) y = Div (a, k)",
        "constprop-onnx",
        "AddConstProp",
    ),
)

KRNL, CONVERT = "lowering/onnx_to_krnl/", "convert-onnx-to-krnl"
KERNEL_BUGS = (
    Bug(
        "CumSum",
        f"{KRNL}along_axis.py",
        "kernel.write(accumulators[0] if op.exclusive",
        "kernel.write(accumulators[0] if not op.exclusive",
        "a = Exp (x) y = CumSum (a, origin)",
        CONVERT,
        "CumSum",
    ),
    Bug(
        "ArgMax",
        f"{KRNL}along_axis.py",
        'beats = kernel.add(arith.CmpfOp(a, b, "ogt" if largest else "olt"))',
        'beats = kernel.add(arith.CmpfOp(a, b, "olt" if largest else "ogt"))',
        "a = Exp (x) b = ArgMax (a) y = Cast <to = 1> (b)",
        CONVERT,
        "ArgMax",
    ),
    Bug(
        "Softmax",
        f"{KRNL}reductions.py",
        "results.append(kernel.add(arith.AddfOp(accumulators[0], power)))\n        total",
        "results.append(kernel.add(arith.MaximumfOp(accumulators[0], power)))\n        total",
        "a = Exp (x) y = Softmax <axis = 0> (a)",
        CONVERT,
        "Softmax",
    ),
    Bug(
        "Transpose",
        f"{KRNL}data_movement.py",
        "exprs = [dim(order.index(axis)) for axis in range(len(shape))]",
        "exprs = [dim(axis) for axis in range(len(shape))]",
        "a = Exp (x) y = Transpose <perm = [1, 0]> (a)",
        CONVERT,
        "Transpose",
        "3,3",
    ),
    Bug(
        "Gather",
        f"{KRNL}indexing.py",
        "kernel.load(source, [first, index, inner]), out, [first, position, inner]",
        "kernel.load(source, [first, position, inner]), out, [first, position, inner]",
        "a = Exp (x) y = Gather (a, order)",
        CONVERT,
        "Gather",
    ),
    Bug(
        "Softsign",
        f"{KRNL}activations.py",
        "return over(body, x, plus(body, body.add(math.AbsFOp(x)), 1.0))",
        "return over(body, x, plus(body, body.add(math.AbsFOp(x)), 2.0))",
        "a = Exp (x) b = Softsign (a) y = Neg (b)",
        CONVERT,
        "Softsign",
    ),
)

STAGE_BUGS = (
    Bug(
        "panels of weights",
        "dialects/krnl/packing.py",
        "panel[:, : columns.shape[1]] = columns\n        panel",
        "panel[:, : columns.shape[1]] = columns[::-1]\n        panel",
        "a = Exp (x) y = MatMul (a, w)",
        "prepack-weights",
        "MatMul",
        "3,4",
    ),
    Bug(
        "weights of a convolution",
        "dialects/krnl/packing.py",
        "parts.append(panel[:, channel : channel + step].transpose(2, 1, 0).reshape(-1))",
        "parts.append(panel[:, channel : channel + step].transpose(2, 1, 0).reshape(-1)[::-1])",
        "a = Relu (x) y = Conv (a, filters)",
        "prepack-weights",
        "Conv",
        "1,16,5,5",
    ),
    Bug(
        "range of iterations",
        "lowering/native/parallelize_krnl.py",
        "call.iterations = IntegerAttr(iterations, i64)",
        "call.iterations = IntegerAttr(iterations - 1, i64)",
        "a = Exp (x) b = Softmax <axis = 1> (a) y = CumSum (b, origin)",
        "parallelize-krnl",
        "Softmax",
        "3,4",
    ),
    Bug(
        "memory of an operand",
        "lowering/native/in_place.py",
        "return all(isinstance(load, LoadOp) for load in loads) and all(",
        "return all(isinstance(load, LoadOp) for load in loads) or all(",
        "a = Exp (x) b = Slice (a, last, before, zero, back) y = CumSum (b, origin)",
        "plan-memory",
        "shared memory",
    ),
    Bug(
        "halo of a convolution",
        f"{KRNL}halos.py",
        "def fill_halo(",
        "def fill_halo(*_: object) -> None:\n    return\n\n\ndef _unused(",
        "a = Exp (x) b = Conv <pads = [1, 1, 1, 1]> (a, big) y = Conv <pads = [1, 1, 1, 1]> (b, big)",
        CONVERT,
        "Conv",
        "1,16,5,5",
    ),
)

LLVM, LOWER = "lowering/krnl_to_llvm/", "convert-krnl-to-llvm"
LLVM_BUGS = (
    Bug(
        "addition in LLVM",
        f"{LLVM}scalar_ops.py",
        "arith.AddfOp: llvm.FAddOp",
        "arith.AddfOp: llvm.FSubOp",
        "a = Exp (x) y = Add (a, x)",
        LOWER,
        "Add",
    ),
    Bug(
        "floor in LLVM",
        f"{LLVM}scalar_ops.py",
        'math.FloorOp: "floor"',
        'math.FloorOp: "ceil"',
        "a = Exp (x) y = Floor (a)",
        LOWER,
        "Floor",
    ),
    Bug(
        "polynomial of erf",
        f"{LLVM}math_functions.py",
        "ERF_SCALE = 0.3275911",
        "ERF_SCALE = 0.4275911",
        "a = Exp (x) y = Erf (a)",
        LOWER,
        "Erf",
    ),
    Bug(
        "ReLU of a product",
        f"{LLVM}gemm.py",
        'builder.fcmp("olt", total, zero), zero, total',
        'builder.fcmp("olt", total, zero), total, zero',
        "a = MatMul (x, w) y = Relu (a)",
        LOWER,
        "matmul",
        "3,4",
    ),
    Bug(
        "last columns of a product",
        f"{LLVM}gemm.py",
        "builder.load(builder.address(b_row, start * gemm.lanes, element), element, lanes)",
        "builder.load(builder.address(b_row, 0 * start, element), element, lanes)",
        "a = Exp (x) y = MatMul (a, wide)",
        LOWER,
        "MatMul",
        "3,4",
    ),
)

C_BUGS = (
    Bug(
        "addition in C",
        "lowering/llvm_to_c/scalar_expressions.py",
        'llvm.FAddOp: "+"',
        'llvm.FAddOp: "-"',
        "a = Neg (x) y = Add (a, c)",
        "llvm-to-c",
        "Add",
        form="c",
    ),
    Bug(
        "floor in C",
        "lowering/llvm_to_c/scalar_expressions.py",
        '"floor": "floor"',
        '"floor": "ceil"',
        "a = Exp (x) y = Floor (a)",
        "llvm-to-c",
        "Floor",
        form="c",
    ),
    Bug(
        "division in C",
        "lowering/llvm_to_c/scalar_expressions.py",
        'llvm.FDivOp: "/"',
        'llvm.FDivOp: "*"',
        "a = Abs (x) y = Div (x, c)",
        "llvm-to-c",
        "Div",
        form="c",
    ),
)

DLA, TO_DLA = "lowering/onnx_to_dla/", "convert-onnx-to-dla"
IMAGE = "1,8,6,6"
NVDLA_BUGS = (
    Bug(
        "MaxPool on NVDLA",
        f"{DLA}pooling.py",
        "pool(source, PoolMode.MAX, window, builder), builder.result_shape(op))",
        "pool(source, PoolMode.MIN, window, builder), builder.result_shape(op))",
        "a = Relu (x) b = MaxPool <kernel_shape = [2, 2]> (a) y = Add (b, b)",
        TO_DLA,
        "MaxPool",
        IMAGE,
        "nvdla",
    ),
    Bug(
        "LeakyRelu on NVDLA",
        f"{DLA}elementwise.py",
        "stage, _ = scalar_operand(PRODUCT, op.alpha.value.data)",
        "stage, _ = scalar_operand(PRODUCT, -op.alpha.value.data)",
        "a = LeakyRelu <alpha = 0.5> (x) y = MaxPool <kernel_shape = [1, 2]> (a)",
        TO_DLA,
        "LeakyRelu",
        IMAGE,
        "nvdla",
    ),
    Bug(
        "fused passes of the SDP",
        "lowering/dla/dla_fuse.py",
        "return replace(stage, act=second.act), operand",
        "return replace(stage), operand",
        "a = Add (x, x) y = Relu (a)",
        "dla-fuse",
        "SDP passes",
        IMAGE,
        "nvdla",
    ),
    Bug(
        "memory of cubes",
        "lowering/dla/lifetimes.py",
        "else max(self._touches[root][-1] for root in group),",
        "else min(self._touches[root][0] for root in group),",
        "a = Relu (x) b = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (a) y = Mul (b, a)",
        "dla-allocate",
        "shared memory",
        IMAGE,
        "nvdla",
    ),
    Bug(
        "padding of a descriptor",
        "lowering/dla_to_loadable/descriptors.py",
        "            pad_left=left,",
        "            pad_left=right,",
        "a = Relu (x) b = MaxPool <kernel_shape = [3, 3], pads = [2, 2, 0, 0]> (a) y = Add (b, b)",
        "emit-loadable",
        "MaxPool",
        IMAGE,
        "nvdla",
    ),
)

ALL = (*RULE_BUGS, *KERNEL_BUGS, *STAGE_BUGS, *LLVM_BUGS, *C_BUGS, *NVDLA_BUGS)
