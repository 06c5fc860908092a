const ALPHABET = "abcdefghijklmnopqrstuvwxyz123456";

/** The low 32 bits of FNV-1a's 64-bit prime, which is 2^40 + 435. */
const PRIME_LOW = 435;
const TWO_32 = 2 ** 32;

/**
 * The name part that a chunk's content gives it: 13 characters, base32 of the 64-bit FNV-1a hash.
 * In halves of 32 bits: with a bigint a chunk of one megabyte would take a hundred times as long.
 */
export function chunkHash(data: Uint8Array): string {
  let high = 0xcbf29ce4;
  let low = 0x84222325;
  for (const byte of data) {
    low = (low ^ byte) >>> 0;
    const product = low * PRIME_LOW;
    high = (high * PRIME_LOW + Math.floor(product / TWO_32) + ((low << 8) >>> 0)) % TWO_32;
    low = product % TWO_32;
  }
  return base32((BigInt(high) << 32n) | BigInt(low));
}

/** Base32 of a 64-bit number, most significant bits first, the last five bits filled up with a zero. */
function base32(hash: bigint): string {
  let bits = hash << 1n;
  let text = "";
  for (let i = 0; i < 13; i++) {
    text = ALPHABET.charAt(Number(bits & 31n)) + text;
    bits >>= 5n;
  }
  return text;
}
