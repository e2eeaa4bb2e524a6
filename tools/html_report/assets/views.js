"use strict";
// The seven views. Each function draws into its section and returns nothing; a mark that stands for a node
// carries `data-nodes`, indices of nodes of the model, by which the selection finds it in every view.

// Colours of Okabe and Ito, which colour-blind people can tell apart.
const COLOURS = { CONV: "#0072b2", SDP: "#e69f00", PDP: "#009e73", CDP: "#cc79a7", EMU: "#d55e00", BDMA: "#56b4e9",
  RUBIK: "#f0e442", CPU: "#56b4e9", host: "#d55e00", session: "#cc79a7", view: "#9aa4af", removed: "#c9ced4",
  refused: "#d55e00", undecided: "#c9ced4" };
const colour = engine => COLOURS[engine] || COLOURS[String(engine).split("+")[0]] || "#8c6bb1";
const number = value => value === null || value === undefined ? "–" : typeof value !== "number" ? String(value)
  : Number.isInteger(value) ? value.toLocaleString("en") : Math.abs(value) >= 1e5 || Math.abs(value) < 1e-3
    ? value.toPrecision(4) : String(+value.toPrecision(5));
const bytes = value => { for (const unit of ["B", "KB", "MB", "GB"]) { if (value < 1024 || unit === "GB") {
  return `${+value.toPrecision(4)} ${unit}`; } value /= 1024; } };

function save(name, type, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function bar(section) { return section.append("div").attr("class", "bar"); }

function key(where, names) {
  for (const name of names) {
    const one = where.append("span").attr("class", "key");
    one.append("i").style("background", colour(name));
    one.append("span").text(name);
  }
}

function svgButton(where, section, name) {
  where.append("button").attr("type", "button").text("SVG").attr("title", "Save the picture").on("click", () => {
    const copy = section.select("svg").node().cloneNode(true);
    copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
    save(`${name}.svg`, "image/svg+xml", new XMLSerializer().serializeToString(copy));
  });
}

// A table that sorts by its head and filters by a text; `columns` are [title, function of a row, isNumber].
function table(section, name, rows, columns, nodesOf) {
  const top = bar(section), state = { column: -1, up: true, text: "" };
  top.append("input").attr("type", "search").attr("placeholder", "Filter").attr("aria-label", `Filter ${name}`)
    .on("input", event => { state.text = event.target.value.toLowerCase(); draw(); });
  const count = top.append("span");
  top.append("button").attr("type", "button").text("CSV").on("click", () => {
    const quoted = value => `"${String(value ?? "").replaceAll('"', '""')}"`;
    save(`${name}.csv`, "text/csv", [columns.map(one => quoted(one[0])).join(","),
      ...shown().map(row => columns.map(one => quoted(one[1](row))).join(","))].join("\n") + "\n");
  });
  top.append("button").attr("type", "button").text("JSON").on("click", () => save(`${name}.json`, "application/json",
    JSON.stringify(shown().map(row => Object.fromEntries(columns.map(one => [one[0], one[1](row)]))), null, 1)));
  const whole = section.append("div").attr("class", "scroll").append("table");
  whole.append("thead").append("tr").selectAll("th").data(columns).join("th").attr("tabindex", 0).text(one => one[0])
    .on("click", sort).on("keydown", (event, one) => { if (event.key === "Enter") sort(event, one); });
  const body = whole.append("tbody");

  function sort(event, one) {
    const index = columns.indexOf(one);
    state.up = state.column === index ? !state.up : !one[2];
    state.column = index;
    draw();
  }

  function shown() {
    let found = rows;
    if (state.text) {
      found = found.filter(row => columns.some(one => String(one[1](row) ?? "").toLowerCase().includes(state.text)));
    }
    if (state.column >= 0) {
      const of = columns[state.column][1];
      found = [...found].sort((a, b) => (state.up ? 1 : -1) * d3.ascending(of(a), of(b)));
    }
    return found;
  }

  function draw() {
    const found = shown(), limit = 2000;
    count.text(`${found.length} of ${rows.length}` + (found.length > limit ? `; the first ${limit} are shown` : ""));
    whole.selectAll("th").attr("aria-sort", (one, index) => index === state.column
      ? (state.up ? "ascending" : "descending") : null);
    body.selectAll("tr").data(found.slice(0, limit)).join("tr")
      .attr("data-nodes", row => (nodesOf ? nodesOf(row) : []).join(" "))
      .on("click", (event, row) => { const nodes = nodesOf ? nodesOf(row) : []; if (nodes.length) select(nodes); })
      .selectAll("td").data(row => columns.map(one => [one, row])).join("td")
      .attr("class", ([one]) => one[2] ? "n" : one[3] || null)
      .text(([one, row]) => number(one[1](row)));
    paintSelection();
  }
  draw();
}

// (a) The graph: dagre lays out what is visible; groups of nodes are one box until they are opened.
const MAX_VISIBLE = 160;

function graphView(section, report) {
  const nodes = report.nodes, open = new Set();
  const paths = groupPaths(nodes);
  const root = { name: "", children: new Map(), nodes: [] };
  nodes.forEach((node, index) => {
    let at = root;
    at.nodes.push(index);
    for (const part of paths[index]) {
      if (!at.children.has(part)) {
        at.children.set(part, { name: (at.name ? at.name + "/" : "") + part, children: new Map(), nodes: [] });
      }
      at = at.children.get(part);
      at.nodes.push(index);
    }
  });
  const direct = group => group.nodes.length - d3.sum(group.children.values(), child => child.nodes.length);
  const groups = new Map();
  (function note(group) { groups.set(group.name, group); group.children.forEach(note); })(root);

  function openMost() {
    open.clear();
    open.add("");
    let visible = root.children.size + direct(root);
    const waiting = [...root.children.values()];
    while (waiting.length) {
      waiting.sort((a, b) => b.nodes.length - a.nodes.length);
      const fits = waiting.findIndex(group => visible - 1 + group.children.size + direct(group) <= MAX_VISIBLE);
      if (fits < 0) break;
      const [group] = waiting.splice(fits, 1);
      open.add(group.name);
      visible += group.children.size + direct(group) - 1;
      waiting.push(...group.children.values());
    }
  }

  const top = bar(section);
  key(top, [...new Set(nodes.map(node => node.engine))].filter(Boolean));
  top.append("button").attr("type", "button").text("Collapse").on("click", () => { open.clear(); open.add(""); draw(); });
  top.append("button").attr("type", "button").text("Reset").on("click", () => { openMost(); draw(); });
  svgButton(top, section, "graph");
  const size = { width: 1200, height: 560 };
  const svg = section.append("svg").attr("viewBox", `0 0 ${size.width} ${size.height}`).attr("role", "img")
    .attr("aria-label", "Graph of the model");
  const plane = svg.append("g");
  const zoom = d3.zoom().scaleExtent([0.02, 4]).on("zoom", event => plane.attr("transform", event.transform));
  svg.call(zoom);

  function boxOf(index) {
    let at = root;
    for (const part of paths[index]) {
      if (!open.has(at.name)) return `group:${at.name}`;
      at = at.children.get(part);
    }
    return open.has(at.name) ? `node:${index}` : `group:${at.name}`;
  }

  function draw() {
    const graph = new dagre.graphlib.Graph().setGraph({ ranksep: 26, nodesep: 10, rankdir: "LR",
      ranker: "tight-tree" }).setDefaultEdgeLabel(() => ({}));
    const boxes = nodes.map((node, index) => boxOf(index));
    for (const box of new Set(boxes)) {
      const [kind, name] = [box.slice(0, box.indexOf(":")), box.slice(box.indexOf(":") + 1)];
      const members = kind === "group" ? groups.get(name).nodes : [+name];
      const label = kind === "group" ? `${name || "model"} (${members.length})` : nodes[+name].op;
      graph.setNode(box, { kind, name, members, label, width: Math.max(46, 6.6 * Math.min(label.length, 30) + 12), height: 22 });
    }
    nodes.forEach((node, index) => node.inputs.forEach(input => {
      if (boxes[input] !== boxes[index]) graph.setEdge(boxes[input], boxes[index]);
    }));
    dagre.layout(graph);
    const line = d3.line(point => point.x, point => point.y).curve(d3.curveBasis);
    plane.selectAll("path.edge").data(graph.edges()).join("path").attr("class", "edge")
      .attr("d", edge => line(graph.edge(edge).points));
    const boxesDrawn = plane.selectAll("g.box").data(graph.nodes().map(id => graph.node(id)), box => box.kind + box.name)
      .join(enter => {
        const box = enter.append("g").attr("class", "box").attr("tabindex", 0);
        box.append("rect").attr("class", "mark").attr("rx", 4);
        box.append("text").attr("text-anchor", "middle").attr("dy", ".35em");
        box.append("title");
        return box;
      })
      .attr("transform", box => `translate(${box.x},${box.y})`)
      .on("click keydown", (event, box) => {
        if (event.type === "keydown" && event.key !== "Enter") return;
        if (box.kind === "group") { open.add(box.name); draw(); } else select(box.members);
      });
    boxesDrawn.select("rect").attr("x", box => -box.width / 2).attr("y", box => -box.height / 2)
      .attr("width", box => box.width).attr("height", box => box.height)
      .attr("data-nodes", box => box.members.join(" "))
      .attr("fill", box => colour(mainEngine(box.members))).attr("fill-opacity", box => box.kind === "group" ? .75 : .45)
      .attr("stroke-dasharray", box => box.kind === "group" ? "3 2" : null);
    boxesDrawn.select("text").text(box => box.label.length > 30 ? `${box.label.slice(0, 29)}…` : box.label);
    boxesDrawn.select("title").text(box => box.kind === "group" ? `${box.name}: ${box.members.length} nodes; click opens it`
      : describe(nodes[box.members[0]]));
    const { width, height } = graph.graph();
    // A long chain begins at the left in a size that can be read; the rest is found by dragging.
    const scale = Math.max(.6, Math.min(1.2, size.width / (width + 40), size.height / (height + 40)));
    const left = Math.max(20, (size.width - width * scale) / 2);
    const shown = Math.max(170, Math.min(size.height, height * scale + 40));
    svg.attr("viewBox", `0 0 ${size.width} ${shown}`);
    svg.call(zoom.transform, d3.zoomIdentity.translate(left, (shown - height * scale) / 2).scale(scale));
    paintSelection();
  }

  function mainEngine(members) {
    const counts = d3.rollup(members, found => found.length, index => nodes[index].engine);
    return [...counts].sort((a, b) => (a[0] === "removed") - (b[0] === "removed") || b[1] - a[1])[0][0];
  }
  openMost();
  draw();
  section.node().reveal = index => {
    let at = root;
    const closed = boxOf(index).startsWith("group:");
    for (const part of paths[index]) { open.add(at.name); at = at.children.get(part); }
    open.add(at.name);
    if (closed) draw();
  };

  const refusals = nodes.filter(node => node.reason);
  table(section, "placement", nodes.map((node, index) => ({ ...node, index })), [
    ["node", row => row.name], ["operator", row => row.op], ["engine", row => row.engine],
    ["layers", row => row.layers.join(" ")], ["reason", row => row.reason, false, "wide"],
  ], row => [row.index]);
  if (refusals.length) top.append("span").text(`${refusals.length} with a reason why they are not on the accelerator`);
}

// Exporters write scopes into names (`/layer1/conv/Conv`); models without them are cut into runs of nodes.
function groupPaths(nodes) {
  const scopes = nodes.map(node => {
    const parts = node.name.split(/[\/.]/).filter(Boolean);
    return parts.slice(0, -1);
  });
  const firsts = new Set(scopes.map(scope => scope[0] || ""));
  if (nodes.length <= MAX_VISIBLE) return nodes.map(() => []);
  if (firsts.size >= 2 && scopes.filter(scope => scope.length).length > nodes.length / 2) return scopes;
  const run = Math.ceil(Math.sqrt(nodes.length));
  return nodes.map((node, index) => [`nodes ${Math.floor(index / run) * run}–${Math.min(nodes.length, Math.floor(index / run) * run + run) - 1}`]);
}

// (b) Memory: buffers as rectangles over steps and addresses; those alive at the peak are lit.
function memoryView(section, report) {
  if (!report.memories.length) return missing(section, report, "memory");
  const top = bar(section);
  const choice = top.append("select").attr("aria-label", "Memory");
  choice.selectAll("option").data(report.memories).join("option").text(one => one.name);
  const text = top.append("span");
  svgButton(top, section, "memory");
  const size = { width: 1200, height: 360, left: 70, bottom: 30, top: 10, right: 10 };
  const svg = section.append("svg").attr("viewBox", `0 0 ${size.width} ${size.height}`).attr("role", "img")
    .attr("aria-label", "Buffers over steps and addresses");
  const below = section.append("div");
  choice.on("change", draw);
  draw();

  function draw() {
    const memory = report.memories[choice.property("selectedIndex")];
    text.text(`${bytes(memory.size)}; ${bytes(memory.peak)} alive at once at the peak, step ${memory.peak_step}`
      + ` (${memory.steps[memory.peak_step] || ""}); ${bytes(memory.lower_bound)} is the lower bound over all orders`);
    const x = d3.scaleLinear([0, Math.max(1, memory.steps.length)], [size.left, size.width - size.right]);
    const y = d3.scaleLinear([0, Math.max(1, memory.size, memory.lower_bound)], [size.height - size.bottom, size.top]);
    svg.selectAll("*").remove();
    svg.append("g").attr("class", "axis").attr("transform", `translate(0,${size.height - size.bottom})`)
      .call(d3.axisBottom(x).ticks(12, "d"));
    svg.append("g").attr("class", "axis").attr("transform", `translate(${size.left},0)`)
      .call(d3.axisLeft(y).ticks(6).tickFormat(bytes));
    svg.append("rect").attr("class", "peak").attr("x", x(memory.peak_step)).attr("width", x(1) - x(0))
      .attr("y", size.top).attr("height", size.height - size.bottom - size.top);
    svg.selectAll("rect.mark").data(memory.buffers).join("rect")
      .attr("class", one => "mark" + (isAtPeak(one, memory) ? " lit" : " dim"))
      .attr("x", one => x(one.first)).attr("width", one => Math.max(1, x(one.last + 1) - x(one.first)))
      .attr("y", one => y(one.offset + one.size)).attr("height", one => Math.max(1, y(one.offset) - y(one.offset + one.size)))
      .attr("fill", one => isAtPeak(one, memory) ? "#d55e00" : "#0072b2").attr("data-nodes", one => nodesNamed(one.name).join(" "))
      .on("click", (event, one) => select(nodesNamed(one.name)))
      .append("title").text(one => `${one.name}: ${bytes(one.size)} at ${one.offset}, steps ${one.first} to ${one.last}`);
    svg.append("line").attr("class", "bound").attr("x1", size.left).attr("x2", size.width - size.right)
      .attr("y1", y(memory.lower_bound)).attr("y2", y(memory.lower_bound));
    svg.append("text").attr("x", size.width - size.right - 4).attr("y", y(memory.lower_bound) - 3)
      .attr("text-anchor", "end").text("lower bound");
    below.selectAll("*").remove();
    table(below, "buffers", memory.buffers, [["buffer", one => one.name], ["first", one => one.first, true],
      ["last", one => one.last, true], ["offset", one => one.offset, true], ["bytes", one => one.size, true]],
    one => nodesNamed(one.name));
  }
}

const isAtPeak = (one, memory) => one.first <= memory.peak_step && memory.peak_step <= one.last;

// (c) The timeline: a lane for each engine; a task loads (pale) and then computes.
function timelineView(section, report) {
  const timeline = report.timeline;
  if (!timeline || !timeline.tasks.length) return missing(section, report, "timeline");
  const top = bar(section), tasks = timeline.tasks;
  const lanes = [...new Set(tasks.map(task => task.engine))];
  top.append("span").text(`in ${timeline.unit === "us" ? "µs" : timeline.unit}, ${timeline.source}; drag and scroll to zoom`);
  key(top, lanes);
  svgButton(top, section, "timeline");
  const size = { width: 1200, height: 40 + 30 * lanes.length, left: 110, top: 6, right: 10 };
  const svg = section.append("svg").attr("viewBox", `0 0 ${size.width} ${size.height}`).attr("role", "img")
    .attr("aria-label", "Tasks over time");
  const x = d3.scaleLinear([0, d3.max(tasks, task => task.end) || 1], [size.left, size.width - size.right]);
  const y = d3.scaleBand(lanes, [size.top, size.height - 28]).padding(.15);
  svg.append("clipPath").attr("id", "lanes").append("rect").attr("x", size.left).attr("y", 0)
    .attr("width", size.width - size.left - size.right).attr("height", size.height);
  const plane = svg.append("g").attr("clip-path", "url(#lanes)");
  const axis = svg.append("g").attr("class", "axis").attr("transform", `translate(0,${size.height - 26})`);
  svg.append("g").attr("class", "axis").attr("transform", `translate(${size.left},0)`).call(d3.axisLeft(y));
  const marks = plane.selectAll("g").data(tasks).join("g");
  marks.append("rect").attr("class", "load").attr("fill-opacity", .35);
  marks.append("rect").attr("class", "mark").attr("data-nodes", (task, index) => nodesOfTask(index).join(" "))
    .on("click", (event, task) => select(nodesOfTask(tasks.indexOf(task))));
  marks.append("title").text(task => `${task.name} (${task.engine}): ${number(task.start)} to ${number(task.end)}`
    + (task.bound ? `, bound by ${task.bound}` : ""));
  place(x);
  svg.call(d3.zoom().scaleExtent([1, 2000]).translateExtent([[0, 0], [size.width, size.height]])
    .extent([[0, 0], [size.width, size.height]]).on("zoom", event => place(event.transform.rescaleX(x))));

  function place(at) {
    marks.attr("fill", task => colour(task.engine));
    marks.select("rect.load").attr("x", task => at(task.start)).attr("width", task => Math.max(0, at(task.computes) - at(task.start)))
      .attr("y", task => y(task.engine)).attr("height", y.bandwidth());
    marks.select("rect.mark").attr("x", task => at(task.computes)).attr("width", task => Math.max(.8, at(task.end) - at(task.computes)))
      .attr("y", task => y(task.engine)).attr("height", y.bandwidth());
    axis.call(d3.axisBottom(at).ticks(10));
  }
  const total = d3.sum(tasks, task => task.added) || 1;
  table(section, "tasks", tasks.map((task, index) => ({ ...task, index })), [["#", row => row.index, true],
    ["task", row => row.name], ["engine", row => row.engine], ["node", row => row.node], ["start", row => row.start, true],
    ["end", row => row.end, true], ["adds", row => row.added, true], ["share %", row => +(100 * row.added / total).toFixed(2), true],
    ["bound by", row => row.bound], ["MACs", row => row.macs, true], ["bytes", row => row.moved_bytes, true]],
  row => nodesOfTask(row.index));
}

// (d) The roofline: operations a byte against operations a unit of time, under the roofs of the target.
function rooflineView(section, report) {
  const timeline = report.timeline, roof = report.roofline;
  const points = (timeline ? timeline.tasks : []).map((task, index) => ({ index, name: task.name, engine: task.engine,
    x: task.moved_bytes ? task.macs / task.moved_bytes : 0, y: task.added ? task.macs / task.added : 0,
    added: task.added })).filter(point => point.x > 0 && point.y > 0);
  if (!points.length || !roof) return missing(section, report, "roofline");
  const top = bar(section);
  top.append("span").text(`roofs: ${roof.source}; the area of a point is its share of the time`);
  svgButton(top, section, "roofline");
  const size = { width: 1200, height: 360, left: 70, bottom: 40, top: 10, right: 20 };
  const svg = section.append("svg").attr("viewBox", `0 0 ${size.width} ${size.height}`).attr("role", "img")
    .attr("aria-label", "Roofline");
  const xs = d3.extent(points, point => point.x), ys = d3.extent(points, point => point.y);
  const ridge = roof.bytes ? roof.operations / roof.bytes : xs[0];
  const x = d3.scaleLog([Math.min(xs[0], ridge) / 2, Math.max(xs[1], ridge) * 2], [size.left, size.width - size.right]);
  const y = d3.scaleLog([ys[0] / 2, Math.max(ys[1], roof.operations) * 2], [size.height - size.bottom, size.top]);
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${size.height - size.bottom})`).call(d3.axisBottom(x).ticks(8, "~g"));
  svg.append("g").attr("class", "axis").attr("transform", `translate(${size.left},0)`).call(d3.axisLeft(y).ticks(6, "~g"));
  svg.append("text").attr("x", size.width / 2).attr("y", size.height - 6).attr("text-anchor", "middle").text("multiplications a byte");
  svg.append("text").attr("transform", `translate(14,${size.height / 2}) rotate(-90)`).attr("text-anchor", "middle")
    .text(`multiplications per ${timeline.unit === "us" ? "µs" : "cycle"}`);
  const path = d3.line(point => x(point[0]), point => y(point[1]));
  const start = x.domain()[0], end = x.domain()[1], lowest = y.domain()[0];
  const roofPoints = roof.bytes ? [[Math.max(start, lowest / roof.bytes), Math.max(lowest, Math.max(start, lowest / roof.bytes) * roof.bytes)], [ridge, roof.operations], [end, roof.operations]]
    : [[start, roof.operations], [end, roof.operations]];
  svg.append("path").attr("class", "roof").attr("d", path(roofPoints));
  const radius = d3.scaleSqrt([0, d3.max(points, point => point.added)], [2, 16]);
  svg.selectAll("circle").data(points).join("circle").attr("class", "mark").attr("cx", point => x(point.x)).attr("cy", point => y(point.y))
    .attr("r", point => radius(point.added)).attr("fill", point => colour(point.engine)).attr("fill-opacity", .7)
    .attr("data-nodes", point => nodesOfTask(point.index).join(" ")).on("click", (event, point) => select(nodesOfTask(point.index)))
    .append("title").text(point => `${point.name}: ${number(point.x)} multiplications a byte, ${number(point.y)} per unit of time`);
}

// (e) Accuracy: the error of each quantized value in the order of the model.
function accuracyView(section, report) {
  if (!report.accuracy.length) return missing(section, report, "accuracy");
  const top = bar(section), values = report.accuracy.filter(one => one.snr !== null);
  top.append("span").text("signal to noise in dB on the samples, errors of earlier operators included: higher is better");
  svgButton(top, section, "accuracy");
  const size = { width: 1200, height: 260, left: 50, bottom: 24, top: 10, right: 10 };
  const svg = section.append("svg").attr("viewBox", `0 0 ${size.width} ${size.height}`).attr("role", "img").attr("aria-label", "Accuracy by value");
  const x = d3.scaleBand(values.map((one, index) => index), [size.left, size.width - size.right]).padding(.15);
  const y = d3.scaleLinear([Math.min(0, d3.min(values, one => one.snr) || 0), d3.max(values, one => one.snr) || 1], [size.height - size.bottom, size.top]).nice();
  svg.append("g").attr("class", "axis").attr("transform", `translate(${size.left},0)`).call(d3.axisLeft(y).ticks(6));
  svg.selectAll("rect").data(values).join("rect").attr("class", "mark").attr("x", (one, index) => x(index)).attr("width", x.bandwidth())
    .attr("y", one => Math.min(y(one.snr), y(0))).attr("height", one => Math.abs(y(0) - y(one.snr)))
    .attr("fill", one => one.snr < 10 ? "#d55e00" : one.snr < 20 ? "#e69f00" : "#0072b2")
    .attr("data-nodes", one => nodesNamed(one.op).concat(nodesNamed(one.name)).join(" "))
    .on("click", (event, one) => { histogram(one); select(nodesNamed(one.op).concat(nodesNamed(one.name))); })
    .append("title").text(one => `${one.name} (${one.op}): ${number(one.snr)} dB, ${number(100 * one.saturated)} % saturated`);
  const distribution = section.append("figure").attr("id", "histogram"), histogram = one => drawHistogram(distribution, one);
  histogram(values.reduce((worst, one) => one.snr < worst.snr ? one : worst, values[0] || report.accuracy[0]));
  table(section, "accuracy", report.accuracy, [["value", one => one.name], ["made by", one => one.op], ["type", one => one.element],
    ["scale", one => one.scale, true], ["zero", one => one.zero_point, true], ["saturated %", one => 100 * one.saturated, true],
    ["SNR dB", one => one.snr, true], ["cosine", one => one.cosine, true]], one => nodesNamed(one.op).concat(nodesNamed(one.name)));
}

// The values of one tensor in the float model (outline) and the quantized one (area), in the range of the integers.
function drawHistogram(figure, one) {
  const size = { width: 600, height: 160, left: 50, bottom: 24, top: 8, right: 10 };
  figure.selectAll("*").remove();
  figure.append("figcaption").text(`${one.name}: values in the float model (line) and the quantized one (area); click a bar for another`);
  const svg = figure.append("svg").attr("viewBox", `0 0 ${size.width} ${size.height}`).attr("role", "img")
    .attr("aria-label", `Histogram of ${one.name}`);
  const x = d3.scaleLinear(one.range, [size.left, size.width - size.right]);
  const y = d3.scaleSymlog([0, d3.max([...one.floats, ...one.quantized])], [size.height - size.bottom, size.top]);
  const step = index => one.range[0] + (one.range[1] - one.range[0]) * (index + .5) / one.floats.length;
  svg.append("g").attr("class", "axis").attr("transform", `translate(0,${size.height - size.bottom})`).call(d3.axisBottom(x).ticks(8, "~g"));
  svg.append("g").attr("class", "axis").attr("transform", `translate(${size.left},0)`).call(d3.axisLeft(y).ticks(3, "~s"));
  svg.append("path").attr("class", "quantized").attr("fill", "#0072b2").attr("fill-opacity", .35)
    .attr("d", d3.area((count, index) => x(step(index)), y(0), count => y(count)).curve(d3.curveStep)(one.quantized));
  svg.append("path").attr("class", "floats").attr("fill", "none").attr("stroke", "#d55e00").attr("stroke-width", 1.5)
    .attr("d", d3.line((count, index) => x(step(index)), count => y(count)).curve(d3.curveStep)(one.floats));
}

// (f) Rewrites: how often each rule was applied and on which nodes, and what changed in the IR.
function passesView(section, report) {
  if (!report.rewrites.length && !report.diff.length) return missing(section, report, "passes");
  table(section, "rewrites", report.rewrites, [["rule", one => one.rule], ["applied", one => one.count, true],
    ["nodes", one => one.nodes.join(", "), false, "wide"]], one => one.nodes.flatMap(nodesNamed));
  const details = section.append("details");
  details.append("summary").text(`IR before and after simplification (${report.diff.length} changed lines and their neighbours)`);
  // Drawn when it is opened: it may be long.
  details.on("toggle.once", () => {
    if (!details.select("pre").empty()) return;
    details.append("div").attr("class", "scroll").append("pre").selectAll("span").data(report.diff).join("span")
      .attr("class", line => line[0] === "+" ? "add" : line[0] === "-" ? "cut" : null).text(line => line + "\n");
  });
}

// (g) Operators before and after simplification, and the engines that run them.
function operatorsView(section, report) {
  if (!report.operators.length) return missing(section, report, "operators");
  const rows = report.operators, engines = [...new Set(rows.flatMap(one => Object.keys(one.engines)))];
  const top = bar(section);
  key(top, engines);
  svgButton(top, section, "operators");
  const size = { width: 1200, left: 190, right: 60, row: 20 }, height = 24 + size.row * rows.length;
  const svg = section.append("svg").attr("viewBox", `0 0 ${size.width} ${height}`).attr("role", "img").attr("aria-label", "Operators by engine");
  const x = d3.scaleLinear([0, d3.max(rows, one => Math.max(one.before, one.after)) || 1], [size.left, size.width - size.right]);
  rows.forEach((one, index) => {
    const y = 4 + index * size.row;
    svg.append("text").attr("x", size.left - 8).attr("y", y + 12).attr("text-anchor", "end").text(one.op);
    let from = 0;
    for (const engine of engines) {
      const count = one.engines[engine] || 0;
      if (!count) continue;
      svg.append("rect").attr("class", "mark").attr("x", x(from)).attr("y", y).attr("width", x(from + count) - x(from)).attr("height", 10)
        .attr("fill", colour(engine)).on("click", () => select(indicesOf(node => node.op === one.op && node.engine === engine)))
        .attr("data-nodes", indicesOf(node => node.op === one.op && node.engine === engine).join(" "))
        .append("title").text(`${one.op}: ${count} on ${engine}`);
      from += count;
    }
    svg.append("rect").attr("x", x(0)).attr("y", y + 11).attr("height", 4).attr("width", x(one.after) - x(0)).attr("fill", "currentColor")
      .attr("fill-opacity", .35).append("title").text(`${one.op}: ${one.after} after simplification`);
    svg.append("text").attr("x", x(Math.max(from, one.after)) + 5).attr("y", y + 12).text(`${one.before} → ${one.after}`);
  });
  table(section, "operators", rows, [["operator", one => one.op], ["before", one => one.before, true], ["after", one => one.after, true],
    ...engines.map(engine => [engine, one => one.engines[engine] || 0, true])], one => indicesOf(node => node.op === one.op));
}

function missing(section, report, view) {
  section.append("p").attr("class", "note").text(report.notes[view] || "There is nothing to show.");
}
