"""What tf2onnx and Keras's own export write: of keras.applications, layers, and functions of TensorFlow."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bench.conformance.model_specs import Array, Feeds, ModelSpec

TF2ONNX = "TensorFlow, tf2onnx"
KERAS = "Keras, model.export"

APPLICATIONS = {
    "MobileNetV2": 96,
    "MobileNetV3Small": 96,
    "EfficientNetB0": 96,
    "EfficientNetV2B0": 96,
    "DenseNet121": 96,
    "NASNetMobile": 96,
    "ResNet50V2": 96,
}
"""Networks of keras.applications and the size of their images; ConvNeXt needs Erfc, which tf2onnx lacks."""

BATCH = 2

Layers = Callable[[Any], Sequence[Any]]
"""Layers that follow each other, made of `keras.layers`."""

Call = Callable[..., Any]

LAYERS: dict[str, tuple[tuple[int, ...], Layers]] = {
    "lstm": ((12, 8), lambda k: [k.LSTM(16, return_sequences=True), k.LSTM(8)]),
    "gru": ((12, 8), lambda k: [k.GRU(16, return_sequences=True), k.GRU(8, reset_after=False)]),
    "bidirectional": ((12, 8), lambda k: [k.Bidirectional(k.LSTM(16))]),
    "masked_lstm": ((12, 8), lambda k: [k.Masking(0.0), k.LSTM(16)]),
    "conv_lstm": ((4, 16, 16, 3), lambda k: [k.ConvLSTM2D(8, 3, padding="same")]),
    "causal": ((20, 3), lambda k: [k.Conv1D(8, 3, padding="causal", dilation_rate=2), k.MaxPooling1D(2)]),
    "volume": ((8, 16, 16, 2), lambda k: [k.Conv3D(4, 3, padding="same"), k.AveragePooling3D(2)]),
    "separable": (
        (16, 16, 3),
        lambda k: [
            k.SeparableConv2D(8, 3, padding="same"),
            k.BatchNormalization(),
            k.PReLU(shared_axes=[1, 2]),
        ],
    ),
    "transposed": ((8, 8, 4), lambda k: [k.Conv2DTranspose(6, 3, strides=2, padding="same")]),
    "upsampled": (
        (8, 8, 4),
        lambda k: [k.UpSampling2D(2, interpolation="bilinear"), k.ZeroPadding2D(((1, 2), (0, 3)))],
    ),
    "norms": ((8, 8, 8), lambda k: [k.LayerNormalization(), k.GroupNormalization(4), k.UnitNormalization()]),
    "resizing": ((15, 17, 3), lambda k: [k.Resizing(8, 9), k.Rescaling(1 / 127.5, -1), k.CenterCrop(6, 6)]),
    "frames": ((5, 8, 8, 3), lambda k: [k.TimeDistributed(k.Conv2D(4, 3)), k.TimeDistributed(k.Flatten())]),
}
"""Shape of an example and layers, by name."""


def _tensorflow() -> Any:
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    return import_module("tensorflow")


def _boxes() -> Array:
    corners = np.random.default_rng(1).uniform(0, 1, (20, 2, 2)).astype(np.float32)
    return np.sort(corners, 1).reshape(20, 4)


def _while(tf: Any, x: Any, rounds: Any) -> Any:
    """A loop whose state grows."""

    def goes_on(index: Any, rows: Any) -> Any:
        return index < rounds

    def step(index: Any, rows: Any) -> Any:
        return index + 1, tf.concat([rows, rows[:1]], 0)

    shapes = tf.TensorShape([]), tf.TensorShape([None, 4])
    return tf.while_loop(goes_on, step, (0, x), shape_invariants=shapes)[1]


def _branch(tf: Any, x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2, lambda: x - 1)


def _map(tf: Any, x: Any) -> Any:
    def row(each: Any) -> Any:
        return tf.reduce_sum(each * each) + tf.sort(each)[0]

    return tf.map_fn(row, x)


def _suppress(tf: Any, boxes: Any, scores: Any) -> Any:
    return tf.gather(boxes, tf.image.non_max_suppression(boxes, scores, 5, 0.5))


def _suppress_classes(tf: Any, boxes: Any, scores: Any) -> Any:
    return tf.image.combined_non_max_suppression(boxes[None, :, None], scores[None], 5, 10, 0.5, 0.1)


def _places(tf: Any, x: Any) -> Any:
    return tf.where(x > 0)


def _kinds(tf: Any, x: Any) -> Any:
    return tf.unique(tf.cast(x[:, 0] * 2, tf.int32))


def _segments(tf: Any, x: Any, kinds: Any) -> Any:
    return tf.math.unsorted_segment_sum(x, kinds, 5)


def _crops(tf: Any, x: Any, boxes: Any) -> Any:
    """Crops of another size than the image: for its own size onnxruntime leaves out the crop."""
    return tf.image.crop_and_resize(tf.reshape(x, [1, 5, 4, 4]), boxes, [0, 0], [3, 6])


def _einsum(tf: Any, x: Any) -> Any:
    return tf.einsum("ij,kj->ik", x, x)


def _spectrum(tf: Any, x: Any) -> Any:
    return tf.abs(tf.signal.stft(x[:, 0], 8, 4))


def _pads(tf: Any, x: Any) -> Any:
    return tf.pad(x, [[1, 1], [2, 0]], "SYMMETRIC")


FLOATS = np.random.default_rng(2).standard_normal((20, 4)).astype(np.float32)
KINDS = np.arange(20, dtype=np.int32) % 5

FUNCTIONS: dict[str, tuple[Call, Sequence[Array]]] = {
    "while": (_while, [FLOATS[:3], np.array(4, np.int32)]),
    "cond": (_branch, [FLOATS]),
    "map": (_map, [FLOATS]),
    "nms": (_suppress, [_boxes(), FLOATS[:, 0]]),
    "combined_nms": (_suppress_classes, [_boxes(), FLOATS[:, :3]]),
    "where": (_places, [FLOATS]),
    "unique": (_kinds, [FLOATS]),
    "segments": (_segments, [FLOATS, KINDS]),
    "crops": (_crops, [FLOATS, _boxes()[:2]]),
    "einsum": (_einsum, [FLOATS]),
    "spectrum": (_spectrum, [FLOATS]),
    "pads": (_pads, [FLOATS]),
}
"""Functions of TensorFlow, whose first argument is the package, and their inputs."""


def _numbers(shape: Sequence[int]) -> Array:
    return np.random.default_rng(6).standard_normal((BATCH, *shape)).astype(np.float32)


def _application(name: str) -> tuple[Any, Array]:
    _tensorflow()
    keras, size = import_module("keras"), APPLICATIONS[name]
    keras.utils.set_random_seed(0)
    shape = size, size, 3
    model = getattr(keras.applications, name)(weights=None, input_shape=shape, classes=10)
    return model, _numbers(shape)


def _layers(name: str) -> tuple[Any, Array]:
    _tensorflow()
    keras = import_module("keras")
    keras.utils.set_random_seed(1)
    shape, make = LAYERS[name]
    inputs = x = keras.layers.Input(shape)
    for layer in make(keras.layers):
        x = layer(x)
    # tf2onnx takes no `Sequential`.
    return keras.Model(inputs, x), _numbers(shape)


def _converted(build: Callable[[str], tuple[Any, Array]], name: str) -> Callable[[Path], Feeds]:
    def make(path: Path) -> Feeds:
        tf = _tensorflow()
        model, x = build(name)
        signature = [tf.TensorSpec((None, *x.shape[1:]), tf.float32, name="x")]
        made, _ = import_module("tf2onnx").convert.from_keras(model, input_signature=signature)
        path.write_bytes(made.SerializeToString())
        return {"x": x}

    return make


def _exported(build: Callable[[str], tuple[Any, Array]], name: str) -> Callable[[Path], Feeds]:
    def make(path: Path) -> Feeds:
        model, x = build(name)
        # The export needs a trace.
        model(x)
        model.export(str(path), format="onnx", verbose=False)
        (port,) = import_module("onnx").load(path, load_external_data=False).graph.input
        return {port.name: x}

    return make


def _function(name: str) -> Callable[[Path], Feeds]:
    def make(path: Path) -> Feeds:
        tf = _tensorflow()
        call, arrays = FUNCTIONS[name]

        def compute(*inputs: Any) -> Any:
            return call(tf, *inputs)

        names = [f"x{index}" for index in range(len(arrays))]
        signature = [
            tf.TensorSpec(x.shape, x.dtype, name=each) for each, x in zip(names, arrays, strict=True)
        ]
        function = tf.function(compute, input_signature=signature)
        made, _ = import_module("tf2onnx").convert.from_function(function, input_signature=signature)
        path.write_bytes(made.SerializeToString())
        return dict(zip(names, arrays, strict=True))

    return make


def model_specs() -> list[ModelSpec]:
    """Each network and layer by both exporters, and the functions by tf2onnx."""
    specs: list[ModelSpec] = []
    for names, build, is_convolutional in ((APPLICATIONS, _application, True), (LAYERS, _layers, False)):
        for name in names:
            is_image = is_convolutional and name.startswith("MobileNetV2")
            specs += [
                ModelSpec(f"tf_{name}", TF2ONNX, _converted(build, name), is_image),
                ModelSpec(f"keras_{name}", KERAS, _exported(build, name), is_image),
            ]
    return specs + [ModelSpec(f"tf_{name}", TF2ONNX, _function(name)) for name in FUNCTIONS]
