/* state: the counts beside the filters, and what each of them says. */
(() => ({
  states: Object.fromEntries([...document.querySelectorAll("#cases-states button")].map((one) => [one.dataset.state, one.querySelector(".number").textContent])),
  facets: Object.fromEntries([...document.querySelectorAll("#cases-facets select[data-facet]")].map((one) => [one.dataset.facet, {
    label: one.getAttribute("aria-label"),
    shown: one.selectedOptions[0].textContent,
    counts: Object.fromEntries([...one.options].slice(1).map((option) => [option.value, option.textContent])),
  }])),
}))()
/* cut: the filters that are too narrow for their text. */
[...document.querySelectorAll("#cases-controls select")].filter((one) => one.checkVisibility()).flatMap((one) => {
  const text = document.createElement("span");
  const style = getComputedStyle(one);
  text.style.font = style.font;
  text.style.position = "absolute";
  text.style.whiteSpace = "pre";
  text.textContent = one.selectedOptions[0].textContent;
  document.body.append(text);
  const room = one.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  const wide = text.getBoundingClientRect().width;
  text.remove();
  return wide > room + 1 ? [`${one.id || one.dataset.facet}: ${one.selectedOptions[0].textContent} takes ${wide} of ${room}`] : [];
})
/* shown: what the filters say. */
[...document.querySelectorAll("#cases-controls select")].map((one) => one.selectedOptions[0].textContent)
/* figures: whether place, name and figure of each run are within the ranking's card, and whether it scrolls sideways. */
(() => [[...document.querySelectorAll("#ranking tbody tr")].map((row) => ["th", "td:nth-child(4)", "td.number"].map((cell) => {
  const box = row.querySelector(cell).getBoundingClientRect();
  const card = row.closest(".card").getBoundingClientRect();
  return [box.left >= card.left, box.right <= Math.min(card.right, innerWidth), box.width > 0, row.querySelector(cell).innerText];
})), document.querySelector("#ranking .scroll").scrollWidth > document.querySelector("#ranking .scroll").clientWidth + 1])()
