const ASCII = /^[\u0000-\u007f]*$/; // oxlint-disable-line no-control-regex

/** `key` such that keys which differ only in case become equal, by Unicode's full case folding. */
export function foldKey(key: string): string {
  if (ASCII.test(key)) return key.toLowerCase();
  return key.toUpperCase().toLowerCase().replaceAll("ς", "σ");
}

/**
 * The member of `object` named `key`, whatever the case of its letters, as Go's JSON decoder finds fields; the exact name comes first.
 * @param key in ASCII.
 */
export function memberOf(object: Readonly<Record<string, unknown>>, key: string): unknown {
  if (Object.hasOwn(object, key)) return object[key];
  const folded = key.toLowerCase();
  const name = Object.keys(object).find((candidate) => foldKey(candidate) === folded);
  return name === undefined ? undefined : object[name];
}
