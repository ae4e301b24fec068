"use strict";
// Filters, keyboard and theme. The page is complete without it: instances are <details> elements.
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const instances = all("details.instance");
  const filters = ["text", "category", "model", "status"].map((name) => $(`filter-${name}`));
  const [text, category, model, status] = filters;

  $("controls").hidden = false;

  function matches(instance) {
    const answers = all("section.answer", instance);
    const wanted = answers.filter(
      (answer) =>
        (!model.value || answer.dataset.model === model.value) &&
        (!status.value || answer.dataset.status === status.value || answer.dataset.judged === status.value),
    );
    return (
      instance.dataset.name.toLowerCase().includes(text.value.trim().toLowerCase()) &&
      (!category.value || instance.dataset.category === category.value) &&
      (wanted.length > 0 || !(model.value || status.value))
    );
  }

  function filter() {
    let shown = 0;
    for (const instance of instances) {
      const visible = matches(instance);
      instance.hidden = !visible;
      $(`row-${instance.id}`).hidden = !visible;
      for (const answer of all("section.answer", instance)) {
        answer.hidden = Boolean(model.value) && answer.dataset.model !== model.value;
      }
      shown += visible;
    }
    $("count").textContent = `${shown} of ${instances.length} instances`;
  }

  function open(instance, answer) {
    instance.open = true;
    const target = answer || instance;
    target.scrollIntoView({ block: "start" });
    (answer ? answer.querySelector("h4") : instance.querySelector("summary")).focus({ preventScroll: true });
  }

  function follow() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const instance = target && target.closest("details.instance");
    if (instance) {
      instance.hidden = false;
      open(instance, target === instance ? null : target);
    }
  }

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
      text.focus();
    } else if (!typing && (event.key === "j" || event.key === "k")) {
      move(event.key === "j" ? 1 : -1);
    }
  }

  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    $("theme").textContent = theme === "dark" ? "Light" : "Dark";
  }

  for (const field of filters) {
    field.addEventListener("input", filter);
    field.addEventListener("change", filter);
  }
  $("reset").addEventListener("click", () => {
    for (const field of filters) {
      field.value = "";
    }
    filter();
  });
  $("theme").addEventListener("click", () => {
    setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  });
  for (const link of all("a[href^='#']")) {
    // A link to the place that the address names already changes nothing, but is meant.
    link.addEventListener("click", () => link.hash === location.hash && follow());
  }
  addEventListener("hashchange", follow);
  addEventListener("keydown", onKey);
  setTheme(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  filter();
  follow();
})();
