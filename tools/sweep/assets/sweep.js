"use strict";
// Time against cost of each configuration, for one model; a line joins the Pareto front.

function paintSelection() {} // The table's rows select nothing here.

(() => {
const sweep = JSON.parse(document.getElementById("data").textContent);
const models = Object.keys(sweep.fronts);
const model = d3.select("#model"), cost = d3.select("#cost");
model.selectAll("option").data(models).join("option").text(one => one);
cost.selectAll("option").data(Object.entries(sweep.costs)).join("option").attr("value", one => one[0]).text(one => one[1]);
const known = (row, name) => row[name] !== "" && row[name] !== undefined;
for (const name of Object.keys(sweep.costs)) {
  if (sweep.rows.some(row => known(row, name))) { cost.property("value", name); break; }
}
model.on("change", draw);
cost.on("change", draw);
d3.select("#theme").on("click", () => {
  const root = document.documentElement.classList;
  const isDark = root.contains("dark") || !root.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches;
  root.toggle("dark", !isDark);
  root.toggle("light", isDark);
});

const label = row => `${row.target}, ${row.precision}${row.calibration ? `, ${row.calibration}` : ""}`;

function draw() {
  const x = cost.property("value"), name = model.property("value"), section = d3.select("#pareto");
  const front = new Set(sweep.fronts[name][x]);
  const marks = sweep.rows.map((row, index) => ({ row, index, isFront: front.has(index) }))
    .filter(one => one.row.model === name && known(one.row, x) && known(one.row, "milliseconds"));
  section.html("");
  svgButton(bar(section), section, "pareto");
  const width = 960, height = 420, left = 70, bottom = 45;
  const svg = section.append("svg").attr("viewBox", [0, 0, width, height]).attr("role", "img")
    .attr("aria-label", `Time of ${name} against ${sweep.costs[x]}`);
  if (!marks.length) { svg.append("text").attr("x", left).attr("y", 40).text("no configuration has this figure"); return; }
  const spread = values => { const [low, high] = d3.extent(values); return low > 0 ? [low / 1.15, high * 1.15] : low === 0 ? [0, high + 1] : [low - 1, high + 1]; };
  const costs = spread(marks.map(one => one.row[x])), times = spread(marks.map(one => one.row.milliseconds));
  const across = (costs[0] > 0 ? d3.scaleLog() : d3.scaleLinear()).domain(costs).range([left, width - 20]);
  const up = d3.scaleLog().domain(times[0] > 0 ? times : [1e-6, 1]).range([height - bottom, 15]);
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${height - bottom})`)
    .call(d3.axisBottom(across).ticks(8, value => d3.format(value < 1000 ? "~g" : "~s")(value)));
  svg.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`).call(d3.axisLeft(up).ticks(8, "~g"));
  svg.append("text").attr("x", width / 2).attr("y", height - 8).attr("text-anchor", "middle").text(sweep.costs[x]);
  svg.append("text").attr("transform", `translate(16,${height / 2}) rotate(-90)`).attr("text-anchor", "middle").text("Time, ms");
  const line = [...front].map(index => sweep.rows[index]);
  svg.append("path").attr("class", "roof").attr("id", "front")
    .attr("d", d3.line().curve(d3.curveStepAfter).x(row => across(row[x])).y(row => up(row.milliseconds))(line));
  svg.selectAll("circle").data(marks).join("circle").attr("class", "mark").attr("r", one => one.isFront ? 6 : 4)
    .attr("fill", one => one.isFront ? COLOURS.CONV : COLOURS.view).attr("cx", one => across(one.row[x]))
    .attr("cy", one => up(one.row.milliseconds)).attr("tabindex", 0)
    .append("title").text(one => `${label(one.row)}\n${number(one.row.milliseconds)} ms\n${sweep.costs[x]}: ${number(one.row[x])}`);
  svg.selectAll("text.name").data(marks.filter(one => one.isFront)).join("text").attr("class", "name")
    .attr("text-anchor", one => across(one.row[x]) > width * .7 ? "end" : "start")
    .attr("x", one => across(one.row[x]) + (across(one.row[x]) > width * .7 ? -8 : 8)).attr("y", one => up(one.row.milliseconds) - 6).text(one => label(one.row));
}

const COLUMNS = [["Model", row => row.model], ["Target", row => row.target], ["Precision", row => row.precision],
  ["Calibration", row => row.calibration],
  ["Status", row => row.status], ["ms", row => row.milliseconds, true], ["Frames/s", row => known(row, "milliseconds")
    ? 1000 / row.milliseconds : "", true], ["MACs used", row => row.utilisation, true],
  ...Object.entries(sweep.costs).map(([name, title]) => [title, row => row[name], true]), ["Message", row => row.message]];
draw();
table(d3.select("#results"), "results", sweep.rows, COLUMNS, () => []);
})();
