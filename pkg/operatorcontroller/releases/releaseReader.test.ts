import { expect, test } from "vitest";
import { InstalledSummaryCache, summarizeRelease } from "./releaseReader.ts";

const LABELS = { "olm.operatorframework.io/bundle-name": "a.v1.0.0", "olm.operatorframework.io/bundle-version": "1.0.0" };
const withProperties = (text: string) => ({ labels: LABELS, annotations: { "olm.properties": text }, objects: [] });

// Source: G-02 and G-03.
test.for([
  [
    '[{"type":"olm.package","value":{"a":[1,"}"]}},{"type":"olm.maxOpenShiftVersion","value":4.10}]',
    '[{"type":"olm.maxOpenShiftVersion","value":4.10}]',
  ],
  ['[{"type":"olm.maxOpenShiftVersion"}]', '[{"type":"olm.maxOpenShiftVersion"}]'],
  ["null", "[]"],
  ["[]", "[]"],
  ["", ""],
  ['{"not":"a list"}', '{"not":"a list"}'],
] as const)("summarizeRelease keeps only the maximum OpenShift version of properties %s", ([text, kept]) => {
  expect(summarizeRelease(withProperties(text))).toMatchObject({ bundle: "a.v1.0.0", version: "1.0.0", properties: kept });
});

test("summarizeRelease has no properties when the release has no annotation", () => {
  expect(summarizeRelease({ labels: LABELS, annotations: {}, objects: [] }).properties).toBeUndefined();
});

test("summarizeRelease keeps only two of several olm.maxOpenShiftVersion properties, because two are already an error", () => {
  const many = `[${Array.from({ length: 50_000 }, () => '{"type":"olm.maxOpenShiftVersion","value":"4.18"}').join(",")}]`;
  const one = '{"type":"olm.maxOpenShiftVersion","value":"4.18"}';
  expect(summarizeRelease(withProperties(many)).properties).toBe(`[${one},${one}]`);
});

test.for([
  ["cannot decode annotation", `[]${" ".repeat(20_000)}!`],
  ["is too long: ", `[{"type":"olm.maxOpenShiftVersion","value":"${"4".repeat(20_000)}"}]`],
] as const)("summarizeRelease throws error %s when the properties of a release are too long", ([message, text]) => {
  expect(() => summarizeRelease(withProperties(text))).toThrow(message);
});

test("InstalledSummaryCache returns a summary only for the exact version of the Secret", () => {
  const cache = new InstalledSummaryCache();
  const noted: string[] = [];
  cache.onChange((uid) => void noted.push(uid));
  const secret = { uid: "u", resourceVersion: "1" };
  cache.note(secret, withProperties("[]"));
  cache.note(secret, withProperties("[]"));
  expect(cache.get(secret)).toMatchObject({ bundle: "a.v1.0.0", version: "1.0.0", properties: "[]" });
  expect(cache.get({ uid: "u", resourceVersion: "2" })).toBeUndefined();
  cache.note({ uid: "u", resourceVersion: "2" }, withProperties(`[]${" ".repeat(20_000)}!`));
  expect(cache.get({ uid: "u", resourceVersion: "2" })).toBeUndefined();
  expect(noted).toEqual(["u"]);
  cache.forget("u");
  expect(cache.get(secret)).toBeUndefined();
});

test("InstalledSummaryCache evicts entries when it is full", () => {
  const cache = new InstalledSummaryCache(2);
  for (const uid of ["a", "b", "c"]) cache.note({ uid, resourceVersion: "1" }, withProperties("[]"));
  expect(["a", "b", "c"].map((uid) => cache.get({ uid, resourceVersion: "1" }) !== undefined)).toEqual([false, true, true]);
});
