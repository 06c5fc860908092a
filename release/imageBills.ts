// Adds the base image and its Node.js to the bills of materials of a build. The Dockerfile runs it: node release/imageBills.ts DIST DOCKERFILE BINARY
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BaseImage, readBaseImage } from "./baseImage.ts";
import { addBaseImageToCycloneDx, addBaseImageToSpdx } from "./billsOfMaterials.ts";

/** Bills of materials of a build, by the name of their file. */
const BILLS: Readonly<Record<string, (bill: string, base: BaseImage) => string>> = {
  "sbom.cdx.json": addBaseImageToCycloneDx,
  "sbom.spdx.json": addBaseImageToSpdx,
};

/** Replaces the bills of materials in a folder with those of the image. @param dist folder of the build, or with a copy of its bills */
export async function writeImageBills(dist: string, base: BaseImage): Promise<void> {
  for (const [name, add] of Object.entries(BILLS)) await writeFile(join(dist, name), add(await readFile(join(dist, name), "utf8"), base));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [dist, dockerfile, binary] = process.argv.slice(2);
  if (dist === undefined || dockerfile === undefined || binary === undefined)
    throw new Error("usage: imageBills.ts DIST DOCKERFILE BINARY");
  await writeImageBills(dist, await readBaseImage(dockerfile, binary));
}
