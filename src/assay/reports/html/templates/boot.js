document.addEventListener("DOMContentLoaded", async () => {
  if (!document.getElementById("data")) return;
  document.getElementById("cases-loading").hidden = false;
  if (typeof DecompressionStream === "undefined") {
    document.getElementById("cases-loading").textContent = "This browser is too old to show the cases: it cannot unpack them. The JSON report has them all.";
    return;
  }
  const held = await page.load();
  document.getElementById("cases-loading").hidden = true;
  const open = caseView.start(held, typeof pairView === "undefined" ? undefined : pairView.draw);
  browser.start(held, open);
  document.documentElement.dataset.ready = "yes";
});
