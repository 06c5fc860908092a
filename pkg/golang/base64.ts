/** Decodes Go's standard base64: padded, with line ends anywhere; undefined if `text` is invalid. */
export function decodeBase64(text: string): Buffer | undefined {
  const body = /[\r\n]/.test(text) ? text.replace(/[\r\n]/g, "") : text;
  if (body.length % 4 !== 0 || body.includes("-") || body.includes("_")) return undefined;
  const padding = body.endsWith("==") ? 2 : Number(body.endsWith("="));
  const bytes = Buffer.from(body, "base64");
  // Node ignores invalid characters, so a different length means that there are some.
  return bytes.length === (body.length / 4) * 3 - padding ? bytes : undefined;
}

/**
 * Decodes base64 in its only canonical form: padded, without line ends, unused bits zero. Use it
 * for signed data, where two texts must not have the same meaning. @returns undefined otherwise
 */
export function decodeCanonicalBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}
