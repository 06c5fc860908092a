import * as fc from "fast-check";
import { expect, test } from "vitest";
import { JsonScanner, type JsonVisitor, type Visit } from "./jsonScanner.ts";
import { findJsonSyntaxFault } from "./jsonSyntax.ts";

/** Reads `json` in pieces of this number of bytes; returns the fault. */
function faultOf(json: string, bytesAtOnce: number, visitor: JsonVisitor = new Captures()): string | undefined {
  const scanner = new JsonScanner(visitor);
  const bytes = Buffer.from(json);
  try {
    for (let at = 0; at < bytes.byteLength; at += bytesAtOnce) scanner.add(bytes.subarray(at, at + bytesAtOnce));
    scanner.end();
    return undefined;
  } catch (err) {
    if (!(err instanceof SyntaxError)) throw err;
    return err.message;
  }
}

/** Returns the fault as `findJsonSyntaxFault` reports it. */
function wantedFault(json: string): string | undefined {
  const fault = findJsonSyntaxFault(json);
  return fault && `line ${fault.line}, column ${fault.column}: ${fault.reason}`;
}

/** Enters every list and object, and records the text of all other values. */
class Captures implements JsonVisitor {
  readonly texts: string[] = [];
  begin(first: number): Visit {
    return first === 0x7b || first === 0x5b ? "enter" : "capture";
  }
  key(text: string): void {
    this.texts.push(`${text}:`);
  }
  end(text?: string): void {
    if (text !== undefined) this.texts.push(text);
  }
}

test.for([
  "",
  " ",
  "nul",
  "nullx",
  "truefalse",
  "-",
  "01",
  "1.",
  "1.5e",
  "1e+",
  "-x",
  "+1",
  ".5",
  "1 2",
  "[1,]",
  "[,1]",
  "[1 2]",
  "[1}",
  "[",
  "[1",
  "[1,",
  "{",
  "{1:2}",
  '{"a"',
  '{"a":',
  '{"a" 1}',
  '{"a":1',
  '{"a":1,',
  '{"a":1,}',
  '{"a":1]',
  "{,}",
  '"',
  '"a',
  '"\\',
  '"\\u12',
  '"\\u12g4"',
  '"\\x"',
  '"a\nb"',
  '\n\n {"a":\n "\u00e9\u4e2d\ud83d\ude00" x',
  '["\u00e9",\u4e2d]',
  "[\ud83d\ude00]",
  "\ufeff{}",
  '{"\u00e9\u4e2d": tru}',
  "}",
  "]",
  ":",
  `${"[".repeat(1_002)}x`,
  `${"[".repeat(1_001)}${"]".repeat(1_001)}x`,
])("JsonScanner reports the same fault as findJsonSyntaxFault in $0", (json) => {
  for (const bytesAtOnce of [1, 2, 3, 1_000_000]) expect(faultOf(json, bytesAtOnce)).toBe(wantedFault(json));
  expect(wantedFault(json)).toBeDefined();
});

test("JsonScanner finds the same values in any JSON, and the same faults in any corrupted JSON, for chunks of any size", () => {
  const changed = fc.tuple(fc.json(), fc.nat(), fc.nat(2), fc.constantFrom("", '"', "\\", ",", "}", "]", "x", "\n", "1", "\u4e2d"));
  fc.assert(
    fc.property(changed, fc.integer({ min: 1, max: 9 }), ([json, at, removed, added], bytesAtOnce) => {
      const from = at % (json.length + 1);
      const broken = (json.slice(0, from) + added + json.slice(from + removed)).toWellFormed();
      expect(faultOf(broken, bytesAtOnce)).toBe(wantedFault(broken));
      const visitors = [new Captures(), new Captures()] as const;
      faultOf(json, bytesAtOnce, visitors[0]);
      faultOf(json, json.length * 3, visitors[1]);
      expect(visitors[0].texts).toEqual(visitors[1].texts);
    }),
  );
});

test("JsonScanner rejects a number that is too long", () => {
  expect(faultOf(`[${"1".repeat(70_000)}]`, 1_000)).toBe("line 1, column 2: number is longer than 65536 characters");
});
