import { crc32, deflateSync } from "node:zlib";

/** An icon of a package, as in a catalog. */
export interface Icon {
  readonly mediatype: string;
  readonly base64data: string;
}

const SIZE = 64;
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const WHITE = [255, 255, 255];

/** Creates an SVG icon: two letters on a rounded square of this colour. */
export function createSvgIcon(letters: string, colour: string): Icon {
  return toSvgIcon(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="12" fill="${colour}"/>` +
      `<text x="32" y="43" font-family="sans-serif" font-size="30" font-weight="700" text-anchor="middle" fill="#fff">${letters}</text></svg>`,
  );
}

/** Creates an icon from the text of an SVG image. */
export function toSvgIcon(text: string): Icon {
  return { mediatype: "image/svg+xml", base64data: Buffer.from(text).toString("base64") };
}

/** Creates a PNG icon of 64 by 64 pixels: a white ring on a disc of this colour, such as "#3b82f6". The corners are transparent. */
export function createPngIcon(colour: string): Icon {
  const disc = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
  const rows = Array.from({ length: SIZE }, (_, y) =>
    Buffer.from([0, ...Array.from({ length: SIZE }, (_, x) => paint(x, y, disc)).flat()]),
  );
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIZE, 0);
  header.writeUInt32BE(SIZE, 4);
  header.set([8, 6, 0, 0, 0], 8); // eight bits for each of red, green, blue and alpha
  const chunks = [toChunk("IHDR", header), toChunk("IDAT", deflateSync(Buffer.concat(rows))), toChunk("IEND", Buffer.alloc(0))];
  return { mediatype: "image/png", base64data: Buffer.concat([SIGNATURE, ...chunks]).toString("base64") };
}

/** Returns red, green, blue and alpha of a pixel. */
function paint(x: number, y: number, disc: readonly number[]): number[] {
  const distance = Math.hypot(x - SIZE / 2 + 0.5, y - SIZE / 2 + 0.5);
  if (distance > SIZE / 2) return [0, 0, 0, 0];
  return [...(distance > 11 && distance < 18 ? WHITE : disc), 255];
}

function toChunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const checksum = Buffer.alloc(4);
  checksum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, checksum]);
}
