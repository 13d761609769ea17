/* One opened case. */
const caseView = (() => {
  const { make, count, copyButton } = page;
  const SIGNS = { matched: "", near: "≠", missing: "−", extra: "+" };
  const TITLES = { matched: "in both", near: "similar rows: the marked cells differ", missing: "only the gold result has this row", extra: "only the prediction has this row" };

  const section = (title, ...children) => make("section", {}, make("h3", {}, title), children);
  const more = (title, text) => text ? make("details", {}, make("summary", {}, title), make("pre", { tabindex: "0" }, text)) : null;
  const pills = (detail) => [
    detail.difficulty && make("span", { class: "pill" }, detail.difficulty),
    detail.database && make("span", { class: "pill" }, detail.database),
    ...(detail.tags || []).map((tag) => make("span", { class: "pill" }, tag)),
  ];

  /* Queries */
  const side = (query, list, tag) => make("div", { class: "side" },
    make("div", { class: "label" }, make("b", {}, query.label), " ", make("span", { class: query.failed ? "failed" : "quiet" }, query.outcome),
      query.query === null ? null : copyButton(query.original ?? query.query, `Copy the query: ${query.label}`)),
    query.query === null ? make("p", { class: "absent" }, "no query") : make("pre", { tabindex: "0" }, sql.draw(list, tag)));
  const CLAUSES = { same: ["=", "the same in both"], differs: ["≠", "differs"], gold: ["−", "only in"], predicted: ["+", "only in"] };
  /** Gold beside the prediction, the judged gold first; what differs is marked where the answer is not right. */
  const queries = (detail, labelled = "") => {
    const golds = detail.golds || [];
    const predicted = detail.predicted;
    if (!golds.length && !predicted) return null;
    const judged = golds.find((gold) => gold.label.includes("judged")) || golds[0];
    const compared = judged && predicted && judged.query !== null && predicted.query !== null
      ? sql.compare(judged.query, predicted.query, detail.alike) : null;
    const mark = compared && detail.outcome !== "correct";
    const plain = (query) => query.query === null ? [] : sql.tokens(query.query);
    const drawnGolds = golds.map((gold) => side(gold, mark && gold === judged ? compared.gold : plain(gold), "del"));
    return section(labelled || "Queries",
      make("div", { class: "sides" },
        make("div", {}, drawnGolds.length ? drawnGolds : make("p", { class: "absent" }, "no gold query")),
        make("div", {}, predicted ? side(predicted, mark ? compared.predicted : plain(predicted), "ins") : null)),
      mark ? clauseChips(compared.clauses) : null);
  };
  /** What became of each clause; `sides` name the two queries. */
  const clauseChips = (clauses, sides = ["gold", "the prediction"]) => {
    const named = clauses.filter((clause) => clause.name);
    return named.length ? make("p", { class: "clauses" }, named.map((clause) => {
      const [sign, meaning] = CLAUSES[clause.state];
      const where = { gold: ` ${sides[0]}`, predicted: ` ${sides[1]}` }[clause.state] || "";
      return [make("span", { class: `clause ${clause.state}`, title: meaning + where }, `${sign} ${clause.name}`, make("span", { class: "offscreen" }, ` ${meaning}${where}`)), " "];
    })) : null;
  };

  /* Results */
  const cell = (packed) => {
    if (packed === null) return null;
    const [kind, text, cut] = packed;
    if (kind === "null") return make("span", { class: "null" }, "NULL");
    return [make("span", { class: kind }, text), cut ? make("span", { class: "quiet" }, `… +${count(cut)}`) : null];
  };
  const heading = ([gold, predicted]) => {
    const name = (text) => text === "" ? make("span", { class: "quiet" }, "unnamed") : text;
    if (gold === null) return make("th", { scope: "col", class: "extra", title: "only the prediction has this column" }, "+ ", name(predicted));
    if (predicted === null) return make("th", { scope: "col", class: "missing", title: "only the gold result has this column" }, "− ", name(gold));
    return make("th", { scope: "col" }, name(gold), gold !== predicted && make("span", { class: "mapped", title: "the predicted column that stands for it" }, " ← ", name(predicted)));
  };
  const line = ([state, gold, predicted, differs]) => {
    const different = new Set(differs);
    return make("tr", { class: state },
      make("td", { class: "sign", title: TITLES[state] }, SIGNS[state], make("span", { class: "offscreen" }, TITLES[state])),
      gold.map((ours, place) => {
        const theirs = predicted[place];
        if (state === "near" && different.has(place)) return make("td", { class: "differs" }, make("del", {}, cell(ours)), " ", make("ins", {}, cell(theirs)));
        const shown = state === "extra" || ours === null ? theirs : ours;
        return make("td", { class: shown === null ? "hollow" : null }, cell(shown));
      }));
  };
  const results = (difference, title = "Results, aligned", of = "") => {
    if (!difference) return null;
    const rows = difference.rows || [];
    const left = [];
    if (difference.left) left.push(page.plural(difference.left, "more row"));
    if (difference.leftColumns) left.push(page.plural(difference.leftColumns, "more column"));
    const parts = [make("p", { class: "quiet" }, difference.summary),
      rows.length ? make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Aligned rows${of}` },
        make("table", { class: "aligned" },
          make("thead", {}, make("tr", {}, make("td", {}), difference.columns.map(heading))),
          make("tbody", {}, rows.map(line)))) : null,
      left.length ? make("p", { class: "quiet" }, left.join(", ")) : null];
    return title === null ? parts : section(title, parts);
  };

  /* Another database */
  const grid = (table, only = "") => make("div", { class: "side" },
    make("div", { class: "label" }, make("b", {}, table.name), table.rows ? null : make("span", { class: "quiet" }, " no rows")),
    table.rows ? make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": table.name },
      make("table", { class: "aligned" },
        make("thead", {}, make("tr", {}, only && make("td", {}), (table.columns || []).map((name) => make("th", { scope: "col" }, name || make("span", { class: "quiet" }, "unnamed"))))),
        make("tbody", {}, table.rows.map((row, place) => {
          const marked = only && (table.marked || []).includes(place);
          return make("tr", { class: marked ? only : null },
            only && make("td", { class: "sign", title: marked ? TITLES[only] : null }, marked ? [SIGNS[only], make("span", { class: "offscreen" }, TITLES[only])] : null),
            row.map((one) => make("td", {}, cell(one))));
        })))) : null,
    table.left ? make("p", { class: "quiet" }, page.plural(table.left, "more row")) : null);
  const beyond = (found) => found ? section(`On other databases: ${found.title}`,
    make("p", {}, found.said),
    found.tables ? make("div", { class: "tables" }, found.tables.map((table) => grid(table))) : null,
    found.results ? make("div", { class: "sides" }, found.results.map((table, place) => make("div", {}, grid(table, place ? "extra" : "missing")))) : null,
    found.remarks ? make("ul", { class: "near" }, found.remarks.map((text) => make("li", {}, text))) : null,
    found.sql ? make("details", {}, make("summary", {}, "SQL that makes this database"), copyButton(found.sql, "Copy the SQL that makes this database"), make("pre", { tabindex: "0" }, found.sql)) : null) : null;

  /* Selections */
  const LISTS = { right: ["✓", "found"], missing: ["−", "missing"], extra: ["+", "extra"] };
  const chip = (state, { code, name, dataset, note }) => make("li", { class: `term ${state}${note ? " noted" : ""}`, title: LISTS[state][1] },
    make("span", { class: "sign" }, LISTS[state][0], make("span", { class: "offscreen" }, LISTS[state][1])),
    make("code", {}, code), name ? ` ${name}` : null, dataset ? make("span", { class: "quiet" }, ` in ${dataset}`) : null,
    note ? [" ", make("span", { class: "note" }, note)] : null);
  const dimension = (one) => make("div", { class: "dimension" },
    make("div", { class: "label" }, make("b", {}, one.name), make("span", { class: "quiet" }, ` recall ${one.recall}, precision ${one.precision}`)),
    one.lists.every((list) => list.count === 0)
      ? make("p", { class: "quiet" }, "nothing to select, and nothing selected")
      : make("ul", { class: "terms" }, one.lists.map((list) => [list.terms.map((term) => chip(list.state, term)),
        list.count > list.terms.length ? make("li", { class: `term ${list.state}` }, `and ${count(list.count - list.terms.length)} more ${LISTS[list.state][1]}`) : null])));
  const turn = (one) => make("section", { class: "turn" },
    one.label || one.figures ? make("h3", {}, one.label ? `${one.label} · ` : "",
      one.label ? make("span", { class: one.exact === true ? "good" : one.exact === false ? "failed" : "unsure" }, one.said) : null,
      one.figures ? `${one.label ? " · " : ""}${one.figures}` : null) : null,
    one.question ? make("p", { class: "asked", dir: "auto" }, one.question) : null,
    one.failures.map((text) => make("p", { class: "failed" }, text)),
    one.dimensions.map(dimension),
    one.beyond.length ? [make("h3", {}, "Dimensions not in target"), one.beyond.map(dimension)] : null,
    one.datasets.length ? make("div", { class: "dimension" }, make("div", { class: "label" }, make("b", {}, "Datasets")),
      make("ul", { class: "terms" }, one.datasets.map(([state, name]) => chip(state, { code: name })))) : null,
    one.time.filter((time) => time.good !== null).map((time) => make("p", {},
      make("b", {}, "Time "), make("span", { class: `term ${time.good ? "right" : "extra"}` }, time.said),
      ` ${one.datasets.length > 1 ? `${time.dataset}: ` : ""}target ${time.target}${time.good ? "" : `, selected ${time.selected}`}`)),
    one.remarks.map((text) => make("p", { class: "quiet" }, text)),
    more("What the system said", one.text),
    more("The answer as it came", one.raw));

  /* What is known beside them */
  const known = (detail) => [
    detail.failures && section("Failures", detail.failures.map((text) => make("p", { class: "failed" }, text))),
    detail.findings && section("Findings about the gold query", make("ul", { class: "near" }, detail.findings.map((text) => make("li", {}, text)))),
    detail.scores && section("Metrics", make("table", { class: "scores" }, make("tbody", {}, detail.scores.map(([metric, , text, said]) =>
      make("tr", {}, make("th", { scope: "row" }, metric), make("td", { class: "n" }, text), make("td", { class: "quiet" }, said)))))),
    detail.facts && section("Times and cost", make("dl", { class: "facts" }, detail.facts.map(([name, text]) => [make("dt", {}, name), make("dd", {}, text)]))),
    detail.tables && section("Tables that the system said it used", make("p", {}, detail.tables.join(", "))),
    detail.given && section("Tables and columns that the system was given", make("p", {}, detail.given.join(", "))),
    more("What the system said of its query", detail.explanation),
    more("The answer as it came", detail.raw),
  ];
  const meant = ([name, meaning]) => [name, meaning ? make("span", { class: "quiet" }, `: ${meaning}`) : null];
  const whatAndWhy = (detail, told) => [
    make("p", { class: "reason" }, make("span", { class: `pill ${detail.outcome}` }, `${told ? `${told.mark} ` : ""}${detail.outcome}`), " ", detail.reason),
    detail.reviewed ? make("p", { class: "reviewed" }, make("b", {}, "Reviewed: "), meant(detail.reviewed)) : null,
    detail.cause ? make("p", { class: "cause" }, make("b", {}, "Cause: "), detail.cause) : null,
    detail.why ? make("ul", { class: "near" }, detail.why.map((text) => make("li", {}, make("b", {}, "Why: "), text))) : null,
    detail.repair ? make("ul", { class: "near" }, detail.repair.map((text) => make("li", {}, make("b", {}, "Repair: "), text))) : null,
    detail.near ? make("ul", { class: "near" }, detail.near.map((text) => make("li", {}, make("b", {}, "Near miss: "), text))) : null,
    detail.flags ? make("ul", { class: "near" }, detail.flags.map((flag) => make("li", {}, make("b", {}, "Flag: "), meant(flag)))) : null,
    detail.strength ? make("p", { class: "strength" }, make("b", {}, "Strength: "), meant(detail.strength)) : null,
  ];
  const drawRun = (detail, told) => [
    whatAndWhy(detail, told), queries(detail), results(detail.difference), beyond(detail.beyond), (detail.turns || []).map(turn), known(detail),
  ];

  /** The dialog; `draw` gives the body of a case from its details. The dialog tells of each case that it shows. */
  const start = (held, draw = drawRun) => {
    const dialog = document.getElementById("case");
    const nodes = Object.fromEntries(["title", "place", "body", "previous", "next", "close", "link"].map((name) => [name, document.getElementById(`case-${name}`)]));
    let ways = null;
    let wanted = 0;
    let opening = false; // whether the dialog was closed when the case was asked for: its own close event may still come
    const open = async (place, given) => {
      wanted += 1;
      opening = place !== null && !dialog.open;
      if (place === null) { ways = null; dialog.close(); return; }
      const mine = wanted;
      ways = given;
      const detail = await held.detail(place);
      if (mine !== wanted) return; // another one was opened meanwhile
      const told = held.index.states[held.index.state[place]];
      nodes.title.replaceChildren(make("span", { class: "quiet" }, [held.index.id[place], held.index.answer[place]].filter(Boolean).join(" · ")), " ", make("bdi", { dir: "auto" }, detail.question));
      nodes.place.textContent = given.number < 0 ? "" : `${count(given.number + 1)} of ${count(given.of)}`;
      nodes.previous.disabled = given.number <= 0;
      nodes.next.disabled = given.number < 0 || given.number >= given.of - 1;
      nodes.body.replaceChildren(...[make("p", { class: "pills" }, pills(detail)),
        detail.name ? make("p", { class: "quiet" }, detail.name) : null,
        detail.context ? make("p", { class: "context", dir: "auto" }, detail.context) : null,
        draw(detail, told, place)].flat(Infinity).filter(Boolean));
      nodes.body.scrollTop = 0;
      if (!dialog.open) dialog.showModal();
      opening = false;
      nodes.body.focus({ preventScroll: true });
      dialog.dataset.place = String(place);
      dialog.dispatchEvent(new CustomEvent("case", { detail: { place, content: detail } }));
    };
    const step = (by) => { if (ways) ways.step(by); };
    nodes.previous.addEventListener("click", () => step(-1));
    nodes.next.addEventListener("click", () => step(1));
    nodes.close.addEventListener("click", () => dialog.close());
    page.copies(nodes.link, () => ways ? ways.link() : location.href);
    dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
    dialog.addEventListener("close", () => { if (opening || dialog.open) return; const given = ways; ways = null; if (given) given.closed(); });
    dialog.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      if (event.key === "j" || event.key === "ArrowRight") step(1);
      else if (event.key === "k" || event.key === "ArrowLeft") step(-1);
      else return;
      event.preventDefault();
    });
    return open;
  };
  return { start, drawRun, whatAndWhy, queries, results, turn, known, section, side, clauseChips };
})();
