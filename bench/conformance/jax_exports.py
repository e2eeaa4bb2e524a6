"""What jax2onnx writes of the examples that it is tested with: Flax, Equinox and functions of JAX."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bench.conformance.model_specs import Array, Feeds, ModelSpec

JAX = "jax2onnx"

EXAMPLES = (
    # Functions of the model, nested and called several times.
    *("000_one_function_on_outer_layer", "003_two_simple_nested_functions", "010_transformer_stack"),
    *("016_internal_function_with_input_param_with_default_value", "017_unique_function_reuse"),
    *("gpt_oss_transformer_flax", "gpt_oss_mlp_block", "gpt_oss_attention_block", "gpt_block"),
    # Networks.
    *("simple_cnn", "simple_autoencoder", "vit_model_conv_embedding_flat", "nnx_dinov3_vit_Ti14"),
    *("depth_to_space_resnet_static", "resblock_channel_attention_dynamic_hw", "gru_cell_basic"),
    *("tiny_decoder_with_sequential", "multihead_attention_gqa_nnx", "simple_linen_mlp_sequential"),
    # Control flow and scatters.
    *("fori_loop_test", "while_loop_fn", "scan_fn", "cond_scatter_add_mul_f64_a", "sort_test_basic"),
    *("scatter_window_update_f64_example", "weno_reconstruction_f64", "cfl_timestep_f64"),
    # Operators.
    *("einsum_attention_logits_batched", "einsum_attention_output_batched"),
    *("scatter_min_batch_updates_1d_operand", "conv_1d_group_on_higher_dim", "jnp_unique_f32_size_fill"),
)
"""Names of test cases."""

SIZE = 3
"""Size of symbolic dimensions."""

OPTIONS = ("input_params", "normalization_mode", "inputs_as_nchw", "outputs_as_nchw")


def _test_cases() -> Iterator[Mapping[str, Any]]:
    plugins = import_module("jax2onnx.plugins.plugin_system")
    plugins.import_all_plugins()
    for plugin in plugins.PLUGIN_REGISTRY.values():
        metadata: Mapping[str, Any] = getattr(plugin, "metadata", None) or {}
        yield from metadata.get("testcases", ())
    for example in plugins.EXAMPLE_REGISTRY.values():
        yield from example.get("testcases", ())


def _example(name: str) -> ModelSpec:
    def make(path: Path) -> Feeds:
        logging.disable(logging.WARNING)
        found = next((case for case in _test_cases() if case["testcase"] == name), None)
        if found is None:
            raise LookupError(f"jax2onnx has no test case {name}")
        return _exported(found, path)

    return ModelSpec(f"jax_{re.sub('[^A-Za-z0-9_]', '_', name)}", JAX, make)


def _exported(case: Mapping[str, Any], path: Path) -> Feeds:
    jax = import_module("jax")
    function, is_double = case["callable"], bool(case.get("enable_double_precision"))
    is_double |= bool(case.get("run_only_f64_variant"))
    if hasattr(function, "with_dtype"):
        function = function.with_dtype(jax.numpy.float64 if is_double else jax.numpy.float32).instantiate()
    options = {key: case[key] for key in OPTIONS if key in case}
    if "opset_version" in case:
        options["opset"] = case["opset_version"]
    given = [_narrowed(np.asarray(value), is_double) for value in case.get("input_values", ())]
    shapes = case.get("input_shapes", [value.shape for value in given])
    kinds = case.get("input_dtypes", [value.dtype for value in given] or [np.float32] * len(shapes))
    inputs = [
        jax.ShapeDtypeStruct(tuple(shape), kind)
        if all(isinstance(size, int) for size in shape)
        else tuple(shape)
        for shape, kind in zip(shapes, kinds, strict=True)
    ]
    model = import_module("jax2onnx").to_onnx(
        function, inputs, model_name=path.parent.name, enable_double_precision=is_double, **options
    )
    path.write_bytes(model.SerializeToString())
    return {
        port.name: given[index].astype(_element(port)) if index < len(given) else _drawn(port)
        for index, port in enumerate(model.graph.input)
    }


def _narrowed(value: Array, is_double: bool) -> Array:
    """JAX's own type of a value without 64 bits, unless they are enabled."""
    narrower = {"float64": np.float32, "int64": np.int32}.get(value.dtype.name)
    return value if is_double or narrower is None else value.astype(narrower)


def _element(port: Any) -> Any:
    return import_module("onnx").helper.tensor_dtype_to_np_dtype(port.type.tensor_type.elem_type)


def _drawn(port: Any) -> Array:
    generator, dtype = np.random.default_rng(8), np.dtype(_element(port))
    shape = [dim.dim_value if dim.HasField("dim_value") else SIZE for dim in port.type.tensor_type.shape.dim]
    is_number = dtype.kind == "f"
    return np.asarray(
        generator.standard_normal(shape) if is_number else generator.integers(0, 2, shape), dtype
    )


def model_specs() -> list[ModelSpec]:
    """The examples."""
    return [_example(name) for name in EXAMPLES]
