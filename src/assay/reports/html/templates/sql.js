/* SQL as a reader sees it: words coloured, clauses told apart, and what differs between two queries marked.
   Nothing is parsed: tokens and the keywords outside parentheses are enough, so that broken queries show too. */
const sql = (() => {
  const TOKEN = /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*(?:'|$))|("(?:[^"]|"")*(?:"|$)|`[^`]*(?:`|$))|(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)|([\p{L}_@#$][\p{L}\p{N}_@#$]*)|(\s+)|(<>|!=|<=|>=|\|\||::|->>?|[\s\S])/gu;
  const KINDS = ["comment", "string", "name", "number", "word", "space", "sign"];
  const KEYWORDS = new Set((
    "ALL AND ANY AS ASC BETWEEN BY CASE CAST COLLATE CROSS CURRENT DATE DESC DISTINCT ELSE END ESCAPE EXCEPT EXISTS FALSE " +
    "FETCH FILTER FIRST FOLLOWING FOR FROM FULL GLOB GROUP HAVING ILIKE IN INNER INTERSECT INTERVAL IS JOIN LAST LATERAL " +
    "LEFT LIKE LIMIT MINUS NATURAL NEXT NOT NULL NULLS OFFSET ON ONLY OR ORDER OUTER OVER PARTITION PRECEDING QUALIFY RANGE " +
    "RECURSIVE RIGHT ROW ROWS SELECT SET SIMILAR SOME TABLE THEN TOP TRUE UNBOUNDED UNION USING VALUES WHEN WHERE WINDOW WITH"
  ).split(" "));
  const CLAUSES = new Map([
    ["WITH", "WITH"], ["SELECT", "SELECT"], ["FROM", "FROM"], ["WHERE", "WHERE"], ["GROUP", "GROUP BY"],
    ["HAVING", "HAVING"], ["WINDOW", "WINDOW"], ["QUALIFY", "QUALIFY"], ["ORDER", "ORDER BY"], ["LIMIT", "LIMIT"],
    ["OFFSET", "OFFSET"], ["FETCH", "FETCH"], ["UNION", "UNION"], ["INTERSECT", "INTERSECT"], ["EXCEPT", "EXCEPT"], ["MINUS", "MINUS"],
  ]);
  const SETS = new Set(["UNION", "INTERSECT", "EXCEPT", "MINUS"]);
  /** Words that begin a clause only before this one: WITHIN GROUP (ORDER BY x) is none. */
  const FOLLOWED = new Map([["GROUP", "BY"], ["ORDER", "BY"]]);
  /** Beyond so many tokens on a side their difference is not looked for. */
  const MOST = 1500;

  /** Beyond so many characters the rest is one plain token: no query may keep the page from answering. */
  const LONGEST = 20000;

  const tokens = (text) => {
    const found = [];
    const open = []; // of each open parenthesis, whether a clause in it is a part of a clause around it
    let depth = 0;
    let starts = true; // whether a query may start here: (SELECT …) UNION (SELECT …) is two, not none
    for (const match of text.slice(0, LONGEST).matchAll(TOKEN)) {
      const kind = KINDS[match.slice(1).findIndex((part) => part !== undefined)];
      const token = { text: match[0], kind, clause: null, differs: false };
      if (kind === "word") {
        const upper = match[0].toUpperCase();
        if (KEYWORDS.has(upper)) token.kind = "keyword";
        if (depth === 0 && CLAUSES.has(upper)) token.clause = CLAUSES.get(upper);
        starts = depth === 0 && (SETS.has(upper) || (starts && (upper === "ALL" || upper === "DISTINCT")));
      } else if (match[0] === "(") {
        open.push(!starts);
        if (!starts) depth += 1;
      } else if (match[0] === ")") {
        if (open.pop()) depth -= 1;
      } else if (meaningful(token)) starts = false;
      found.push(token);
    }
    settle(found);
    nameTables(found);
    if (text.length > LONGEST) found.push({ text: text.slice(LONGEST), kind: "word", key: "", clause: null, differs: false });
    return found;
  };
  /** Take back the clauses that are none, now that the words beside them are known. */
  const settle = (list) => {
    const words = list.filter((token) => token.kind !== "space" && token.kind !== "comment");
    const upper = (place) => place < 0 || place >= words.length ? "" : words[place].text.toUpperCase();
    words.forEach((token, place) => {
      if (token.clause === null) return;
      const [before, word, after] = [upper(place - 1), upper(place), upper(place + 1)];
      const isName = before === "." || after === "." || before === "AS" && word !== "SELECT" && word !== "WITH";
      const begun = FOLLOWED.has(word) && after !== FOLLOWED.get(word);
      const distinctFrom = word === "FROM" && before === "DISTINCT" && ["IS", "NOT"].includes(upper(place - 2));
      const trailing = word === "WITH" && (after === "TIES" || after === "ORDINALITY" || after === "TIME");
      if (isName || begun || distinctFrom || trailing) token.clause = null;
      if (isName) token.kind = "word";
    });
  };
  const meaningful = (token) => token.kind !== "space" && token.kind !== "comment" && token.text !== ";";
  /** What a token is for a comparison: words in one letter case, a quoted name as its plain word. */
  const key = (token) => {
    if (token.kind === "string" || token.kind === "number" || token.kind === "sign") return token.text === "!=" ? "<>" : token.text;
    const bare = token.kind === "name" ? token.text.slice(1, -1) : token.text;
    return bare.toLowerCase();
  };
  /** Give each token its key, and each alias before a dot that of its table: systems number aliases as they please.
      An alias of several tables keeps its name, as do the aliases of a table that has several. */
  const nameTables = (list) => {
    list.forEach((token) => { token.key = key(token); });
    const words = list.filter(meaningful);
    const named = (token) => token !== undefined && (token.kind === "word" || token.kind === "name");
    const at = (place) => place < words.length ? words[place].key : "";
    const tables = new Map();
    const aliases = new Map();
    const add = (map, from, to) => { if (map.has(from)) map.get(from).add(to); else map.set(from, new Set([to])); };
    words.forEach((token, start) => {
      if (!["from", "join", ","].includes(token.key) || token.kind !== "keyword" && token.kind !== "sign") return;
      let place = start + (at(start + 2) === "." ? 3 : 1);
      if (!named(words[place])) return;
      const table = words[place].key;
      place += at(place + 1) === "as" ? 2 : 1;
      const alias = named(words[place]) ? words[place].key : table;
      add(tables, alias, table);
      add(aliases, table, alias);
    });
    words.forEach((token, place) => {
      const found = at(place + 1) === "." && named(token) ? tables.get(token.key) : undefined;
      if (found === undefined || found.size !== 1) return;
      const [table] = found;
      if (aliases.get(table).size === 1) token.key = table;
    });
  };
  /** The keys of one side's tokens. SQLite and MySQL take "France" for a text: so it is where the other side writes 'France'. */
  const keys = (list, others) => {
    const texts = new Set(others.filter((token) => token.kind === "string").map((token) => token.text.slice(1, -1)));
    return list.map((token) => token.kind === "name" && token.text[0] === '"' && texts.has(token.text.slice(1, -1))
      ? `'${token.text.slice(1, -1)}'` : token.key);
  };
  /** The clauses in their order, each with its tokens; what stands before the first one is a clause without a name. */
  const clauses = (list) => {
    const found = [];
    for (const token of list) {
      if (token.clause !== null || found.length === 0) found.push({ name: token.clause || "", tokens: [] });
      found[found.length - 1].tokens.push(token);
    }
    return found.filter((clause) => clause.tokens.some(meaningful));
  };
  /** Pairs of places in the longest common subsequence of two lists of keys. */
  const common = (left, right) => {
    const width = right.length + 1;
    const lengths = new Uint32Array((left.length + 1) * width);
    for (let i = left.length - 1; i >= 0; i -= 1) {
      for (let j = right.length - 1; j >= 0; j -= 1) {
        lengths[i * width + j] = left[i] === right[j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
      }
    }
    const pairs = [];
    let i = 0;
    let j = 0;
    while (i < left.length && j < right.length) {
      if (left[i] === right[j]) { pairs.push([i, j]); i += 1; j += 1; }
      else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i += 1;
      else j += 1;
    }
    return pairs;
  };
  /** Mark what differs between two queries, clause by clause, and say what became of each clause. Nothing is marked in
      the clauses that are known to say the same, such as a FROM whose aliases are swapped, unless nothing else differs. */
  const compare = (gold, predicted, alike = []) => {
    const found = marked(gold, predicted, alike);
    return alike.length && found.clauses.every((clause) => clause.state === "same") ? marked(gold, predicted, []) : found;
  };
  const marked = (gold, predicted, alike) => {
    const left = tokens(gold);
    const right = tokens(predicted);
    if (left.length > MOST || right.length > MOST) return { gold: left, predicted: right, clauses: [] };
    const ours = clauses(left);
    const theirs = clauses(right);
    const pairs = common(ours.map((clause) => clause.name), theirs.map((clause) => clause.name));
    const pairedOurs = new Map(pairs);
    const pairedTheirs = new Set(pairs.map((pair) => pair[1]));
    const said = [];
    let next = 0;
    const tellAdded = (until) => {
      for (; next < until; next += 1) {
        if (pairedTheirs.has(next)) continue;
        theirs[next].tokens.filter(meaningful).forEach((token) => { token.differs = true; });
        said.push({ name: theirs[next].name, state: "predicted" });
      }
    };
    ours.forEach((clause, place) => {
      const other = pairedOurs.get(place);
      if (other === undefined) {
        clause.tokens.filter(meaningful).forEach((token) => { token.differs = true; });
        said.push({ name: clause.name, state: "gold" });
        return;
      }
      tellAdded(other);
      next = other + 1;
      const differs = !alike.includes(clause.name) && markClause(clause.name, clause.tokens, theirs[other].tokens);
      said.push({ name: clause.name, state: differs ? "differs" : "same" });
    });
    tellAdded(theirs.length);
    return { gold: left, predicted: right, clauses: said };
  };
  /** Words between the pieces of a clause that may stand in any order. */
  const BETWEEN_PIECES = { WHERE: "AND", HAVING: "AND", "GROUP BY": "," };
  /** The pieces of such a clause, each a list of tokens; null where their order may say something, as beside OR. */
  const pieces = (name, list) => {
    const word = BETWEEN_PIECES[name];
    if (!word) return null;
    const found = [[]];
    let depth = 0;
    let ranges = 0; // the AND of a BETWEEN parts nothing
    for (const token of list) {
      const text = token.kind === "keyword" || token.kind === "word" || token.kind === "sign" ? token.text.toUpperCase() : "";
      if (token.clause !== null || (name === "GROUP BY" && text === "BY" && depth === 0)) continue;
      if (text === "(" || text === "CASE") depth += 1;
      if (text === ")" || text === "END") depth -= 1;
      if (depth === 0 && text === "OR") return null;
      if (depth === 0 && text === "BETWEEN") ranges += 1;
      if (depth === 0 && text === word && ranges === 0) { found.push([]); continue; }
      if (depth === 0 && text === "AND" && ranges > 0) ranges -= 1;
      found[found.length - 1].push(token);
    }
    return found.filter((piece) => piece.length);
  };
  /** Mark a clause that both have: conditions as sets, each beside the one that it has most in common with. */
  const markClause = (name, ours, theirs) => {
    const [left, right] = [ours.filter(meaningful), theirs.filter(meaningful)];
    const [mine, other] = [pieces(name, left), pieces(name, right)];
    if (!mine || !other || mine.length * other.length > 400) return markTokens(ours, theirs);
    const likeness = [];
    mine.forEach((piece, i) => other.forEach((beside, j) => {
      const shared = common(keys(piece, beside), keys(beside, piece)).length;
      likeness.push([(2 * shared) / (piece.length + beside.length), i, j]);
    }));
    likeness.sort((one, two) => two[0] - one[0] || one[1] - two[1] || one[2] - two[2]);
    const [taken, given] = [new Set(), new Set()];
    let differs = false;
    for (const [share, i, j] of likeness) {
      if (share === 0 || taken.has(i) || given.has(j)) continue;
      taken.add(i);
      given.add(j);
      differs = markTokens(mine[i], other[j]) || differs;
    }
    const alone = [...mine.filter((_, i) => !taken.has(i)), ...other.filter((_, j) => !given.has(j))];
    alone.flat().forEach((token) => { token.differs = true; });
    return differs || alone.length > 0;
  };
  const markTokens = (ours, theirs) => {
    const left = ours.filter(meaningful);
    const right = theirs.filter(meaningful);
    const pairs = common(keys(left, right), keys(right, left));
    const keptLeft = new Set(pairs.map((pair) => pair[0]));
    const keptRight = new Set(pairs.map((pair) => pair[1]));
    left.forEach((token, place) => { token.differs = !keptLeft.has(place); });
    right.forEach((token, place) => { token.differs = !keptRight.has(place); });
    return keptLeft.size < left.length || keptRight.size < right.length;
  };
  const ONLY = { del: "only in the gold query", ins: "only in the prediction" };
  /** The query as elements. One without line breaks gets one before each clause, to be read. */
  const draw = (list, tag) => {
    const code = page.make("code", {});
    const wraps = !list.some((token) => token.kind === "space" && token.text.includes("\n"));
    let first = true;
    list.forEach((token, place) => {
      const next = list[place + 1];
      if (wraps && token.kind === "space" && next && next.clause !== null && !first) {
        code.append("\n");
        return;
      }
      if (token.kind !== "space") first = false;
      const drawn = token.kind === "space" || (token.kind === "sign" || token.kind === "word") && !token.differs
        ? token.text
        : page.make(token.differs ? tag : "span", { class: `sql-${token.kind}`, title: token.differs ? ONLY[tag] : null }, token.text);
      code.append(drawn);
    });
    return code;
  };
  return { tokens, compare, draw };
})();
