"use strict";
(() => {
  const controls = document.getElementById("controls");
  const search = document.getElementById("search");
  const shownCount = document.getElementById("shown");
  const nothing = document.getElementById("nothing");
  const buttons = Array.from(document.querySelectorAll("button[data-show]"));
  const cases = Array.from(document.querySelectorAll("details.case"));
  const texts = new Map();
  let show = "all";

  const textOf = (item) => {
    if (!texts.has(item)) texts.set(item, item.textContent.toLowerCase());
    return texts.get(item);
  };
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const item of cases) {
      const fits = (show === "all" || item.classList.contains(show)) && words.every((word) => textOf(item).includes(word));
      item.hidden = !fits;
      if (fits) shown += 1;
    }
    shownCount.textContent = shown.toLocaleString("en") + " shown";
    nothing.hidden = shown > 0;
  };
  const select = (name) => {
    show = name;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.show === name));
    filter();
  };
  const openTarget = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target || !target.classList.contains("case")) return;
    if (target.hidden) { search.value = ""; select("all"); }
    target.open = true;
    target.scrollIntoView();
  };

  if (!cases.length) return;
  controls.hidden = false;
  search.addEventListener("input", filter);
  for (const button of buttons) button.addEventListener("click", () => select(button.dataset.show));
  window.addEventListener("hashchange", openTarget);
  filter();
  openTarget();
})();
