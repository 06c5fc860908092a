import { open } from "node:fs/promises";
import { expect, test } from "vitest";
import { IndexBuilder } from "../load/artifactWriter.ts";
import { CONTENT_LIMITS } from "../load/loader.ts";
import { ContentIndex, type MetaQuery } from "./contentIndex.ts";
import { StoredArtifact } from "./storedArtifact.ts";

test.for<[does: string, when: string, query: MetaQuery, isRemembered: boolean]>([
  ["remembers", "lines match", { schema: "olm.bundle", name: "foo.v1" }, true],
  ["remembers", "the query is empty", {}, true],
  ["does not remember", "no line has the name", { schema: "olm.bundle", name: "x".repeat(8_000) }, false],
  ["does not remember", "no line has both texts", { schema: "foo", name: "foo.v1" }, false],
])("StoredArtifact %s the selection of a query when %s", async ([, , query, isRemembered]) => {
  const builder = new IndexBuilder(CONTENT_LIMITS);
  builder.add({ schema: "olm.bundle", package: "foo", name: "foo.v1" }, { bytes: 10, sha256: Buffer.alloc(32), crc32: 1 });
  const artifact = new StoredArtifact(new ContentIndex(builder.columns()), await open(import.meta.filename));
  expect(artifact.select(query) === artifact.select(query)).toBe(isRemembered);
  artifact.close();
});
