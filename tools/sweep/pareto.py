"""Pareto fronts of a sweep, and the page that draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import TypeAlias

from xonnc.tools.html_report.page import asset, escaped, script_json

Row: TypeAlias = Mapping[str, str | float]

COSTS: Mapping[str, str] = {
    "area_mm2_16nm": "Area, mm² in 16 nm",
    "area_mm2_28nm": "Area, mm² in 28 nm",
    "power_mw_16nm": "Average power, mW in 16 nm",
    "multipliers": "INT8 multipliers",
    "cbuf_bytes": "Convolution buffer, bytes",
    "dram_gb_per_s": "DRAM bandwidth, GB/s",
    "traffic_bytes": "DRAM traffic of an inference, bytes",
    "cpu_nodes": "Nodes on the CPU",
    "output_noise_db": "Error of the worst output, dB",
}
"""The costs of a configuration, against the time of an inference."""


def pareto_front(rows: Sequence[Row], cost: str, time: str = "milliseconds") -> list[int]:
    """
    Return the indices of rows that no other row beats, cheapest first: none is as fast and as cheap.

    Rows without one of the figures are left out; of equal rows the first counts.
    """
    points = sorted(
        (float(row[cost]), float(row[time]), index)
        for index, row in enumerate(rows)
        if row.get(cost, "") != "" and row.get(time, "") != ""
    )
    front: list[int] = []
    fastest = float("inf")
    for _, milliseconds, index in points:
        if milliseconds < fastest:
            front.append(index)
            fastest = milliseconds
    return front


def render(title: str, rows: Sequence[Row]) -> str:
    """Return a page with the results and their Pareto fronts; it needs no network."""
    models = list(dict.fromkeys(str(row["model"]) for row in rows))
    fronts = {
        model: {
            cost: [indices[found] for found in pareto_front([rows[index] for index in indices], cost)]
            for cost in COSTS
        }
        for model in models
        for indices in [[index for index, row in enumerate(rows) if row["model"] == model]]
    }
    document = {"title": title, "rows": rows, "costs": COSTS, "fronts": fronts}
    scripts = "\n".join(f"<script>{asset(name)}</script>" for name in ("d3.min.js", "views.js"))
    own = files("xonnc.tools.sweep").joinpath("assets", "sweep.js").read_text(encoding="utf-8")
    page = files("xonnc.tools.sweep").joinpath("assets", "sweep.html").read_text(encoding="utf-8")
    return (
        page.replace("{{title}}", escaped(title))
        .replace("{{style}}", asset("page.css"))
        .replace("{{licences}}", escaped(asset("LICENSES.txt")))
        .replace(
            "{{scripts}}",
            f'<script id="data" type="application/json">{script_json(document)}</script>\n'
            f"{scripts}\n<script>{own}</script>",
        )
    )
