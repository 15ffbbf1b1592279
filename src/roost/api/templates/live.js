// Keeps the page of the pool up to date: changes of slots and counts of jobs as server-sent events.
"use strict";
const prefix = document.body.dataset.prefix;
const cells = document.getElementById("cells");
const looks = {Claimed: "claimed", Unclaimed: "unclaimed", Owner: "owner", Matched: "matched",
  Preempting: "preempting", Backfill: "backfill", Drained: "drained"};
const marked = new Set(["Suspended", "Retiring", "Vacating", "Killing"]);
const states = new Map();
const byName = new Map();
for (const cell of cells.querySelectorAll("a")) {
  byName.set(cell.dataset.name, cell);
  states.set(cell.dataset.name, (cell.title.match(/: ([A-Za-z]+)\//) || ["", ""])[1]);
}

function count(state, step) {
  const shown = document.querySelector(`[data-state="${CSS.escape(state)}"]`);
  if (shown) shown.textContent = Number(shown.textContent) + step;
}

function change(name, slot) {
  if (states.get(name)) count(states.get(name), -1);
  const known = byName.get(name);
  if (slot === null) {
    if (known) known.remove();
    byName.delete(name);
    states.delete(name);
    return;
  }
  const [, state, activity, user] = slot;
  count(state, 1);
  states.set(name, state);
  const cell = known || cells.appendChild(document.createElement("a"));
  cell.className = `cell ${looks[state] || "unknown"}${marked.has(activity) ? " " + activity.toLowerCase() : ""}`;
  cell.title = `${name}: ${state}/${activity}${user ? ", " + user : ""}`;
  cell.setAttribute("aria-label", cell.title);
  cell.dataset.name = name;
  cell.href = `${prefix}/slots/${encodeURIComponent(name)}`;
  byName.set(name, cell);
}

const source = new EventSource(`${prefix}/api/v1/events`);
source.addEventListener("slots", event => {
  if (cells.dataset.kind !== "slots") return;
  for (const [name, slot] of Object.entries(JSON.parse(event.data))) change(name, slot);
});
source.addEventListener("jobs", event => {
  const counts = JSON.parse(event.data);
  if (counts === null) return;
  const list = document.getElementById("job-counts");
  list.replaceChildren(...Object.entries(counts).sort().map(([state, number]) => {
    const item = document.createElement("li"), figure = document.createElement("b");
    figure.textContent = number;
    figure.dataset.count = state;
    item.append(figure, ` ${state.replace("_", " ")}`);
    return item;
  }));
});
source.addEventListener("reset", () => location.reload());
