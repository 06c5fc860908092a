import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeWithData } from "../../../test/support/sharedData.ts";
import type { JsonObject } from "../../api/k8s.ts";
import { Schema } from "../../fbc/content.ts";
import { CatalogText } from "./catalogText.ts";
import { createEntry, readChannelEntries, withEdges, withEntries } from "./channelEntries.ts";

/** Maximum file size in bytes. Larger files are skipped. */
const MAX_BYTES = 1_000_000;

describeWithData("CatalogText on real catalogs", (data) => {
  const root = join(data, "fbc");
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter(
    (path) => /\.(ya?ml|json)$/.test(path) && statSync(join(root, path)).size < MAX_BYTES,
  );

  test("CatalogText edits every channel of real catalogs in place, and adds and removes only a few lines", () => {
    const changed = files.flatMap((path) => editsOf(readFileSync(join(root, path), "utf8")).map((edit) => ({ path, ...edit })));
    expect(changed.length).toBeGreaterThan(50);
    expect(changed.filter(({ rewritten }) => rewritten > 0)).toEqual([]);
    expect(changed.filter(({ lost, gained }) => lost > 2 || gained > 8)).toEqual([]);
  });
});

/** Adds an entry and an edge to each channel of a file and counts removed and added lines. */
function editsOf(text: string): { index: number; rewritten: number; lost: number; gained: number }[] {
  const file = new CatalogText(text);
  return file.documents.flatMap(({ schema, blob }, index) => {
    if (schema !== Schema.channel) return [];
    const result = file.applyChanges(new Map([[index, { to: moreEntries(blob) }]]));
    const before = new Set(text.split("\n"));
    const after = result.text.split("\n");
    const afterSet = new Set(after);
    return [
      {
        index,
        rewritten: result.rewritten.length,
        lost: [...before].filter((line) => !afterSet.has(line)).length,
        gained: after.length - text.split("\n").length,
      },
    ];
  });
}

function moreEntries(blob: JsonObject): JsonObject {
  const entries = readChannelEntries(blob);
  const [first, ...more] = entries;
  const added = createEntry("new.v9.9.9", { replaces: first?.name });
  return withEntries(blob, [...(first ? [withEdges(first, { skips: [...first.skips, "new.v0.0.0"] })] : []), ...more, added]);
}
