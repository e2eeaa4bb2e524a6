"""Networks of torch's own layers, as people write them, through both exporters; the random ones too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def model_specs() -> list[ModelSpec]:
    """All networks of this file."""
    batch: Axes = {"input": {0: "batch"}}
    steps: Axes = {"input": {0: "batch", 1: "time"}}
    words: Axes = {"input": {0: "batch", 1: "words"}}
    made = [
        *_both("lstm_classifier", _lstm_classifier, steps),
        *_both("gru_bidirectional", _gru_bidirectional, steps),
        *_both("rnn_tagger", _rnn_tagger, words),
        *_both("lstm_states", _lstm_states),
        *_both("crnn_ocr", _crnn, batch),
        *_both("unet_transposed", _unet, {"input": {0: "batch"}}, is_convolutional=True),
        *_both("super_resolution", _super_resolution, {"input": {2: "height", 3: "width"}}, True),
        *_both("gan_generator", _generator, batch, True),
        *_both("tcn_1d", _temporal, {"input": {0: "batch", 2: "time"}}),
        *_both("encoder_layer", _encoder_layer, steps),
        *_both("encoder_decoder", _encoder_decoder),
        *_both("grouped_depthwise", _depthwise, batch, True),
        *_both("instance_norm_style", _style, {"input": {2: "height", 3: "width"}}, True),
        *_both("group_norm_silu", _group_norm, batch, True),
        _one("grid_sample_warp", _warp, batch, False, False, opset=20),
        _one("grid_sample_warp_new", _warp, batch, True, False, opset=20),
        *_both("embedding_recommender", _recommender),
        *_both("mixture_of_experts", _experts, words),
        *_both("nearest_neighbours", _neighbours),
        *_both("scatter_histogram", _scatter),
        *_both("masked_pooling", _masked, words),
        *_both("rotary_attention", _rotary, steps),
        *_both("kv_cache_step", _cache_step),
        *_both("einsum_attention", _einsum, steps),
        *_both("conv3d", _conv3d, batch),
        *_both("interpolations", _interpolations, {"input": {2: "height", 3: "width"}}),
        *_both("pooling_zoo", _pooling, batch, True),
        *_both("activation_zoo", _activations, batch),
        _one("dtype_zoo", _dtypes, None, False, False, opset=18),
        _one("dtype_zoo_new", _dtypes, None, True, False, opset=18),
        *_both("slicing_zoo", _slicing, batch),
        *_both("variational_autoencoder", _autoencoder, batch),
        *_both("spectrogram", _spectrogram),
        *_both("yolo_head_nms", _yolo, None),
    ]
    scripted = [
        ("scripted_loop", _scripted_loop),
        ("scripted_branch", _scripted_branch),
        ("scripted_decoder", _scripted_decoder),
    ]
    made += [_one(name, build, None, False, False) for name, build in scripted]
    made += [
        _one(f"lstm_classifier_op{opset}", _lstm_classifier, steps, False, False, opset=opset)
        for opset in (9, 11)
    ]
    made.append(_one("unet_transposed_op9", _unet, batch, False, True, opset=9))
    made.append(_one("interpolations_op10", _interpolate_scales, None, False, False, opset=10))
    return made


Build = Callable[[], tuple[Any, tuple[Any, ...]]]


def _both(
    name: str, build: Build, axes: Axes | None = None, is_convolutional: bool = False
) -> list[ModelSpec]:
    return [
        _one(name, build, axes, False, is_convolutional),
        _one(f"{name}_new", build, axes, True, is_convolutional),
    ]


def _one(
    name: str, build: Build, axes: Axes | None, is_new: bool, is_convolutional: bool, opset: int = 17
) -> ModelSpec:
    def make(path: Path) -> Feeds:
        torch().manual_seed(0)
        # Else layers of transformers are one operator, which the exporters do not know.
        torch().backends.mha.set_fastpath_enabled(False)
        module, arguments = build()
        return exported(module, arguments, path, is_new=is_new, opset=opset, dynamic=axes)

    return ModelSpec(f"torch_{name}", DYNAMO if is_new else TORCHSCRIPT, make, is_convolutional)


def _module(forward: Callable[..., Any], **parts: Any) -> Any:
    """A module with these parts, whose forward is `forward(module, …)`."""
    nn = torch().nn

    class Network(nn.Module):
        """Parts and a function of them."""

        def __init__(self) -> None:
            torch().nn.Module.__init__(self)
            for name, part in parts.items():
                if isinstance(part, torch().Tensor):
                    self.register_buffer(name, part)
                else:
                    setattr(self, name, part)

    # Exporters look at the names of its arguments.
    Network.forward = forward
    return Network()


def _words(top: int, *shape: int) -> Any:
    return torch().randint(1, top, shape, generator=torch().Generator().manual_seed(1))


def _lstm_classifier() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn

    def forward(self: Any, x: Any) -> Any:
        states, _ = self.lstm(x)
        return self.head(states[:, -1])

    lstm = nn.LSTM(24, 48, num_layers=2, batch_first=True, bidirectional=True)
    return _module(forward, lstm=lstm, head=nn.Linear(96, 5)), (image(2, 12, 24),)


def _gru_bidirectional() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn

    def forward(self: Any, x: Any) -> Any:
        states, last = self.gru(x)
        return self.head(states), last

    gru = nn.GRU(16, 32, num_layers=2, batch_first=True, bidirectional=True)
    return _module(forward, gru=gru, head=nn.Linear(64, 8)), (image(2, 10, 16),)


def _rnn_tagger() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn

    def forward(self: Any, words: Any) -> Any:
        states, _ = self.rnn(self.embedding(words))
        return self.head(states).log_softmax(-1)

    rnn = nn.RNN(32, 40, batch_first=True, nonlinearity="relu")
    parts = {"embedding": nn.Embedding(200, 32, padding_idx=0), "rnn": rnn, "head": nn.Linear(40, 11)}
    return _module(forward, **parts), (_words(200, 2, 9),)


def _lstm_states() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn

    def forward(self: Any, x: Any, h: Any, c: Any) -> Any:
        states, (hidden, cell) = self.lstm(x, (h, c))
        return states.tanh(), hidden, cell

    return _module(forward, lstm=nn.LSTM(16, 32)), (image(5, 2, 16), image(1, 2, 32), image(1, 2, 32))


def _crnn() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn

    def forward(self: Any, x: Any) -> Any:
        features = self.cnn(x).squeeze(2).permute(2, 0, 1)
        states, _ = self.lstm(features)
        return self.head(states).log_softmax(2)

    cnn = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(True),
        nn.MaxPool2d(2, 2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(True),
        nn.MaxPool2d((2, 2), (2, 1), (0, 1)),
        nn.Conv2d(32, 48, (8, 2)),
        nn.LeakyReLU(0.1),
    )
    lstm = nn.LSTM(48, 32, bidirectional=True)
    return _module(forward, cnn=cnn, lstm=lstm, head=nn.Linear(64, 37)), (image(1, 1, 32, 100),)


def _unet() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn

    def block(i: int, o: int) -> Any:
        return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())

    def forward(self: Any, x: Any) -> Any:
        a = self.a(x)
        b = self.b(self.pool(a))
        c = self.c(self.pool(b))
        y = self.d(torch().cat([self.up(c), b], 1))
        return self.head(torch().cat([self.upper(y), a], 1)).sigmoid()

    parts = {
        "a": block(3, 16),
        "b": block(16, 32),
        "c": block(32, 64),
        "d": block(64, 32),
        "pool": nn.MaxPool2d(2),
        "up": nn.ConvTranspose2d(64, 32, 2, stride=2),
        "upper": nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1),
        "head": nn.Conv2d(32, 2, 1),
    }
    return _module(forward, **parts), (image(1, 3, 64, 96),)


def _super_resolution() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.PReLU(32),
        nn.Conv2d(32, 9, 3, padding=1),
        nn.PixelShuffle(3),
    ), (image(1, 1, 48, 56),)


def _generator() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn
    return nn.Sequential(
        nn.ConvTranspose2d(32, 64, 4, 1, 0, bias=False),
        nn.BatchNorm2d(64),
        nn.ReLU(),
        nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.ConvTranspose2d(32, 3, 3, 2, 1, output_padding=1),
        nn.Tanh(),
    ), (image(1, 32, 1, 1),)


def _temporal() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn
    layers: list[Any] = []
    for index in range(4):
        dilation = 2**index
        layers += [
            nn.ConstantPad1d((2 * dilation, 0), 0.0),
            nn.Conv1d(24 if index else 12, 24, 3, dilation=dilation),
            nn.BatchNorm1d(24),
            nn.GELU(),
        ]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(24, 6)), (
        image(1, 12, 80),
    )


def _encoder_layer() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, activation="gelu", dropout=0.0)
    network = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return network.train(), (image(1, 12, 64),)


def _encoder_decoder() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn

    def forward(self: Any, source: Any, target: Any) -> Any:
        mask = torch().triu(torch().full((target.shape[1], target.shape[1]), float("-inf")), diagonal=1)
        return self.head(self.transformer(source, target, tgt_mask=mask))

    transformer = nn.Transformer(32, 4, 1, 1, 64, batch_first=True, dropout=0.0)
    return _module(forward, transformer=transformer, head=nn.Linear(32, 50)), (
        image(1, 7, 32),
        image(1, 5, 32),
    )


def _depthwise() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn

    def shuffled(self: Any, x: Any) -> Any:
        return x.transpose(1, 2).flatten(1, 2)

    return nn.Sequential(
        nn.Conv2d(3, 24, 3, 2, 1),
        nn.Hardswish(),
        nn.Conv2d(24, 24, 5, 1, 2, groups=24),
        nn.SiLU(),
        nn.Conv2d(24, 48, 1, groups=4),
        nn.Unflatten(1, (4, 12)),
        _module(shuffled),
        nn.Conv2d(48, 48, 3, 2, 2, dilation=2, groups=48),
        nn.ReLU6(),
        nn.AdaptiveAvgPool2d(1),
        nn.Conv2d(48, 12, 1),
        nn.Hardsigmoid(),
        nn.Flatten(),
    ), (image(1, 3, 64, 64),)


def _style() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn
    return nn.Sequential(
        nn.ReflectionPad2d(4),
        nn.Conv2d(3, 16, 9),
        nn.InstanceNorm2d(16, affine=True),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2, 1),
        nn.InstanceNorm2d(32),
        nn.ReLU(),
        nn.Upsample(scale_factor=2, mode="nearest"),
        nn.ReflectionPad2d(1),
        nn.Conv2d(32, 3, 3),
    ), (image(1, 3, 56, 64),)


def _group_norm() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn
    return nn.Sequential(
        nn.Conv2d(4, 32, 3, padding=1),
        nn.GroupNorm(8, 32),
        nn.SiLU(),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.GroupNorm(4, 32),
        nn.Mish(),
        nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
        nn.Conv2d(32, 4, 3, padding=1),
    ), (image(1, 4, 32, 32),)


def _warp() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn
    functional = nn.functional

    def forward(self: Any, x: Any) -> Any:
        theta = self.head(x.mean((2, 3))).view(-1, 2, 3)
        grid = functional.affine_grid(theta, list(x.shape), align_corners=False)
        return functional.grid_sample(x, grid, padding_mode="border", align_corners=False)

    return _module(forward, head=nn.Linear(8, 6)), (image(1, 8, 20, 24),)


def _recommender() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn

    def forward(self: Any, dense: Any, sparse: Any) -> Any:
        bottom = self.bottom(dense)
        vectors = torch().stack([bottom, *(table(sparse[:, i]) for i, table in enumerate(self.tables))], 1)
        products = torch().bmm(vectors, vectors.transpose(1, 2))
        rows, columns = torch().tril_indices(4, 4, offset=-1)
        return self.top(torch().cat([bottom, products[:, rows, columns]], 1)).sigmoid()

    parts = {
        "bottom": nn.Sequential(nn.Linear(13, 16), nn.ReLU()),
        "tables": nn.ModuleList([nn.Embedding(100, 16) for _ in range(3)]),
        "top": nn.Sequential(nn.Linear(22, 16), nn.ReLU(), nn.Linear(16, 1)),
    }
    return _module(forward, **parts), (image(4, 13), _words(100, 4, 3))


def _experts() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn

    def forward(self: Any, words: Any) -> Any:
        x = self.embedding(words)
        weights, chosen = self.gate(x).softmax(-1).topk(2, -1)
        outputs = torch().stack([expert(x) for expert in self.experts], -2)
        picked = outputs.gather(-2, chosen.unsqueeze(-1).expand(-1, -1, -1, x.shape[-1]))
        return (picked * weights.unsqueeze(-1)).sum(-2)

    parts = {
        "embedding": nn.Embedding(60, 16),
        "gate": nn.Linear(16, 4),
        "experts": nn.ModuleList([nn.Linear(16, 16) for _ in range(4)]),
    }
    return _module(forward, **parts), (_words(60, 2, 6),)


def _neighbours() -> tuple[Any, tuple[Any, ...]]:
    def forward(self: Any, points: Any) -> Any:
        distances = torch().cdist(points, self.known)
        nearest, where = distances.topk(5, dim=1, largest=False)
        return nearest, self.labels[where].float().mean(1)

    return _module(forward, known=image(200, 8), labels=_words(4, 200)), (image(16, 8),)


def _scatter() -> tuple[Any, tuple[Any, ...]]:
    def forward(self: Any, where: Any, values: Any) -> Any:
        sums = torch().zeros(2, 10).scatter_add(1, where, values)
        return (
            sums,
            torch().where(sums > 0, sums, -1.0),
            values.cumsum(1),
            torch().zeros(2, 10).scatter(1, where, 1.0),
        )

    return _module(forward), (_words(10, 2, 6), image(2, 6))


def _masked() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn

    def forward(self: Any, words: Any) -> Any:
        mask = (words != 0).unsqueeze(-1)
        x = self.embedding(words).masked_fill(~mask, 0.0)
        mean = x.sum(1) / mask.sum(1).clamp(min=1)
        positions = torch().arange(words.shape[1]).expand_as(words)
        return nn.functional.normalize(mean, dim=1), positions * mask.squeeze(-1)

    return _module(forward, embedding=nn.Embedding(80, 24)), (_words(80, 3, 7),)


def _rotary() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn
    functional = nn.functional

    def forward(self: Any, x: Any) -> Any:
        batch, length, _ = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, 4, 16).permute(2, 0, 3, 1, 4)
        angles = torch().outer(torch().arange(length).float(), self.frequencies)
        sine, cosine = angles.sin(), angles.cos()

        def rotated(y: Any) -> Any:
            a, b = y[..., ::2], y[..., 1::2]
            return torch().stack([a * cosine - b * sine, a * sine + b * cosine], -1).flatten(-2)

        mixed = functional.scaled_dot_product_attention(rotated(q), rotated(k), v, is_causal=True)
        y = mixed.transpose(1, 2).reshape(batch, length, 64)
        return y * torch().rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)

    frequencies = 10000.0 ** (-torch().arange(0, 16, 2).float() / 16)
    return _module(forward, qkv=nn.Linear(64, 192), frequencies=frequencies), (image(1, 10, 64),)


def _cache_step() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn

    def forward(self: Any, x: Any, past_key: Any, past_value: Any, position: Any) -> Any:
        q, k, v = self.qkv(x).view(1, 1, 3, 2, 16).permute(2, 0, 3, 1, 4)
        key = past_key.index_copy(2, position, k)
        value = past_value.index_copy(2, position, v)
        mask = torch().arange(key.shape[2]) <= position
        scores = (q @ key.transpose(-1, -2) / 4).masked_fill(~mask, float("-inf"))
        return (scores.softmax(-1) @ value).transpose(1, 2).reshape(1, 1, 32), key, value

    arguments = (image(1, 1, 32), image(1, 2, 20, 16), image(1, 2, 20, 16), torch().tensor([7]))
    return _module(forward, qkv=nn.Linear(32, 96)), arguments


def _einsum() -> tuple[Any, tuple[Any, ...]]:
    def forward(self: Any, x: Any) -> Any:
        q, k = torch().einsum("btc,chd->bhtd", x, self.a), torch().einsum("btc,chd->bhtd", x, self.b)
        weights = torch().einsum("bhid,bhjd->bhij", q, k).softmax(-1)
        return torch().einsum("bhij,bjc->bihc", weights, x).amax(2), torch().logsumexp(weights, -1)

    return _module(forward, a=image(24, 4, 6), b=image(24, 4, 6).flip(0)), (image(1, 9, 24) * 0.2,)


def _conv3d() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn
    return nn.Sequential(
        nn.Conv3d(2, 8, 3, padding=1),
        nn.BatchNorm3d(8),
        nn.ReLU(),
        nn.MaxPool3d(2),
        nn.Conv3d(8, 16, (1, 3, 3), stride=(1, 2, 2)),
        nn.ELU(),
        nn.AdaptiveAvgPool3d(1),
        nn.Flatten(),
        nn.Linear(16, 4),
    ), (image(1, 2, 8, 20, 20),)


def _interpolations() -> tuple[Any, tuple[Any, ...]]:
    resize = torch().nn.functional.interpolate

    def forward(self: Any, x: Any) -> Any:
        up = resize(x, scale_factor=2.0, mode="nearest")
        linear = resize(x, scale_factor=1.5, mode="bilinear", align_corners=False)
        corners = resize(x, size=(21, 17), mode="bilinear", align_corners=True)
        cubic = resize(x, scale_factor=2.0, mode="bicubic", align_corners=False)
        return up, linear, corners, cubic, resize(up, size=x.shape[2:], mode="nearest")

    return _module(forward), (image(1, 4, 12, 14),)


def _interpolate_scales() -> tuple[Any, tuple[Any, ...]]:
    resize = torch().nn.functional.interpolate

    def forward(self: Any, x: Any) -> Any:
        return resize(x, scale_factor=2.0, mode="nearest"), resize(x, scale_factor=0.5, mode="nearest")

    return _module(forward), (image(1, 4, 12, 14),)


def _pooling() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn
    functional = nn.functional

    def forward(self: Any, x: Any) -> Any:
        a = functional.max_pool2d(x, 3, 2, 1, ceil_mode=True)
        b = functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False)
        c = functional.lp_pool2d(x.abs() + 0.1, 2.0, 2)
        spp = torch().cat([functional.max_pool2d(x, size, 1, size // 2) for size in (5, 9, 13)], 1)
        return a, b, c, self.mix(spp), functional.adaptive_avg_pool2d(x, (2, 3))

    return _module(forward, mix=nn.Conv2d(24, 8, 1)), (image(1, 8, 24, 24),)


def _activations() -> tuple[Any, tuple[Any, ...]]:
    functional = torch().nn.functional
    names = (
        *("relu", "relu6", "elu", "selu", "celu", "leaky_relu", "gelu", "silu", "mish", "softplus"),
        *("softsign", "hardtanh", "hardswish", "hardsigmoid", "tanhshrink", "softshrink", "hardshrink"),
        *("logsigmoid", "sigmoid", "tanh"),
    )

    def forward(self: Any, x: Any) -> Any:
        return torch().stack([getattr(functional, name)(x) for name in names], 1), functional.glu(x, -1)

    return _module(forward), (image(2, 6, 8) * 3,)


def _dtypes() -> tuple[Any, tuple[Any, ...]]:
    def forward(self: Any, x: Any, n: Any, flags: Any) -> Any:
        t = torch()
        return (
            (x * 100).to(t.int32) // 7,
            n.to(t.int8) % 5,
            n.double() / 3,
            x.half().float(),
            t.logical_xor(flags, x > 0),
            t.bitwise_and(n, 12),
            n << 2,
            t.where(flags, n, -n),
            n.float().pow(2).sum(0),
            x.argmax(1),
            x.sort(1)[0],
            t.isnan(x / x.round()),
            # What is negative or NaN would be undefined.
            x.round().clamp(0, 3).to(t.uint8),
        )

    return _module(forward), (image(4, 5), _words(90, 4, 5), image(4, 5) > 0)


def _slicing() -> tuple[Any, tuple[Any, ...]]:
    def forward(self: Any, x: Any) -> Any:
        t = torch()
        a, b = x.chunk(2, 1)
        rolled = t.roll(x, (1, -2), (2, 3))
        patches = x.unfold(2, 4, 2).unfold(3, 4, 2).flatten(4)
        focus = t.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1)
        folded = t.nn.functional.unfold(x, 3, padding=1)
        return (
            a * b,
            rolled,
            patches,
            focus,
            folded,
            x.flip(3),
            x.transpose(1, 3).contiguous().view(x.shape[0], -1),
        )

    return _module(forward), (image(1, 4, 12, 12),)


def _autoencoder() -> tuple[Any, tuple[Any, ...]]:
    nn = torch().nn

    def forward(self: Any, x: Any) -> Any:
        mean, spread = self.encoder(x).chunk(2, 1)
        return self.decoder(mean + torch().randn_like(mean) * (0.5 * spread).exp()).sigmoid()

    encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 16))
    decoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 64))
    return _module(forward, encoder=encoder, decoder=decoder), (image(2, 1, 8, 8),)


def _spectrogram() -> tuple[Any, tuple[Any, ...]]:
    def forward(self: Any, waves: Any) -> Any:
        spectrum = torch().stft(waves, 64, 32, window=self.window, return_complex=False)
        return (spectrum.pow(2).sum(-1) + 1e-6).log()

    return _module(forward, window=torch().hann_window(64)), (image(1, 800) * 0.3,)


def _yolo() -> tuple[Any, tuple[Any, ...]]:
    define_operators()
    nn = torch().nn

    def forward(self: Any, x: Any) -> Any:
        t = torch()
        y = self.head(self.body(x)).view(1, 3, 9, 8, 8).permute(0, 1, 3, 4, 2).reshape(-1, 9).sigmoid()
        low = y[:, :2] * 64 - y[:, 2:4] * 16
        boxes = t.cat([low, low + y[:, 2:4] * 32], 1)
        scores = y[:, 4] * y[:, 5:].amax(1)
        selected = t.ops.torchvision.nms(boxes, scores, 0.5)
        return boxes[selected], scores[selected], y[:, 5:].argmax(1)[selected]

    body = nn.Sequential(nn.Conv2d(3, 16, 3, 4, 1), nn.SiLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.SiLU())
    return _module(forward, body=body, head=nn.Conv2d(32, 27, 1)), (image(1, 3, 64, 64),)


def _scripted_loop() -> tuple[Any, tuple[Any, ...]]:
    from bench.conformance.torch_scripts import looped

    return looped(), (image(2, 6), torch().tensor(5))


def _scripted_branch() -> tuple[Any, tuple[Any, ...]]:
    from bench.conformance.torch_scripts import branched

    return branched(), (image(2, 6),)


def _scripted_decoder() -> tuple[Any, tuple[Any, ...]]:
    from bench.conformance.torch_scripts import greedy

    return greedy(), (image(1, 16),)
