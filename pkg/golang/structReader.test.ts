import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ManifestLines } from "../release/storage/payloadReader.ts";
import { type GoMembers, GoMismatch, type GoShape, type GoStruct, GoStructReader, goStruct } from "./structReader.ts";

const MOST_VALUES = 1_000;

const SHAPE = goStruct({
  text: "string",
  kind: "string",
  number: "int",
  flag: "bool",
  data: "bytes",
  at: "time",
  maybeAt: "helmTime",
  any: "any",
  inner: goStruct({ a: "string", b: "string" }),
  texts: { itemsOf: "string" },
  byName: { valuesOf: "string" },
  unused: { checked: { valuesOf: "string" } },
});

const plain = (value: unknown): unknown =>
  value instanceof Map ? Object.fromEntries([...(value as GoMembers)].map(([key, member]) => [key, plain(member)])) : value;
const decoded = (json: string, bytesAtOnce?: number): unknown => plain(read(json, { bytesAtOnce }));

/** Reads `json` in pieces of this number of bytes; by default in one piece. */
function read(
  json: string,
  { shape = SHAPE, bytesAtOnce = json.length * 3 + 1 }: { shape?: GoStruct; bytesAtOnce?: number | undefined } = {},
): GoMembers {
  const reader = new GoStructReader(shape, MOST_VALUES, () => new ManifestLines(() => undefined));
  const bytes = Buffer.from(json);
  for (let at = 0; at < bytes.byteLength; at += bytesAtOnce) reader.add(bytes.subarray(at, at + bytesAtOnce));
  return reader.end();
}

// Source: encoding/json of Go 1.25, run with the same types.
test.for<[what: string, json: string, want: object]>([
  ["a name in another letter case", '{"TEXT":"a"}', { text: "a" }],
  ["the long s and the Kelvin sign", '{"textſ":["a"],"\u212aind":"b"}', { texts: ["a"], kind: "b" }],
  ["a name with an escape", '{"te\\u0078t":"a"}', { text: "a" }],
  ["the last of two texts", '{"text":"a","Text":"b"}', { text: "b" }],
  ["a text before a null", '{"text":"a","text":null}', { text: "a" }],
  ["two structs, merged", '{"inner":{"a":"1","b":"2"},"Inner":{"b":"3"}}', { inner: { a: "1", b: "3" } }],
  ["no struct, after a null", '{"inner":{"a":"1"},"inner":null}', {}],
  ["a struct after a null", '{"inner":{"a":"1"},"inner":null,"inner":{"b":"2"}}', { inner: { b: "2" } }],
  ["two maps, merged", '{"byName":{"a":"1","b":"2"},"byName":{"b":"3"}}', { byName: { a: "1", b: "3" } }],
  ["the last of two lists", '{"texts":["a","b"],"texts":["c"]}', { texts: ["c"] }],
  ["names in a map unchanged", '{"byName":{"A":"1","a":"2"}}', { byName: { A: "1", a: "2" } }],
  ["an empty time of Helm's", '{"maybeAt":""}', { maybeAt: "" }],
  ["no unknown members", '{"other":{"text":["]}",{"a":"\\""}]},"text":"a"}', { text: "a" }],
  ["no members that are only checked", '{"data":"Y\\u0051\\r\\n=\\n=","unused":{"a":"b"}}', {}],
  [
    "a name and a text with characters of many bytes",
    '{"byName":{"\u00e9\u4e2d":"\ud83d\ude00"}}',
    { byName: { "\u00e9\u4e2d": "\ud83d\ude00" } },
  ],
  ["anything", ' { "any" : [ 1 , { "a" : null } ] } ', { any: [1, { a: null }] }],
])("GoStructReader reads %s", ([, json, want]) => {
  for (const bytesAtOnce of [undefined, 1, 2, 7]) expect(decoded(json, bytesAtOnce)).toEqual(want);
});

test.for<[member: string, value: string, message: string]>([
  ["text", "1", "release.text: want a string, found a number"],
  ["number", "1.0", "release.number: want a whole number, found a number"],
  ["number", "9223372036854775808", "release.number: does not fit into 64 bits"],
  ["number", '"1"', "release.number: want a whole number, found a string"],
  ["flag", '"true"', "release.flag: want true or false, found a string"],
  ["data", '"YQ"', "release.data: not base64"],
  ["data", '"YQ==YQ=="', "release.data: not base64"],
  ["data", '"Y==="', "release.data: not base64"],
  ["data", '"\\u0059\\n-"', "release.data: not base64"],
  ["unused", '{"a":[1]}', 'release.unused["a"]: want a string, found a list'],
  ["at", '""', "release.at: not an RFC 3339 time"],
  ["at", '"2026-02-30T00:00:00Z"', "release.at: not an RFC 3339 time"],
  ["maybeAt", '"yesterday"', "release.maybeAt: not an RFC 3339 time"],
  ["inner", "[]", "release.inner: want an object, found a list"],
  ["texts", "{}", "release.texts: want a list, found an object"],
  ["texts", '["a",true]', "release.texts[1]: want a string, found true or false"],
  ["byName", '{"a":["secret"]}', 'release.byName["a"]: want a string, found a list'],
  ["byName", '{"a":null}', 'release.byName["a"]: want another value, found null'],
])("GoStructReader rejects member %s with value %s, and does not quote the value", ([member, value, message]) => {
  expect(() => read(`{"${member}":${value}}`)).toThrow(new GoMismatch(message));
});

test("GoStructReader rejects a text that is not one object", () => {
  expect(() => read("null")).toThrow(GoMismatch);
  expect(() => read("[]")).toThrow(GoMismatch);
  for (const json of ["", "{}{}", "{", '{"text":}', "\ufeff{}"]) expect(() => read(json)).toThrow(SyntaxError);
});

test.for<[what: string, value: (names: number) => string]>([
  ["members", (names) => `{"byName":{${Array.from({ length: names }, (_, i) => `"k${i}":""`).join(",")}}}`],
  ["items", (names) => `{"texts":[${Array.from({ length: names }, () => '""').join(",")}]}`],
])("GoStructReader rejects more %s than its limit", ([, value]) => {
  expect(() => read(value(MOST_VALUES - 1))).not.toThrow();
  expect(() => read(value(MOST_VALUES))).toThrow("exceeds the maximum of 1000 values");
});

test("GoStructReader skips nesting that is deeper than the stack", () => {
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  expect(decoded(`{"other":${deep},"text":"a"}`)).toEqual({ text: "a" });
});

test("GoStructReader decodes a map with any names and texts like JSON.parse", () => {
  const shape: GoShape = { valuesOf: "string" };
  const name = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("__proto__", "constructor", "toString", "", "\\", '"'));
  fc.assert(
    fc.property(fc.array(fc.tuple(name, fc.string({ unit: "binary" }))), fc.boolean(), (entries, isSpaced) => {
      const map = Object.fromEntries(entries);
      const json = JSON.stringify({ map }, undefined, isSpaced ? 2 : undefined);
      const found = read(json, { shape: goStruct({ map: shape }) }).get("map");
      expect(found instanceof Map ? [...(found as GoMembers)] : []).toEqual(Object.entries(map));
    }),
  );
});
