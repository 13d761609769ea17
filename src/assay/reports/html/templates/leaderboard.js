"use strict";
/* Sorts tables, chooses systems, and shows every case beside every run. Text from a run is only ever set as text. */
(async () => {
  const at = (id) => document.getElementById(id);
  const { make, unpack, plural, count } = page;
  const STEP = 200;

  /* Every table with a head is sorted by a click on a title; matrices keep their order. */
  const value = (row, place) => {
    const cell = row.cells[place];
    const text = cell ? cell.textContent.trim() : "";
    const number = parseFloat(text.replace(/[, $]/g, ""));
    return text === "" || text === "n/a" ? null : /^[-+$]?[\d.,]/.test(text) && !Number.isNaN(number) ? number : text;
  };
  const compare = (one, other) => {
    if (one === null || other === null) return (one === null) - (other === null);
    if (typeof one === "number" && typeof other === "number") return one - other;
    return String(one).localeCompare(String(other), "en", { numeric: true });
  };
  for (const table of document.querySelectorAll("main section.card table:not(.cross):not(.board-cases)")) {
    const titles = table.tHead ? [...table.tHead.rows[0].cells] : [];
    titles.forEach((title, place) => {
      const text = title.textContent.trim();
      if (!text || title.tagName !== "TH") return;
      const button = make("button", { type: "button", class: "sort" });
      button.append(...title.childNodes);
      title.append(button);
      button.addEventListener("click", () => {
        const falling = title.getAttribute("aria-sort") === "descending";
        for (const other of titles) other.removeAttribute("aria-sort");
        title.setAttribute("aria-sort", falling ? "ascending" : "descending");
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [value(row, place), row]);
        rows.sort(([one], [other]) => (one === null || other === null ? compare(one, other) : compare(one, other) * (falling ? 1 : -1)));
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  const held = JSON.parse(at("data").textContent);
  if (!held.board || typeof DecompressionStream === "undefined") return;
  const data = await unpack(held.board);
  const { labels, texts, cases } = data;
  const chosen = new Set(labels.map((_, place) => place));
  const isRight = (one, place) => one.values[place] !== null && one.values[place] >= 1;

  /* Which systems are shown, everywhere. */
  const rowsOf = new Map(labels.map((label) => [label, []]));
  for (const row of document.querySelectorAll("main section.card tbody tr")) {
    for (const cell of row.cells) {
      const found = rowsOf.get(cell.querySelector(".name") ? cell.querySelector(".name").textContent.trim() : cell.textContent.trim());
      if (found && !row.closest(".cross")) { found.push(row); break; }
    }
  }
  const state = at("cases-state");
  /** What is filtered stays readable when a value is chosen. */
  const named = (select, name) => {
    for (const option of select.options) option.textContent = `${option.selected ? `${name}: ` : ""}${option.dataset.label}`;
  };
  const choice = (value, label) => make("option", { value, "data-label": label });
  const fillStates = () => {
    const kept = state.value;
    const own = [...chosen];
    const options = [["", "all"], ["differ", "they disagree"], ["right", "all right"], ["wrong", "none right"]];
    if (own.length > 1) for (const place of own) options.push([`only${place}`, `only ${labels[place]} right`], [`not${place}`, `only ${labels[place]} wrong`]);
    state.replaceChildren(...options.map(([name, text]) => choice(name, text)));
    state.value = options.some(([name]) => name === kept) ? kept : "";
  };
  const choose = () => {
    labels.forEach((label, place) => {
      for (const row of rowsOf.get(label) || []) row.hidden = !chosen.has(place);
    });
    at("systems-count").textContent = `${count(chosen.size)} of ${count(labels.length)}`;
    fillStates();
    show();
  };
  at("systems-list").append(...labels.map((label, place) => make("label", { title: label }, make("input", {
    type: "checkbox", checked: true, onchange: (event) => {
      if (event.target.checked) chosen.add(place); else chosen.delete(place);
      choose();
    },
  }), ` ${place + 1} ${label}`)));
  at("systems").hidden = labels.length < 2;

  /* The cases. */
  const facets = [["cases-database", "Database", (one) => [one.facets[0]]], ["cases-difficulty", "Difficulty", (one) => [one.facets[1]]], ["cases-tag", "Tag", (one) => one.tags]];
  for (const [id, name, of] of facets) {
    const found = [...new Set(cases.flatMap(of))].filter((one) => one >= 0).sort((one, other) => compare(texts[one], texts[other]));
    at(id).append(choice("", "any"), ...found.map((one) => choice(one, texts[one])));
    at(id).hidden = found.length < 2;
  }
  const searchable = cases.map((one) => [one.id, one.question, ...[...one.golds, ...one.queries].map((text) => texts[text] || "")].join("\n").toLowerCase());
  const fits = (one, number, wanted) => {
    if (wanted && !searchable[number].includes(wanted)) return false;
    for (const [id, , of] of facets) if (at(id).value !== "" && !of(one).includes(Number(at(id).value))) return false;
    const own = [...chosen];
    const right = own.filter((place) => isRight(one, place));
    const kind = state.value;
    if (kind === "differ") return right.length > 0 && right.length < own.length;
    if (kind === "right") return right.length === own.length;
    if (kind === "wrong") return right.length === 0;
    if (kind.startsWith("only")) return right.length === 1 && right[0] === Number(kind.slice(4));
    if (kind.startsWith("not")) return right.length === own.length - 1 && !right.includes(Number(kind.slice(3)));
    return true;
  };
  let shown = STEP;
  const show = () => {
    const wanted = at("cases-search").value.trim().toLowerCase();
    named(state, "Cases");
    for (const [id, name] of facets) named(at(id), name);
    const own = [...chosen].sort((one, other) => one - other);
    const found = cases.filter((one, number) => fits(one, number, wanted));
    at("cases-head").replaceChildren(make("tr", {}, make("th", { scope: "col" }, "case"), make("th", { scope: "col" }, "question"),
      own.map((place) => make("th", { scope: "col", class: "mark", title: labels[place] }, make("span", { "aria-hidden": "true" }, String(place + 1)), make("span", { class: "offscreen" }, labels[place])))));
    at("cases-rows").replaceChildren(...found.slice(0, shown).map((one) => make("tr", {},
      make("th", { scope: "row" }, make("button", { type: "button", class: "open", onclick: () => open(one) }, page.names(one.id))),
      make("td", {}, one.question.length > 160 ? `${one.question.slice(0, 159)}…` : one.question),
      own.map((place) => make("td", { class: `mark ${isRight(one, place) ? "right" : "wrong"}`, title: labels[place], "data-title": String(place + 1) }, mark(one, place))))));
    at("cases-shown").textContent = plural(found.length, "case");
    at("cases-more").hidden = found.length <= shown;
  };
  const mark = (one, place) => {
    const found = one.values[place];
    return found === null ? "–" : found >= 1 ? "✓" : found <= 0 ? "✗" : String(found);
  };
  const open = (one) => {
    at("case-title").replaceChildren(...page.names(one.id));
    const own = [...chosen].sort((left, right) => left - right);
    const alike = new Map();
    for (const place of own) {
      const key = `${one.queries[place]} ${one.values[place]} ${one.reasons[place]}`;
      if (!alike.has(key)) alike.set(key, []);
      alike.get(key).push(place);
    }
    const gold = one.golds.map((text) => make("article", {}, make("h3", {}, "Gold"), make("pre", {}, sql.draw(sql.tokens(texts[text]), "del"))));
    /** A wrong answer is marked where it differs from the gold query, if that is one. */
    const answer = (place) => {
      const text = texts[one.queries[place]];
      const marks = one.golds.length === 1 && !isRight(one, place);
      return sql.draw(marks ? sql.compare(texts[one.golds[0]], text).predicted : sql.tokens(text), "ins");
    };
    const answers = [...alike.values()].map((places) => make("article", {},
      make("h3", {}, make("span", { class: `mark ${isRight(one, places[0]) ? "right" : "wrong"}` }, `${mark(one, places[0])} `), names(places, one)),
      make("p", { class: "quiet" }, [texts[one.causes[places[0]]], texts[one.reasons[places[0]]]].filter(Boolean).join(": ")),
      one.queries[places[0]] >= 0 ? make("pre", {}, answer(places[0])) : make("p", { class: "quiet" }, "no answer")));
    at("case-body").replaceChildren(make("p", {}, one.question), make("div", { class: "answers" }, gold, answers));
    if (!at("case").open) at("case").showModal();
    history.replaceState(null, "", `#case=${encodeURIComponent(one.id)}`);
  };
  const names = (places, one) => places.flatMap((place, number) => [
    number ? ", " : "",
    data.keys[place] ? make("a", { href: `/run?at=${encodeURIComponent(data.keys[place])}#case=${encodeURIComponent(one.id)}` }, labels[place]) : labels[place],
  ]);
  at("case-close").addEventListener("click", () => at("case").close());
  at("case").addEventListener("close", () => history.replaceState(null, "", location.pathname + location.search));
  for (const id of ["cases-state", ...facets.map(([one]) => one)]) at(id).addEventListener("change", () => { shown = STEP; show(); });
  at("cases-search").addEventListener("input", () => { shown = STEP; show(); });
  at("cases-more").addEventListener("click", () => { shown += STEP; show(); });

  /* Where comparisons are served, the matrices lead to them. */
  if (data.keys.length) {
    for (const table of document.querySelectorAll("table.cross")) {
      [...table.tBodies[0].rows].forEach((row, first) => [...row.cells].slice(1).forEach((cell, second) => {
        if (first === second) return;
        const link = `/diff?a=${encodeURIComponent(data.keys[second])}&b=${encodeURIComponent(data.keys[first])}`;
        cell.replaceChildren(make("a", { href: link }, cell.textContent));
      }));
    }
  }
  at("cases-controls").hidden = false;
  at("cases-scroll").hidden = false;
  choose();
  const asked = new URLSearchParams(location.hash.slice(1)).get("case");
  const first = asked === null ? undefined : cases.find((one) => one.id === asked);
  if (first) open(first);
  else if (asked !== null) {
    at("notice").replaceChildren(...page.names(`There is no case ${page.quoted(asked)} in this leaderboard.`));
    at("notice").hidden = false;
  }
  document.documentElement.dataset.ready = document.documentElement.dataset.searchable = "yes";
})();
