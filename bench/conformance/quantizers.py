"""Models written by onnxruntime's tools: static and dynamic quantization, 4-bit weights, float16."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from bench.conformance.float_networks import float_network
from bench.conformance.model_specs import Array, Feeds, ModelSpec

SOURCE = "onnxruntime.quantization"


def model_specs() -> list[ModelSpec]:
    """All models of this file."""
    made: list[ModelSpec] = []
    for network in ("residual", "depthwise"):
        make = float_network(network)
        for kind, options in STATIC.items():
            made.append(ModelSpec(f"ort_{network}_{kind}", SOURCE, _static(make, options), True))
        made.append(ModelSpec(f"ort_{network}_dynamic", SOURCE, _dynamic(make)))
    for network in ("perceptron", "recurrent", "attention"):
        make = float_network(network)
        made.append(ModelSpec(f"ort_{network}_dynamic", SOURCE, _dynamic(make)))
        made.append(ModelSpec(f"ort_{network}_qdq", SOURCE, _static(make, STATIC["qdq"])))
    for network in ("perceptron", "attention"):
        made.append(ModelSpec(f"ort_{network}_4bit", SOURCE, _four_bits(float_network(network), False)))
        made.append(ModelSpec(f"ort_{network}_4bit_qdq", SOURCE, _four_bits(float_network(network), True)))
    for network in ("residual", "attention"):
        make = float_network(network)
        made.append(ModelSpec(f"ort_{network}_float16", "onnxruntime.transformers", _float16(make)))
    for level in ("BASIC", "EXTENDED"):
        make = float_network("attention")
        made.append(
            ModelSpec(f"ort_attention_{level.lower()}", "onnxruntime, optimised model", _saved(make, level))
        )
    return made


STATIC: dict[str, dict[str, Any]] = {
    "qdq": {"quant_format": "QDQ", "activation_type": "QUInt8", "weight_type": "QInt8"},
    "qdq_channels": {
        "quant_format": "QDQ",
        "activation_type": "QInt8",
        "weight_type": "QInt8",
        "per_channel": True,
    },
    "qoperator": {"quant_format": "QOperator", "activation_type": "QUInt8", "weight_type": "QUInt8"},
    "qdq_16bit": {"quant_format": "QDQ", "activation_type": "QUInt16", "weight_type": "QInt8"},
}

Network = Callable[[], tuple[onnx.ModelProto, Feeds]]


def _package() -> Any:
    return import_module("onnxruntime.quantization")


def _static(network: Network, options: dict[str, Any]) -> Callable[[Path], Feeds]:
    def make(path: Path) -> Feeds:
        package = _package()
        model, feeds = network()
        source = path.with_name("floats.onnx")
        source.write_bytes(model.SerializeToString())

        class Reader(package.CalibrationDataReader):
            """Four inputs near the one that the model comes with."""

            def __init__(self) -> None:
                self.left = _near(feeds, 4)

            def get_next(self) -> Feeds | None:
                return next(self.left, None)

        settings = dict(options)
        settings["quant_format"] = getattr(package.QuantFormat, settings["quant_format"])
        for key in ("activation_type", "weight_type"):
            settings[key] = getattr(package.QuantType, settings[key])
        package.quantize_static(str(source), str(path), Reader(), **settings)
        source.unlink()
        return feeds

    return make


def _near(feeds: Feeds, count: int) -> Iterator[Feeds]:
    generator = np.random.default_rng(11)

    def varied(array: Array) -> Array:
        if array.dtype.kind != "f":
            return array
        return (array + 0.3 * generator.standard_normal(array.shape)).astype(array.dtype)

    for _ in range(count):
        yield {name: varied(array) for name, array in feeds.items()}


def _dynamic(network: Network) -> Callable[[Path], Feeds]:
    def make(path: Path) -> Feeds:
        model, feeds = network()
        source = path.with_name("floats.onnx")
        source.write_bytes(model.SerializeToString())
        package = _package()
        package.quantize_dynamic(str(source), str(path), weight_type=package.QuantType.QUInt8)
        source.unlink()
        return feeds

    return make


def _four_bits(network: Network, as_pairs: bool) -> Callable[[Path], Feeds]:
    def make(path: Path) -> Feeds:
        module = import_module("onnxruntime.quantization.matmul_nbits_quantizer")
        model, feeds = network()
        quantizer = module.MatMulNBitsQuantizer(
            model,
            block_size=32,
            is_symmetric=True,
            quant_format=getattr(_package().QuantFormat, "QDQ" if as_pairs else "QOperator"),
        )
        quantizer.process()
        path.write_bytes(quantizer.model.model.SerializeToString())
        return feeds

    return make


def _float16(network: Network) -> Callable[[Path], Feeds]:
    def make(path: Path) -> Feeds:
        module = import_module("onnxruntime.transformers.float16")
        model, feeds = network()
        made = module.convert_float_to_float16(model, keep_io_types=True)
        path.write_bytes(made.SerializeToString())
        return feeds

    return make


def _saved(network: Network, level: str) -> Callable[[Path], Feeds]:
    def make(path: Path) -> Feeds:
        package = import_module("onnxruntime")
        model, feeds = network()
        options = package.SessionOptions()
        options.graph_optimization_level = getattr(package.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
        options.optimized_model_filepath = str(path)
        package.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return feeds

    return make
