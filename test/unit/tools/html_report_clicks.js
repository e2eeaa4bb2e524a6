// Clicks through the report page; what does not hold is written into the element `verdict`.
const said = [];
function check(what, holds) { if (!holds) said.push(what); }
addEventListener("error", event => said.push(event.message));
const first = selector => document.querySelector(selector);
const click = element => element.dispatchEvent(new MouseEvent("click", { bubbles: true }));
check("seven views", document.querySelectorAll("main > section").length === 8);
check("few boxes at first", document.querySelectorAll("#graph g.box").length <= 400);
click(first("#timeline tbody tr"));
check("a task selects its node in the graph", first("#graph rect.is-selected"));
check("and in the table of nodes", first("#graph tr.is-selected td").textContent === report.nodes[0].name);
check("and says what it is", first("#selection dt").textContent === report.nodes[0].name);
const boxes = document.querySelectorAll("#graph g.box").length;
const group = [...document.querySelectorAll("#graph g.box")].find(box => box.querySelector("rect[stroke-dasharray]"));
if (group) { click(group); check("a group opens", document.querySelectorAll("#graph g.box").length > boxes); }
const last = report.nodes.length - 1;
select([last]);
check("a node in a closed group is revealed", document.querySelector(`#graph rect.is-selected[data-nodes="${last}"]`));
click(first("#passes tbody tr"));
check("a rule selects its nodes", document.querySelectorAll("#selection dt").length === 2);
const filter = first("#timeline input");
filter.value = "task1"; filter.dispatchEvent(new Event("input"));
check("the filter", [...document.querySelectorAll("#timeline tbody tr")].every(row => row.textContent.includes("task1")));
click(document.querySelectorAll("#timeline th")[4]);
check("sorted by start, largest first", +first("#timeline tbody tr").children[4].textContent.replaceAll(",", "") > 1);
document.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
check("Escape clears", !first(".is-selected") && !first("#selection dt"));
document.dispatchEvent(new KeyboardEvent("keydown", { key: "j" }));
check("j selects", first("#selection dt").textContent === report.nodes[0].name);
click(first("#theme"));
check("the theme", document.documentElement.classList.contains("dark"));
first("#search").value = report.nodes[3].name; first("#search").dispatchEvent(new Event("change"));
check("search", first("#selection dt").textContent === report.nodes[3].name);
const verdict = document.createElement("output");
verdict.id = "verdict"; verdict.textContent = said.join("; ") || "all right";
document.body.append(verdict);
