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
      else element.append(child);
    }
  };
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
  return { make, unpack, count, plural, clipped, quoted, load, copies, copyButton };
})();
