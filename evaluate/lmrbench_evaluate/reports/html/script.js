"use strict";
// Filters, sorting, samples, keyboard and theme, with their state in the address.
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const instances = all("details.instance");
  const fields = { q: $("filter-text"), category: $("filter-category"), model: $("filter-model"), outcome: $("filter-status") };
  const sorting = { by: "", down: false };
  let place = "";

  $("controls").hidden = false;

  // --- what is shown ---------------------------------------------------------------------------------------------

  function wanted(sample) {
    const { model, outcome } = fields;
    const data = sample.dataset;
    return (
      (!model.value || sample.parentElement.dataset.model === model.value) &&
      (!outcome.value || data.outcome === outcome.value || data.judged === outcome.value)
    );
  }

  function matches(instance) {
    const { q, category, model, outcome } = fields;
    return (
      instance.dataset.name.toLowerCase().includes(q.value.trim().toLowerCase()) &&
      (!category.value || instance.dataset.category === category.value) &&
      (!(model.value || outcome.value) || all(".sample", instance).some(wanted))
    );
  }

  function filter() {
    let shown = 0;
    for (const instance of instances) {
      const visible = matches(instance);
      instance.hidden = !visible;
      $(`row-${instance.id}`).hidden = !visible;
      for (const answer of all("section.answer", instance)) {
        answer.hidden = Boolean(fields.model.value) && answer.dataset.model !== fields.model.value;
        const samples = all(".sample", answer);
        choose(answer, samples.find(wanted) || samples[0]);
      }
      shown += visible;
    }
    $("count").textContent = `${shown} of ${instances.length} instance${instances.length === 1 ? "" : "s"}`;
  }

  function choose(answer, chosen) {
    for (const sample of all(".sample", answer)) {
      sample.hidden = sample !== chosen;
    }
    for (const link of all(".samples a", answer)) {
      link.toggleAttribute("aria-current", link.hash === `#${chosen.id}`);
    }
  }

  function open(target) {
    const instance = target.closest("details.instance");
    const answer = target.closest("section.answer");
    instance.hidden = false;
    instance.open = true;
    if (target.matches(".sample")) {
      choose(answer, target);
    }
    (answer || instance).scrollIntoView({ block: "start" });
    (answer ? answer.querySelector("h4") : instance.querySelector("summary")).focus({ preventScroll: true });
  }

  // --- code ------------------------------------------------------------------------------------------------------

  const SIGNS = { add: "+", del: "-", same: " ", hunk: "@@ ", note: "# " };

  function addCopy(pre) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      const lines = [...pre.children].map((line) => SIGNS[line.className] + line.textContent);
      await navigator.clipboard.writeText(pre.matches(".diff") ? lines.join("\n") : pre.textContent);
      button.textContent = "Copied";
    });
    const box = document.createElement("div");
    box.className = "copyable";
    pre.replaceWith(box);
    box.append(pre, button);
  }

  all(".body pre").forEach(addCopy);

  // --- sorting ---------------------------------------------------------------------------------------------------

  const key = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.sort || cell.textContent.trim();
    const number = Number.parseFloat(text.replace(/,/g, ""));
    return Number.isNaN(number) || column === 0 ? text.toLowerCase() : number;
  };

  function sort(table, column, down) {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [key(row, column), row]);
    const compare = (a, b) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1);
    rows.sort(([a], [b]) => (down ? compare(b, a) : compare(a, b)));
    body.append(...rows.map(([, row]) => row));
    [...table.tHead.rows[0].cells].forEach((cell, index) => {
      cell.removeAttribute("aria-sort");
      if (index === column) {
        cell.setAttribute("aria-sort", down ? "descending" : "ascending");
      }
    });
  }

  all("table.sortable").forEach((table, number) => {
    [...table.tHead.rows[0].cells].forEach((cell, column) => {
      if (!cell.textContent) {
        return;
      }
      const button = document.createElement("button");
      button.type = "button";
      button.append(...cell.childNodes);
      cell.append(button);
      button.addEventListener("click", () => {
        // Numbers are read best from the largest on, names from A.
        const down = cell.hasAttribute("aria-sort") ? cell.getAttribute("aria-sort") === "ascending" : column > 0;
        sort(table, column, down);
        sorting.by = `${number}.${column}`;
        sorting.down = down;
        write();
      });
    });
  });

  // --- the address -----------------------------------------------------------------------------------------------

  function write() {
    const state = new URLSearchParams();
    for (const [name, field] of Object.entries(fields)) {
      if (field.value) {
        state.set(name, field.value);
      }
    }
    if (sorting.by) {
      state.set("sort", sorting.by + (sorting.down ? "d" : "a"));
    }
    if (place) {
      state.set("at", place);
    }
    history.replaceState(null, "", `#${state}`);
  }

  function read() {
    const hash = location.hash.slice(1);
    const state = new URLSearchParams(hash.includes("=") ? hash : { at: hash });
    for (const [name, field] of Object.entries(fields)) {
      const value = state.get(name);
      if (value !== null) {
        field.value = value;
      } else if (hash.includes("=")) {
        field.value = "";
      }
    }
    const [, table, column, way] = /^(\d+)\.(\d+)([ad])$/.exec(state.get("sort") || "") || [];
    const chosen = table && all("table.sortable")[table];
    if (chosen && chosen.tHead.rows[0].cells[column]) {
      sorting.by = `${table}.${column}`;
      sorting.down = way === "d";
      sort(chosen, Number(column), sorting.down);
    }
    filter();
    go(state.get("at") || "");
  }

  function go(id) {
    const target = id && $(id);
    if (!target) {
      return;
    }
    place = id;
    if (target.closest("details.instance")) {
      open(target);
    } else {
      target.scrollIntoView({ block: "start" });
      target.focus({ preventScroll: true });
    }
    write();
  }

  // --- keyboard and theme ----------------------------------------------------------------------------------------

  function move(step) {
    const visible = instances.filter((instance) => !instance.hidden);
    const at = visible.findIndex((instance) => instance.contains(document.activeElement));
    const next = visible[at < 0 ? (step > 0 ? 0 : visible.length - 1) : at + step];
    if (next) {
      next.querySelector("summary").focus();
    }
  }

  function onKey(event) {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.ctrlKey || event.metaKey || event.altKey) {
      return;
    }
    if (event.key === "Escape") {
      const here = document.activeElement.closest("details.instance");
      if (typing) {
        event.target.blur();
      } else if (here) {
        here.open = false;
        here.querySelector("summary").focus();
      }
    } else if (!typing && event.key === "/") {
      event.preventDefault();
      fields.q.focus();
    } else if (!typing && (event.key === "j" || event.key === "k")) {
      move(event.key === "j" ? 1 : -1);
    }
  }

  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    $("theme").textContent = theme === "dark" ? "Light" : "Dark";
  }

  for (const field of Object.values(fields)) {
    for (const event of ["input", "change"]) {
      field.addEventListener(event, () => {
        filter();
        write();
      });
    }
  }
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  $("reset").addEventListener("click", () => {
    for (const field of Object.values(fields)) {
      field.value = "";
    }
    place = "";
    filter();
    write();
  });
  $("theme").addEventListener("click", () => {
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  });
  for (const link of all("a[href^='#']")) {
    // The address keeps the filters beside the place.
    link.addEventListener("click", (event) => {
      event.preventDefault();
      go(link.hash.slice(1));
    });
  }
  addEventListener("hashchange", read);
  addEventListener("keydown", onKey);
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  read();
})();
