/* Reviewing: one case after the other, a key for each decision. What is decided is written by the server at once; what
   others decide meanwhile comes with the next look at it. */
const review = (() => {
  const { make, count } = page;
  const STORE = "assay-review-token";
  const LOOK_MS = 2000; // between two looks at what others decided
  const SEEN_MS = 250; // that something is visible before a key or click can decide about it
  const STATES = ["unreviewed", "queued", "reviewed", "mine", "not mine", "conflict", "stale", "not sure"];
  const HOLDS = { "replaced": "replaced by a later one", "of another answer": "about another answer to this question", "done": "already applied to the question set" };

  /* The token: from the address, out of which it is taken, so that no link has it. */
  const asked = new URLSearchParams(location.hash.slice(1));
  const begins = asked.has("token"); // the first case is opened over the table
  if (begins) {
    sessionStorage.setItem(STORE, asked.get("token"));
    history.replaceState(null, "", `${location.pathname}#tab=cases`);
  }
  const ask = async (path, body) => {
    let response;
    try {
      response = await fetch(path, {
        method: "POST", cache: "no-store", body: JSON.stringify(body),
        headers: { "Content-Type": "application/json", "X-Assay-Token": sessionStorage.getItem(STORE) || "" },
      });
    } catch {
      throw new Error("assay review has ended. Start it again, and open the address that it prints");
    }
    if (response.ok) return response.json();
    throw new Error(response.status === 422 ? (await response.json()).error : (await response.text()).trim().replace(/^\d+ /, ""));
  };

  const statuses = new Map(); // by place; none: unreviewed
  const NONE = { state: "unreviewed", reviews: [], by: [], conflict: false, mine: false };
  const statusOf = (place) => statuses.get(place) || NONE;
  let held = null;
  let table = null;
  let placeOf = null;
  let queued = []; // by place: why it is early in the queue, and what it is like
  let version = "";
  let done = 0;
  let facet = null;
  let current = null; // the opened case: its place and content
  let busy = false;
  let drawn = Infinity; // when what is decided about was drawn; Infinity: not yet
  let heard = null; // the case that the message belongs to
  const mine = []; // what was decided here, the last one last
  const notes = new Map(); // notes that are not saved yet
  const drafts = new Map(); // gold queries that are not saved yet
  const answers = new Map();

  const carried = (status, place) => [
    status.state === "reviewed" ? "reviewed" : "unreviewed", status.state !== "reviewed" && queued[place] && queued[place].early && "queued", status.mine ? "mine" : "not mine",
    status.conflict && "conflict", status.state === "stale" && "stale", status.state === "unsure" && "not sure",
  ].filter(Boolean).map((name) => STATES.indexOf(name));

  /** Take in what the server says of the reviews. */
  const absorb = (told) => {
    version = told.version;
    done = told.done;
    const places = [];
    for (const [link, status] of Object.entries(told.changed)) {
      const place = placeOf.get(link);
      if (place === undefined) continue;
      statuses.set(place, status);
      facet.of[place] = carried(status, place);
      places.push(place);
    }
    if (table === null || !places.length) return;
    table.refresh();
    tell();
    if (current && places.includes(current.place)) { earlier(); pressed(); }
  };

  /** Ask for all that is known, and have the table show it. False: this page can only be looked at. */
  const prepare = async (given) => {
    held = given;
    placeOf = new Map(held.index.link.map((link, place) => [link, place]));
    facet = { name: "review", label: "Review", values: STATES, of: [] };
    let told;
    try {
      told = await ask("/reviews", {});
    } catch (error) {
      trouble(`Nothing can be reviewed here: ${error.message}.`);
      for (const one of $("strip").children) one.hidden = one !== $("file");
      return false;
    }
    queued = held.index.id.map(() => ({ early: false, why: [], cluster: "" }));
    held.ranks = held.index.id.map(() => told.queue.length);
    told.queue.forEach(([link, why, cluster], rank) => {
      const place = placeOf.get(link);
      held.ranks[place] = rank;
      queued[place] = { early: true, why, cluster };
    });
    facet.of = held.index.id.map((_, place) => carried(NONE, place));
    absorb(told);
    seconds = told.seconds;
    if (told.budget && begins) history.replaceState(null, "", "#review=queued");
    held.index.facets.unshift(facet);
    held.columns = [{
      key: "review", label: "review", own: true, rank: 0, css: "badges", room: [8],
      value: (place) => statusOf(place).state === "unreviewed" ? null : `${statusOf(place).state} ${statusOf(place).by}`,
      cell: (place) => {
        const status = statusOf(place);
        if (status.state === "unreviewed") return null;
        const tone = status.conflict ? "conflict" : status.outcome || "";
        const said = status.conflict ? "conflict" : status.state === "reviewed" ? status.outcome || "reviewed" : status.state;
        return [make("span", { class: `pill ${tone}`, title: said }, said), make("span", { class: "more" }, status.by.join(", "))];
      },
    }];
    reviewer = told.reviewer;
    file = told.file;
    return true;
  };
  let reviewer = "";
  let file = "";
  let seconds = 60; // that a case takes

  /* What an opened case shows beside what every page shows of it */
  const when = (at) => at.replace("T", " ").replace(/:\d\dZ$/, " UTC");
  const listed = (one) => make("li", { class: `review${one.holds === "in force" ? "" : " past"}` },
    make("p", {}, make("b", {}, one.mine ? `${one.by} (you)` : one.by), `: ${one.said}`,
      one.outcome && [" ", make("span", { class: `pill ${one.outcome}` }, one.outcome)], " ",
      make("span", { class: "quiet" }, [when(one.at), one.run, one.holds === "stale" ? `without effect: the ${one.changed} has changed since` : HOLDS[one.holds]].filter(Boolean).join(" · ")), " ",
      one.mine && one.holds !== "of another answer" && make("button", { type: "button", class: "copy", onclick: () => takeBack(current.place, one.id) }, "Take back")),
    one.note && make("p", { class: "note", dir: "auto" }, one.note),
    one.gold && make("pre", { tabindex: "0" }, sql.draw(sql.tokens(one.gold), "del")));
  const earlier = () => {
    const box = document.getElementById("review-earlier");
    if (!box) return;
    const status = statusOf(current.place);
    box.hidden = !status.reviews.length;
    box.replaceChildren(make("h3", {}, "Reviews of this question ", status.conflict && make("span", { class: "pill conflict" }, "people disagree")),
      make("ul", {}, status.reviews.map(listed)));
  };
  const beside = async (place) => {
    const link = held.index.link[place];
    if (!answers.has(link)) answers.set(link, ask("/answers", { case: link }).catch(() => { answers.delete(link); return { answers: [] }; }));
    const told = await answers.get(link);
    const box = document.getElementById("review-others");
    if (!box || !current || current.place !== place || !told.answers.length) return;
    box.hidden = false;
    box.replaceChildren(make("h3", {}, "What other runs answered"), make("div", { class: "others" }, told.answers.map((one) => {
      const head = [make("span", { class: `pill ${one.detail.outcome}` }, one.detail.outcome), " ", make("b", {}, one.names.join(", "))];
      if (one.same) return make("p", {}, head, make("span", { class: "quiet" }, " the same query"));
      return make("details", {}, make("summary", {}, head, " ", make("span", { class: "quiet" }, one.detail.reason)),
        one.detail.predicted ? caseView.queries(one.detail, "Its query") : (one.detail.turns || []).map(caseView.turn), caseView.results(one.detail.difference, "Its result", ` of ${one.names[0]}`));
    })));
  };
  const draw = (detail, told, place) => {
    const parts = caseView.drawRun(detail, told);
    return [
      queued[place].why.length ? make("p", { class: "quiet" }, make("b", {}, "Worth a look: "), queued[place].why.join(" ")) : null,
      make("section", { id: "review-earlier", hidden: true }),
      parts.slice(0, 3), make("section", { id: "review-others", hidden: true }), parts.slice(3),
    ];
  };

  /* Decisions */
  const $ = (name) => document.getElementById(`review-${name}`);
  const buttons = () => [...document.querySelectorAll(".decisions button")];
  const dialog = document.getElementById("case");
  const body = document.getElementById("case-body");
  const tell = () => {
    const total = held.index.id.length;
    const left = queued.filter((one, place) => one.early && statusOf(place).state !== "reviewed").length;
    const queue = left ? ` · ${count(left)} queued, about ${count(Math.max(1, Math.round(left * seconds / 60)))} min` : "";
    for (const one of document.querySelectorAll(".review-count")) one.textContent = `${count(done)} of ${count(total)} reviewed${queue}`;
    for (const one of document.querySelectorAll(".review-bar")) { one.max = Math.max(1, total); one.value = done; }
    $("go").hidden = next(null) === null;
  };
  /** Say above the table what stands in the way of reviewing; without a text, who reviews. */
  const trouble = (text = "") => {
    $("strip").hidden = false;
    $("file").replaceChildren(...page.names(text || `as ${reviewer}, into ${file}`));
    $("file").classList.toggle("failed", Boolean(text));
  };
  /** Show a message; it is cleared with the case that it belongs to. */
  const say = (text, failed = false, place = current && current.place) => {
    heard = place;
    $("said").replaceChildren(...page.names(text));
    $("said").classList.toggle("failed", failed);
  };
  /** What is shown from now on has to be seen before it is decided about. */
  const show = () => {
    drawn = Infinity;
    requestAnimationFrame(() => requestAnimationFrame(() => { drawn = performance.now(); }));
  };
  /** Whether an event is too early to be a decision about what is shown. */
  const early = (event) => {
    if (event.timeStamp - drawn >= SEEN_MS) return false;
    if (!busy) say("This has only just appeared. Look at it, then press again.", true);
    return true;
  };
  const own = (place) => statusOf(place).reviews.filter((one) => one.mine && one.holds === "in force");
  /** Show which decisions fit the case, and which of them was made. */
  const pressed = () => {
    const { outcome, golds, turns } = current.content;
    const last = own(current.place)[0];
    const has = Boolean((golds || []).length || (turns || []).length);
    for (const button of buttons()) {
      const name = button.dataset.decision;
      button.setAttribute("aria-pressed", String(Boolean(last) && last.decision === name));
      const idle = {
        accept: outcome === "correct" && "The verdict is already correct: press 1 to confirm it.", reject: outcome === "incorrect" && "The verdict is already incorrect: press 1 to confirm it.",
        confirm: !has && "Without a gold query there is no verdict to confirm: press 2 or 3.",
      }[name];
      button.setAttribute("aria-disabled", String(Boolean(idle))); // it still says why
      button.title = idle || "";
    }
    $("undo").disabled = !mine.length && !own(current.place).length;
    const before = mine[mine.length - 1];
    const like = before && queued[current.place].cluster && queued[before.place].cluster === queued[current.place].cluster;
    $("again").hidden = !(like && before.place !== current.place && before.repeats && statusOf(current.place).state !== "reviewed");
    if (like) $("again").replaceChildren(make("kbd", {}, "Enter"), ` Like ${held.index.id[before.place]}: ${before.said}`);
  };
  /** The next case to review after this one, in the table's order, and from its beginning again; null: none is left. */
  const next = (place) => {
    const order = table.order();
    const from = order.indexOf(place) + 1;
    const by = table.filtered("review");
    // Whoever filters by reviews looks at reviewed cases on purpose.
    const open = (one) => one !== place && (by && !["unreviewed", "queued"].includes(by) ? !mine.some((made) => made.place === one) : statusOf(one).state !== "reviewed");
    const found = [...order.slice(from), ...order.slice(0, from)].find(open);
    return found === undefined ? null : found;
  };
  const advance = (target) => {
    if (target !== null) { drawn = Infinity; table.open(target, { remember: "replace" }); }
    else say(`${$("said").textContent} No case is left to review in this table: Esc shows it.`);
  };
  const alone = async (work) => {
    if (busy) return;
    busy = true;
    try {
      await work();
    } catch (error) {
      say(`Not saved: ${error.message}.`, true);
    } finally {
      busy = false;
    }
  };
  const decide = (decision, { gold = null, leniency = {}, repeats = true } = {}) => alone(async () => {
    const { place } = current;
    const note = $("note").value.trim();
    const link = held.index.link[place];
    const last = own(place)[0];
    const same = repeats && last && last.decision === decision && (note === last.note || !note);
    const target = next(place);
    if (!same) {
      const told = await ask("/decide", { case: link, decision, note, gold, leniency, since: version });
      mine.push({ place, id: told.wrote, decision, repeats, said: buttons().find((one) => one.dataset.decision === decision).querySelector("span").textContent.replace("…", "") });
      absorb(told);
    }
    notes.delete(place);
    drafts.delete(place);
    $("note").value = "";
    closePanels();
    const made = statusOf(place).reviews.find((one) => one.mine);
    say(`${held.index.id[place]}: ${made ? made.said : "saved"}. Saved.`, false, target ?? place);
    if (dialog.open) advance(target); // not where it was closed meanwhile
  });
  const takeBack = (place, id) => alone(async () => {
    const told = await ask("/undo", { case: held.index.link[place], review: id, since: version });
    const made = mine.findIndex((one) => one.id === id);
    if (made >= 0) mine.splice(made, 1);
    absorb(told);
    if (current.place !== place) table.open(place, { remember: "replace" });
    say(`${held.index.id[place]}: “${told.said}” is taken back.`, false, place);
    pressed();
  });
  const undo = () => {
    const last = mine[mine.length - 1];
    const here = own(current.place)[0];
    if (last) takeBack(last.place, last.id);
    else if (here) takeBack(current.place, here.id);
    else say("You have decided nothing that could be taken back.");
  };

  /* Panels: one at a time */
  const closePanels = () => {
    for (const panel of dialog.querySelectorAll(".panel")) panel.hidden = true;
    for (const button of dialog.querySelectorAll("[aria-expanded]")) button.setAttribute("aria-expanded", "false");
  };
  const openPanel = (name, button) => {
    const panel = document.getElementById(name);
    const shown = panel.hidden;
    closePanels();
    if (!shown) { body.focus({ preventScroll: true }); return; }
    panel.hidden = false;
    button.setAttribute("aria-expanded", "true");
    if (name === "review-gold-panel") {
      const golds = current.content.golds || [];
      const judged = golds.find((gold) => gold.label.includes("judged")) || golds[0];
      // As it is drawn: a query on one line gets a line for each clause.
      $("gold").value = drafts.get(current.place) ?? (judged && judged.query !== null ? written(judged) : "");
      fit();
      // A target selection is not written as a query.
      for (const one of [$("gold"), $("gold").previousElementSibling, $("try")]) one.hidden = Boolean(current.content.turns);
      $("gold-copy").hidden = !(current.content.predicted && current.content.predicted.query && !current.content.turns);
      untried();
      (current.content.turns ? $("gold-none") : $("gold")).focus();
    } else if (name === "review-ambiguous-panel") {
      for (const box of panel.querySelectorAll("input")) box.checked = false;
      $("ambiguous-save").focus();
    }
  };
  const written = (query) => query.original ?? sql.draw(sql.tokens(query.query), "del").textContent;
  const fit = () => { $("gold").rows = Math.min(12, Math.max(3, $("gold").value.split("\n").length + 1)); };
  let tried = null; // the query whose result is shown
  const untried = () => {
    tried = null;
    $("gold-save").hidden = true;
    $("tried").replaceChildren();
  };
  const attempt = () => alone(async () => {
    const gold = $("gold").value.trim();
    if (!gold) { say("Write the gold query first.", true); return; }
    const { place } = current;
    untried();
    $("tried").replaceChildren(make("p", { class: "quiet" }, "It is being executed…"));
    let told;
    try {
      told = await ask("/try", { case: held.index.link[place], decision: "gold_wrong", gold });
    } catch (error) {
      $("tried").replaceChildren(make("p", { class: "failed" }, error.message));
      return;
    }
    if (!current || current.place !== place || $("gold").value.trim() !== gold) return;
    const { detail } = told;
    const fails = (detail.golds || []).find((one) => one.failed);
    const label = { correct: "the prediction is right", incorrect: "the prediction is wrong", unscored: "unscored" }[told.outcome];
    $("tried").replaceChildren(...[make("p", { class: "reason" }, make("span", { class: `pill ${told.outcome}` }, told.outcome), " ", detail.reason),
      fails ? make("p", { class: "failed" }, `The gold query: ${fails.outcome}`) : null, caseView.results(detail.difference, "Both results, by this gold query", ", by this gold query")].filter(Boolean));
    if (fails || told.outcome === "unscored") return;
    tried = gold;
    $("gold-save").hidden = false;
    $("gold-save").replaceChildren(`Save: gold is wrong, ${label} `, make("kbd", {}, "Enter"));
    $("gold-save").focus();
    show();
  });
  const leniency = () => Object.fromEntries([...$("ambiguous-panel").querySelectorAll("input:checked")].map((box) => [box.name, box.value]));
  const press = (button, event) => {
    if (early(event)) return;
    if (button.getAttribute("aria-disabled") === "true") say(button.title, true);
    else if (button.dataset.panel) openPanel(button.dataset.panel, button);
    else decide(button.dataset.decision);
  };

  /* Wiring */
  const keys = (event) => {
    const field = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    const panel = dialog.querySelector(".panel:not([hidden])");
    // A key that is held down decides, and takes back, once. It still scrolls, moves and types.
    if (event.repeat && /^([1-7u?]|Enter)$/.test(event.key) && !/^(text|textarea)$/.test(event.target.type)) { event.preventDefault(); return; }
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter" && event.target === $("gold")) { event.preventDefault(); attempt(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && (panel || event.target === $("note"))) {
      event.preventDefault();
      if (panel) closePanels();
      body.focus({ preventScroll: true });
    } else if (event.key === "Enter" && event.target === $("note")) {
      event.preventDefault();
      const last = own(current.place)[0];
      body.focus({ preventScroll: true });
      if (last && last.note !== $("note").value.trim() && !last.gold && last.decision !== "ambiguous") decide(last.decision, {});
      else if ($("note").value.trim()) say("The note is saved with your decision.");
    } else if (event.key === "Enter" && field && event.target.type === "checkbox") { event.preventDefault(); decide("ambiguous", { leniency: leniency(), repeats: false }); }
    else if (field) return;
    else if (/^[1-7]$/.test(event.key)) { event.preventDefault(); press(buttons()[Number(event.key) - 1], event); }
    else if (event.key === "u") { event.preventDefault(); undo(); }
    else if (event.key === "n") { event.preventDefault(); $("note").focus(); }
    else if (event.key === "?") { event.preventDefault(); openPanel("review-keys", $("help")); }
    else if (event.key === "/") { event.preventDefault(); dialog.close(); search(); }
    else if (event.key === "Enter" && event.target === body && !$("again").hidden) { event.preventDefault(); again(event); }
  };
  const again = (event) => {
    const last = mine[mine.length - 1];
    if (last && !early(event)) decide(last.decision);
  };
  const search = () => {
    if (tabs.shown() !== "cases") document.querySelector("#tabs a[href='#tab=cases']").click();
    document.getElementById("cases-search").focus();
    document.getElementById("cases-search").select();
  };
  const begin = () => {
    const target = next(null);
    if (target !== null) table.open(target);
  };
  const start = (given, browser) => {
    table = browser;
    let failing = false;
    document.getElementById("review").hidden = false;
    trouble();
    $("note").setAttribute("aria-label", `Note, saved with your decision as ${reviewer}`);
    dialog.addEventListener("case", (event) => {
      const moved = !current || current.place !== event.detail.place;
      if (moved && current && $("note").value.trim()) notes.set(current.place, $("note").value);
      current = event.detail;
      if (moved) { closePanels(); $("note").value = notes.get(current.place) || ""; }
      if (heard !== current.place && !failing) say("");
      show();
      earlier();
      pressed();
      beside(current.place);
    });
    dialog.addEventListener("close", () => { closePanels(); if (current && $("note").value.trim()) notes.set(current.place, $("note").value); });
    dialog.addEventListener("keydown", keys);
    for (const button of buttons()) button.addEventListener("click", (event) => press(button, event));
    for (const button of dialog.querySelectorAll(".cancel")) button.addEventListener("click", () => { closePanels(); body.focus({ preventScroll: true }); });
    $("undo").addEventListener("click", undo);
    $("help").addEventListener("click", () => openPanel("review-keys", $("help")));
    $("again").addEventListener("click", again);
    $("try").addEventListener("click", attempt);
    $("gold").addEventListener("input", () => { drafts.set(current.place, $("gold").value); fit(); if (tried !== null) untried(); });
    $("gold-copy").addEventListener("click", () => {
      $("gold").value = written(current.content.predicted);
      fit();
      untried();
      $("gold").focus();
    });
    $("gold-save").addEventListener("click", (event) => { if (tried !== null && !early(event)) decide("gold_wrong", { gold: tried, repeats: false }); });
    $("gold-none").addEventListener("click", () => decide("gold_wrong"));
    $("ambiguous-save").addEventListener("click", () => decide("ambiguous", { leniency: leniency(), repeats: false }));
    $("go").addEventListener("click", begin);
    document.addEventListener("keydown", (event) => {
      if (event.key !== "r" || event.ctrlKey || event.metaKey || event.altKey || dialog.open || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
      event.preventDefault();
      begin();
    });
    const look = async () => {
      if (document.hidden || busy) return;
      try {
        const told = await ask("/reviews", { since: version });
        if (told.fresh) { location.reload(); return; } // the run has changed, or the server is another one
        absorb(told);
        if (failing) { failing = false; say(""); trouble(); }
      } catch (error) {
        failing = true;
        say(`What you decide now is not saved: ${error.message}.`, true);
        trouble(`What you decide now is not saved: ${error.message}.`);
      }
    };
    setInterval(look, LOOK_MS);
    tell();
    if (begins) {
      const choose = matchMedia("(hover: none), (max-width: 640px)").matches ? "Choose a decision" : "Press a key from 1 to 7, or click";
      say(`Is the verdict right? ${choose}: the next case comes by itself.`, false, next(null));
      begin();
    }
  };
  return { prepare, start, draw };
})();
