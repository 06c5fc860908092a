import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { IndexBuilder } from "../load/artifactWriter.ts";
import { CONTENT_LIMITS } from "../load/loader.ts";
import { ContentIndex } from "./contentIndex.ts";
import { readColumns, toStoredColumns } from "./indexFile.ts";

interface Entry {
  schema: string;
  package: string;
  name: string;
}

function indexOf(entries: readonly Entry[]): { index: ContentIndex; text: string; lines: string[] } {
  const builder = new IndexBuilder(CONTENT_LIMITS);
  const lines = entries.map((entry, i) => `${JSON.stringify({ ...entry, i })}\n`);
  let checksum = 0;
  entries.forEach((entry, i) => {
    const line = Buffer.from(lines[i] ?? "");
    checksum = crc32(line, checksum);
    builder.add(entry, { bytes: line.length, sha256: createHash("sha256").update(line).digest(), crc32: checksum });
  });
  return { index: new ContentIndex(builder.columns()), text: lines.join(""), lines };
}

/** Returns the index after writing it to disk and reading it. */
function reread({ columns }: ContentIndex): ContentIndex {
  const bytes = toStoredColumns(columns).map(
    ({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer.slice(byteOffset, byteOffset + byteLength)),
  );
  return new ContentIndex(readColumns(bytes as Uint8Array<ArrayBuffer>[]));
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
] as const)("query with schema %j, package %j and name %j finds %i lines", ([schema, packageName, name, count]) => {
  expect(indexOf(SIX).index.find({ schema, package: packageName, name })).toHaveLength(count);
});

test("ContentIndex returns one slice for consecutive lines", () => {
  const { index } = indexOf(SIX);
  expect(index.slices(index.find({ package: "test-package" }))).toHaveLength(1);
  expect(index.slices([0, 2, 3, 5])).toHaveLength(3);
});

test("a query returns exactly the matching lines in order, also with an index from disk, but never lines without a schema", () => {
  const word = fc.constantFrom("", "a", "b", "c");
  const entry = fc.record({ schema: word, package: word, name: word });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 30 }), entry, (entries, query) => {
      const { index, text, lines } = indexOf(entries);
      const empty = query.schema === "" && query.package === "" && query.name === "";
      const matches = (e: Entry): boolean =>
        (["schema", "package", "name"] as const).every((key) => query[key] === "" || e[key] === query[key]);
      const want = lines.filter((_, i) => !empty && entries[i]?.schema !== "" && matches(entries[i] as Entry));
      const again = reread(index);
      for (const one of [index, again]) {
        const found = one.find(query);
        const bytes = one.slices(found).map(({ start, end }) => Buffer.from(text).subarray(start, end).toString());
        expect(bytes.join("")).toBe(want.join(""));
        expect(one.crc32Of(one.runs(found))).toBe(crc32(want.join("")));
        expect(one.bytesOf(one.runs(found))).toBe(Buffer.byteLength(want.join("")));
      }
      expect([again.tag, again.bytes, again.crc32]).toEqual([index.tag, Buffer.byteLength(text), crc32(text)]);
    }),
  );
});

test("an index that exceeds its initial capacity and contains arbitrary text is equal after it is written and read", () => {
  const texts = ["", "\u00e9", "\u{1f600}", "\u0000", "a\nb", "\ufffd"];
  const entries = Array.from({ length: 5_000 }, (_, i) => ({ schema: texts[i % 6] ?? "", package: `p${i}`, name: texts[i % 5] ?? "" }));
  const { index } = indexOf(entries);
  expect(reread(index).columns).toEqual(index.columns);
  expect(reread(index).find({ schema: "\u00e9", name: "\u00e9" })).toHaveLength(167);
});

test("ContentIndex finds a schema with a lone surrogate by the replacement character", () => {
  const { index } = indexOf([{ schema: "a\ud800", package: "", name: "" }]);
  expect(index.find({ schema: "a\ufffd" })).toHaveLength(1);
});

test("entity tags are equal if and only if the lines are equal", () => {
  const { index } = indexOf(SIX);
  const other = indexOf([...SIX.slice(0, 5), bundle("test-bundle.v6.0.1")]).index;
  expect(other.tag).not.toBe(index.tag);
  expect(other.tagOf(other.find({ schema: "olm.channel" }))).toBe(index.tagOf(index.find({ schema: "olm.channel" })));
  expect(other.tagOf(other.find({ schema: "olm.bundle" }))).not.toBe(index.tagOf(index.find({ schema: "olm.bundle" })));
});
