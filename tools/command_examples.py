"""Examples that the help text of each command of `xonnc` ends with."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "compile": (
        "xonnc compile model.onnx -o model.nvdla --target nv_full",
        "xonnc compile model.onnx --target nv_small --calibrate images.npz -o model.nvdla",
        "xonnc compile model.onnx --package -o model.xpkg",
        "xonnc compile model.onnx -o model.so --input-shape x:1,3,224,224",
        "xonnc compile model.onnx -o model.c --no-malloc --calibrate images.npz",
        "xonnc compile model.onnx --target tosa -o model.mlir",
        "xonnc compile model.onnx --stop-after simplified -o model.mlir",
    ),
    "run": (
        "xonnc run model.onnx --input x=x.npy --output y=y.npy",
        "xonnc run model.onnx --input x.npy --profile",
        "xonnc run model.onnx --input x.npy --engine reference",
        "xonnc run model.xpkg --input x.npy --output y.npy",
    ),
    "registers": (
        "xonnc registers model.nvdla --target nv_small -o model-registers",
        "xonnc registers model.nvdla --target nv_small --header opendla.h --base 0xc0000000 -o trace",
    ),
    "simulate": (
        "xonnc simulate model.nvdla --input x.npy --output y.npy",
        "xonnc simulate model.nvdla --target nv_small --input image.ppm --dump tensors",
    ),
    "emit": (
        "xonnc emit model.onnx --EmitONNXIR -o model",
        "xonnc emit model.onnx --EmitLib --shapeInformation=0:1x3x224x224",
    ),
    "tune": ("xonnc tune model.onnx --seconds 30 --input-shape x:1,3,224,224",),
    "simplify": (
        "xonnc simplify model.onnx simple.onnx --check 3",
        "xonnc simplify model.onnx simple.onnx --overwrite-input-shape x:1,3,224,224",
        "xonnc simplify model.onnx simple.onnx --external-data=weights.bin",
    ),
    "quantize": (
        "xonnc quantize model.onnx --calibrate images.npz -o quantized.onnx",
        "xonnc quantize model.onnx --calib table.json --keep-float first --keep-float last -o quantized.onnx",
    ),
    "optimize": (
        "xonnc optimize model.onnx optimized.onnx --fixed_point",
        "xonnc optimize model.onnx optimized.onnx -p eliminate_identity fuse_bn_into_conv",
        "xonnc optimize --print_all_passes",
        "xonnc optimize --c-api optimizer",
    ),
    "convert-opset": ("xonnc convert-opset 17 model.onnx converted.onnx",),
    "infer": ("xonnc infer model.onnx typed.onnx",),
    "extract": ("xonnc extract model.onnx part.onnx --inputs x --outputs y",),
    "merge": ("xonnc merge first.onnx second.onnx merged.onnx --map y:x",),
    "diff": ("xonnc diff a.onnx b.onnx", "xonnc diff a.onnx b.onnx --json"),
    "stats": ("xonnc stats model.onnx",),
    "view": ("xonnc view model.onnx --dot -o model.dot", "xonnc view model.onnx -o model.svg"),
    "tensor": (
        "xonnc tensor convert input.pb input.npy",
        "xonnc tensor convert input.bin input.pb --type float32 --shape 1,3,224,224",
    ),
    "fuzz": (
        "xonnc fuzz -n 1000 --save failures",
        "xonnc fuzz --seed 42 --level native --level simplify",
    ),
    "reduce": ("xonnc reduce model.onnx --check 'xonnc compile {} --dry-run' --says refused -o small.onnx",),
    "verify": (
        "xonnc verify model.onnx",
        "xonnc verify model.onnx model.so --profile all -n 3",
        "xonnc verify model.onnx --simplify --layers",
        "xonnc verify model.onnx --bisect reproducer",
        "xonnc verify model.onnx --matrix --inputs test_data_set_0",
    ),
    "deploy": (
        "xonnc deploy model.xpkg -o board",
        "xonnc deploy model.xpkg -o board --cpu aarch64",
    ),
    "check": (
        "xonnc check model.onnx",
        "xonnc check model.onnx model.nvdla --target nv_full -n 10",
        "xonnc check model.onnx model.xpkg --samples images.npz --least-cosine 0.99",
    ),
    "certify-rewrites": (
        "xonnc certify-rewrites --rule fuse",
        "xonnc certify-rewrites -n 1000 -o rewrite-certificates.md",
    ),
    "inspect": (
        "xonnc inspect model.nvdla --target nv_small",
        "xonnc inspect model.xpkg --json",
    ),
    "explain": (
        "xonnc explain model.onnx --target nv_small",
        "xonnc explain model.onnx --target nv_small --package --refused",
    ),
    "report": (
        "xonnc report model.nvdla",
        "xonnc report model.onnx --target nv_small --calibrate images.npz",
        "xonnc report model.onnx --memory --target cpu --input-shape x:1,3,224,224",
        "xonnc report model.onnx --target nv_small --html report.html",
    ),
    "bench": (
        "xonnc bench model.onnx",
        "xonnc bench models --target cpu --target nv_full",
    ),
    "sweep": (
        "xonnc sweep sweep.toml",
        "xonnc sweep sweep.toml --html results.html",
        "xonnc sweep sweep.toml --scheduler tcp://host:8786 --csv results.csv",
    ),
    "size": (
        "xonnc size model.onnx --fps 30",
        "xonnc size model.onnx --fps 30 --ranges sweep.toml --samples images.npz",
    ),
    "demo": ("xonnc demo digits", "xonnc demo squeezenet --target nv_full"),
    "targets": ("xonnc targets", "xonnc targets nv_small --json"),
    "passes": ("xonnc passes", "xonnc passes --long 'constprop-*' fuse_qkv", "xonnc passes --levels"),
    "rules": ("xonnc rules list", "xonnc rules list 'Add*' --json"),
    "new-backend": ("xonnc new-backend npu", "xonnc new-backend npu -o backends/npu"),
    "plugins": ("xonnc plugins list", "xonnc plugins new addn.py", "xonnc plugins check addn.py"),
    "ops": ("xonnc ops --target nv_small", "xonnc ops Conv Resize --target nv_full"),
    "completion": (
        "xonnc completion bash -o ~/.local/share/bash-completion/completions/xonnc",
        "xonnc completion man -o ~/.local/share/man/man1/xonnc.1",
    ),
}
"""Command lines by command."""


def examples_of(name: str) -> str:
    """Return the examples of a command as the end of its help text; empty if it has none."""
    return "\n".join(["examples:", *(f"  {line}" for line in EXAMPLES[name])]) if name in EXAMPLES else ""
