"""onnx-mlir's options: all of them are in the table, and each is taken or refused by name."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from xonnc.errors import XonncError
from xonnc.tools.opt import run_opt
from xonnc.tools.peer_flags import PEER_FLAGS, PeerFlag, Tool, peer_flags, spelled
from xonnc.tools.peer_settings import PeerSettings, take_peer_flags
from xonnc.tools.usage import UsageError

TOOLS: tuple[Tool, ...] = ("onnx-opt", "onnx-translate", "xonnc emit", "xonnc simplify")


def given(flag: PeerFlag, spelling: str) -> str:
    """The option as on a command line, with a value that it takes."""
    value = "" if flag.value is None else f"={flag.choices[0] if flag.choices else '1'}"
    return f"{spelled(spelling)}{value}"


def named(flag: PeerFlag) -> str:
    return flag.name.partition(",")[0]


def test_the_table_has_all_that_onnx_mlir_declares():
    # docs/internals/onnx-rules.md §8.3: 27 common, 59 of the driver, 4 of onnx-mlir-opt.
    assert Counter(flag.declared for flag in PEER_FLAGS) == {
        "common": 27,
        "onnx-mlir": 59,
        "onnx-mlir-opt": 4,
    }
    assert len(peer_flags()) == sum(len(flag.spellings) for flag in PEER_FLAGS)


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("flag", [flag for flag in PEER_FLAGS if not flag.is_own], ids=named)
def test_an_option_is_taken_or_refused_by_name(flag: PeerFlag, tool: Tool):
    for spelling in flag.spellings:
        arguments = [given(flag, spelling), "model.mlir"]
        if spelling in ("config-file", "save-config-file"):
            continue
        if tool in flag.by:
            settings, rest = take_peer_flags(arguments, tool)
            assert rest == ["model.mlir"]
            assert spelling in settings.values
        else:
            with pytest.raises(UsageError, match=f"option '-+{spelling}' of onnx-mlir") as refused:
                take_peer_flags(arguments, tool)
            assert (" and ".join(flag.by) or flag.does) in str(refused.value)


def test_a_refused_option_names_the_nearest():
    code, _, err = run_opt(["--opt-report=Simd"])
    assert code == 2
    assert (
        "option '--opt-report' of onnx-mlir is not taken; "
        "nearest: `--stats` lists the rules that were applied" in err
    )


def test_an_option_for_another_tool_names_it():
    with pytest.raises(
        UsageError, match="'--allowSorting' of onnx-mlir is for onnx-translate and xonnc emit"
    ):
        take_peer_flags(["--allowSorting"], "onnx-opt")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--maccel=NNPA"], "option '--maccel' takes NONE, CPU, found 'NNPA'; accepted for"),
        (["--mcpu"], "option '--mcpu' needs a value: NAME"),
        (["-v=loud"], "option '-v' takes true or false, found 'loud'"),
    ],
)
def test_a_wrong_value_is_refused(arguments: list[str], problem: str):
    with pytest.raises(UsageError) as refused:
        take_peer_flags(arguments, "onnx-opt")
    assert problem in str(refused.value)


def test_values_stand_behind_equals_or_alone_and_switches_may_be_off():
    settings, rest = take_peer_flags(
        ["-mcpu", "z16", "--disable-constant-prop=false", "-v", "--cse", "-j4", "--march=x"], "onnx-opt"
    )
    assert rest == ["--cse"]
    assert (settings.text("mcpu"), settings.text("march"), settings.number("j")) == ("z16", "x", 4)
    assert not settings.on("disable-constant-prop", default=True)
    assert settings.on("v")
    assert settings.text("mtriple") is None
    assert not settings.on("enable-timing")


def test_a_name_that_the_tool_uses_otherwise_is_left_to_it():
    argument = "--replace-op-with-its-operand=list-id-regex=0:relu"
    assert take_peer_flags([argument], "onnx-opt", {"replace-op-with-its-operand"})[1] == [argument]


def test_a_number_must_be_one():
    settings, _ = take_peer_flags(["--repeatOnnxTransform=often"], "xonnc emit")
    with pytest.raises(UsageError, match="'--repeatOnnxTransform' takes a number, found 'often'"):
        settings.number("repeatOnnxTransform")


def test_the_last_of_several_switches_is_chosen():
    settings, _ = take_peer_flags(["--EmitONNXBasic", "--EmitONNXIR"], "xonnc emit")
    assert settings.chosen(peer_flags()["EmitONNXIR"].spellings) == "EmitONNXIR"
    assert PeerSettings().chosen(("EmitONNXIR",)) is None


def test_a_saved_configuration_is_read_again(tmp_path: Path):
    file = tmp_path / "omconfig.json"
    saved = take_peer_flags(
        ["--decompose-op-in-onnx=A,B", "-v", "--enable-timing=false", f"--save-config-file={file}"],
        "onnx-opt",
    )[0]
    assert json.loads(file.read_text()) == {
        "compile-options": ["--decompose-op-in-onnx=A,B", "--v", "--enable-timing=false"]
    }
    read = take_peer_flags([f"--config-file={file}", "-mcpu=x"], "onnx-opt")[0]
    assert read.names("decompose-op-in-onnx") == saved.names("decompose-op-in-onnx") == ("A", "B")
    assert read.on("v")
    assert not read.on("enable-timing")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "no JSON: "),
        ("[]", 'a list of flags is needed, as {"compile-options": ["-O3"]}'),
        ('{"compile-options": "-O3"}', "a list of flags is needed"),
    ],
)
def test_a_wrong_configuration_is_refused(text: str, problem: str, tmp_path: Path):
    file = tmp_path / "omconfig.json"
    file.write_text(text)
    with pytest.raises(XonncError) as refused:
        take_peer_flags([f"--config-file={file}"], "onnx-opt")
    assert str(refused.value).startswith(f"{file}: ")
    assert problem in str(refused.value)


def test_the_environment_holds_flags_for_all_tools(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ONNX_MLIR_FLAGS", "-mcpu first --EmitONNXIR -functions-to-decompose Gelu -v")
    settings, _ = take_peer_flags(["-mcpu=last"], "onnx-opt")
    assert settings.values == {"mcpu": ["first", "last"], "v": ["true"]}
    monkeypatch.setenv("MINE", "-v=false")
    assert take_peer_flags(["--customEnvFlags=MINE"], "onnx-opt")[0].values["v"] == ["false"]


@pytest.mark.parametrize(
    ("flags", "problem"),
    [
        ("--no-such-flag", "no option '--no-such-flag' of onnx-mlir"),
        ("-mcpu='x", "cannot read the flags in ONNX_MLIR_FLAGS: No closing quotation"),
    ],
)
def test_wrong_flags_in_the_environment_are_refused(
    flags: str, problem: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("ONNX_MLIR_FLAGS", flags)
    with pytest.raises(UsageError) as refused:
        take_peer_flags([], "onnx-opt")
    assert problem in str(refused.value)
