document.addEventListener("DOMContentLoaded", async () => {
  if (!document.getElementById("data")) return;
  document.getElementById("cases-loading").hidden = false;
  if (typeof DecompressionStream === "undefined") {
    document.getElementById("cases-loading").textContent = "This browser is too old to show the cases: it cannot unpack them. The JSON report has them all.";
    return;
  }
  const held = await page.load();
  document.getElementById("cases-loading").hidden = true;
  const reviewing = typeof review !== "undefined" && await review.prepare(held);
  const open = caseView.start(held, typeof pairView !== "undefined" ? pairView.draw : reviewing ? review.draw : undefined);
  const table = browser.start(held, open);
  if (reviewing) review.start(held, table);
  document.documentElement.dataset.ready = "yes";
});
