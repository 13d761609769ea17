/* The names that a page breaks in their middle, cuts without an ellipsis, or ellipsizes without their full text in a
   title. A line may break after a separator. Read by test_names.py, which gives the names. */
(names) => {
  const wrong = new Set();
  const SEPARATOR = /[_./\\:;,=&?#@|\s-]/;
  const shown = (one) => one.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true });
  const hidden = (one) => { // for readers aloud only
    for (let up = one; up; up = up.parentElement) if (getComputedStyle(up).clipPath !== "none") return true;
    return false;
  };
  const blocks = [...document.querySelectorAll("body *")].filter((one) => shown(one) && !one.closest("svg, script, style, noscript, select, textarea, .offscreen") && !hidden(one));
  for (const one of blocks) {
    // A block whose own text, or that of the inline elements in it, holds a name.
    const texts = [];
    const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) texts.push(walker.currentNode);
    const text = texts.map((node) => node.data).join("");
    if (getComputedStyle(one).display.startsWith("inline") && one.parentElement !== document.body) continue;
    if (texts.length > 400 || [...one.children].some((child) => !getComputedStyle(child).display.startsWith("inline") && names.some((name) => child.textContent.includes(name)))) continue;
    const at = (offset) => {
      for (const node of texts) {
        if (offset < node.data.length) return [node, offset];
        offset -= node.data.length;
      }
      return null;
    };
    const boxOf = (offset) => {
      const [node, own] = at(offset);
      const range = document.createRange();
      range.setStart(node, own);
      range.setEnd(node, own + 1);
      return [...range.getClientRects()].find((rect) => rect.width > 0) || null;
    };
    for (const name of names) {
      for (let start = text.indexOf(name); start >= 0; start = text.indexOf(name, start + name.length)) {
        let before = null;
        for (let offset = start; offset < start + name.length; offset += 1) {
          const box = boxOf(offset);
          if (box === null) continue; // the second half of a surrogate pair, or a blank at the end of a line
          if (before !== null && box.top >= before.bottom - 2 && !SEPARATOR.test(text[offset - 1])) {
            wrong.add(`broken: ${name} before “${text.slice(offset, offset + 8)}” in ${one.tagName}.${one.className} of ${one.closest("[id]")?.id}`);
            break;
          }
          before = box;
        }
        // Cut: a part of it lies outside of an element that hides what overflows.
        for (let up = at(start)[0].parentElement; up && up !== document.body; up = up.parentElement) {
          const style = getComputedStyle(up);
          if (style.overflowX !== "hidden" || up.scrollWidth <= up.clientWidth + 1) continue;
          const edge = up.getBoundingClientRect();
          const ends = [boxOf(start), boxOf(start + name.length - 1)].filter(Boolean);
          if (ends.every((box) => box.right <= edge.right + 1)) continue;
          if (style.textOverflow !== "ellipsis") { wrong.add(`cut: ${name} in ${up.tagName}.${up.className}`); break; }
          let titled = false;
          for (let holder = at(start)[0].parentElement; holder; holder = holder.parentElement) titled ||= (holder.title || "").includes(name);
          if (!titled) wrong.add(`no title: ${name} in ${up.tagName}.${up.className} of ${up.closest("[id]")?.id}`);
        }
      }
    }
  }
  return [...wrong];
}
