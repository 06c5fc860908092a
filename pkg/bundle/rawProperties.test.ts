import * as fc from "fast-check";
import { expect, test } from "vitest";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { parseRawProperties } from "./properties.ts";

interface AnnotationCase extends CaseHead {
  annotations?: { annotation: string; properties?: [type: string, value: string][]; error?: string }[];
}

const annotations = loadCases<AnnotationCase>("gate").flatMap((c) => c.annotations ?? []);

test.for(annotations)("parseRawProperties parses annotation $annotation", ({ annotation, properties, error }) => {
  if (error !== undefined) expect(() => parseRawProperties(annotation)).toThrow(expect.objectContaining({ message: error }));
  else expect(parseRawProperties(annotation).map(({ type, value }) => [type, value])).toEqual(properties);
});

test("parseRawProperties parses the output of JSON.stringify", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ type: fc.string(), value: fc.jsonValue() })), fc.constantFrom(0, 2), (list, space) => {
      const found = parseRawProperties(JSON.stringify(list, undefined, space));
      const read = found.map(({ type, value }): unknown => ({ type, value: JSON.parse(value) }));
      expect(read).toEqual(JSON.parse(JSON.stringify(list)));
    }),
  );
});

test("parseRawProperties returns a list or throws a short error for any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      try {
        expect(Array.isArray(parseRawProperties(text))).toBe(true);
      } catch (err) {
        expect((err as Error).message.length).toBeLessThan(120);
      }
    }),
  );
});

test("parseRawProperties parses nesting up to Go's maximum depth, and reports faults in long texts", () => {
  const deep = `[{"type":"a","value":${"[".repeat(9_990)}${"]".repeat(9_990)}}]`;
  expect(parseRawProperties(deep)[0]?.value).toHaveLength(2 * 9_990);
  expect(() => parseRawProperties("[".repeat(1_000_000))).toThrow(new Error("invalid character '[' exceeded max depth"));
  expect(() => parseRawProperties(`[${'{"type":"a"},'.repeat(100_000)}`)).toThrow(new Error("unexpected end of JSON input"));
});
