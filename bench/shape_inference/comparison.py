"""Compare inferred shapes with the onnx package and with the outputs of test data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import onnx
import onnx.checker
import onnx.shape_inference
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from bench.shape_inference.cases import ShapeCase
from xonnc.contexts import new_context
from xonnc.dialects.onnx.locations import output_names
from xonnc.errors import XonncError
from xonnc.formats.onnx.importer import import_proto
from xonnc.formats.onnx.value_types import to_proto
from xonnc.transforms.dims.functions import dim_names
from xonnc.transforms.shape_inference_onnx import learn_shapes

Kind: TypeAlias = Literal["less", "other", "wrong", "error"]
"""Less precise; different; contradicted by the expected outputs; refused."""

Types: TypeAlias = "Mapping[str, onnx.TypeProto]"
"""Types by value name."""


@dataclass(frozen=True)
class ShapeDifference:
    """A difference from the onnx package."""

    kind: Kind
    value: str
    what: str
    theirs_is_wrong: bool = False
    """Whether the expected outputs contradict the onnx package."""


@dataclass(frozen=True)
class ShapeVerdict:
    """Comparison of one model."""

    name: str
    dims: int
    """Dimensions that are static in the onnx package, or have the symbol of an input."""
    only_ours: int
    """Dimensions, or whole shapes, that only xonnc infers."""
    findings: Sequence[ShapeDifference]


def compare_case(case: ShapeCase) -> ShapeVerdict:
    """Infer the shapes of a case with both and compare them."""
    theirs = infer_with_onnx(case.model)
    try:
        ours = infer_with_xonnc(case.model)
    except XonncError as error:
        return ShapeVerdict(case.name, 0, 0, [ShapeDifference("error", "", str(error))])
    names = {dim for port in case.model.graph.input for dim in _names(port.type)}
    dims = only_ours = 0
    findings: list[ShapeDifference] = []
    for name, type_ in theirs.items():
        if name not in ours:
            findings.append(ShapeDifference("less", name, f"nothing for {_text(type_)}"))
            continue
        found = list(_compared(type_, ours[name], names))
        dims += sum(1 for each in found if each.known_to_onnx)
        only_ours += sum(1 for each in found if each.only_ours)
        observed = case.observed.get(name)
        told_wrong = observed is not None and not _fits(type_, observed)
        findings += [
            ShapeDifference(each.kind, name, each.what, told_wrong) for each in found if each.kind is not None
        ]
    findings += [
        ShapeDifference("wrong", name, f"{_text(ours[name])}, but the model gave {list(observed)}")
        for name, observed in case.observed.items()
        if name in ours and not _fits(ours[name], observed)
    ]
    return ShapeVerdict(case.name, dims, only_ours, findings)


def unknown_dims(case: ShapeCase) -> list[str]:
    """Values of a case with dimensions that are neither static nor symbolic."""
    found = infer_with_xonnc(case.model)
    return [
        f"{name}: {_text(type_)}"
        for name, type_ in found.items()
        if type_.WhichOneof("value") == "tensor_type"
        and not (
            type_.tensor_type.HasField("shape")
            and all(dim.HasField("dim_value") or dim.dim_param for dim in type_.tensor_type.shape.dim)
        )
    ]


def infer_with_onnx(model: onnx.ModelProto) -> Types:
    """Types inferred by the onnx package, in strict mode unless that fails."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except (onnx.shape_inference.InferenceError, onnx.checker.ValidationError):
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    return {info.name: info.type for info in (*inferred.graph.value_info, *inferred.graph.output)}


def infer_with_xonnc(model: onnx.ModelProto) -> Types:
    """Types inferred by xonnc."""
    module = import_proto(model, new_context())
    _, facts = learn_shapes(module)
    found: dict[str, onnx.TypeProto] = {}
    for op in _main(module).body.block.ops:
        for result, name in zip(op.results, output_names(op), strict=False):
            proto = to_proto(result.type, dim_names(result, facts))
            if name and proto is not None:
                found[name] = proto
    return found


def _main(module: ModuleOp) -> FuncOp:
    return next(op for op in module.ops if isinstance(op, FuncOp))


@dataclass(frozen=True)
class _DimComparison:
    """Comparison of one dimension, or of a whole type."""

    kind: Kind | None = None
    what: str = ""
    known_to_onnx: bool = False
    only_ours: bool = False


def _compared(theirs: onnx.TypeProto, ours: onnx.TypeProto, names: set[str]) -> Iterator[_DimComparison]:
    kind = theirs.WhichOneof("value")
    if kind is None:
        return
    if ours.WhichOneof("value") != kind:
        yield _DimComparison("other", f"{_text(ours)} for {_text(theirs)}")
    elif kind == "sequence_type":
        yield from _compared(theirs.sequence_type.elem_type, ours.sequence_type.elem_type, names)
    elif kind == "optional_type":
        yield from _compared(theirs.optional_type.elem_type, ours.optional_type.elem_type, names)
    elif kind == "tensor_type":
        yield from _tensors(theirs.tensor_type, ours.tensor_type, names)


def _tensors(
    theirs: onnx.TypeProto.Tensor, ours: onnx.TypeProto.Tensor, names: set[str]
) -> Iterator[_DimComparison]:
    text = f"{_tensor_text(ours)} for {_tensor_text(theirs)}"
    if theirs.elem_type not in (0, ours.elem_type):
        yield _DimComparison("other", text)
    elif not theirs.HasField("shape"):
        yield _DimComparison(only_ours=ours.HasField("shape"))
    elif not ours.HasField("shape"):
        yield _DimComparison("less", text, known_to_onnx=True)
    elif len(theirs.shape.dim) != len(ours.shape.dim):
        yield _DimComparison("other", text, known_to_onnx=True)
    else:
        for one, other in zip(theirs.shape.dim, ours.shape.dim, strict=True):
            yield _dims(one, other, names, text)


def _dims(
    theirs: onnx.TensorShapeProto.Dimension,
    ours: onnx.TensorShapeProto.Dimension,
    names: set[str],
    text: str,
) -> _DimComparison:
    if theirs.HasField("dim_value"):
        if not ours.HasField("dim_value"):
            return _DimComparison("less", text, known_to_onnx=True)
        return _DimComparison(
            "other" if ours.dim_value != theirs.dim_value else None, text, known_to_onnx=True
        )
    if theirs.dim_param not in names or not theirs.dim_param:
        return _DimComparison(only_ours=ours.HasField("dim_value") or bool(ours.dim_param))
    if ours.HasField("dim_value"):
        return _DimComparison(known_to_onnx=True, only_ours=True)
    if not ours.dim_param:
        return _DimComparison("less", text, known_to_onnx=True)
    return _DimComparison("other" if ours.dim_param != theirs.dim_param else None, text, known_to_onnx=True)


def _fits(type_: onnx.TypeProto, observed: Sequence[int]) -> bool:
    """Whether a shape is compatible with a type."""
    if type_.WhichOneof("value") != "tensor_type" or not type_.tensor_type.HasField("shape"):
        return True
    dims = type_.tensor_type.shape.dim
    pairs = zip(dims, observed, strict=False)
    return len(dims) == len(observed) and all(
        not dim.HasField("dim_value") or dim.dim_value == size for dim, size in pairs
    )


def _names(type_: onnx.TypeProto) -> Iterator[str]:
    if type_.WhichOneof("value") == "tensor_type":
        yield from (dim.dim_param for dim in type_.tensor_type.shape.dim if dim.dim_param)


def _text(type_: onnx.TypeProto) -> str:
    match type_.WhichOneof("value"):
        case "tensor_type":
            return _tensor_text(type_.tensor_type)
        case "sequence_type":
            return f"sequence of {_text(type_.sequence_type.elem_type)}"
        case "optional_type":
            return f"optional {_text(type_.optional_type.elem_type)}"
        case kind:
            return str(kind)


def _tensor_text(tensor: onnx.TypeProto.Tensor) -> str:
    element = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
    if not tensor.HasField("shape"):
        return f"{element} of any rank"
    sizes = [
        str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?" for dim in tensor.shape.dim
    ]
    return f"{element}[{', '.join(sizes)}]"
