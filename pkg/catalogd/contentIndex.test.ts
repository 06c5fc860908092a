import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ContentIndex, IndexBuilder } from "./contentIndex.ts";
import { columnsFrom, StoredColumns, storedFrom } from "./storedIndex.ts";

interface Entry {
  schema: string;
  package: string;
  name: string;
}

function indexOf(entries: readonly Entry[]): { index: ContentIndex; text: string; lines: string[] } {
  const builder = new IndexBuilder();
  const lines = entries.map((entry, i) => `${JSON.stringify({ ...entry, i })}\n`);
  entries.forEach((entry, i) => builder.add(entry, lineOf(lines[i] ?? "")));
  return { index: new ContentIndex(builder.columns()), text: lines.join(""), lines };
}

function lineOf(text: string): { bytes: number; sha256: Buffer } {
  return { bytes: Buffer.byteLength(text), sha256: createHash("sha256").update(text).digest() };
}

const bundle = (name: string): Entry => ({ schema: "olm.bundle", package: "test-package", name });
const channel = (name: string): Entry => ({ schema: "olm.channel", package: "test-package", name });
const SIX = [
  { schema: "olm.package", package: "", name: "test-package" },
  channel("stable-5.x"),
  channel("stable-v6.x"),
  bundle("test-bundle.v5.0.3"),
  bundle("test-bundle.v5.0.4"),
  bundle("test-bundle.v6.0.0"),
];

test.for([
  ["olm.package", "", "", 1],
  ["olm.channel", "", "", 2],
  ["olm.bundle", "", "", 3],
  ["", "test-package", "", 5],
  ["", "", "test-bundle.v5.0.3", 1],
  ["olm.bundle", "test-package", "", 3],
  ["non.existent", "not-found", "", 0],
] as const)("schema %j, package %j, name %j: %i lines", ([schema, packageName, name, count]) => {
  expect(indexOf(SIX).index.find({ schema, package: packageName, name })).toHaveLength(count);
});

test("neighbouring lines are one slice", () => {
  const { index } = indexOf(SIX);
  expect(index.slices(index.find({ package: "test-package" }))).toHaveLength(1);
  expect(index.slices([0, 2, 3, 5])).toHaveLength(3);
});

test("a query finds exactly the lines that match, in order, also after a trip to disk; lines without schema never", () => {
  const word = fc.constantFrom("", "a", "b", "c");
  const entry = fc.record({ schema: word, package: word, name: word });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 30 }), entry, (entries, query) => {
      const { index, text, lines } = indexOf(entries);
      const empty = query.schema === "" && query.package === "" && query.name === "";
      const matches = (e: Entry): boolean =>
        (["schema", "package", "name"] as const).every((key) => query[key] === "" || e[key] === query[key]);
      const want = lines.filter((_, i) => !empty && entries[i]?.schema !== "" && matches(entries[i] as Entry));
      const again = new ContentIndex(columnsFrom(StoredColumns.parse(JSON.parse(JSON.stringify(storedFrom(columnsOf(entries)))))));
      for (const one of [index, again]) {
        const found = one.find(query);
        const bytes = one.slices(found).map(({ start, end }) => Buffer.from(text).subarray(start, end).toString());
        expect(bytes.join("")).toBe(want.join(""));
      }
      expect([again.tag, again.bytes]).toEqual([index.tag, Buffer.byteLength(text)]);
    }),
  );
});

function columnsOf(entries: readonly Entry[]): ReturnType<IndexBuilder["columns"]> {
  const builder = new IndexBuilder();
  entries.forEach((entry, i) => builder.add(entry, lineOf(`${JSON.stringify({ ...entry, i })}\n`)));
  return builder.columns();
}

test("tags are equal for equal lines only", () => {
  const { index } = indexOf(SIX);
  const other = indexOf([...SIX.slice(0, 5), bundle("test-bundle.v6.0.1")]).index;
  expect(other.tag).not.toBe(index.tag);
  expect(other.tagOf(other.find({ schema: "olm.channel" }))).toBe(index.tagOf(index.find({ schema: "olm.channel" })));
  expect(other.tagOf(other.find({ schema: "olm.bundle" }))).not.toBe(index.tagOf(index.find({ schema: "olm.bundle" })));
});
