import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeWithData } from "../../../test/support/sharedData.ts";
import { readMirroredCatalog } from "./mirrorSource.ts";
import { parseSelection } from "./subset.ts";

/** Matches the values of "image" in YAML and JSON catalogs without parsing them. */
const IMAGE = /^\s*(?:- )?"?image"?: "?([^\s",]+)"?,?$/gm;

describeWithData("readMirroredCatalog on real catalogs", (data) => {
  test("readMirroredCatalog returns only images that the catalog files contain", async () => {
    const folder = join(data, "fbc/community-v4.19");
    const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    const texts = files.map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"));
    const named = new Set(texts.flatMap((text) => [...text.matchAll(IMAGE)].map(([, image]) => image)));
    const { images, text } = await readMirroredCatalog(folder, undefined);
    expect(text).toBeUndefined();
    expect(images.size).toBeGreaterThan(100);
    expect([...images].filter((image) => !named.has(image))).toEqual([]);
  });

  test("readMirroredCatalog selects a valid part of a real catalog", async () => {
    const folder = join(data, "fbc/gatekeeper-4-14");
    const whole = await readMirroredCatalog(folder, undefined);
    const selection = parseSelection({ packages: [], channels: ["stable"], versions: ["gatekeeper-operator-product:>=3.15"] });
    const part = await readMirroredCatalog(folder, selection);
    expect(part.notes.filter((note) => note.includes("not valid"))).toEqual([]);
    expect(part.bundles).toBeGreaterThan(0);
    expect(part.bundles).toBeLessThan(whole.bundles);
    expect([...part.images].filter((image) => !whole.images.has(image))).toEqual([]);
  });
});
