/* What is wrong with a page at the width that its window has, and every size of its text. Read by test_widths.py. */
() => {
  const wrong = [];
  const say = (what, one) => wrong.push(`${what}: ${one.tagName}#${one.id}.${one.className?.baseVal ?? one.className} ` +
    `“${(one.textContent || "").trim().slice(0, 40)}”`);
  const root = document.scrollingElement;
  if (root.scrollWidth > innerWidth) wrong.push(`the page scrolls sideways: ${root.scrollWidth} in ${innerWidth}`);
  const shown = (one) => one.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true });
  const slides = new Set([...document.querySelectorAll(".scroll, .cases, pre, #cases-columns-list, #case-body")]);
  const within = (one) => { for (let up = one.parentElement; up; up = up.parentElement) if (slides.has(up)) return up; return null; };
  const hidden = (one) => one.closest(".offscreen, .skip, noscript, .tabbed .part > h2, .differences thead, svg, option") !== null;
  const ends = (one) => { // whether it is meant to end in an ellipsis
    for (let up = one; up; up = up.parentElement) if (getComputedStyle(up).textOverflow === "ellipsis") return true;
    return false;
  };
  const boxes = [...document.querySelectorAll(".card, .hero, .tile, .top, .controls")].filter(shown);
  for (const box of boxes) {
    const edge = box.getBoundingClientRect();
    if (edge.right > innerWidth + 1 || edge.left < -1) say("beyond the window", box);
    for (const one of box.querySelectorAll("*")) {
      if (hidden(one) || within(one) || !shown(one)) continue;
      const own = one.getBoundingClientRect();
      const out = own.width && own.height && (own.right > edge.right + 1 || own.left < edge.left - 1);
      if (out && !ends(one)) say(`out of its ${box.className}`, one);
    }
  }
  for (const one of document.querySelectorAll("main *, .top *")) {
    if (hidden(one) || !shown(one)) continue;
    const style = getComputedStyle(one);
    if (one.scrollWidth > one.clientWidth + 1 && one.clientWidth && !slides.has(one) && style.overflowX !== "visible" &&
      style.textOverflow !== "ellipsis" && !["INPUT", "SELECT"].includes(one.tagName)) say("cut", one);
    if (one.tagName === "BUTTON" && !one.closest("dialog, thead")) {
      const range = document.createRange();
      range.selectNodeContents(one);
      const tops = [...range.getClientRects()].filter((rect) => rect.width > 1).map((rect) => rect.top);
      if (tops.length && Math.max(...tops) - Math.min(...tops) > parseFloat(style.fontSize)) say("in two lines", one);
    }
  }
  // What stands beside each other: cards, and the cells of a row.
  const apart = (list) => {
    const edges = list.filter(shown).map((one) => [one, one.getBoundingClientRect()]).filter(([, edge]) => edge.width && edge.height);
    for (let first = 0; first < edges.length; first += 1) {
      for (let second = first + 1; second < edges.length; second += 1) {
        const [one, left] = edges[first];
        const [, right] = edges[second];
        if (Math.min(left.right, right.right) - Math.max(left.left, right.left) > 1.5 &&
          Math.min(left.bottom, right.bottom) - Math.max(left.top, right.top) > 1.5) say("over its neighbour", one);
      }
    }
  };
  apart([...document.querySelectorAll(".card, .hero")].filter((one) => !one.parentElement.closest(".card, .hero")));
  for (const row of document.querySelectorAll("tr, .row, .tiles, .tallies, .top > div, .controls > .line")) if (shown(row)) apart([...row.children]);
  // Text that is wider than its cell would run into the next one.
  for (const cell of document.querySelectorAll("td, th, dd, dt, .tile, .says > *")) {
    if (hidden(cell) || !shown(cell) || cell.querySelector(".offscreen") || ends(cell)) continue;
    const edge = cell.getBoundingClientRect();
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      // A piece of a name ends in an ellipsis, at the edge of its own box.
      const bounds = text.parentElement.closest(".nm")?.getBoundingClientRect();
      const range = document.createRange();
      range.selectNodeContents(text);
      const rects = bounds ? [bounds] : [...range.getClientRects()];
      if (rects.some((rect) => rect.width > 1 && (rect.right > edge.right + 2 || rect.left < edge.left - 2))) { say("text runs out", cell); break; }
    }
  }
  const sizes = {};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const one = node.parentElement;
    if (!node.data.trim() || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(one.tagName) || !shown(one)) continue;
    sizes[getComputedStyle(one).fontSize] ??= `${one.tagName}.${one.className?.baseVal ?? one.className}`;
  }
  return { wrong: [...new Set(wrong)], sizes };
}
