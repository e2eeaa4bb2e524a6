"""What torch's two exporters write: of torchvision and timm, with random weights, and of layers by hand."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import onnx

from bench.conformance.model_specs import Feeds, ModelSpec, is_list

TORCHSCRIPT = "torch, TorchScript exporter"
DYNAMO = "torch, new exporter"

Build = Callable[[], tuple[Any, tuple[Any, ...]]]
"""Makes a module and its arguments."""


def torch() -> Any:
    """The package, with torchvision's operators where its wheel for GPUs cannot load them."""
    return import_module("torch")


def torchvision() -> Any:
    """torchvision; its own operators are written in Python where its library does not load."""
    define_operators()
    return import_module("torchvision")


_DEFINED: list[object] = []


def define_operators() -> None:
    """Define the operators of torchvision that its modules and the exporters know by name."""
    if _DEFINED:
        return
    fragment = torch().library.Library("torchvision", "DEF")
    _DEFINED.append(fragment)
    fragment.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    fragment.define(
        "roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
        "SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor"
    )
    fragment.impl("nms", _nms, "CompositeExplicitAutograd")
    fragment.impl("roi_align", _roi_align, "CompositeExplicitAutograd")
    for name in _named_operators() - {"nms", "roi_align"}:
        fragment.define(f"{name}(Tensor input) -> Tensor")
    # `torch.jit.script` reads the source of this one, which a lambda has not.
    for name in ("extension", "ops.roi_align"):
        import_module(f"torchvision.{name}").__dict__["_has_ops"] = _has_operators


def _has_operators() -> bool:
    return True


def _named_operators() -> set[str]:
    """The operators that torchvision registers shapes for; those must be there before it is imported."""
    found = find_spec("torchvision")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("torchvision is not installed")
    text = Path(found.origin).with_name("_meta_registrations.py").read_text()
    return set(re.findall(r'(?:torchvision::|register_meta\(")(\w+)', text))


def _nms(boxes: Any, scores: Any, threshold: float) -> Any:
    """Greedy non-maximum suppression: indices of the boxes kept, the best first."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    left = scores.argsort(descending=True)
    selected: list[int] = []
    while left.numel():
        best, left = int(left[0]), left[1:]
        selected.append(best)
        low = torch().maximum(boxes[best, :2], boxes[left, :2])
        high = torch().minimum(boxes[best, 2:], boxes[left, 2:])
        overlap = (high - low).clamp(min=0).prod(dim=1)
        left = left[overlap / (areas[best] + areas[left] - overlap) <= threshold]
    return torch().tensor(selected, dtype=torch().int64)


def _roi_align(x: Any, rois: Any, scale: float, height: int, width: int, ratio: int, aligned: bool) -> Any:
    """Region pooling by bilinear samples, as torchvision's own Python form of it has it."""
    # Not compiled by dynamo, which does not allow that to be traced.
    plain = import_module("torchvision.ops.roi_align")._roi_align.__wrapped__
    return plain(x, rois, scale, height, width, ratio, aligned)


def exported(
    module: Any,
    arguments: Sequence[Any],
    path: Path,
    *,
    is_new: bool = False,
    opset: int = 17,
    dynamic: Mapping[str, Mapping[int, str]] | None = None,
    names: Sequence[str] = (),
    outputs: Sequence[str] | None = None,
    **options: Any,
) -> Feeds:
    """
    Write a module by an exporter of torch; gives its arguments by the names of the inputs.

    `dynamic` names dynamic dimensions by input and axis.
    """
    torch().manual_seed(0)
    if hasattr(module, "eval"):
        module.eval()
        randomize(module)
    flat = import_module("torch.utils._pytree").tree_flatten(tuple(arguments))[0]
    tensors = [one for one in flat if isinstance(one, torch().Tensor)]
    names = list(names) or [f"input_{index}" if index else "input" for index in range(len(tensors))]
    if is_new:
        shapes = _dynamic_shapes(arguments, names, dynamic) if dynamic else None
        parameters = inspect.signature(getattr(module, "forward", module)).parameters.values()
        if shapes is not None and any(each.kind is each.VAR_POSITIONAL for each in parameters):
            # All arguments are one parameter then.
            shapes = (shapes,)
        options |= {"dynamo": True, "dynamic_shapes": shapes, "external_data": False, "verbose": False}
        opset = max(opset, 18)
    else:
        options |= {"dynamo": False, "dynamic_axes": {n: dict(a) for n, a in (dynamic or {}).items()}}
    with torch().no_grad():
        torch().onnx.export(
            module,
            tuple(arguments),
            str(path),
            input_names=names,
            output_names=outputs,
            opset_version=opset,
            **options,
        )
    return _fed(path, dict(zip(names, tensors, strict=True)))


def _fed(path: Path, tensors: Mapping[str, Any]) -> Feeds:
    """The arguments that the written model takes: exporters leave unused ones out."""
    graph = onnx.ModelProto.FromString(path.read_bytes()).graph
    initializers = {each.name for each in graph.initializer}
    taken = [each.name for each in graph.input if each.name not in initializers]
    return {name: tensors[name].detach().numpy() for name in taken}


def _dynamic_shapes(
    arguments: Sequence[Any], names: Sequence[str], dynamic: Mapping[str, Mapping[int, str]]
) -> Any:
    """The same nesting as the arguments, with the dynamic dimensions of each tensor."""
    Dim = torch().export.Dim
    made: dict[str, Any] = {}
    left = iter(names)

    def one(value: Any) -> Any:
        if isinstance(value, torch().Tensor):
            axes = dynamic.get(next(left), {})
            return {axis: made.setdefault(name, Dim.DYNAMIC) for axis, name in axes.items()} or None
        return [one(inner) for inner in value] if is_list(value) else None

    return tuple(map(one, arguments))


_CLASSIFIER = re.compile(r"(cls_logits|cls_score|classification_head\.module_list\.\d+\.1)$")
"""Layers of detectors that give scores."""


def randomize(module: Any) -> None:
    """
    Give normalisations statistics as training would, and detectors scores that differ.

    Fresh normalisations are the identity, and fresh scores all alike: rounding would tell the better boxes.
    """
    for one in module.modules():
        if hasattr(one, "running_mean") and one.running_mean is not None:
            one.running_mean.normal_(0, 0.1)
            one.running_var.uniform_(0.5, 1.5)
            if one.weight is not None:
                one.weight.data.uniform_(0.5, 1.5)
                one.bias.data.normal_(0, 0.1)
    for name, one in module.named_modules():
        if _CLASSIFIER.search(name) and hasattr(one, "weight"):
            one.weight.data.mul_(10)


def image(*shape: int) -> Any:
    """A seeded image."""
    return torch().randn(*shape, generator=torch().Generator().manual_seed(1))


def _network(
    name: str,
    build: Build,
    *,
    is_new: bool = False,
    is_convolutional: bool = False,
    **options: Any,
) -> ModelSpec:
    def make(path: Path) -> Feeds:
        torch().manual_seed(0)
        module, arguments = build()
        return exported(module, arguments, path, is_new=is_new, **options)

    return ModelSpec(name, DYNAMO if is_new else TORCHSCRIPT, make, is_convolutional)


def _vision(model: str, size: int = 224, channels: int = 3, **arguments: Any) -> Build:
    def build() -> tuple[Any, tuple[Any, ...]]:
        models = torchvision().models
        return models.get_model(model, weights=None, **arguments), (image(1, channels, size, size),)

    return build


def _timm(model: str, size: int = 224, **arguments: Any) -> Build:
    def build() -> tuple[Any, tuple[Any, ...]]:
        define_operators()
        timm = import_module("timm")
        layers = import_module("timm.layers")
        with layers.set_exportable(True):
            return timm.create_model(model, pretrained=False, exportable=True, **arguments), (
                image(1, 3, size, size),
            )

    return build


BATCH = {"input": {0: "batch"}}
IMAGES = {"input": {0: "batch", 2: "height", 3: "width"}}


def torchvision_specs() -> list[ModelSpec]:
    """Classifiers, segmentation and detectors of torchvision."""
    cnn = {"is_convolutional": True}
    old = [
        _network("tv_resnet18", _vision("resnet18"), opset=11, **cnn),
        _network("tv_resnet18_dynamic", _vision("resnet18"), opset=17, dynamic=BATCH, **cnn),
        _network("tv_resnet50", _vision("resnet50"), opset=13, **cnn),
        _network("tv_mobilenet_v2", _vision("mobilenet_v2"), opset=10, **cnn),
        _network("tv_mobilenet_v3_small", _vision("mobilenet_v3_small"), opset=14, **cnn),
        _network("tv_mobilenet_v3_large_op11", _vision("mobilenet_v3_large"), opset=11, **cnn),
        _network("tv_shufflenet_v2", _vision("shufflenet_v2_x0_5"), opset=12, **cnn),
        _network("tv_squeezenet", _vision("squeezenet1_1"), opset=9, **cnn),
        _network("tv_efficientnet_b0", _vision("efficientnet_b0"), opset=13, **cnn),
        _network("tv_regnet_y_400mf", _vision("regnet_y_400mf"), opset=17, **cnn),
        _network("tv_mnasnet", _vision("mnasnet0_5"), opset=17, dynamic=BATCH, **cnn),
        _network("tv_densenet121", _vision("densenet121"), opset=17, **cnn),
        _network("tv_googlenet", _vision("googlenet", init_weights=False, aux_logits=False), opset=12, **cnn),
        _network("tv_convnext_tiny", _vision("convnext_tiny"), opset=17, **cnn),
        _network("tv_lraspp", _segmented("lraspp_mobilenet_v3_large"), opset=12, dynamic=IMAGES, **cnn),
        _network("tv_deeplabv3", _segmented("deeplabv3_mobilenet_v3_large"), opset=11, **cnn),
        _network("tv_ssdlite320", _detector("ssdlite320_mobilenet_v3_large", 320), opset=12),
        _network("tv_fasterrcnn_320", _detector("fasterrcnn_mobilenet_v3_large_320_fpn", 320), opset=13),
        _network("tv_retinanet", _retinanet(), opset=16),
        _network("tv_fcos", _detector("fcos_resnet50_fpn", 160, min_size=160, max_size=160), opset=17),
        _network("tv_vit_small", _vit(), opset=17, dynamic=BATCH),
        _network("tv_swin_small", _swin(), opset=17),
        _network("tv_r3d", _video(), opset=16),
        _network("tv_raft", _raft(), opset=16),
    ]
    new = [
        _network("tv_resnet18_new", _vision("resnet18"), is_new=True, **cnn),
        _network("tv_resnet18_new_dynamic", _vision("resnet18"), is_new=True, dynamic=BATCH, **cnn),
        _network("tv_mobilenet_v3_small_new", _vision("mobilenet_v3_small"), is_new=True, **cnn),
        _network("tv_efficientnet_b0_new", _vision("efficientnet_b0"), is_new=True, dynamic=BATCH, **cnn),
        _network("tv_shufflenet_v2_new", _vision("shufflenet_v2_x0_5"), is_new=True, **cnn),
        _network("tv_vit_small_new", _vit(), is_new=True),
        _network("tv_swin_small_new", _swin(), is_new=True),
        _network("tv_lraspp_new", _segmented("lraspp_mobilenet_v3_large"), is_new=True, **cnn),
    ]
    return old + new


def _segmented(model: str) -> Build:
    def build() -> tuple[Any, tuple[Any, ...]]:
        models = torchvision().models
        network = models.get_model(model, weights=None, weights_backbone=None)
        return _first_value(network), (image(1, 3, 160, 160),)

    return build


def _first_value(network: Any) -> Any:
    class First(torch().nn.Module):
        """A network's first result, of the many that it has by name."""

        def __init__(self) -> None:
            torch().nn.Module.__init__(self)
            self.network = network

        def forward(self, x: Any) -> Any:
            return self.network(x)["out"]

    return First()


def _detector(model: str, size: int, **arguments: Any) -> Build:
    def build() -> tuple[Any, tuple[Any, ...]]:
        models = torchvision().models
        network = models.get_model(model, weights=None, weights_backbone=None, num_classes=8, **arguments)
        return network, ([image(3, size, size).sigmoid()],)

    return build


def _retinanet() -> Build:
    def build() -> tuple[Any, tuple[Any, ...]]:
        torchvision()
        utils = import_module("torchvision.models.detection.backbone_utils")
        detection = import_module("torchvision.models.detection")
        anchors = import_module("torchvision.models.detection.anchor_utils")
        backbone = utils.resnet_fpn_backbone(
            backbone_name="resnet18", weights=None, returned_layers=[2, 3, 4]
        )
        network = detection.RetinaNet(
            backbone,
            4,
            min_size=256,
            max_size=256,
            score_thresh=0.005,
            anchor_generator=anchors.AnchorGenerator(((32,), (64,), (128,), (256,)), ((0.5, 1.0, 2.0),) * 4),
        )
        return network, ([image(3, 256, 256).sigmoid()],)

    return build


def _vit() -> Build:
    def build() -> tuple[Any, tuple[Any, ...]]:
        VisionTransformer = torchvision().models.VisionTransformer
        network = VisionTransformer(96, 16, 4, 4, 128, 512, num_classes=100)
        network.heads.head.weight.data.normal_()
        return network, (image(1, 3, 96, 96),)

    return build


def _swin() -> Build:
    def build() -> tuple[Any, tuple[Any, ...]]:
        SwinTransformer = torchvision().models.SwinTransformer
        network = SwinTransformer([4, 4], 32, [2, 2], [2, 4], [7, 7], num_classes=50)
        return network, (image(1, 3, 112, 112),)

    return build


def _video() -> Build:
    def build() -> tuple[Any, tuple[Any, ...]]:
        torchvision()
        video = import_module("torchvision.models.video.resnet")
        network = video.VideoResNet(
            video.BasicBlock, [video.Conv2Plus1D] * 4, [1, 1, 1, 1], video.R2Plus1dStem, num_classes=20
        )
        return network, (image(1, 3, 8, 56, 56),)

    return build


def _raft() -> Build:
    def build() -> tuple[Any, tuple[Any, ...]]:
        network = torchvision().models.get_model("raft_small", weights=None)

        class Flow(torch().nn.Module):
            """Two rounds of the network, its last estimate."""

            def __init__(self) -> None:
                torch().nn.Module.__init__(self)
                self.network = network

            def forward(self, first: Any, second: Any) -> Any:
                return self.network(first, second, num_flow_updates=2)[-1]

        return Flow(), (image(1, 3, 128, 136).tanh(), image(1, 3, 128, 136).tanh().flip(3))

    return build


OLD_TIMM = (
    ("mobilenetv4_conv_small_050", 224, 13),
    ("efficientformerv2_s0", 224, 17),
    ("mobilevit_xxs", 256, 13),
    ("levit_128s", 224, 14),
    ("ghostnet_050", 224, 12),
    ("edgenext_xx_small", 256, 17),
    ("repvgg_a0", 224, 11),
    ("lcnet_050", 224, 13),
    ("tinynet_e", 106, 12),
    ("convnextv2_atto", 224, 17),
    ("efficientvit_b0", 224, 17),
    ("fastvit_t8", 256, 17),
    ("mobileone_s0", 224, 15),
    ("xcit_nano_12_p16_224", 224, 17),
    ("deit_tiny_patch16_224", 224, 17),
    ("pvt_v2_b0", 224, 17),
    ("tiny_vit_5m_224", 224, 17),
    ("hrnet_w18_small", 224, 11),
    ("mixnet_s", 224, 13),
    ("skresnet18", 224, 13),
    ("resmlp_12_224", 224, 17),
    ("poolformer_s12", 224, 17),
    ("rexnetr_100", 224, 13),
    ("dla46_c", 224, 9),
    ("res2net50_14w_8s", 224, 11),
    ("coat_lite_tiny", 224, 17),
    ("crossvit_tiny_240", 240, 17),
    ("test_vit3", 160, 17),
    ("test_nfnet", 160, 17),
    ("test_byobnet", 160, 11),
)
NEW_TIMM = (
    ("mobilenetv4_hybrid_medium", 224),
    ("ghostnetv2_100", 224),
    ("convnext_atto", 224),
    ("starnet_s1", 224),
    ("repvit_m0_9", 224),
    ("mobilevitv2_050", 256),
    ("vit_tiny_patch16_224", 224),
    ("inception_next_atto", 224),
    ("test_efficientnet_evos", 160),
    ("test_resnet", 160),
    ("test_convnext", 160),
    ("hardcorenas_a", 224),
)


def timm_specs() -> list[ModelSpec]:
    """Classifiers of timm."""
    old = [
        _network(f"timm_{name}", _timm(name, size), opset=opset, is_convolutional=True)
        for name, size, opset in OLD_TIMM
    ]
    new = [
        _network(f"timm_{name}_new", _timm(name, size), is_new=True, is_convolutional=True)
        for name, size in NEW_TIMM
    ]
    return old + new
