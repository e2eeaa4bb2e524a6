"""The report page: its data for each kind of input, and its views in a browser where one is installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx.parser
import pytest

from xonnc.tools.driver import main
from xonnc.tools.html_report.document import Document, GraphNode, QuantizedValue, RuleCount, Task, Timeline
from xonnc.tools.html_report.page import render

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def written(arguments: list[str], page: Path) -> dict[str, Any]:
    """The data of a page."""
    assert main(["report", *arguments, "--html", str(page)]) == 0
    (text,) = re.findall(
        r'<script id="data" type="application/json">(.*?)</script>', page.read_text(), re.DOTALL
    )
    return json.loads(text)


@pytest.fixture
def model(small_model: Callable[..., Path]) -> Path:
    return small_model("small.onnx")


def test_an_nvdla_model(model: Path, tmp_path: Path) -> None:
    trace = tmp_path / "trace.json"
    found = written([str(model), "--target", "nv_full", "--trace", str(trace)], tmp_path / "page.html")
    assert found["kind"] == "nvdla"
    names = [node["name"] for node in found["nodes"]]
    assert "pool1" in names
    assert all(node["inputs"] == [at] for at, node in enumerate(found["nodes"][1:]))
    layers = {layer for node in found["nodes"] for layer in node["layers"]}
    tasks = found["timeline"]["tasks"]
    assert layers == set(range(len(tasks)))
    (memory,) = found["memories"]
    assert memory["peak"] >= memory["lower_bound"] > 0
    assert all(0 <= one["offset"] <= memory["size"] - one["size"] for one in memory["buffers"])
    assert found["roofline"]["operations"] == 1024
    assert sum(one["before"] for one in found["operators"]) == len(names)
    events = json.loads(trace.read_text())["traceEvents"]
    shown = [event for event in events if event["ph"] == "X"]
    assert [event["dur"] for event in shown] == [task["end"] - task["start"] for task in tasks]


def test_accuracy_on_samples(model: Path, tmp_path: Path) -> None:
    samples = np.random.default_rng(0).standard_normal((1, 3, 8, 8)).astype(np.float32)
    np.savez(tmp_path / "samples.npz", samples)
    arguments = [str(model), "--target", "nv_small", "--calibrate", str(tmp_path / "samples.npz")]
    found = written(arguments, tmp_path / "page.html")
    assert found["accuracy"]
    assert all(one["snr"] is None or one["snr"] > 5 for one in found["accuracy"])
    assert all(0.9 < one["cosine"] <= 1 for one in found["accuracy"])
    for one in found["accuracy"]:
        assert sum(one["floats"]) == sum(one["quantized"]) > 0
        assert one["range"][0] < one["range"][1]


def test_parts_on_the_cpu_have_reasons(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
        m (float[1, 8, 8, 8] x) => (float[1, 8, 8, 8] y) <float[8, 8, 1, 1] w = {WEIGHTS}> {
            [first] a = Conv (x, w)
            [odd] b = Cos (a)
            [last] y = Conv (b, w)
        }""".replace("WEIGHTS", ",".join(["0.5"] * 64))
    (tmp_path / "parts.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    found = written([str(tmp_path / "parts.onnx")], tmp_path / "page.html")
    engines = {node["name"]: (node["engine"], node["reason"]) for node in found["nodes"]}
    assert engines["odd"] == ("CPU", "the DLA has no such operator")
    assert engines["first"][0] == "CONV"
    assert len(found["memories"]) == 2


def test_native_code(model: Path, tmp_path: Path) -> None:
    found = written([str(model), "--target", "cpu"], tmp_path / "page.html")
    assert (found["kind"], found["timeline"]["unit"]) == ("native", "us")
    ends = [task["end"] for task in found["timeline"]["tasks"]]
    assert ends == sorted(ends)
    assert ends[-1] > 0
    assert any(task["macs"] for task in found["timeline"]["tasks"])
    assert not {node["engine"] for node in found["nodes"]} - {"CPU", "host", "gone"}


def test_compiled_files(model: Path, tmp_path: Path) -> None:
    for name in ("small.nvdla", "small.xpkg"):
        compiled = tmp_path / name
        assert main(["compile", str(model), "-o", str(compiled), "-q"]) == 0
        found = written([str(compiled)], tmp_path / "page.html")
        assert found["kind"] == "loadable"
        assert found["timeline"]["tasks"]
        assert not found["nodes"]
        assert found["notes"]["graph"] == "A compiled file does not have it: give the model."


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--html", "page.txt"], "page.txt: the ending .txt says|page.txt: the ending .txt is none"),
        (["--html", "page.html", "--target", "cpu", "--calib", "table.json"], "--calib is for NVDLA targets"),
        (["--html", "page.html", "--input-shape", "x:1,2"], "--input-shape is for native code"),
        (["--html", "page.html", "--target", "nv_smal"], "nv_small"),
    ],
)
def test_errors(
    model: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    given = [str(tmp_path / one) if one.startswith("page") else one for one in arguments]
    assert main(["report", str(model), *given]) != 0
    assert re.search(message, capsys.readouterr().err)
    assert not list(tmp_path.glob("page*"))


def test_names_cannot_end_the_script() -> None:
    name = "</script><script>alert(1)</script>{{style}}"
    page = render(Document(name, "cpu", "native", (), (GraphNode(name, "Relu", (), "CPU"),)))
    assert "alert(1)</script>" not in page
    assert page.count("</script>") == page.count("<script") == 5


def large(count: int) -> Document:
    """A chain of nodes with a side branch, in scopes."""
    nodes = tuple(
        GraphNode(
            f"/block{at // 20}/node{at}",
            "Conv" if at % 3 else "Relu",
            (at - 1,) if at else (),
            "CONV",
            "",
            (at,),
        )
        for at in range(count)
    )
    tasks = tuple(Task(f"task{at}", "CONV", at, at + 0.25, at + 1, 1, "load", 8, 4) for at in range(count))
    rewrites = (RuleCount("", "SomeRule", 2, (nodes[0].name, nodes[1].name)),)
    timeline = Timeline("cycles", "made up", tasks)
    values = tuple(
        QuantizedValue(f"value{at}", "Conv", "int8", 1, 0, 0, 20 + at, 0.99, (-1, 1), (0, 4), (1, 3))
        for at in range(2)
    )
    return Document("large", "nv", "nvdla", (), nodes, timeline=timeline, rewrites=rewrites, accuracy=values)


CLICKS = (Path(__file__).parent / "html_report_clicks.js").read_text()


@pytest.mark.parametrize("count", [100, 5000])
def test_clicking_through(count: int, tmp_path: Path) -> None:
    """In headless Chromium; without a browser only the page's structure is checked."""
    page = render(large(count)).replace("</body>", f"<script>{CLICKS}</script></body>")
    if BROWSER is None:
        assert page.index("d3js.org") < page.index("dagre") < page.index("operatorsView")
        return
    path = tmp_path / "page.html"
    path.write_text(page)
    command = [
        BROWSER,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=20000",
        "--dump-dom",
    ]
    done = subprocess.run(
        [*command, f"--user-data-dir={tmp_path / 'profile'}", path.as_uri()], capture_output=True, timeout=120
    )
    (verdict,) = re.findall(r'<output id="verdict">(.*?)</output>', done.stdout.decode())
    assert verdict == "all right"
