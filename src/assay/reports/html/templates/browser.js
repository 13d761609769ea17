/* The table of cases: search, filters, order, and the state of it all in the address, so that a link shows the same. */
const browser = (() => {
  const { make, count, plural, clipped, quoted } = page;
  const BEYOND = 12; // rows drawn above and below what is in sight
  const PRINTED = 300; // rows at most on paper

  const AS_ASKED = "asked"; // the order, where the usual one is another
  const NAMES = ["q", "show", "metric", "low", "high", "sort", "case", "tab", "columns"]; // no facet has one of these

  /** The state as the address has it, and what of the address this page does not know. */
  const readState = (index, known, ranks) => {
    const asked = tabs.told();
    const state = { ...noState(), q: asked.get("q") || "", case: asked.get("case") };
    const strange = [];
    const taken = (name, fits) => {
      const value = asked.get(name);
      if (value === null) return null;
      if (fits(value)) return value;
      strange.push([name, value]);
      return null;
    };
    state.state = taken("show", (value) => index.states.some((one) => one.name === value));
    for (const name of new Set(asked.keys())) {
      const facet = index.facets.find((one) => one.name === name);
      if (facet) {
        const value = taken(name, (one) => facet.values.includes(one));
        if (value !== null) state.facets[name] = value;
      } else if (name && !NAMES.includes(name)) strange.push([name, asked.get(name)]);
    }
    state.metric = taken("metric", (value) => index.metrics.some((one) => one.name === value));
    for (const end of ["low", "high"]) {
      const value = taken(end, (one) => state.metric !== null && Number.isFinite(parseFloat(one)));
      if (value !== null) state[end] = parseFloat(value);
    }
    const sorts = new Set([...known.keys(), "metric", ...(ranks ? [AS_ASKED] : []), ...index.facets.map((one) => one.name)]);
    state.sort = taken("sort", (value) => sorts.has(value.replace(/^-/, "")) || value === "") || "";
    if (asked.has("columns")) {
      const keys = asked.getAll("columns").filter(Boolean);
      strange.push(...keys.filter((key) => !known.has(key)).map((key) => ["columns", key]));
      state.columns = keys.filter((key) => known.has(key));
      if (keys.length && !state.columns.length) state.columns = null;
    }
    taken("tab", tabs.has);
    return { state, strange };
  };
  const parameters = (state) => {
    const told = new URLSearchParams();
    if (state.state) told.set("show", state.state);
    if (state.q) told.set("q", state.q);
    for (const [name, value] of Object.entries(state.facets)) told.set(name, value);
    if (state.metric) told.set("metric", state.metric);
    for (const end of ["low", "high"]) if (state[end] !== null) told.set(end, String(state[end]));
    if (state.sort) told.set("sort", state.sort);
    if (state.columns !== null) for (const key of state.columns.length ? state.columns : [""]) told.append("columns", key);
    if (state.case !== null) told.set("case", state.case);
    return told;
  };
  const address = (state) => tabs.address(parameters(state));

  /** The table; `held.ranks` is the usual order of the cases, and `held.columns` are further columns. */
  const start = (held, openCase) => {
    const { index, ranks = null } = held;
    const total = index.id.length;
    const placeOf = new Map(index.link.map((link, place) => [link, place])); // links differ where ids look the same
    const nodes = Object.fromEntries(["controls", "search", "states", "facets", "shown", "filters", "clear", "table", "head", "rows", "none", "metric", "low", "high", "sort", "columns-list"]
      .map((name) => [name, document.getElementById(`cases-${name}`)]));
    const answerOf = (place) => index.answer[place] || "";
    const texts = index.id.map((id, place) => searched([id, answerOf(place), index.question[place], index.reason[place]]));
    const known = columns.all(index, answerOf, held.columns);
    let state = readState(index, known, ranks).state;
    let showing = []; // the columns
    let typed = false; // whether the last change was typing, which makes one step of the history
    let order = [];
    let active = -1; // place in order
    let rowHeight = 0;
    let drawn = "";

    /* What can be filtered by */
    const stateButtons = [{ name: null, label: "All" }, ...index.states].map((one) => {
      const number = make("span", { class: "number" });
      const button = make("button", { type: "button", class: `state ${one.tone || ""}`, "data-state": one.name || "all", "aria-pressed": "false" }, `${one.label} `, number);
      button.addEventListener("click", () => { state.state = one.name; changed(); });
      return { name: one.name, button, number };
    });
    nodes.states.append(...stateButtons.map((one) => one.button));
    const facetSelects = index.facets.filter((facet) => facet.values.length > 1 || facet.of.some((found) => found.length === 0)).map((facet) => {
      const options = facet.values.map((value) => make("option", { value }));
      const select = make("select", { "aria-label": facet.label, "data-facet": facet.name }, make("option", { value: "" }, `${facet.label}: any`), options);
      select.addEventListener("change", () => {
        if (select.value) state.facets[facet.name] = select.value;
        else delete state.facets[facet.name];
        changed();
      });
      return { facet, select, options };
    });
    nodes.facets.prepend(...facetSelects.map((one) => one.select));
    const metricOptions = index.metrics.map((one) => make("option", { value: one.name }, one.name));
    nodes.metric.append(...metricOptions);
    const sorts = [...(ranks ? [["", "most useful first"], [AS_ASKED, "as asked"]] : [["", "as asked"]]), ["id", "id"], ["-id", "id, last first"], ["state", "verdict"], ...index.facets.filter((one) => ["database", "difficulty"].includes(one.name)).map((one) => [one.name, one.label.toLowerCase()]),
      ["metric", "metric, lowest first"], ["-metric", "metric, highest first"], ...(index.time.some((one) => one !== null) ? [["-time", "answer time, longest first"]] : [])];
    const other = make("option", { hidden: true }); // the order of a column's head that is none of those
    const sortOptions = sorts.map(([value, label]) => make("option", { value, "data-label": label }));
    nodes.sort.append(...sortOptions, other);
    const boxes = [...known.values()].filter((one) => !one.always).map((column) => {
      const box = make("input", { type: "checkbox", value: column.key });
      box.addEventListener("change", () => {
        state.columns = boxes.filter((one) => one.checked).map((one) => one.value);
        changed({ keep: true });
      });
      nodes["columns-list"].append(make("label", {}, box, ` ${column.label}`));
      return box;
    });
    const usual = make("button", { type: "button" }, "The usual columns");
    usual.addEventListener("click", () => { state.columns = null; changed({ keep: true }); });
    nodes["columns-list"].append(usual);

    const shownMetric = () => index.metrics.find((one) => one.name === state.metric) || null;
    const changed = ({ keep = false, typing = false } = {}) => {
      const next = address(state);
      if (next !== (location.hash || "#")) history[typing && typed ? "replaceState" : "pushState"](null, "", next);
      typed = typing;
      tabs.notice("");
      apply(keep);
    };

    /* Filter and order */
    /** The filters that are set, each with the test of a case. */
    const tests = () => {
      const found = [];
      if (state.state !== null) {
        const wanted = index.states.findIndex((one) => one.name === state.state);
        found.push({ filter: index.states, passes: (place) => index.state[place] === wanted });
      }
      for (const [name, value] of Object.entries(state.facets)) {
        const facet = index.facets.find((one) => one.name === name);
        const wanted = facet.values.indexOf(value);
        found.push({ filter: facet, passes: (place) => facet.of[place].includes(wanted) });
      }
      const metric = shownMetric();
      if (metric !== null && (state.low !== null || state.high !== null)) {
        found.push({ filter: metric, passes: (place) => metric.value[place] !== null
          && (state.low === null || metric.value[place] >= state.low) && (state.high === null || metric.value[place] <= state.high) });
      }
      const words = searched([state.q]).split(/\s+/).filter(Boolean);
      if (words.length) found.push({ filter: words, passes: (place) => words.every((word) => texts[place].includes(word)) });
      return found;
    };
    /** The cases that pass all filters. Each choice of a filter counts the cases that pass all the other filters. */
    const fits = () => {
      const set = tests();
      const found = [];
      const states = index.states.map(() => 0);
      const facets = facetSelects.map(({ facet }) => facet.values.map(() => 0));
      for (let place = 0; place < total; place += 1) {
        const missed = set.filter((one) => !one.passes(place));
        if (missed.length > 1) continue;
        const only = missed.length ? missed[0].filter : null;
        if (only === null) found.push(place);
        if (only === null || only === index.states) states[index.state[place]] += 1;
        facetSelects.forEach(({ facet }, number) => {
          if (only === null || only === facet) for (const value of facet.of[place]) facets[number][value] += 1;
        });
      }
      tell(states, facets);
      return found;
    };
    const tell = (states, facets) => {
      stateButtons.forEach(({ name, number }, place) => {
        number.textContent = count(name === null ? states.reduce((sum, one) => sum + one, 0) : states[place - 1]);
      });
      facetSelects.forEach(({ facet, options }, number) => options.forEach((option, place) => {
        const label = state.facets[facet.name] === option.value ? `${facet.label}: ` : ""; // what is filtered stays readable
        option.textContent = `${label}${option.value} (${count(facets[number][place])})`;
      }));
    };
    const collator = new Intl.Collator("en", { numeric: true });
    const sorted = (places) => {
      const down = state.sort.startsWith("-");
      const by = state.sort.replace(/^-/, "");
      if (!by && ranks) return [...places].sort((one, other) => ranks[one] - ranks[other]);
      if (!by || by === AS_ASKED) return places;
      const facet = index.facets.find((one) => one.name === by);
      const metric = shownMetric() || index.metrics.find((one) => one.name === index.headline) || index.metrics[0];
      const value = known.has(by) ? known.get(by).value
        : by === "metric" ? (place) => metric ? metric.value[place] : null
        : facet ? (place) => facet.of[place].length ? facet.values[facet.of[place][0]] : null
        : () => null;
      const keys = new Map(places.map((place) => [place, value(place)]));
      // What has no value comes last, whichever way.
      return [...places].sort((one, other) => {
        const left = keys.get(one);
        const right = keys.get(other);
        if (left === null || right === null) return left === right ? one - other : left === null ? 1 : -1;
        const compared = typeof left === "number" ? left - right : collator.compare(left, right);
        return compared === 0 ? one - other : down ? -compared : compared;
      });
    };
    const apply = (keep = false) => {
      const current = keep && active >= 0 ? order[active] : -1;
      order = sorted(fits());
      active = current >= 0 ? order.indexOf(current) : -1;
      headed();
      reflect();
      drawn = "";
      draw();
    };
    const reflect = () => {
      if (document.activeElement !== nodes.search || nodes.search.value.trim() !== state.q) nodes.search.value = state.q;
      for (const { name, button } of stateButtons) button.setAttribute("aria-pressed", String(state.state === name));
      for (const { facet, select } of facetSelects) {
        select.value = state.facets[facet.name] || "";
        select.classList.toggle("set", Boolean(select.value));
      }
      for (const option of metricOptions) option.textContent = option.value === state.metric ? `Metric: ${option.value}` : option.value;
      nodes.metric.value = state.metric || "";
      nodes.metric.classList.toggle("set", state.metric !== null);
      for (const end of ["low", "high"]) {
        nodes[end].parentElement.hidden = state.metric === null;
        nodes[end].previousElementSibling.replaceChildren(...page.names(`${state.metric} ${end === "low" ? "from" : "to"}`));
        if (document.activeElement !== nodes[end]) nodes[end].value = state[end] === null ? "" : String(state[end]);
      }
      const sortedBy = known.get(state.sort.replace(/^-/, ""));
      other.value = sorts.some(([value]) => value === state.sort) ? " " : state.sort;
      other.textContent = `Order: ${sortedBy ? `${sortedBy.label}${state.sort.startsWith("-") ? ", last first" : ""}` : state.sort}`;
      for (const option of sortOptions) option.textContent = `${option.value === state.sort ? "Order: " : ""}${option.dataset.label}`;
      nodes.sort.value = state.sort;
      for (const box of boxes) box.checked = state.columns === null ? showing.some((one) => one.key === box.value) : state.columns.includes(box.value);
      usual.hidden = state.columns === null;
      nodes.shown.textContent = order.length === total ? plural(total, "case") : `${count(order.length)} of ${plural(total, "case")}`;
      nodes.clear.hidden = filters().length === 0 && !state.sort && state.metric === null;
      nodes.none.hidden = order.length > 0;
      nodes.table.setAttribute("aria-rowcount", String(order.length + 1));
      nodes.filters.replaceChildren(...filters().map(([text, remove]) => {
        const button = make("button", { type: "button", class: "filter", "aria-label": `Do not filter by ${text}` }, page.names(text), make("span", { "aria-hidden": "true" }, " ✕"));
        button.addEventListener("click", () => { remove(); changed(); nodes.search.focus({ preventScroll: true }); });
        return make("li", {}, button);
      }));
    };
    /** What is filtered by, each in words and with what takes it back. */
    const filters = () => {
      const found = [];
      if (state.state !== null) found.push([index.states.find((one) => one.name === state.state).label, () => { state.state = null; }]);
      for (const [name, value] of Object.entries(state.facets)) {
        found.push([`${index.facets.find((one) => one.name === name).label}: ${value}`, () => { delete state.facets[name]; }]);
      }
      if (state.metric !== null && state.low !== null) found.push([`${state.metric} ≥ ${state.low}`, () => { state.low = null; }]);
      if (state.metric !== null && state.high !== null) found.push([`${state.metric} ≤ ${state.high}`, () => { state.high = null; }]);
      if (state.q) found.push([`“${state.q}”`, () => { state.q = ""; nodes.search.value = ""; }]);
      return found;
    };
    /** The columns that there is room for, and their heads. */
    const headed = () => {
      showing = columns.fitting(known, state.columns, state.metric, nodes.table.clientWidth || innerWidth);
      nodes.table.style.setProperty("--columns", columns.template(showing));
      nodes.table.style.setProperty("--least", state.columns === null ? "0px" : `${columns.least(showing)}px`);
      nodes.head.replaceChildren(...showing.map((column) => {
        const key = column.key === `metric:${state.metric}` && /^-?metric$/.test(state.sort) ? "metric" : column.key;
        const way = state.sort === key ? "ascending" : state.sort === `-${key}` ? "descending" : null;
        const button = make("button", { type: "button", class: "sort", title: `Sort by ${column.label}`, "data-sort": column.key },
          column.key === "state" ? make("span", { class: "offscreen" }, column.label) : column.label,
          way && make("span", { "aria-hidden": "true" }, way === "ascending" ? " ↑" : " ↓"),
          column.key === "state" && way === null && make("span", { "aria-hidden": "true" }, "↕"));
        button.addEventListener("click", () => {
          state.sort = way === null ? key : way === "ascending" ? `-${key}` : "";
          changed({ keep: true });
          const again = [...nodes.head.querySelectorAll("button")].find((one) => one.dataset.sort === column.key);
          if (again) again.focus({ preventScroll: true });
        });
        return make("span", { role: "columnheader", class: column.css, "aria-sort": way }, button);
      }));
    };

    /* Rows: only those in sight are in the page */
    const row = (number) => {
      const place = order[number];
      const told = index.states[index.state[place]];
      return make("div", {
        role: "row", id: `row-${number}`, class: `row ${told.tone}${number === active ? " active" : ""}`,
        "aria-rowindex": number + 2, "aria-selected": String(number === active), "data-number": number,
      }, showing.map((column) => {
        if (column.key === "state") return make("span", { role: "gridcell", class: "mark", title: told.label }, told.mark, make("span", { class: "offscreen" }, told.label));
        const content = column.cell(place);
        return make("span", { role: "gridcell", class: column.css, title: typeof content === "string" && content }, content);
      }));
    };
    const draw = () => {
      if (tabs.shown() !== "cases") return;
      if (!rowHeight) measure();
      const top = nodes.rows.getBoundingClientRect().top;
      const inSight = Math.ceil(innerHeight / rowHeight);
      // Some rows always stand there: for who searches the page, or goes through it with a screen reader.
      const first = Math.max(0, Math.min(Math.floor(-top / rowHeight) - BEYOND, order.length - inSight - 2 * BEYOND));
      const last = Math.min(order.length, first + inSight + 2 * BEYOND);
      const now = `${first} ${last} ${active}`;
      if (now === drawn) return;
      drawn = now;
      nodes.rows.style.height = `${order.length * rowHeight}px`;
      const rows = [];
      for (let number = first; number < last; number += 1) rows.push(row(number));
      for (const one of rows) one.style.transform = `translateY(${one.dataset.number * rowHeight}px)`;
      nodes.rows.replaceChildren(...rows);
      if (active >= first && active < last) nodes.table.setAttribute("aria-activedescendant", `row-${active}`);
      else nodes.table.removeAttribute("aria-activedescendant");
    };
    const measure = () => {
      rowHeight = parseFloat(getComputedStyle(nodes.rows).getPropertyValue("--row-height")) || 44;
    };
    let waiting = false;
    const soon = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; draw(); });
    };
    let resized = 0;
    const waitingForRoom = () => {
      cancelAnimationFrame(resized);
      resized = requestAnimationFrame(() => { headed(); reflect(); drawn = ""; draw(); });
    };
    const show = (number) => {
      active = Math.max(0, Math.min(order.length - 1, number));
      if (tabs.shown() !== "cases") return;
      if (!rowHeight) measure();
      const top = nodes.rows.getBoundingClientRect().top + active * rowHeight;
      const stays = getComputedStyle(nodes.controls).position === "sticky";
      const covered = Math.max(tabs.covered(), stays ? nodes.controls.getBoundingClientRect().bottom : 0) + 8;
      if (top < covered) scrollBy(0, top - covered);
      else if (top + rowHeight > innerHeight - 8) scrollBy(0, top + rowHeight - innerHeight + 8);
      draw();
    };

    /* One case: opened over the table, and part of the address */
    const open = (place, { remember = true } = {}) => {
      state.case = index.link[place];
      if (remember) history[remember === "replace" ? "replaceState" : "pushState"](null, "", address(state));
      const number = order.indexOf(place);
      if (number >= 0) show(number);
      openCase(place, {
        number, of: order.length,
        step: (by) => {
          // A case may have left the table since, by what was decided about it: the next one has its place.
          const now = order.indexOf(place);
          const next = now >= 0 ? now + by : by > 0 ? number : number - 1;
          if (number < 0 || next < 0 || next >= order.length) return;
          state.case = index.link[order[next]];
          history.replaceState(null, "", address(state));
          show(next);
          open(order[next], { remember: false });
        },
        link: () => `${location.href.split("#")[0]}#${new URLSearchParams({ case: index.link[place] }).toString().replaceAll("+", "%20")}`,
        closed: () => {
          if (state.case === null) return;
          state.case = null;
          history.replaceState(null, "", address(state));
          // The browser gives focus back to what had it; where that is gone, the table takes it.
          if (!document.activeElement || document.activeElement === document.body) nodes.table.focus({ preventScroll: true });
        },
      });
    };
    const fromAddress = () => {
      const before = state.case;
      const read = readState(index, known, ranks);
      state = read.state;
      typed = false;
      apply();
      const said = [];
      if (read.strange.length) said.push(`This report does not know what the link asks for: ${read.strange.map(([name, value]) => `${clipped(name)} ${quoted(value)}`).join(", ")}.`);
      const place = state.case === null ? undefined : placeOf.get(state.case);
      if (state.case !== null && place === undefined) {
        said.push(`There is no case ${quoted(state.case)} in this report.`);
        state.case = null;
      } else if (place !== undefined && !order.includes(place)) {
        said.push("The link's filters leave out its case: they are not applied.");
        state = { ...noState(), columns: state.columns, case: state.case };
        history.replaceState(null, "", address(state));
        apply();
      }
      if (said.length || location.hash.includes("=") || !location.hash) tabs.notice(said.join(" "));
      if (place !== undefined) open(place, { remember: false });
      else if (before !== null) openCase(null);
    };

    /* Wiring */
    let typing = 0;
    nodes.search.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(() => { state.q = nodes.search.value.trim(); changed({ typing: true }); }, 0);
    });
    nodes.metric.addEventListener("change", () => {
      state.metric = nodes.metric.value || null;
      if (state.metric === null) { state.low = null; state.high = null; }
      changed();
    });
    for (const end of ["low", "high"]) {
      nodes[end].addEventListener("input", () => {
        const value = parseFloat(nodes[end].value);
        state[end] = Number.isFinite(value) ? value : null;
        changed({ typing: true });
      });
    }
    nodes.sort.addEventListener("change", () => { state.sort = nodes.sort.value; changed({ keep: true }); });
    nodes.clear.addEventListener("click", () => { state = { ...noState(), columns: state.columns }; changed(); nodes.search.focus({ preventScroll: true }); });
    nodes.rows.addEventListener("click", (event) => {
      const found = event.target.closest(".row");
      if (found && !getSelection().toString()) open(order[Number(found.dataset.number)]);
    });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || tabs.shown() !== "cases" || document.querySelector("dialog[open]")) return;
      const field = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      const inTable = event.target === nodes.table;
      if (event.key === "/" && !field) { event.preventDefault(); nodes.search.focus(); nodes.search.select(); }
      else if (event.key === "Escape" && event.target === nodes.search) {
        if (nodes.search.value) { nodes.search.value = ""; state.q = ""; changed(); }
        else nodes.search.blur();
      }
      else if (event.key === "Enter" && event.target === nodes.search) { if (order.length) { nodes.table.focus({ preventScroll: true }); show(0); } }
      else if (field || event.target.tagName === "BUTTON" || event.target.tagName === "A" || event.target.tagName === "SUMMARY") return;
      else if (event.key === "j" || (inTable && event.key === "ArrowDown")) { event.preventDefault(); move(1); }
      else if (event.key === "k" || (inTable && event.key === "ArrowUp")) { event.preventDefault(); move(-1); }
      else if (inTable && event.key === "Home") { event.preventDefault(); show(0); }
      else if (inTable && event.key === "End") { event.preventDefault(); show(order.length - 1); }
      else if (event.key === "Enter" && active >= 0) { event.preventDefault(); open(order[active]); }
    });
    const move = (by) => {
      if (!order.length) return;
      if (document.activeElement !== nodes.table) nodes.table.focus({ preventScroll: true });
      show(active < 0 ? 0 : active + by);
    };
    addEventListener("scroll", soon, { passive: true });
    addEventListener("resize", () => { rowHeight = 0; drawn = ""; waitingForRoom(); });
    addEventListener("hashchange", fromAddress);
    addEventListener("popstate", fromAddress);
    addEventListener("beforeprint", () => {
      nodes.rows.style.height = "auto";
      nodes.rows.replaceChildren(...order.slice(0, PRINTED).map((_, number) => row(number)));
      if (order.length > PRINTED) nodes.rows.append(make("p", { class: "row quiet" }, `and ${count(order.length - PRINTED)} more`));
    });
    addEventListener("afterprint", () => { drawn = ""; draw(); });

    // Where there is little room, the filters are folded away at first.
    const wide = matchMedia("(min-width: 861px)");
    const fold = () => { document.getElementById("cases-more").open = wide.matches; };
    wide.addEventListener("change", fold);
    fold();
    // A case that another part names is opened over that part.
    document.addEventListener("click", (event) => {
      const link = event.target.closest && event.target.closest("main a[href^='#case=']");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
      const place = placeOf.get(new URLSearchParams(link.hash.slice(1)).get("case"));
      if (place === undefined) return;
      event.preventDefault();
      tabs.notice("");
      open(place);
    });
    tabs.heard((name) => { if (name === "cases") { rowHeight = 0; drawn = ""; headed(); reflect(); draw(); } });

    nodes.controls.hidden = false;
    nodes.table.hidden = false;
    fromAddress();

    /* The whole text of the cases joins the search chunk by chunk, so that nothing waits for it. */
    const learn = async (number) => {
      if (number >= held.chunks) {
        document.documentElement.dataset.searchable = "all";
        return;
      }
      const details = await held.chunk(number);
      details.forEach((detail, inside) => {
        const place = number * index.chunk + inside;
        texts[place] = searched([index.id[place], answerOf(place), ...textsOf(detail)]);
      });
      if (state.q) apply(true);
      setTimeout(() => learn(number + 1), 0);
    };
    setTimeout(() => learn(0), 0);
    /** Read again what the facets and columns say of the cases. */
    const refresh = () => apply(true);
    return { open, refresh, order: () => order, filtered: (name) => state.facets[name] || null };
  };

  const noState = () => ({ q: "", state: null, facets: {}, metric: null, low: null, high: null, sort: "", columns: null, case: null });
  const searched = (parts) => parts.join("\n").toLowerCase();
  /** Every text of a case but the cells of its results. */
  const textsOf = (value, found = []) => {
    if (typeof value === "string") found.push(value);
    else if (Array.isArray(value)) for (const one of value) textsOf(one, found);
    else if (value !== null && typeof value === "object") for (const [name, one] of Object.entries(value)) if (name !== "rows") textsOf(one, found);
    return found;
  };
  return { start };
})();
