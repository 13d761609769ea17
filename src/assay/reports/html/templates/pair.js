/* One case of two runs: the same question, what each run made of it, and what differs between them. */
const pairView = (() => {
  const { make } = page;
  const { section, side, clauseChips, whatAndWhy, results, turn } = caseView;

  const compared = (gold, query, alike) => gold && gold.query !== null && query && query.query !== null
    ? sql.compare(gold.query, query.query, alike) : null;
  const tokens = (query) => query && query.query !== null ? sql.tokens(query.query) : [];
  const halves = (parts) => make("div", { class: "sides" }, parts.map((part) => make("div", {}, part)));

  const queries = (detail) => {
    const [first, second] = detail.sides;
    if (!first.predicted && !second.predicted) return null;
    const golds = second.golds || [];
    const judged = golds.find((gold) => gold.label.includes("judged")) || golds[0];
    const drawn = detail.sides.map((one) => {
      const difference = one.outcome === "correct" ? null : compared(judged, one.predicted, one.alike);
      return one.predicted ? side({ ...one.predicted, label: one.label }, difference ? difference.predicted : tokens(one.predicted), "ins") : null;
    });
    const between = compared(first.predicted, second.predicted);
    const same = between && between.clauses.length > 0 && between.clauses.every((clause) => clause.state === "same");
    return section("Queries", golds.map((gold) => side(gold, tokens(gold), "del")), make("div", { class: "apart" }), halves(drawn),
      same ? make("p", { class: "quiet" }, "Both runs gave the same query.")
        : between ? make("div", {}, make("p", { class: "quiet" }, "Between the two predictions:"), clauseChips(between.clauses, [first.label, second.label])) : null);
  };
  const scores = (detail) => {
    const [first, second] = detail.sides;
    const before = new Map((first.scores || []).map(([metric, , text]) => [metric, text]));
    const rows = (second.scores || []).map(([metric, , text]) => [metric, before.get(metric) || "", text]);
    if (!rows.length) return null;
    return section("Metrics", make("table", { class: "scores" },
      make("thead", {}, make("tr", {}, make("td", {}), make("th", { scope: "col", class: "n" }, first.label), make("th", { scope: "col", class: "n" }, second.label))),
      make("tbody", {}, rows.map(([metric, was, is]) => make("tr", { class: was === is ? null : "changed" }, make("th", { scope: "row" }, metric), make("td", { class: "n" }, was), make("td", { class: "n" }, is))))));
  };
  const draw = (detail, told) => [
    make("p", {}, make("span", { class: `pill ${told.tone}` }, `${told.mark} ${told.label}`), " ", make("span", { class: "quiet" }, told.meaning)),
    halves(detail.sides.map((one) => [make("h3", {}, one.label), whatAndWhy(one)])),
    queries(detail),
    detail.sides.map((one) => one.turns ? section(one.label, one.turns.map(turn)) : null),
    detail.sides.some((one) => one.difference) ? halves(detail.sides.map((one) => one.difference
      ? [make("h3", {}, `Results: gold query and ${one.label}`), results(one.difference, null, `: ${one.label}`)] : make("p", { class: "quiet" }, `${one.label}: nothing to compare`))) : null,
    scores(detail),
  ];
  return { draw };
})();
