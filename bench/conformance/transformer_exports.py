"""Language, vision and speech models of transformers, from small configurations with random weights."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from bench.conformance.model_specs import Feeds, ModelSpec
from bench.conformance.torch_exports import (
    DYNAMO,
    TORCHSCRIPT,
    define_operators,
    exported,
    image,
    torch,
)

Axes = Mapping[str, Mapping[int, str]]

TEXT: Axes = {
    "input_ids": {0: "batch", 1: "sequence"},
    "attention_mask": {0: "batch", 1: "sequence"},
}

SMALL = {
    "vocab_size": 300,
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "max_position_embeddings": 64,
}


def transformers() -> Any:
    """The package."""
    define_operators()
    return import_module("transformers")


Build = Callable[[], tuple[Any, tuple[Any, ...]]]


def model_specs() -> list[ModelSpec]:
    """All models of this file."""
    made: list[ModelSpec] = []
    for name in ENCODERS:
        made += _both(name, _encoder(name), TEXT)
    for name in DECODERS:
        made += _both(name, _decoder(name), TEXT)
    for name, size in IMAGE_MODELS.items():
        made += _both(name, _image_model(name, size), None)
    made += [
        _one("gpt2_past", _gpt2_past, PAST, False),
        _one("gpt2_past_new", _gpt2_past, PAST, True),
        _one("llama_past", _llama_past, PAST, False),
        *_both("t5_encoder", _t5_encoder, TEXT),
        *_both("t5_decoder", _t5_decoder, None),
        *_both("bart", _bart, None),
        *_both("marian", _marian, None),
        *_both("whisper_encoder", _whisper_encoder, None),
        *_both("whisper_decoder", _whisper_decoder, None),
        *_both("wav2vec2", _speech("Wav2Vec2"), {"input_values": {1: "samples"}}),
        *_both("hubert", _speech("Hubert"), None),
        *_both("clip", _clip, None),
        *_both("detr", _detr, None),
        *_both("yolos", _yolos, None),
        _one("superpoint_new", _superpoint, None, True),
        *_both("patchtst", _patchtst, None),
        *_both("mamba", _mamba, None),
    ]
    return made


def _both(name: str, build: Callable[[], Any], axes: Axes | None) -> list[ModelSpec]:
    return [_one(name, build, axes, False), _one(f"{name}_new", build, axes, True)]


def _one(name: str, build: Callable[[], Any], axes: Axes | None, is_new: bool) -> ModelSpec:
    def make(path: Path) -> Feeds:
        torch().manual_seed(0)
        network, inputs = build()
        module = _plain(network, tuple(inputs))
        known = {key: value for key, value in (axes or {}).items() if key in inputs}
        return exported(
            module, tuple(inputs.values()), path, is_new=is_new, dynamic=known, names=list(inputs)
        )

    return ModelSpec(f"hf_{name}", DYNAMO if is_new else TORCHSCRIPT, make)


def _plain(network: Any, names: tuple[str, ...]) -> Any:
    """The model with tensors alone for arguments and results; `past_N_…` are its cache."""

    class Plain(torch().nn.Module):
        """Calls the model by keyword."""

        def __init__(self) -> None:
            torch().nn.Module.__init__(self)
            self.network = network

        def forward(self, *tensors: Any) -> Any:
            given = dict(zip(names, tensors, strict=True))
            past = [value for key, value in given.items() if re.match(r"past_\d", key)]
            given = {key: value for key, value in given.items() if not re.match(r"past_\d", key)}
            if past:
                cache = transformers().DynamicCache()
                for layer in range(len(past) // 2):
                    cache.update(past[2 * layer], past[2 * layer + 1], layer)
                given["past_key_values"] = cache
            found = self.network(**given, return_dict=True)
            tensors_found = [value for value in found.values() if isinstance(value, torch().Tensor)]
            if past:
                for layer in found.past_key_values.layers:
                    tensors_found += [layer.keys, layer.values]
            return tuple(tensors_found)

    return Plain()


def _eager(config: Any) -> Any:
    """Use eager attention, whose decomposed form most exported models have."""
    config._attn_implementation = "eager"
    config.use_cache = False
    return config


ENCODERS: dict[str, Mapping[str, Any]] = {
    "Bert": {},
    "DistilBert": {"dim": 64, "n_layers": 2, "n_heads": 4, "hidden_dim": 128},
    "Roberta": {"max_position_embeddings": 66, "pad_token_id": 1},
    "Albert": {"embedding_size": 32},
    "Electra": {"embedding_size": 32},
    "DebertaV2": {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 8},
    "MPNet": {"max_position_embeddings": 66},
    "ModernBert": {"pad_token_id": 0, "global_attn_every_n_layers": 2, "local_attention": 8},
    "XLMRoberta": {"max_position_embeddings": 66},
    "RoFormer": {"embedding_size": 64},
    "Funnel": {"block_sizes": [1, 1], "d_model": 64, "n_head": 4, "d_head": 16, "d_inner": 128},
}


def _encoder(name: str) -> Callable[[], Any]:
    def build() -> tuple[Any, dict[str, Any]]:
        config = getattr(transformers(), f"{name}Config")(**{**SMALL, **ENCODERS[name]})
        return getattr(transformers(), f"{name}Model")(_eager(config)), _text(1, 12)

    return build


def _text(batch: int, length: int) -> dict[str, Any]:
    words = torch().randint(3, 290, (batch, length), generator=torch().Generator().manual_seed(1))
    mask = torch().ones(batch, length, dtype=torch().int64)
    mask[:, -2:] = 0
    return {"input_ids": words, "attention_mask": mask}


DECODERS: dict[str, Mapping[str, Any]] = {
    "GPT2": {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": 64},
    "GPTNeoX": {},
    "Llama": {"num_key_value_heads": 2},
    "Mistral": {"num_key_value_heads": 2, "sliding_window": 8},
    "Qwen2": {"num_key_value_heads": 2},
    "Gemma": {"num_key_value_heads": 1, "head_dim": 16},
    "Phi": {},
    "OPT": {"ffn_dim": 128, "word_embed_proj_dim": 64},
    "Bloom": {"n_layer": 2, "n_head": 4},
    "Falcon": {"multi_query": True},
}


def _decoder(name: str) -> Callable[[], Any]:
    def build() -> tuple[Any, dict[str, Any]]:
        package = transformers()
        config = getattr(package, f"{name}Config")(**{**SMALL, **DECODERS[name]})
        for suffix in ("ForCausalLM", "LMHeadModel", "Model"):
            if (kind := getattr(package, f"{name}{suffix}", None)) is not None:
                return kind(_eager(config)), _text(1, 10)
        raise AttributeError(name)

    return build


IMAGE_MODELS = {
    "ViT": 64,
    "DeiT": 64,
    "Beit": 64,
    "Swin": 64,
    "Dinov2": 56,
    "MobileViT": 64,
    "Segformer": 64,
    "ConvNext": 64,
    "MobileNetV2": 64,
    "RegNet": 64,
    "PoolFormer": 64,
    "Levit": 64,
}

IMAGE_CONFIGS: dict[str, Mapping[str, Any]] = {
    "Swin": {"embed_dim": 24, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4, "patch_size": 2},
    "Dinov2": {"patch_size": 14},
    "MobileViT": {"hidden_sizes": [48, 64, 80], "neck_hidden_sizes": [16, 16, 24, 32, 48, 64, 128]},
    "Segformer": {
        "hidden_sizes": [16, 32, 48, 64],
        "depths": [1, 1, 1, 1],
        "num_attention_heads": [1, 2, 2, 4],
    },
    "ConvNext": {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 2, 1]},
    "MobileNetV2": {},
    "RegNet": {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1], "groups_width": 8},
    "PoolFormer": {"hidden_sizes": [16, 32, 48, 64], "depths": [1, 1, 1, 1]},
    "Levit": {
        "hidden_sizes": [32, 48, 64],
        "depths": [1, 1, 1],
        "key_dim": [8, 8, 8],
        "num_attention_heads": [2, 3, 4],
    },
}


def _image_model(name: str, size: int) -> Callable[[], Any]:
    def build() -> tuple[Any, dict[str, Any]]:
        package = transformers()
        small = {
            "hidden_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 96,
            "patch_size": 16,
        }
        sizes = IMAGE_CONFIGS.get(name, small)
        if name == "Dinov2":
            sizes = {**small, **sizes}
        config = getattr(package, f"{name}Config")(image_size=size, num_labels=7, **sizes)
        config._attn_implementation = "eager"
        suffix = "ForSemanticSegmentation" if name == "Segformer" else "ForImageClassification"
        return getattr(package, f"{name}{suffix}")(config), {"pixel_values": image(1, 3, size, size)}

    return build


PAST: Axes = {
    "input_ids": {0: "batch", 1: "sequence"},
    "attention_mask": {0: "batch", 1: "total"},
    **{f"past_{layer}_{kind}": {0: "batch", 2: "past"} for layer in range(2) for kind in ("key", "value")},
}


def _past(heads: int, width: int, length: int = 5) -> dict[str, Any]:
    words = torch().tensor([[7]])
    mask = torch().ones(1, length + 1, dtype=torch().int64)
    past = {
        f"past_{layer}_{kind}": image(1, heads, length, width) * (layer + 1) * 0.3
        for layer in range(2)
        for kind in ("key", "value")
    }
    return {"input_ids": words, "attention_mask": mask, **past}


def _gpt2_past() -> tuple[Any, dict[str, Any]]:
    config = _eager(transformers().GPT2Config(**{**SMALL, **DECODERS["GPT2"]}))
    config.use_cache = True
    return transformers().GPT2LMHeadModel(config), _past(4, 16)


def _llama_past() -> tuple[Any, dict[str, Any]]:
    config = _eager(transformers().LlamaConfig(**{**SMALL, **DECODERS["Llama"]}))
    config.use_cache = True
    return transformers().LlamaForCausalLM(config), _past(2, 16)


def _t5() -> Any:
    config = transformers().T5Config(
        vocab_size=300, d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, decoder_start_token_id=0
    )
    return transformers().T5ForConditionalGeneration(_eager(config))


def _t5_encoder() -> tuple[Any, dict[str, Any]]:
    return _t5().get_encoder(), _text(1, 10)


def _t5_decoder() -> tuple[Any, dict[str, Any]]:
    inputs = _text(1, 6)
    return _t5().get_decoder(), {**inputs, "encoder_hidden_states": image(1, 9, 64)}


def _bart() -> tuple[Any, dict[str, Any]]:
    return _translator("Bart")


def _marian() -> tuple[Any, dict[str, Any]]:
    return _translator("Marian")


def _translator(name: str) -> tuple[Any, dict[str, Any]]:
    config = getattr(transformers(), f"{name}Config")(
        vocab_size=300,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        max_position_embeddings=64,
        pad_token_id=1,
        decoder_start_token_id=2,
    )
    inputs = _text(1, 8)
    return getattr(transformers(), f"{name}Model")(_eager(config)), {
        **inputs,
        "decoder_input_ids": inputs["input_ids"][:, :5].clone(),
    }


def _whisper() -> Any:
    config = transformers().WhisperConfig(
        vocab_size=300,
        num_mel_bins=20,
        d_model=64,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=128,
        decoder_ffn_dim=128,
        max_source_positions=50,
        max_target_positions=32,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
        decoder_start_token_id=3,
    )
    return transformers().WhisperModel(_eager(config))


def _whisper_encoder() -> tuple[Any, dict[str, Any]]:
    return _whisper().get_encoder(), {"input_features": image(1, 20, 100)}


def _whisper_decoder() -> tuple[Any, dict[str, Any]]:
    return _whisper().get_decoder(), {
        "input_ids": _text(1, 6)["input_ids"],
        "encoder_hidden_states": image(1, 50, 64),
    }


def _speech(name: str) -> Callable[[], Any]:
    def build() -> tuple[Any, dict[str, Any]]:
        config = getattr(transformers(), f"{name}Config")(
            hidden_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=96,
            conv_dim=[24, 24, 24],
            conv_kernel=[10, 3, 2],
            conv_stride=[5, 2, 2],
            num_conv_pos_embeddings=16,
            num_conv_pos_embedding_groups=4,
            vocab_size=32,
        )
        config._attn_implementation = "eager"
        return getattr(transformers(), f"{name}ForCTC")(config), {"input_values": image(1, 2000) * 0.3}

    return build


def _clip() -> tuple[Any, dict[str, Any]]:
    package = transformers()
    text = {**SMALL, "max_position_embeddings": 20, "eos_token_id": 299}
    picture = {
        "hidden_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 96,
        "patch_size": 16,
        "image_size": 64,
    }
    config = package.CLIPConfig(text_config=text, vision_config=picture, projection_dim=32)
    config._attn_implementation = "eager"
    return package.CLIPModel(config), {**_text(2, 9), "pixel_values": image(1, 3, 64, 64)}


def _detr() -> tuple[Any, dict[str, Any]]:
    package = transformers()
    backbone = package.ResNetConfig(
        hidden_sizes=[16, 32, 48, 64], embedding_size=16, depths=[1, 1, 1, 1], out_features=["stage4"]
    )
    config = package.DetrConfig(
        use_timm_backbone=False,
        backbone_config=backbone,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        num_queries=10,
        num_labels=5,
    )
    config._attn_implementation = "eager"
    mask = torch().ones(1, 96, 128, dtype=torch().int64)
    return package.DetrForObjectDetection(config), {"pixel_values": image(1, 3, 96, 128), "pixel_mask": mask}


def _yolos() -> tuple[Any, dict[str, Any]]:
    package = transformers()
    config = package.YolosConfig(
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        image_size=[64, 96],
        patch_size=16,
        num_detection_tokens=10,
        num_labels=5,
    )
    config._attn_implementation = "eager"
    return package.YolosForObjectDetection(config), {"pixel_values": image(1, 3, 64, 96)}


def _superpoint() -> tuple[Any, dict[str, Any]]:
    package = transformers()
    config = package.SuperPointConfig(
        encoder_hidden_sizes=[16, 16, 24, 24], decoder_hidden_size=32, descriptor_decoder_dim=32
    )
    return package.SuperPointForKeypointDetection(config), {"pixel_values": image(1, 3, 64, 64)}


def _patchtst() -> tuple[Any, dict[str, Any]]:
    package = transformers()
    config = package.PatchTSTConfig(
        num_input_channels=3,
        context_length=32,
        prediction_length=8,
        patch_length=8,
        patch_stride=4,
        d_model=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        ffn_dim=64,
    )
    config._attn_implementation = "eager"
    return package.PatchTSTForPrediction(config), {"past_values": image(1, 32, 3)}


def _mamba() -> tuple[Any, dict[str, Any]]:
    package = transformers()
    config = package.MambaConfig(vocab_size=300, hidden_size=32, state_size=8, num_hidden_layers=2)
    config.use_cache = False
    return package.MambaForCausalLM(config), {"input_ids": _text(1, 8)["input_ids"]}
