// Tabs, search, order and folding of the board. It moves and hides elements and never creates markup: text of submitters
// stays text. `element` and `watch` come from Gradio.
const state = { track: "paper", query: "", sort: "rank", reversed: false };
// Small numbers first for these; large ones first for scores and dates.
const ascending = new Set(["rank", "name", "cost"]);

function restore() {
  const stored = new URLSearchParams(location.hash.slice(1));
  state.track = stored.get("track") || state.track;
  state.query = stored.get("q") || "";
  state.sort = stored.get("sort") || "rank";
  state.reversed = stored.has("reversed");
}

function store() {
  const kept = new URLSearchParams();
  if (state.track !== "paper") kept.set("track", state.track);
  if (state.query) kept.set("q", state.query);
  if (state.sort !== "rank") kept.set("sort", state.sort);
  if (state.reversed) kept.set("reversed", "");
  const hash = kept.toString();
  history.replaceState(history.state, "", hash ? `#${hash}` : location.pathname + location.search);
}

function compare(one, other) {
  const [a, b] = [one.dataset[state.sort], other.dataset[state.sort]];
  if (a === "" || b === "") return (a === "") - (b === ""); // unknown values come last in either order
  const text = state.sort === "name" || state.sort === "date";
  const order = text ? a.localeCompare(b) : Number(a) - Number(b);
  return (ascending.has(state.sort) ? order : -order) * (state.reversed ? -1 : 1);
}

function apply() {
  const tracks = [...element.querySelectorAll(".of-track")].map((panel) => panel.dataset.track);
  if (tracks.length && !tracks.includes(state.track)) state.track = tracks[0];
  for (const tab of element.querySelectorAll("[role=tab]")) {
    const chosen = tab.dataset.track === state.track;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
  }
  for (const panel of element.querySelectorAll(".of-track")) panel.hidden = panel.dataset.track !== state.track;
  const query = state.query.trim().toLowerCase();
  for (const table of element.querySelectorAll("table.ranking")) {
    const places = [...table.tBodies];
    const rank = (place) => Number(place.dataset.rank);
    places.sort((one, other) => compare(one, other) || rank(one) - rank(other));
    table.append(...places);
    for (const place of places) place.hidden = query !== "" && !place.dataset.search.includes(query);
    table.nextElementSibling.hidden = places.some((place) => !place.hidden);
    for (const button of table.querySelectorAll("[data-sort]")) {
      const up = ascending.has(state.sort) !== state.reversed;
      const order = button.dataset.sort === state.sort ? (up ? "ascending" : "descending") : "none";
      button.closest("th").setAttribute("aria-sort", order);
    }
  }
  const [search, sort] = [element.querySelector("#search"), element.querySelector("#sort")];
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
  if (button.classList.contains("unfold")) {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
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
restore();
apply();
watch("value", apply);
