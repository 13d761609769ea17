"""The documents' pictures, made of the bundled sample:  python scripts/pictures.py [FOLDER]

Runs `assay demo` in a temporary folder, opens its report and its review page in a headless Chromium and writes each
picture into docs/images, or the folder named. Needs Playwright (the extra `dev`) and a Chromium on the path; without
either it ends with status 3.
"""

from __future__ import annotations

import base64
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("chromium", "chromium-browser", "google-chrome")
WITHOUT_BROWSER = 3
PATIENCE_MS = 300_000
"""For a machine that is busy with other work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """One picture: what part of the address shows it, and in what window."""

    name: str
    address: str = ""
    width: int = 1240
    height: int = 720
    reviewing: bool = False
    """Whether it shows the page of `assay review`."""
    keys: tuple[str, ...] = ()
    """What is pressed before."""
    text: tuple[str, str] | None = None
    """Then a field, and what is written into it."""
    until: str = ""
    """What is there when it is to be taken, after a last Ctrl+Enter."""


PICTURES = (
    Picture(name="report"),
    Picture(name="case", address="#case=kq-03", height=860),
    Picture(name="review", address="#case=kq-04", height=800, reviewing=True),
    Picture(
        name="review-gold",
        address="#case=kq-12",
        height=800,
        reviewing=True,
        keys=("4",),
        text=(
            "#review-gold",
            "SELECT name\nFROM products\nWHERE price_cents = (SELECT MAX(price_cents) FROM products)",
        ),
        until="#review-gold-save:not([hidden])",
    ),
)


# A key decides only about what has been visible for a quarter of a second.
_SEEN = """
() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 500))))
"""

# The browser itself counts the colours: each pixel gets the nearest of the 256 that occur most.
_INDEXED = """
async (source) => {
  const image = await createImageBitmap(await (await fetch("data:image/png;base64," + source)).blob());
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(context.getImageData(0, 0, image.width, image.height).data.buffer);
  const counts = new Map();
  for (const one of pixels) counts.set(one, (counts.get(one) || 0) + 1);
  const palette = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || a - b).slice(0, 256);
  const parts = (colour) => [colour & 255, (colour >> 8) & 255, (colour >> 16) & 255];
  const known = palette.map(parts);
  const place = new Map(palette.map((colour, at) => [colour, at]));
  const nearest = (colour) => {
    const [r, g, b] = parts(colour);
    let best = 0, least = Infinity;
    known.forEach(([x, y, z], at) => {
      const far = (r - x) ** 2 + (g - y) ** 2 + (b - z) ** 2;
      if (far < least) [best, least] = [at, far];
    });
    return best;
  };
  for (const one of counts.keys()) if (!place.has(one)) place.set(one, nearest(one));
  const indexes = Uint8Array.from(pixels, (one) => place.get(one));
  let text = "";
  for (let at = 0; at < indexes.length; at += 32768) text += String.fromCharCode(...indexes.subarray(at, at + 32768));
  return [image.width, image.height, known.flat(), btoa(text)];
}
"""


def lighter(page: Page, png: bytes) -> bytes:
    """The same picture as a PNG of at most 256 colours, a third as heavy."""
    width, height, palette, packed = page.evaluate(_INDEXED, base64.b64encode(png).decode())
    indexes = base64.b64decode(packed)
    rows = b"".join(b"\0" + indexes[at : at + width] for at in range(0, width * height, width))
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", header), (b"PLTE", bytes(palette)), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )


def make_pictures(folder: Path) -> list[Path]:
    """Write the pictures and return their paths. Raises LookupError where no browser is at hand."""
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise LookupError("Playwright is not installed: python -m pip install -e '.[dev]'") from error
    if browser is None:
        raise LookupError(f"none of {', '.join(NAMES)} is on the path")
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    with ExitStack() as stack:
        work = stack.enter_context(tempfile.TemporaryDirectory())
        playwright = stack.enter_context(sync_playwright())
        subprocess.run([sys.executable, "-m", "assay", "demo"], cwd=work, check=True, stdout=subprocess.DEVNULL)
        page_address = (Path(work) / "assay-demo" / "report.html").as_uri()
        command = [sys.executable, "-m", "assay", "review", "assay-demo/run", "--no-browser", "--reviewer", "Ana"]
        server = subprocess.Popen(
            command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8"
        )
        stack.enter_context(server)
        stack.callback(server.kill)
        assert server.stdout is not None
        review_address = server.stdout.readline().strip()
        started = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"], timeout=PATIENCE_MS)
        for one in PICTURES:
            context = started.new_context(
                viewport={"width": one.width, "height": one.height},
                device_scale_factor=1.5,
                color_scheme="light",
                reduced_motion="reduce",
            )
            context.set_default_timeout(PATIENCE_MS)
            page = context.new_page()
            page.goto(review_address if one.reviewing else page_address + one.address)
            page.wait_for_selector("html[data-searchable=all]", state="attached")
            if one.reviewing:
                page.evaluate("(address) => { location.hash = address; }", one.address)
            if "case=" in one.address:
                page.wait_for_selector("dialog#case[open]")
                page.wait_for_function(
                    "(id) => document.querySelector('#case-title .quiet').textContent === id",
                    arg=one.address.partition("=")[2],
                )
            if one.keys:
                page.evaluate(_SEEN)
            for key in one.keys:
                page.keyboard.press(key)
            if one.text is not None:
                page.fill(*one.text)
            if one.until:
                page.keyboard.press("Control+Enter")
                page.wait_for_selector(one.until)
            shown = page.screenshot()
            page.goto("about:blank")
            (folder / f"{one.name}.png").write_bytes(lighter(page, shown))
            made.append(folder / f"{one.name}.png")
            context.close()
        started.close()
    return made


def main() -> int:
    """Make them, and say where they are."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images"
    try:
        made = make_pictures(folder)
    except LookupError as error:
        print(f"pictures: {error}", file=sys.stderr)
        return WITHOUT_BROWSER
    for path in made:
        print(f"{path}: {path.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
