"""
Time per token of a language model with 4-bit weights and a key-value cache, against onnxruntime.

    python bench/llm_decode.py [--threads 1] [--rounds 9] [--layers 4] [--hidden 2048]

The model is like Llama, as onnxruntime-genai writes it (`bench/language_models.py`). Each cell is the least
time of one token after a context of so many; the runtimes alternate. `copied` caches are arrays of a run that
become the input of the next. Caches `in place` hold the whole context, and are input and output of
each run (bound by `io_binding` in onnxruntime). Both run with float32 activations (accuracy_level 0), and
both with activations quantized to 8 bits (4), which changes the answers.

The second table is the product with one row alone: bytes of weights and scales a second, against the bytes
that a copy of a large array reads and writes a second.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.language_models import DecoderSize, decoder, linear_model, next_feeds
from xonnc.native import compile_native

Array = npt.NDArray[Any]
Run = Callable[[], object]

CONTEXTS = (1, 128, 1024, 4096)
SIZE = DecoderSize(
    layers=4, hidden=2048, heads=32, key_heads=8, inner=5632, vocabulary=8192, positions=max(CONTEXTS) + 1
)
PAUSE = 0.03
"""Seconds between runs, in which spinning threads of the other runtime go to sleep."""


def fastest(runs: Sequence[Run], rounds: int) -> list[float]:
    """Return the least time of each function in seconds; they alternate, after one round to warm up."""
    best = [float("inf")] * len(runs)
    for number in range(rounds + 1):
        for index, run in enumerate(runs):
            start = time.perf_counter()
            run()
            if number:
                best[index] = min(best[index], time.perf_counter() - start)
            time.sleep(PAUSE)
    return best


def peer_session(path: Path, threads: int) -> Any:
    """Open a model in onnxruntime."""
    runtime = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    return runtime.InferenceSession(str(path), options)


def in_place_feeds(size: DecoderSize, feeds: dict[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return inputs whose caches have capacity for another token, and the same arrays as outputs."""
    capacity = feeds["attention_mask"].shape[1]
    caches: dict[str, Array] = {}
    for name, feed in feeds.items():
        if name.startswith("past"):
            caches[name] = np.zeros((*feed.shape[:2], capacity, size.head), np.float32)
            caches[name][:, :, : feed.shape[2]] = feed
    outputs = {name.replace("past_key_values", "present"): each for name, each in caches.items()}
    return {**feeds, **caches}, outputs


def bound_run(session: Any, feeds: dict[str, Array], outputs: dict[str, Array]) -> Run:
    """Return a run of onnxruntime with inputs and outputs bound to arrays."""
    ort_value = import_module("onnxruntime").OrtValue.ortvalue_from_numpy
    binding, values = session.io_binding(), {name: ort_value(each) for name, each in feeds.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for name in outputs:
        # The buffer of the input: onnxruntime updates it in place.
        binding.bind_ortvalue_output(name, values[name.replace("present", "past_key_values")])
    binding.bind_output("logits")
    return lambda: session.run_with_iobinding(binding)


def print_decode(folder: Path, size: DecoderSize, threads: int, rounds: int) -> None:
    """Print the table of times per token."""
    paths: list[Path] = []
    for level in (0, 4):
        paths.append(folder / f"decoder{level}.onnx")
        paths[-1].write_bytes(decoder(replace(size, accuracy_level=level)).SerializeToString())
    start = time.perf_counter()
    owns = [compile_native(path, threads=threads, cache=False) for path in paths]
    print(f"compiled in {time.perf_counter() - start:.1f} s\n")
    peers = [peer_session(path, threads) for path in paths]
    columns = "| context | cache | float32: ms | of onnxruntime | int8: ms | of onnxruntime |"
    print(f"{columns}\n|---|---|---|---|---|---|")
    rng = np.random.default_rng(0)
    for context in CONTEXTS:
        shape = 1, size.key_heads, context, size.head
        past = [rng.normal(size=shape).astype(np.float32) for _ in range(2 * size.layers)]
        feeds = next_feeds(size, np.array([[5]]), context, past)
        feeds_in_place, outputs = in_place_feeds(size, feeds)
        runs: dict[str, list[Run]] = {
            "copied": [
                *(lambda f=feeds, own=own: own.run(None, f) for own in owns),
                *(lambda f=feeds, p=p: p.run(None, f) for p in peers),
            ],
            "in place": [
                *(lambda h=feeds_in_place, o=outputs, own=own: own.run(None, h, out=o) for own in owns),
                *(bound_run(peer, feeds_in_place, outputs) for peer in peers),
            ],
        }
        for kind, each in runs.items():
            times = fastest(each, rounds)
            pairs = zip(times[:2], times[2:], strict=True)
            cells = " | ".join(f"{mine * 1e3:.1f} | {mine / other:.2f}" for mine, other in pairs)
            print(f"| {context} | {kind} | {cells} |", flush=True)
    assert all(own.compiled == 1 for own in owns)


def print_products(folder: Path, threads: int, rounds: int) -> None:
    """Print the table of products with one row."""
    print(
        "\n| K×N | bits | block | activations | GB/s | of a copy | of onnxruntime |"
        "\n|---|---|---|---|---|---|---|"
    )
    target, source = np.zeros(24 << 20, np.float32), np.ones(24 << 20, np.float32)
    for k, n, bits, block in ((4096, 14336, 4, 32), (4096, 14336, 4, 128), (4096, 14336, 8, 32)):
        paths: list[Path] = []
        for level in (0, 4):
            paths.append(folder / f"linear{level}.onnx")
            size = DecoderSize(hidden=k, bits=bits, block=block, accuracy_level=level)
            paths[-1].write_bytes(linear_model(size, n).SerializeToString())
        owns = [compile_native(path, threads=threads, cache=False) for path in paths]
        feeds = {"x": np.random.default_rng(0).normal(size=(1, k)).astype(np.float32)}
        peers = [peer_session(path, threads) for path in paths]
        runs: list[Run] = [
            *(lambda own=own, feeds=feeds: own.run(None, feeds) for own in owns),
            *(lambda peer=peer, feeds=feeds: peer.run(None, feeds) for peer in peers),
            lambda: np.copyto(target, source),
        ]
        *times, copy = fastest(runs, rounds)
        moved = k * n * (bits / 8 + 4 / block)
        for name, mine, other in zip(("float32", "int8"), times[:2], times[2:], strict=True):
            share = moved / mine / (2 * target.nbytes / copy)
            rate = moved / mine / 1e9
            print(f"| {k}×{n} | {bits} | {block} | {name} | {rate:.1f} | {share:.2f} | {mine / other:.2f} |")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="time per token of a language model")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--layers", type=int, default=SIZE.layers)
    parser.add_argument("--hidden", type=int, default=SIZE.hidden)
    arguments = parser.parse_args()
    size = replace(SIZE, layers=arguments.layers, hidden=arguments.hidden)
    if arguments.threads == 1:
        # One core for both runtimes, as their threads would move between cores.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    print(f"{arguments.threads} threads, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        print_decode(Path(folder), size, arguments.threads, arguments.rounds)
        print_products(Path(folder), arguments.threads, arguments.rounds)


if __name__ == "__main__":
    main()
