"""The report page: its data for each kind of input, and its views in a browser where one is installed."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import onnx.parser
import pytest

from xonnc.tools.driver import main
from xonnc.tools.html_report.cpu_parts import cpu_seconds
from xonnc.tools.html_report.document import (
    Buffer,
    Document,
    GraphNode,
    Memory,
    QuantizedValue,
    RuleCount,
    Task,
    Timeline,
)
from xonnc.tools.html_report.page import render
from xonnc.tools.html_report.pictures import PEAK, memory_svg, timeline_svg

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
    tasks = found["timeline"]["tasks"]
    (part,) = [index for index, task in enumerate(tasks) if task["engine"] == "CPU"]
    assert tasks[part - 1]["end"] == tasks[part]["start"] < tasks[part]["end"] == tasks[part + 1]["start"]
    assert 0 < part < len(tasks) - 1
    layers = {node["name"]: node["layers"] for node in found["nodes"]}
    assert layers == {"first": [*range(part)], "odd": [part], "last": [*range(part + 1, len(tasks))]}
    latency = dict(found["facts"])["latency"]
    assert "ms in 1 part on the CPU (measured on this processor, one thread, without transfers)" in latency


def test_a_package_shows_the_time_of_its_parts_on_the_cpu(tmp_path: Path) -> None:
    text = """<ir_version: 8, opset_import: ["" : 17]>
        m (float[1, 8, 8, 8] x) => (float[1, 8, 8, 8] y) <float[8, 8, 1, 1] w = {WEIGHTS}> {
            [first] a = Conv (x, w)
            [odd] y = Cos (a)
        }""".replace("WEIGHTS", ",".join(["0.5"] * 64))
    (tmp_path / "parts.onnx").write_bytes(onnx.parser.parse_model(text).SerializeToString())
    package = tmp_path / "parts.xpkg"
    assert main(["compile", str(tmp_path / "parts.onnx"), "-o", str(package), "-q"]) == 0
    found = written([str(package)], tmp_path / "page.html")
    last = found["timeline"]["tasks"][-1]
    assert (last["engine"], last["name"]) == ("CPU", "part 1 on the CPU")
    assert last["end"] > last["start"]
    assert "on the CPU (measured" in dict(found["facts"])["latency"]


def shapes_of(path: Path) -> list[ElementTree.Element]:
    return [each for each in ElementTree.parse(path).iter() if each.tag.endswith("}rect") and len(each)]


def test_pictures_and_tables_alone(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture, table = tmp_path / "a.svg", tmp_path / "a.csv"
    command = ["report", str(model), "--target", "nv_full", "--svg", str(picture), "--csv", str(table)]
    assert main(command) == 0
    layers = list(csv.DictReader(table.open()))
    assert {"CONV+SDP"} <= {layer["engine"] for layer in layers}
    assert [float(layer["end"]) > float(layer["start"]) for layer in layers] == [True] * len(layers)
    # A pale mark from the start, and a full one from where it computes.
    assert len(shapes_of(picture)) == 2 * len(layers)
    assert main([*command, "--memory"]) == 0
    buffers = list(csv.DictReader(table.open()))
    titles = [shape[0].text or "" for shape in shapes_of(picture)]
    assert len(titles) == len(buffers) > 0
    assert titles[0].startswith(f"{buffers[0]['buffer']}: {buffers[0]['bytes']} bytes at ")
    assert any(shape.get("fill") == PEAK for shape in shapes_of(picture))
    capsys.readouterr()
    assert main(["report", str(model), "--svg", str(tmp_path / "a.png")]) == 1
    assert "supported: .svg" in capsys.readouterr().err


def test_a_loadable_has_no_picture_of_its_memory(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    loadable = tmp_path / "small.nvdla"
    assert main(["compile", str(model), "-o", str(loadable), "-q"]) == 0
    assert main(["report", str(loadable), "--memory", "--svg", str(tmp_path / "a.svg")]) == 1
    message = f"{loadable}: no memory map: A compiled file does not have it: give the model."
    assert message in capsys.readouterr().err
    assert not (tmp_path / "a.svg").exists()


def test_names_are_escaped_in_pictures() -> None:
    task = Task("<a & b>", "CPU", 0, 1, 2, 2)
    text = timeline_svg(Timeline("us", "measured", (task,)))
    assert "<title>&lt;a &amp; b&gt;" in text
    ElementTree.fromstring(text)
    ElementTree.fromstring(timeline_svg(Timeline("us", "", ())))
    ElementTree.fromstring(memory_svg(()))


def rectangles(root: ElementTree.Element) -> dict[str, list[float]]:
    """Position and size of each rectangle with a title, by the title's first word; the last of that word."""
    found: dict[str, list[float]] = {}
    for each in root.iter("{http://www.w3.org/2000/svg}rect"):
        if len(each):
            name = (each[0].text or "").split()[0]
            found[name] = [float(each.get(key, "")) for key in ("x", "y", "width", "height")]
    return found


def labels(root: ElementTree.Element) -> dict[str, tuple[float, float]]:
    """The position of each text."""
    texts = root.iter("{http://www.w3.org/2000/svg}text")
    return {each.text or "": (float(each.get("x", "")), float(each.get("y", ""))) for each in texts}


def test_buffers_lie_at_their_steps_and_addresses() -> None:
    buffers = (Buffer("a", 0, 1, 0, 250), Buffer("b", 1, 1, 250, 750), Buffer("c", 0, 0, 250, 100))
    memory = Memory("DRAM", 1000, 1000, 500, 1, ("first", "second"), buffers)
    root = ElementTree.fromstring(memory_svg((memory,)))
    # 360 units for 1,000 bytes, upwards from 390, and 550 for each step, from 90.
    assert rectangles(root) == {
        "a:": [90, 300, 1100, 90],
        "b:": [640, 30, 550, 270],
        "c:": [90, 264, 550, 36],
    }
    colours = [each.get("fill") for each in root.iter("{http://www.w3.org/2000/svg}rect") if len(each)]
    assert [colour == PEAK for colour in colours] == [True, True, False]
    (bound,) = root.iter("{http://www.w3.org/2000/svg}path")
    assert bound.get("d") == "M90 210.0H1190"
    found = labels(root)
    assert [found[each] for each in ("0 B", "250 B", "500 B", "750 B", "1.0 kB")] == [
        (4, 394 - 90 * quarter) for quarter in range(5)
    ]
    assert (found["0"], found["1"]) == ((90, 406), (640, 406))
    second = memory_svg((memory, memory)).split("<g ")[2]
    assert second.startswith('transform="translate(0,420)"')


def test_tasks_lie_at_their_times() -> None:
    tasks = (Task("t", "CONV", 0, 25, 50, 1), Task("u", "SDP", 50, 50, 100, 1))
    root = ElementTree.fromstring(timeline_svg(Timeline("us", "measured", tasks)))
    # 1,100 units for 100 us, from 90; the full mark, from where a task computes, comes last.
    assert rectangles(root) == {"t": [365, 34, 275, 28], "u": [640, 70, 550, 28]}
    found = labels(root)
    assert (found["CONV"], found["SDP"]) == ((4, 50), (4, 86))
    assert [found[each] for each in ("0", "20", "40", "60", "80", "100")] == [
        (90 + 220 * part, 118) for part in range(6)
    ]


def test_a_part_that_does_not_run_has_no_time() -> None:
    text = """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
        m (float[2] x) => (float[2] y) { y = own.Unknown (x) }"""
    assert cpu_seconds(onnx.parser.parse_model(text)) is None


def test_native_code(model: Path, tmp_path: Path) -> None:
    found = written([str(model), "--target", "cpu"], tmp_path / "page.html")
    assert (found["kind"], found["timeline"]["unit"]) == ("native", "us")
    ends = [task["end"] for task in found["timeline"]["tasks"]]
    assert ends == sorted(ends)
    assert ends[-1] > 0
    assert any(task["macs"] for task in found["timeline"]["tasks"])
    assert not {node["engine"] for node in found["nodes"]} - {"CPU", "host", "removed"}


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
        (["--html", "page.html", "--input-shape", "z:1,2"], "no input 'z'"),
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
