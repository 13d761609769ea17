"""The scripts read of the data what its schema declares, and nothing else; and no script leaves a declared name unread.

The page's `JSON.parse` is wrapped, so that every read of a property is noted with the way to it from the root. Going
through all entries of an object, as the search of all text does, is no read of a name.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from browser_window import Look

if str(Path(__file__).parents[2] / "reports") not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[2] / "reports"))

from test_payload import schema

_NOTES = """
window.reads = new Set();
const traced = (value, way) => {
  if (value === null || typeof value !== "object") return value;
  const listed = new Set();
  return new Proxy(value, {
    get(target, name, receiver) {
      const found = Reflect.get(target, name, receiver);
      if (typeof name !== "string") return found;
      if (Array.isArray(target)) return /^[0-9]+$/.test(name) ? traced(found, `${way}/*`) : found;
      // A promise asks whether what it is given is one, too.
      if (!listed.delete(name) && name !== "then") window.reads.add(`${way}/${name}`);
      return traced(found, `${way}/${name}`);
    },
    getOwnPropertyDescriptor(target, name) {
      if (!Array.isArray(target)) listed.add(name);
      return Reflect.getOwnPropertyDescriptor(target, name);
    },
  });
};
const parse = JSON.parse;
JSON.parse = (text) => {
  const value = parse(text);
  const root = Array.isArray(value) ? "detail" : value.states ? "index" : "held";
  return root === "detail" ? value.map((one) => traced(one, root)) : traced(value, root);
};
"""
_OPEN_ALL = """async () => {
  const links = [...document.querySelectorAll("#cases-rows .row")].length;
  document.querySelector("#cases-rows .row").click();
  const next = document.getElementById("case-next");
  const turns = () => new Promise((done) => setTimeout(done, 0));
  while (!document.querySelector("dialog#case[open]")) await turns();
  for (let at = 0; at < 500 && document.querySelector("dialog#case[open]"); at += 1) {
    while (document.getElementById("case").dataset.place === undefined) await turns();
    const place = document.getElementById("case").dataset.place;
    if (next.disabled) break;
    next.click();
    while (document.getElementById("case").dataset.place === place) await turns();
  }
  return links;
}"""


def _at(part: dict[str, Any], defs: dict[str, Any], steps: list[str], seen: set[tuple[str, str]]) -> bool:
    """Whether the way leads somewhere in the schema; notes the names that it goes by."""
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        return _at({**defs[name], "named": name}, defs, steps, seen)
    if "anyOf" in part:
        return any(_at(one, defs, steps, seen) for one in part["anyOf"])
    if not steps:
        return True
    if steps[0] == "*":
        inner = part.get("items") or part.get("prefixItems")
        options = inner if isinstance(inner, list) else [inner] if inner else []
        return any(_at(one, defs, steps[1:], seen) for one in options)
    if steps[0] not in part.get("properties", {}):
        return False
    seen.add((part["named"], steps[0]))
    return _at(part["properties"][steps[0]], defs, steps[1:], seen)


def test_the_scripts_read_what_the_schema_declares(
    look: Look, report: Path, witnessed: Path, sdmx: Path, diff: Path, repeated: Path
) -> None:
    declared = schema()
    seen: set[tuple[str, str]] = set()
    pages = {report: "detail", witnessed: "detail", sdmx: "detail", repeated: "detail", diff: "pair"}
    for file, detail in pages.items():
        opened = look(file, ready=False, apart=True)
        opened.page.add_init_script(_NOTES)
        opened.go("#tab=cases")
        for sort in ("id", "metric"):
            opened.page.select_option("#cases-sort", sort)
        opened.page.select_option("#cases-metric", index=1)
        opened.page.fill("#cases-search", "e")
        opened.settle()
        opened.page.fill("#cases-search", "")
        opened.settle()
        assert opened.page.evaluate(_OPEN_ALL) > 0
        reads: list[str] = opened.has("[...window.reads]")
        assert len(reads) > 20
        for read in reads:
            root, *steps = read.split("/")
            part = declared["parts"][detail if root == "detail" else root]
            assert _at(part, declared["$defs"], steps, seen), (
                f"{file.name}: a script reads {read}, which is declared nowhere"
            )
        opened.quiet()
    never = {
        f"{name}.{member}"
        for name, found in declared["$defs"].items()
        for member in found.get("properties", {})
        if (name, member) not in seen
    }
    assert not never, f"declared, and read by no script: {sorted(never)}"
