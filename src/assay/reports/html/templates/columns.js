/* The columns that the table of cases can have: what each shows of a case, what it is sorted by, and its room. */
const columns = (() => {
  const { make } = page;
  const REM = 16;
  const formatted = (metric, value) => value === null ? "n/a"
    : metric.share && !Number.isInteger(value) ? value.toFixed(3) : String(Math.round(value * 1000) / 1000);

  /** Every column by its key; `own`: shown unless the reader chooses others; `rank`: which of these give way first. */
  const all = (index, answerOf, more = []) => {
    const facets = new Map(index.facets.map((one) => [one.name, one]));
    const valuesOf = (name, place) => facets.has(name) ? facets.get(name).of[place].map((one) => facets.get(name).values[one]) : [];
    const badges = (place) => ["cause", "failure", "near", "flag"].flatMap((kind) => valuesOf(kind, place).map((text) => [kind, text]));
    const known = (place) => {
      const named = badges(place);
      const why = index.reason[place];
      // Beside one or two of them, by the column's width, the number of the others.
      const others = (from, css) => named.length > from
        && make("span", { class: `more ${css}`, title: named.slice(from).map(([, text]) => text).join(", ") }, `+${named.length - from}`);
      return [named.slice(0, 2).map(([kind, text], at) => make("span", { class: `pill ${kind}${at ? " second" : ""}`, title: text }, text)),
        others(1, "narrow"), others(2, "wide"),
        named.length === 0 && why && make("span", { class: "why", title: why }, why)];
    };
    const longest = index.id.reduce((most, id) => Math.max(most, id.length), 0);
    const badge = Math.max(0, ...["cause", "failure", "near", "flag"].flatMap((kind) => facets.get(kind)?.values ?? []).map((text) => text.length));
    const badgeRoom = Math.max(11, Math.min(17, badge * .43 + 3));
    const idRoom = (most) => Math.max(3, Math.min(most, longest * .55 + 1));
    const found = [
      { key: "state", label: "verdict", always: true, css: "mark", room: [1.6], value: (place) => index.state[place] === 0 ? index.states.length : index.state[place] },
      { key: "id", label: "id", always: true, css: "id", room: [idRoom(13), `${idRoom(23)}rem`], value: (place) => index.id[place], cell: (place) => index.id[place] },
      { key: "question", label: "question", always: true, css: "question", room: [13, "1.6fr"], value: (place) => index.question[place], cell: (place) => make("bdi", { dir: "auto", title: index.question[place] }, index.question[place]) },
      { key: "known", label: "what is known", own: true, rank: 1, css: "badges", room: [badgeRoom, "1fr"], value: (place) => (badges(place)[0] || [])[1] || index.reason[place] || null, cell: known },
      { key: "reason", label: "reason", css: "why", room: [11, "1fr"], value: (place) => index.reason[place] || null, cell: (place) => index.reason[place] },
    ];
    found.push(...more);
    if (index.answer.some(Boolean)) found.push({ key: "answer", label: "answer", own: true, rank: 3, css: "group", room: [7], value: answerOf, cell: answerOf });
    for (const [name, room, rank] of [["decision", [7], 2], ["difficulty", [6], 4], ["database", [6, "8rem"], 5], ["tag", [7, ".5fr"], 0]]) {
      const facet = facets.get(name);
      if (!facet) continue;
      found.push({ key: name, label: facet.label.toLowerCase(), own: rank > 0 && facet.values.length > 1, rank, css: "group", room,
        value: (place) => valuesOf(name, place)[0] || null, cell: (place) => valuesOf(name, place).join(", ") });
    }
    if (index.time.some((one) => one !== null)) {
      found.push({ key: "time", label: "answer time", css: "value", room: [6], value: (place) => index.time[place],
        cell: (place) => index.time[place] === null ? "" : `${index.time[place] < 10 ? index.time[place].toFixed(2) : index.time[place].toFixed(1)} s` });
    }
    for (const metric of index.metrics) {
      found.push({ key: `metric:${metric.name}`, label: metric.name, css: "value", room: [6], value: (place) => metric.value[place], cell: (place) => formatted(metric, metric.value[place]) });
    }
    return new Map(found.map((one) => [one.key, one]));
  };
  /** Those that are shown: the chosen ones, or as many of the usual ones as there is room for. */
  const fitting = (known, chosen, metric, room) => {
    const list = [...known.values()];
    if (chosen !== null) return list.filter((one) => one.always || chosen.includes(one.key) || one.key === `metric:${metric}`);
    let kept = list.filter((one) => one.always || one.own || one.key === `metric:${metric}`);
    while (least(kept) > room && kept.some((one) => one.rank)) {
      const last = Math.max(...kept.map((one) => one.rank || 0));
      kept = kept.filter((one) => one.rank !== last);
    }
    return kept;
  };
  /** The least room of columns with the gaps between and beside them, in pixels. */
  const least = (shown) => REM * (shown.reduce((sum, one) => sum + one.room[0], 0) + .8 * (shown.length - 1) + 1.6) + 2;
  const template = (shown) => shown.map(({ room: [low, high] }) => high ? `minmax(${low}rem, ${high})` : `${low}rem`).join(" ");
  return { all, fitting, least, template };
})();
