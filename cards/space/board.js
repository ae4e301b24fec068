// Tabs, search, order, folding, and the pages of models and tasks. Elements are moved and hidden, and no markup is made:
// text of submitters stays text. `element` and `watch` come from Gradio, the functions of the chart from charts.js.
const state = {};
// Orders that begin with the smallest value; scores and dates begin with the largest.
const ASCENDING = new Set(["rank", "name", "cost"]);
// The filters in the page's address, which the server applies.
const FILTERS = ["config", "version", "setting", "difficulty", "category"];

function restore() {
  const stored = new URLSearchParams(location.hash.slice(1));
  state.track = stored.get("track") || "paper";
  state.query = stored.get("q") || "";
  state.sort = stored.get("sort") || "rank";
  state.reversed = stored.has("reversed");
  state.model = stored.get("model");
  state.task = stored.get("task");
}

// The filters of an address in one order, to compare two addresses.
function filters(address) {
  const fields = new URLSearchParams(address);
  return FILTERS.filter((name) => fields.has(name)).map((name) => `${name}=${fields.get(name)}`).join("\n");
}

function store() {
  const board = element.querySelector("#board");
  if (!board) return;
  const kept = new URLSearchParams(board.dataset.address);
  if (state.track !== "paper") kept.set("track", state.track);
  if (state.query) kept.set("q", state.query);
  if (state.sort !== "rank") kept.set("sort", state.sort);
  if (state.reversed) kept.set("reversed", "");
  if (state.task !== null) kept.set("task", state.task);
  if (state.model !== null) kept.set("model", state.model);
  const hash = kept.toString();
  if (hash === location.hash.slice(1)) return;
  history.replaceState(history.state, "", hash ? `#${hash}` : location.pathname + location.search);
  // On the Hub the page is in a frame, and the address that people see is that of the page around it.
  if (parent !== window) parent.postMessage({ hash: hash && `#${hash}` }, "https://huggingface.co");
}

function compare(one, other) {
  const [a, b] = [one.dataset[state.sort], other.dataset[state.sort]];
  if (a === b) return 0;
  if (a === "") return 1; // unknown values come last in either order
  if (b === "") return -1;
  const text = state.sort === "name" || state.sort === "date";
  const order = text ? a.localeCompare(b) : Number(a) - Number(b);
  return (ASCENDING.has(state.sort) ? order : -order) * (state.reversed ? -1 : 1);
}

function showTabs() {
  const tracks = [...element.querySelectorAll(".of-track")].map((panel) => panel.dataset.track);
  if (tracks.length && !tracks.includes(state.track)) state.track = tracks[0];
  for (const tab of element.querySelectorAll("[role=tab]")) {
    const chosen = tab.dataset.track === state.track;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
  }
  for (const panel of element.querySelectorAll(".of-track")) panel.hidden = panel.dataset.track !== state.track;
}

function sortRanking(table) {
  const places = [...table.tBodies];
  const rank = (place) => Number(place.dataset.rank);
  places.sort((one, other) => compare(one, other) || rank(one) - rank(other));
  table.tHead.after(...places);
  for (const button of table.querySelectorAll("[data-sort]")) {
    const up = ASCENDING.has(state.sort) !== state.reversed;
    const order = button.dataset.sort === state.sort ? (up ? "ascending" : "descending") : "none";
    button.closest("th").setAttribute("aria-sort", order);
  }
}

// Shows a panel: all models that match the search, or the page of one model or task.
function showPanel(panel) {
  const table = panel.querySelector("table.ranking");
  if (!table) return;
  sortRanking(table);
  const [isTask, isModel] = [state.task !== null, state.task === null && state.model !== null];
  const query = isTask || isModel ? "" : state.query.trim().toLowerCase();
  const shown = new Set();
  for (const place of table.tBodies) {
    const matches = isModel ? place.dataset.model === state.model : query === "" || place.dataset.search.includes(query);
    place.hidden = !matches;
    if (matches) shown.add(place.dataset.model);
  }
  panel.querySelector(".nothing").hidden = isTask || isModel || shown.size > 0;
  table.hidden = isTask || shown.size === 0;
  table.tFoot.hidden = isModel;
  table.classList.toggle("folded", !isModel);

  const all = !isTask && !isModel;
  for (const part of panel.querySelectorAll(".scatter, .tasks")) part.hidden = !all || shown.size === 0;
  for (const part of panel.querySelectorAll(".categories")) part.hidden = isTask || shown.size === 0;
  for (const cell of panel.querySelectorAll(".grid [data-model]")) cell.hidden = !shown.has(cell.dataset.model);
  drawCharts(panel);
  showPage(panel, isTask, isModel);
}

// Draws the charts of a panel for the models that its ranking shows.
function drawCharts(panel) {
  const places = [...panel.querySelectorAll(".place:not([hidden])")];
  const shown = new Set(places.map((place) => place.dataset.model));
  for (const plot of panel.querySelectorAll(".plot")) drawChart(plot, shown);
}

// Fills the page of a model or task with the answers that belong to it.
function showPage(panel, isTask, isModel) {
  const [outcomes, title] = [panel.querySelector(".outcomes"), panel.querySelector(".page")];
  let count = 0;
  for (const row of outcomes.querySelectorAll("tbody tr")) {
    row.hidden = isTask ? row.dataset.task !== state.task : row.dataset.model !== state.model;
    row.classList.toggle("chosen", isTask && !row.hidden && row.dataset.model === state.model);
    if (!row.hidden) count += 1;
  }
  outcomes.hidden = !(isTask || isModel) || count === 0;
  outcomes.dataset.of = isTask ? "task" : "model";
  title.hidden = panel.querySelector(".crumbs").hidden = !(isTask || isModel);
  title.textContent = isTask ? state.task : isModel ? state.model : "";
  panel.querySelector(".unknown").hidden = !(isTask || isModel) || count > 0 || !panel.querySelector(".ranking").hidden;
  for (const facts of panel.querySelectorAll(".task-facts")) facts.hidden = !isTask || facts.dataset.task !== state.task;
}

function apply() {
  showTabs();
  for (const panel of element.querySelectorAll(".of-track:not([hidden])")) showPanel(panel);
  const [search, sort] = [element.querySelector("#search"), element.querySelector("#sort")];
  const isPage = state.task !== null || state.model !== null;
  for (const part of element.querySelectorAll("#search, .sort")) part.hidden = isPage;
  if (search && search.value !== state.query) search.value = state.query;
  if (sort) sort.value = state.sort;
}

function change(values) {
  Object.assign(state, values);
  store();
  apply();
}

element.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.track) change({ track: button.dataset.track });
  if (button.dataset.sort) {
    const again = button.dataset.sort === state.sort;
    change({ sort: button.dataset.sort, reversed: again && !state.reversed });
  }
  const open = button.getAttribute("aria-expanded") !== "true";
  if (button.matches(".more, .unfold")) button.setAttribute("aria-expanded", String(open));
  if (button.classList.contains("more")) button.closest("tr").classList.toggle("open", open);
  if (button.classList.contains("unfold")) {
    for (const row of button.closest("tbody").querySelectorAll("tr.other")) row.hidden = !open;
  }
});
element.addEventListener("input", (event) => {
  if (event.target.id === "search") change({ query: event.target.value });
});
element.addEventListener("change", (event) => {
  if (event.target.id === "sort") change({ sort: event.target.value, reversed: false });
});
element.addEventListener("keydown", (event) => {
  if (!["ArrowLeft", "ArrowRight"].includes(event.key) || event.target.getAttribute("role") !== "tab") return;
  const next = event.target.nextElementSibling || event.target.previousElementSibling;
  change({ track: next.dataset.track });
  next.focus();
});
for (const [kind, on] of [["mouseover", true], ["focusin", true], ["mouseout", false], ["focusout", false]]) {
  element.addEventListener(kind, (event) => {
    const dot = event.target.closest(".plot .dot");
    if (dot) nameDot(dot, on);
  });
}
// A link inside the board, or the browser's own back and forward.
window.addEventListener("hashchange", () => {
  const board = element.querySelector("#board");
  if (board && filters(location.hash.slice(1)) !== filters(board.dataset.address)) return location.reload();
  restore();
  apply();
  const chosen = element.querySelector(".of-track:not([hidden]) .outcomes:not([hidden]) tr.chosen");
  const place = chosen || element.querySelector(".of-track:not([hidden]) .page:not([hidden])");
  if (place) place.scrollIntoView({ block: "center" });
});
let width = 0;
new ResizeObserver(() => {
  if (element.clientWidth === width) return;
  width = element.clientWidth;
  for (const panel of element.querySelectorAll(".of-track:not([hidden])")) drawCharts(panel);
}).observe(element);
restore();
apply();
watch("value", () => {
  store();
  apply();
});
