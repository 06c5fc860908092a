import { expect, test } from "vitest";
import { canonicalJson } from "../golang/json.ts";
import { decodeMetas } from "./decode.ts";

const MAX = "olm.maxOpenShiftVersion";

/** The document after reading and writing it. */
async function written(text: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const { blob } of decodeMetas([Buffer.from(text)], "f")) {
    lines.push(canonicalJson(blob));
    expect(JSON.stringify(blob)).toHaveLength(canonicalJson(blob).length);
  }
  return lines;
}

const bundle = (property: string): string => `{"name":"p.v1","properties":[${property}],"schema":"olm.bundle"}`;

test.for<[what: string, property: string, want: string]>([
  ["a number with a zero at its end", `{"type":"${MAX}","value":4.10}`, `{"type":"${MAX}","value":4.10}`],
  ["a number that is a whole one", `{"type":"${MAX}","value":5.0}`, `{"type":"${MAX}","value":5.0}`],
  ["a number with an exponent", `{"value": 4.19e1 ,"type":"${MAX}"}`, `{"type":"${MAX}","value":4.19e1}`],
  ["keys in another case", `{"Type":"${MAX}","VALUE":4.10}`, `{"Type":"${MAX}","VALUE":4.10}`],
  ["a type with an escape in it", `{"type":"olm.max\\u004fpenShiftVersion","value":4.10}`, `{"type":"${MAX}","value":4.10}`],
  ["the second of two", `{"type":"a","value":1},{"type":"${MAX}","value":4.10}`, `{"type":"a","value":1},{"type":"${MAX}","value":4.10}`],
])("the maximum keeps the text that it is written with: %s", async ([, property, want]) => {
  expect(await written(bundle(property))).toEqual([bundle(want)]);
});

test.for<[what: string, property: string, want: string]>([
  ["a text", `{"type":"${MAX}","value":"4.10"}`, `{"type":"${MAX}","value":"4.10"}`],
  ["a number inside the value", `{"type":"${MAX}","value":{"a":4.10}}`, `{"type":"${MAX}","value":{"a":4.1}}`],
  ["a number beside the value", `{"other":1.0,"type":"${MAX}","value":4.10}`, `{"other":1,"type":"${MAX}","value":4.10}`],
  ["another property", `{"type":"a","value":4.10}`, `{"type":"a","value":4.1}`],
  [
    "an object that looks like a kept number",
    `{"type":"${MAX}","value":{"rawJSON":"4.10"}}`,
    `{"type":"${MAX}","value":{"rawJSON":"4.10"}}`,
  ],
])("everything else is as Go prints it: %s", async ([, property, want]) => {
  expect(await written(bundle(property))).toEqual([bundle(want)]);
});

test("in YAML a number is a number, as for Go", async () => {
  expect(await written(`schema: olm.bundle\nname: p.v1\nproperties: [{ type: ${MAX}, value: 4.10 }]\n`)).toEqual([
    bundle(`{"type":"${MAX}","value":4.1}`),
  ]);
});
