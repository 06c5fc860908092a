import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeWithData } from "../../../test/support/sharedData.ts";
import { mirroredCatalog } from "./mirrorSource.ts";
import { parseSelection } from "./subset.ts";

/** What stands behind "image": in the text of a catalog, however it is written: found without reading it as a catalog. */
const IMAGE = /^\s*(?:- )?"?image"?: "?([^\s",]+)"?,?$/gm;

describeWithData("real catalogs that are mirrored", (data) => {
  test("have the images that their texts name", async () => {
    const folder = join(data, "fbc/community-v4.19");
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const texts = files.map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
    const named = new Set(texts.flatMap((text) => [...text.matchAll(IMAGE)].map(([, image]) => image)));
    const { images, text } = await mirroredCatalog(folder, undefined);
    expect(text).toBeUndefined();
    expect(images.size).toBeGreaterThan(100);
    expect([...images].filter((image) => !named.has(image))).toEqual([]);
  });

  test("are valid in part: one channel of one package, versions from the middle on", async () => {
    const folder = join(data, "fbc/gatekeeper-4-14");
    const whole = await mirroredCatalog(folder, undefined);
    const selection = parseSelection({ packages: [], channels: ["stable"], versions: ["gatekeeper-operator-product:>=3.15"] });
    const part = await mirroredCatalog(folder, selection);
    expect(part.notes.filter((note) => note.includes("not valid"))).toEqual([]);
    expect(part.bundles).toBeGreaterThan(0);
    expect(part.bundles).toBeLessThan(whole.bundles);
    expect([...part.images].filter((image) => !whole.images.has(image))).toEqual([]);
  });
});
