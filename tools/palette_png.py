"""A PNG of few colours, as small as a picture in a README should be. The pixels are counted by the browser."""

import base64
import struct
import zlib
from pathlib import Path

from playwright.sync_api import Page

# The most frequent colours, each as it is; every other one becomes the nearest of them.
_COUNT = """async ([png, height, most]) => {
  const image = await createImageBitmap(await (await fetch(png)).blob());
  const canvas = new OffscreenCanvas(image.width, Math.min(image.height, height));
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  const pixels = new Uint32Array(data.length / 4);
  const counts = new Map();
  for (let at = 0; at < pixels.length; at++) {
    pixels[at] = data[4 * at] << 16 | data[4 * at + 1] << 8 | data[4 * at + 2];
    counts.set(pixels[at], (counts.get(pixels[at]) ?? 0) + 1);
  }
  const palette = [...counts].sort((one, other) => other[1] - one[1]).slice(0, most).map(([colour]) => colour);
  const apart = (one, other) => [16, 8, 0].reduce((sum, by) => sum + ((one >> by & 255) - (other >> by & 255)) ** 2, 0);
  const nearest = new Map(palette.map((colour, index) => [colour, index]));
  for (const colour of counts.keys()) {
    if (nearest.has(colour)) continue;
    let best = 0;
    for (let index = 1; index < palette.length; index++) if (apart(colour, palette[index]) < apart(colour, palette[best])) best = index;
    nearest.set(colour, best);
  }
  let indices = "";
  for (const colour of pixels) indices += String.fromCharCode(nearest.get(colour));
  return { width: canvas.width, height: canvas.height, palette, indices: btoa(indices) };
}"""


def write_palette_png(page: Page, source: Path, target: Path, *, height: int, colours: int) -> None:
    """The upper `height` pixels of a picture. `page` must be one whose policy lets it read data: URLs."""
    png = f"data:image/png;base64,{base64.b64encode(source.read_bytes()).decode()}"
    found = page.evaluate(_COUNT, [png, height, colours])
    target.write_bytes(
        encode(found["width"], found["height"], found["palette"], base64.b64decode(found["indices"]))
    )


def encode(width: int, height: int, palette: list[int], indices: bytes) -> bytes:
    """Source: PNG (third edition), 5.6 and 11.2."""
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    rows = b"".join(b"\0" + indices[row * width : (row + 1) * width] for row in range(height))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            _chunk(b"IHDR", header),
            _chunk(b"PLTE", b"".join(colour.to_bytes(3, "big") for colour in palette)),
            _chunk(b"IDAT", zlib.compress(rows, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
