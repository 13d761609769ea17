/* The parts of a page: one is shown at a time, and the address says which. Without this script they all stand there,
   one after the other. */
const tabs = (() => {
  const nameOf = (part) => part.id.slice("tab=".length);
  const parts = new Map([...document.querySelectorAll("main > .part")].map((part) => [nameOf(part), part]));
  const links = [...document.querySelectorAll("#tabs a")];
  const bar = document.querySelector(".top");
  const notices = document.getElementById("notice");
  const first = parts.keys().next().value;
  const scrolled = new Map(); // how far each part was scrolled when it was left
  const heard = [];
  let shown = null;
  let fresh = false; // whether a link of the page leads on, not a step back or forth

  const told = () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  /** The part that an address means which does not name one: whatever it says else is of the cases. */
  const implied = (parameters) => [...parameters.keys()].some((name) => name !== "tab") ? "cases" : first;
  /** The element that an address without parameters names. */
  const anchor = () => {
    const hash = location.hash.slice(1);
    if (!hash || hash.includes("=")) return null;
    let id = hash;
    try { id = decodeURIComponent(hash); } catch { /* no address of ours */ }
    return document.getElementById(id);
  };
  const asked = () => {
    const part = anchor() && anchor().closest("main > .part");
    if (part) return nameOf(part);
    const name = told().get("tab");
    return parts.has(name) ? name : implied(told());
  };
  /** Parameters as an address, with the part that is shown where they do not imply it. */
  const address = (parameters, name = shown) => {
    parameters.delete("tab");
    if (name !== implied(parameters)) parameters.set("tab", name);
    return "#" + parameters.toString().replaceAll("+", "%20");
  };
  const show = (name) => {
    if (name === shown) return false;
    if (shown !== null) scrolled.set(shown, scrollY);
    for (const [own, part] of parts) {
      // The browser's own search finds what is hidden, and has it shown.
      if (own === name) part.removeAttribute("hidden");
      else part.setAttribute("hidden", "onbeforematch" in part ? "until-found" : "");
    }
    for (const link of links) {
      if (link.hash === `#tab=${name}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    shown = name;
    for (const one of heard) one(name);
    return true;
  };
  const follow = () => {
    const changed = show(asked());
    const target = anchor();
    if (target) target.scrollIntoView();
    else if (changed) scrollTo(0, fresh ? 0 : scrolled.get(shown) || 0);
    fresh = false;
  };
  const notice = (text) => {
    if (notices.textContent !== text) notices.replaceChildren(...page.names(text));
    notices.hidden = !text;
  };
  const unknown = () => {
    const hash = location.hash.slice(1);
    if (hash && !hash.includes("=")) notice(anchor() ? "" : `This page has nothing that is called ${page.quoted(hash)}.`);
  };

  const start = () => {
    document.documentElement.classList.add("tabbed");
    for (const link of links) {
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
        event.preventDefault();
        const parameters = told();
        parameters.delete("case");
        const name = link.hash.slice("#tab=".length);
        const next = address(parameters, name);
        if (next !== (location.hash || "#")) history.pushState(null, "", next);
        notice("");
        if (!show(name)) scrollTo(0, 0);
        else scrollTo(0, scrolled.get(name) || 0);
      });
    }
    document.addEventListener("click", (event) => { fresh = Boolean(event.target.closest && event.target.closest("main a[href^='#']")); }, true);
    document.querySelector(".skip").addEventListener("click", (event) => {
      event.preventDefault(); // the address has better to say
      document.getElementById("main").focus();
    });
    for (const [name, part] of parts) {
      part.addEventListener("beforematch", () => {
        show(name);
        history.replaceState(null, "", address(told()));
      });
    }
    const measure = () => document.documentElement.style.setProperty("--top", `${bar.offsetHeight}px`);
    addEventListener("resize", measure);
    for (const event of ["hashchange", "popstate"]) addEventListener(event, () => { follow(); unknown(); });
    measure();
    follow();
    unknown();
  };
  if (links.length) start();
  return { address, notice, told, has: (name) => parts.has(name), shown: () => shown, covered: () => bar.getBoundingClientRect().bottom, heard: (one) => heard.push(one) };
})();
