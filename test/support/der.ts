/** Encodes a DER element. @param tag first byte */
export function encodeDer(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const size = Buffer.from(body.length.toString(16).padStart(body.length > 0xff ? 4 : 2, "0"), "hex");
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length]), size, body]);
}

/** Encodes an object identifier. */
export function encodeOid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const digits = [part & 0x7f];
    for (let left = part >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80);
    bytes.push(...digits);
  }
  return encodeDer(0x06, Buffer.from(bytes));
}

/** Tags of DER elements. */
export const TAG = { integer: 0x02, octets: 0x04, utf8: 0x0c, time: 0x18, sequence: 0x30, set: 0x31, context: (n: number) => 0xa0 | n };
