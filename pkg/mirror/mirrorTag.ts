const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * The tag that an image by digest gets in a mirror: the 32-bit FNV-1a hash of its whole reference, in hexadecimal without leading zeros. The tag keeps the
 * image from being collected as garbage, and is the same in every run.
 * @see requirements S0-109, oc adm catalog mirror
 */
export function mirrorTag(reference: string): string {
  let hash = OFFSET;
  for (const byte of new TextEncoder().encode(reference)) hash = Math.imul(hash ^ byte, PRIME) >>> 0;
  return hash.toString(16);
}
