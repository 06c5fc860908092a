import * as fc from "fast-check";
import { expect, test } from "vitest";
import { HIDDEN, HiddenTexts } from "./redaction.ts";

const LONG = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAAOCAQ8AMIIBCgKCAQEAu1SU1L7V\n-----END KEY-----\n";

// Source: O-05 (values are never shown).
test.for<[why: string, texts: string[], text: string, shown: string]>([
  ["nothing without values", [], "a text", "a text"],
  ["a value in quotes", ["hunter2!"], 'invalid value "hunter2!": must be "ns"', `invalid value "${HIDDEN}": must be "ns"`],
  ["each occurrence", ["hunter2!"], "hunter2! and hunter2!", `${HIDDEN} and ${HIDDEN}`],
  ["a long value within a word", ["hunter2!"], "xhunter2!y", `x${HIDDEN}y`],
  ["a short value as a word of its own", ["info"], "level info=info, no information", `level ${HIDDEN}=${HIDDEN}, no information`],
  ["no value of two characters inside a text", ["ns"], 'namespace "ns"', 'namespace "ns"'],
  ["no boolean", ["true"], "status is true", "status is true"],
  ["the longer of two values with the same prefix", ["hunter", "hunter-and-more"], "hunter-and-more hunter", `${HIDDEN} ${HIDDEN}`],
  ["two overlapping values", ["abcdefgh", "efghijkl"], "abcdefghijkl", HIDDEN],
  ["two adjacent values", ["abcdefgh", "ijklmnop"], "abcdefghijklmnop", HIDDEN],
  ["a value quoted by Go", ['say "hi" \u00ad'], 'got "say \\"hi\\" \\u00ad"', `got "${HIDDEN}"`],
  ["a value quoted by JSON", ["a\nb\tcdef"], JSON.stringify({ a: "a\nb\tcdef" }), `{"a":"${HIDDEN}"}`],
  ["a line of a multi-line value", [LONG], "near MIIEvQIBADANBgkqhkiG9w0BAQEF", `near ${HIDDEN}`],
  ["a URL with a redacted password", ["http://u:p@proxy:3128"], 'got "http://[redacted]@proxy:3128"', `got "${HIDDEN}"`],
  ["a truncated value", ["0123456789abcdefghijklmnopqrstuvwxyz"], "0123456789abcdefghijklmnopqrs…", `${HIDDEN}…`],
  ["words of the replacement, except in replacements", ["config", "hunter2!"], `config ${HIDDEN}`, `${HIDDEN} ${HIDDEN}`],
])("hide hides %s", ([, texts, text, shown]) => {
  expect(new HiddenTexts(texts).hide(text)).toBe(shown);
});

test("hideIn hides values of any length, long values that are parts of other values, and names of members", () => {
  const hidden = new HiddenTexts(["x", "7", "hunter2!"]);
  expect(hidden.hideIn({ a: "x", b: 7, c: ["xy", 77, true, null], "is-hunter2!": "say hunter2!" })).toEqual({
    a: HIDDEN,
    b: HIDDEN,
    c: ["xy", 77, true, null],
    [`is-${HIDDEN}`]: `say ${HIDDEN}`,
  });
});

test("reveal shows a value that was hidden before", () => {
  const hidden = new HiddenTexts(["watched-ns", "hunter2!"]);
  hidden.reveal("watched-ns");
  expect([hidden.hide("hunter2! in watched-ns"), hidden.hideIn("watched-ns"), hidden.texts]).toEqual([
    `${HIDDEN} in watched-ns`,
    "watched-ns",
    ["hunter2!"],
  ]);
});

test("hide removes a value of eight or more characters from any text and is idempotent", () => {
  const secret = fc.string({ minLength: 8, unit: "grapheme" }).filter((text) => text.trim().length >= 8 && !HIDDEN.includes(text.trim()));
  fc.assert(
    fc.property(fc.array(secret, { minLength: 1, maxLength: 3 }), fc.string(), fc.string(), (secrets, before, after) => {
      const hidden = new HiddenTexts(secrets);
      for (const one of secrets) {
        for (const form of [one, JSON.stringify(one)]) {
          const shown = hidden.hide(`${before}${form}${after}`);
          expect(shown.split(HIDDEN).join("\u0000")).not.toContain(one.trim());
          expect(hidden.hide(shown)).toBe(shown);
        }
      }
    }),
  );
});

test("hide hides the whole text if it needs too many comparisons", () => {
  expect(new HiddenTexts(["a".repeat(100_000)]).hide(`x ${"a".repeat(30_000)} y`)).toBe(HIDDEN);
  const lines = Array.from({ length: 10_000 }, (_, i) => `line number ${i}`);
  expect(new HiddenTexts([lines.join("\n")]).hide("short line number 5 text")).toBe(`short ${HIDDEN} text`);
  expect(new HiddenTexts([lines.join("\n")]).hide("another text ".repeat(1_000))).toBe(HIDDEN);
});
