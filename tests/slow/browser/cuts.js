/* What a reader cannot see of a table at the width that the window has. Read by test_cuts.py. */
() => {
  const cuts = [];
  const shown = (element) => element.checkVisibility({ contentVisibilityAuto: true, visibilityProperty: true }) && !element.closest(".offscreen");
  const text = (element) => `${element.tagName}.${element.className} “${(element.textContent || "").trim().slice(0, 40)}”`;
  for (const box of document.querySelectorAll(".scroll, .cases"))
    if (shown(box) && box.scrollWidth > box.clientWidth + 1) cuts.push(`behind an edge: ${box.scrollWidth} in ${box.clientWidth} ${text(box)}`);
  // A question and a reason are sentences: they end in an ellipsis, and the opened case has them in full.
  const sentence = (element) => element.closest(".question, .why") !== null;
  for (const element of document.querySelectorAll("table :is(th, td), table :is(th, td) *, .cases .head > *, .cases .head > * *, .cases .row > *, .cases .row > * *")) {
    const style = getComputedStyle(element);
    if (!shown(element) || sentence(element) || style.overflowX === "visible") continue;
    if (element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 2) cuts.push(`cut: ${text(element)}`);
  }
  return [...new Set(cuts)];
}
