"use strict";
// Wiring: the sections, one selection for all views, search, theme and keys.
const report = JSON.parse(document.getElementById("data").textContent);
const byName = d3.group(report.nodes.map((node, index) => index), index => report.nodes[index].name);
const byTask = new Map();
report.nodes.forEach((node, index) => node.layers.forEach(layer => {
  if (!byTask.has(layer)) byTask.set(layer, []);
  byTask.get(layer).push(index);
}));
let selected = new Set();

function indicesOf(test) { return report.nodes.flatMap((node, index) => test(node) ? [index] : []); }

// Buffers and steps are called after a node, with what more is said of them behind a colon.
function nodesNamed(text) {
  if (byName.has(text)) return byName.get(text);
  const name = String(text).replace(/: .*$/, "");
  return byName.get(name) || [];
}

function nodesOfTask(index) {
  const task = report.timeline.tasks[index];
  return byTask.get(index) || (task && task.node ? nodesNamed(task.node) : []);
}

function describe(node) {
  return `${node.name}: ${node.op}, ${node.engine}` + (node.reason ? `: ${node.reason}` : "");
}

function select(nodes) {
  selected = new Set(nodes);
  const graph = document.querySelector("#graph");
  if (nodes.length === 1 && graph && graph.reveal) graph.reveal(nodes[0]);
  paintSelection();
  tell();
}

function paintSelection() {
  for (const mark of document.querySelectorAll("[data-nodes]")) {
    const text = mark.getAttribute("data-nodes");
    mark.classList.toggle("is-selected", selected.size > 0 && text !== ""
      && text.split(" ").some(index => selected.has(+index)));
  }
}

function tell() {
  const panel = d3.select("#selection");
  panel.selectAll("*").remove();
  if (!selected.size) return;
  const nodes = [...selected].map(index => report.nodes[index]);
  if (nodes.length > 1) panel.append("strong").text(`${nodes.length} nodes`);
  const list = panel.append("dl");
  for (const node of nodes.slice(0, 12)) {
    list.append("dt").text(node.name);
    const tasks = node.layers.map(layer => report.timeline && report.timeline.tasks[layer]).filter(Boolean);
    const time = d3.sum(tasks, task => task.added);
    list.append("dd").text(`${node.op} on ${node.engine}` + (node.layers.length ? `, layers ${node.layers.join(", ")}` : "")
      + (time ? `, ${number(time)} ${report.timeline.unit === "us" ? "µs" : report.timeline.unit}` : "") + (node.reason ? `: ${node.reason}` : ""));
  }
}

const VIEWS = [["graph", "Graph and placement", graphView], ["memory", "Memory", memoryView], ["timeline", "Timeline", timelineView],
  ["roofline", "Roofline", rooflineView], ["accuracy", "Accuracy", accuracyView], ["passes", "Rewrites", passesView],
  ["operators", "Operators", operatorsView]];

const summary = d3.select("#views").append("section").attr("id", "summary");
const facts = summary.append("dl");
for (const [label, text] of report.facts) {
  facts.append("dt").text(label);
  facts.append("dd").text(text);
}
for (const [id, title, draw] of VIEWS) {
  d3.select("#tabs").append("a").attr("href", `#${id}`).text(title);
  const section = d3.select("#views").append("section").attr("id", id);
  section.append("h2").text(title);
  if (id === "graph" && !report.nodes.length) missing(section, report, id);
  else draw(section, report);
}
d3.select("#names").selectAll("option").data(report.nodes.slice(0, 5000)).join("option").attr("value", node => node.name);
d3.select("#search").on("change", event => {
  const text = event.target.value.toLowerCase();
  const exact = byName.get(event.target.value);
  select(text ? exact || indicesOf(node => node.name.toLowerCase().includes(text) || node.op.toLowerCase() === text) : []);
});
d3.select("#theme").on("click", () => {
  const root = document.documentElement;
  const isDark = root.classList.contains("dark")
    || (!root.classList.contains("light") && matchMedia("(prefers-color-scheme: dark)").matches);
  root.classList.toggle("dark", !isDark);
  root.classList.toggle("light", isDark);
});
// "/" finds, Escape clears, j and k go to the next and the previous node.
document.addEventListener("keydown", event => {
  const typing = ["INPUT", "SELECT"].includes(document.activeElement.tagName);
  if (event.key === "Escape") { select([]); document.activeElement.blur(); }
  if (typing) return;
  if (event.key === "/") { event.preventDefault(); document.getElementById("search").focus(); }
  if ((event.key === "j" || event.key === "k") && report.nodes.length) {
    const at = selected.size ? [...selected][0] + (event.key === "j" ? 1 : -1) : 0;
    select([Math.max(0, Math.min(report.nodes.length - 1, at))]);
  }
});
document.documentElement.dataset.ready = "yes";
