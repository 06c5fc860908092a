/**
 * Computes the CRC-32 of concatenated texts from their CRC-32 values without reading the texts,
 * with polynomial arithmetic over GF(2) modulo the gzip polynomial and reflected bits.
 * @see https://github.com/madler/zlib/blob/v1.3.1/crc32.c, multmodp
 */
const POLYNOMIAL = 0xedb88320;
/** The polynomial x to the power of 0. */
const ONE = 0x80000000;
/** Supports lengths below 2 to the power of 48. */
const LENGTH_BYTES = 6;

/** Returns the product of two polynomials. */
function product(a: number, b: number): number {
  let sum = 0;
  for (let rest = a | 0, factor = b; rest !== 0; rest <<= 1) {
    if (rest < 0) sum ^= factor;
    factor = (factor >>> 1) ^ (factor & 1 ? POLYNOMIAL : 0);
  }
  return sum >>> 0;
}

/**
 * `TABLE[256 * at + byte]` is x to the power of 8 * byte * 256 ** at: the contribution of `byte` at
 * position `at` of a length in bytes.
 */
const TABLE = shifts();

function shifts(): Uint32Array {
  const table = new Uint32Array(LENGTH_BYTES * 256);
  let one = ONE >>> 8; // next eight bits
  for (let at = 0; at < LENGTH_BYTES; at++) {
    let power = ONE;
    for (let byte = 0; byte < 256; byte++) {
      table[at * 256 + byte] = power;
      power = product(power, one);
    }
    one = power;
  }
  return table;
}

function shiftCrc(crc: number, bytes: number): number {
  let result = crc;
  for (let at = 0, rest = bytes; rest > 0; at += 256, rest = Math.floor(rest / 256)) {
    const digit = rest % 256;
    if (digit !== 0) result = product(TABLE[at + digit] ?? 0, result);
  }
  return result;
}

/**
 * Returns the CRC-32 of a text followed by a section of a file.
 * @param before CRC-32 of the file up to the start of the section. @param after up to its end.
 * @param bytes length of the section, below 2 ** 48.
 */
export function appendCrc32(crc: number, { before, after, bytes }: { before: number; after: number; bytes: number }): number {
  return (shiftCrc(crc ^ before, bytes) ^ after) >>> 0;
}
