/** Letters whose case changes a comparison with names in ASCII: `ſ` is an `s`, and the Kelvin sign a `k`; no other letter folds to ASCII. */
const FOLDED = /[A-Z\u017f\u212a]/g;
/** Its capital is I, but it folds to itself. */
const DOTLESS_I = "\u0131";

/**
 * Returns `key` in the form in which encoding/json compares the names of members with names in ASCII: by Unicode's simple case folding.
 * @see https://github.com/golang/go/blob/go1.26.0/src/encoding/json/fold.go
 */
export function foldKey(key: string): string {
  return key.replace(FOLDED, (char) => (char === "\u017f" ? "s" : char === "\u212a" ? "k" : char.toLowerCase()));
}

/**
 * Returns `key` by Unicode's full case folding, in which the loader of catalogs compares the names of top-level members.
 * @see https://pkg.go.dev/golang.org/x/text/cases#Fold
 */
export function foldCase(key: string): string {
  const fold = (part: string): string => part.toUpperCase().toLowerCase().replaceAll("\u03c2", "\u03c3");
  return key.split(DOTLESS_I).map(fold).join(DOTLESS_I);
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
