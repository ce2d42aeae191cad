// PNG files, as far as they are needed here: written from pixels, and made small by a palette.

import { crc32, deflateSync, inflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
const TRUE_COLOUR = 2;
const INDEXED = 3;

/** Pixels of three bytes each, row by row. */
export type Picture = { width: number; height: number; pixels: Buffer };

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

/** Rows of bytes, none of them filtered. */
function file({ width, height }: Picture, kind: number, rows: Buffer, more: Buffer[] = []): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, kind], 8);
  const stride = rows.length / height;
  const lines = Buffer.alloc(rows.length + height);
  for (let y = 0; y < height; y += 1) rows.copy(lines, y * (stride + 1) + 1, y * stride, (y + 1) * stride);
  return Buffer.concat([SIGNATURE, chunk('IHDR', head), ...more, chunk('IDAT', deflateSync(lines, { level: 9, memLevel: 9 })), chunk('IEND', Buffer.alloc(0))]);
}

export const written = (picture: Picture): Buffer => file(picture, TRUE_COLOUR, picture.pixels);

/** The pixels of a file as Chromium writes it: eight bits a colour, no transparency, not interlaced. */
export function read(png: Buffer): Picture {
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  if (png[25] !== TRUE_COLOUR) throw new Error('not a picture in true colour');
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const lines = inflateSync(Buffer.concat(data));
  const stride = width * 3;
  const pixels = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = lines[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x += 1) {
      const left = x < 3 ? 0 : (pixels[y * stride + x - 3] ?? 0);
      const above = y === 0 ? 0 : (pixels[(y - 1) * stride + x] ?? 0);
      const corner = x < 3 || y === 0 ? 0 : (pixels[(y - 1) * stride + x - 3] ?? 0);
      const guess = [0, left, above, (left + above) >> 1, nearest(left, above, corner)][filter] ?? 0;
      pixels[y * stride + x] = ((lines[y * (stride + 1) + 1 + x] ?? 0) + guess) & 255;
    }
  }
  return { width, height, pixels };
}

function nearest(left: number, above: number, corner: number): number {
  const sum = left + above - corner;
  const [a, b, c] = [Math.abs(sum - left), Math.abs(sum - above), Math.abs(sum - corner)];
  return a <= b && a <= c ? left : b <= c ? above : corner;
}

/** The same picture with 256 colours: a third of the size, for pages that are mostly text. */
export function smaller(png: Buffer): Buffer {
  const picture = read(png);
  const colour = (at: number) => picture.pixels.readUIntBE(at * 3, 3);
  const count = picture.width * picture.height;
  const uses = new Map<number, number>();
  for (let at = 0; at < count; at += 1) uses.set(colour(at), (uses.get(colour(at)) ?? 0) + 1);
  // One after the other, the colour that is missed most: by how often it is used, and how far it is from those there are.
  const left = [...uses].map(([one, used]) => ({ one, used, away: Infinity, place: 0 }));
  const palette: number[] = [];
  while (palette.length < 256) {
    const next = left.reduce((best, other) => (other.used * other.away > best.used * best.away ? other : best));
    if (next.away === 0) break;
    for (const other of left) {
      const away = apart(other.one, next.one);
      if (away < other.away) Object.assign(other, { away, place: palette.length });
    }
    palette.push(next.one);
  }
  const places = new Map(left.map(({ one, place }) => [one, place]));
  const rows = Buffer.from(Array.from({ length: count }, (_, at) => places.get(colour(at)) ?? 0));
  const colours = Buffer.concat(palette.map((one) => Buffer.from([one >> 16, (one >> 8) & 255, one & 255])));
  return file(picture, INDEXED, rows, [chunk('PLTE', colours)]);
}

function apart(one: number, other: number): number {
  return ((one >> 16) - (other >> 16)) ** 2 + (((one >> 8) & 255) - ((other >> 8) & 255)) ** 2 + ((one & 255) - (other & 255)) ** 2;
}
