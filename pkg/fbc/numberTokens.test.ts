import { expect, test } from "vitest";
import { encodeCanonicalJson } from "../golang/json.ts";
import { decodeMetas } from "./decode.ts";

const MAX = "olm.maxOpenShiftVersion";

/** Decodes a document and formats it again. */
async function roundTrip(text: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const { blob } of decodeMetas([Buffer.from(text)], "f")) {
    lines.push(encodeCanonicalJson(blob));
    expect(JSON.stringify(blob)).toHaveLength(encodeCanonicalJson(blob).length);
  }
  return lines;
}

const bundle = (property: string): string => `{"name":"p.v1","properties":[${property}],"schema":"olm.bundle"}`;

test.for<[what: string, property: string, want: string]>([
  ["a number with a trailing zero", `{"type":"${MAX}","value":4.10}`, `{"type":"${MAX}","value":4.10}`],
  ["an integer with a fraction", `{"type":"${MAX}","value":5.0}`, `{"type":"${MAX}","value":5.0}`],
  ["a number with an exponent", `{"value": 4.19e1 ,"type":"${MAX}"}`, `{"type":"${MAX}","value":4.19e1}`],
  ["keys in another case", `{"Type":"${MAX}","VALUE":4.10}`, `{"Type":"${MAX}","VALUE":4.10}`],
  ["a type with an escape in it", `{"type":"olm.max\\u004fpenShiftVersion","value":4.10}`, `{"type":"${MAX}","value":4.10}`],
  [
    "the second of two properties",
    `{"type":"a","value":1},{"type":"${MAX}","value":4.10}`,
    `{"type":"a","value":1},{"type":"${MAX}","value":4.10}`,
  ],
])("decodeMetas keeps the digits of olm.maxOpenShiftVersion for %s", async ([, property, want]) => {
  expect(await roundTrip(bundle(property))).toEqual([bundle(want)]);
});

test.for<[what: string, property: string, want: string]>([
  ["a text", `{"type":"${MAX}","value":"4.10"}`, `{"type":"${MAX}","value":"4.10"}`],
  ["a number inside the value", `{"type":"${MAX}","value":{"a":4.10}}`, `{"type":"${MAX}","value":{"a":4.1}}`],
  ["a number in another field of the property", `{"other":1.0,"type":"${MAX}","value":4.10}`, `{"other":1,"type":"${MAX}","value":4.10}`],
  ["another property", `{"type":"a","value":4.10}`, `{"type":"a","value":4.1}`],
  [
    "an object that looks like a kept number",
    `{"type":"${MAX}","value":{"rawJSON":"4.10"}}`,
    `{"type":"${MAX}","value":{"rawJSON":"4.10"}}`,
  ],
])("decodeMetas converts numbers like Go for %s", async ([, property, want]) => {
  expect(await roundTrip(bundle(property))).toEqual([bundle(want)]);
});

test("decodeMetas does not keep digits of numbers in YAML, like Go", async () => {
  expect(await roundTrip(`schema: olm.bundle\nname: p.v1\nproperties: [{ type: ${MAX}, value: 4.10 }]\n`)).toEqual([
    bundle(`{"type":"${MAX}","value":4.1}`),
  ]);
});
