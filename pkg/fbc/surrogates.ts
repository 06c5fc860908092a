/** An escape of a surrogate: half of a character, or the first part of a whole one. */
const SURROGATE = /\\u[dD][89a-fA-F]/;
/** Every escape of a JSON text; a pair of surrogates is one, so that what is left alone is whole. */
const ESCAPE = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD](?<half>[89a-fA-F])[0-9a-fA-F]{2}|[^])/g;

/**
 * A JSON text with an escape of U+FFFD in place of every escaped half of a character, in names too, as Go's encoding/json reads them.
 * JavaScript would keep the half, which UTF-8 cannot hold: what was rendered, compared and applied would differ from what the API server stores.
 * Positions in the text stay the same.
 * @see https://github.com/golang/go/blob/go1.25.0/src/encoding/json/decode.go unquoteBytes
 */
export function withoutHalves(json: string): string {
  if (!SURROGATE.test(json)) return json;
  return json.replace(ESCAPE, (escape, half: string | undefined) => (half === undefined ? escape : "\\ufffd"));
}
