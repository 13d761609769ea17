"use strict";
/* Small helpers that all parts of the page share. Text from a run is only ever set as text, never as markup. */
const page = (() => {
  const LONGEST = 80; // characters of a link that a message quotes
  /** An element: page.make("td", {class: "n", title: "…"}, "text", child, …). Absent children are left out. */
  const make = (tag, attributes, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : String(value));
    }
    add(element, children);
    return element;
  };
  const add = (element, children) => {
    for (const child of children) {
      if (child === null || child === undefined || child === false) continue;
      if (Array.isArray(child)) add(element, child);
      else if (typeof child === "string" && !AS_IS.has(element.tagName)) element.append(...names(child));
      else element.append(child);
    }
  };
  const AS_IS = new Set(["OPTION", "BUTTON", "TEXTAREA", "PRE", "INS", "DEL", "KBD"]); // no names, or in one line
  /** A text in which a line breaks after the separators of a name only; a piece that is too
      wide for its column ends in an ellipsis, and is shown in full under the pointer. */
  const names = (text) => /[^ \t\n]{13}/.test(text) || UNSPACED.test(text) ? text.split(/([ \t\n]+)/).flatMap(name) : [text];
  const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\uffff]/; // scripts that break between any two characters
  const name = (token) => {
    const ascii = (piece) => /^[\0-\x7f]*$/.test(piece);
    if (UNSPACED.test(token) ? token.length > 32 /* a sentence */ : token.length <= 12 || /^[\d.,:%+()[\]-]+$|^[ \t\n]+$/.test(token)) return [token];
    const pieces = token.match(/[^_./\\:;,=&?#@|-]*[_./\\:;,=&?#@|-]+|[^_./\\:;,=&?#@|-]+/g) || [];
    const drawn = pieces.flatMap((piece, number) => [number ? document.createElement("wbr") : "", ascii(piece) ? piece : whole(piece)]);
    const widest = Math.max(...pieces.map((piece) => [...piece].reduce((width, character) => width + (character > "\u2e7f" ? 2 : 1), 0)));
    if (widest <= (pieces.length === 1 ? 20 : 16)) return drawn;
    const [box, line] = [document.createElement("span"), document.createElement("span")];
    box.className = "nm";
    box.title = token;
    line.append(...drawn);
    box.append(line);
    return [box];
  };
  const whole = (piece) => {
    const element = document.createElement("span");
    element.className = "whole";
    element.append(piece);
    return element;
  };
  /** The same for the text that the page came with. */
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const node of texts) {
    const within = node.parentElement;
    if (within.ownerSVGElement || within.closest("script, style, noscript, h1") || AS_IS.has(within.tagName)) continue;
    const parts = names(node.data);
    if (parts.length > 1 || typeof parts[0] !== "string") node.replaceWith(...parts);
  }
  const count = (number) => number.toLocaleString("en");
  const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

  /** What a link says, as a message quotes it: not at any length. */
  const clipped = (text) => text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
  const quoted = (text) => `“${clipped(text)}”`;

  /** JSON that was packed with gzip and base64. */
  const unpack = async (packed) => {
    const binary = atob(packed);
    const bytes = new Uint8Array(binary.length);
    for (let place = 0; place < binary.length; place += 1) bytes[place] = binary.charCodeAt(place);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return JSON.parse(await new Response(stream).text());
  };

  /** What the page holds: its index, and details that are unpacked when they are first wanted. */
  const load = async () => {
    const packed = JSON.parse(document.getElementById("data").textContent);
    const index = await unpack(packed.index);
    const chunks = packed.chunks.map(() => null);
    const chunk = (number) => {
      if (chunks[number] === null) {
        chunks[number] = unpack(packed.chunks[number]);
        packed.chunks[number] = null;
      }
      return chunks[number];
    };
    const detail = async (place) => (await chunk(Math.floor(place / index.chunk)))[place % index.chunk];
    return { index, detail, chunk, chunks: packed.chunks.length };
  };

  /** A button that puts a text on the clipboard and says so. */
  const copyButton = (text, label) => {
    const button = make("button", { type: "button", class: "copy", "aria-label": label }, "Copy");
    copies(button, () => text);
    return button;
  };
  /** Have a button copy what `text` gives when it is pressed. */
  const copies = (button, text) => {
    const said = button.textContent;
    button.addEventListener("click", async () => {
      let copied = true;
      try {
        await navigator.clipboard.writeText(text());
      } catch {
        copied = copyBySelection(text(), button);
      }
      button.textContent = copied ? "Copied" : "Not allowed here";
      setTimeout(() => { button.textContent = said; }, 1600);
    });
  };
  /** For browsers that keep the clipboard from pages opened from disk. */
  const copyBySelection = (text, beside) => {
    const area = make("textarea", { class: "offscreen", readonly: true, "aria-hidden": "true", tabindex: "-1" });
    area.value = text;
    beside.after(area);
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    beside.focus();
    return copied;
  };
  /* A table that is wider than its box would hide a part of itself behind an edge: its rows become blocks of lines. */
  const widths = new WeakMap();
  const fitted = new ResizeObserver((entries) => {
    for (const { target: box } of entries) {
      if (widths.get(box) === box.clientWidth) continue;
      widths.set(box, box.clientWidth);
      const table = box.querySelector(".stacks");
      table.classList.remove("stacked");
      table.classList.toggle("stacked", box.scrollWidth > box.clientWidth + 1);
    }
  });
  addEventListener("DOMContentLoaded", () => {
    for (const box of document.querySelectorAll(".scroll:has(> .stacks)")) fitted.observe(box);
  });
  return { make, names, unpack, count, plural, clipped, quoted, load, copies, copyButton };
})();
