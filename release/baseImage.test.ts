import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findNodeVersion, parseBaseImage, readBaseImage } from "./baseImage.ts";
import { writeImageBills } from "./imageBills.ts";
import { ROOT } from "./project.ts";

const DOCKERFILE = join(ROOT, "Dockerfile");

test("readBaseImage returns the pinned image of the Dockerfile, and the version in the binary of this Node.js", async () => {
  const { name, tag, digest, node } = await readBaseImage(DOCKERFILE, process.execPath);
  expect(await readFile(DOCKERFILE, "utf8")).toContain(`FROM ${name}:${tag}@${digest} AS base\n`);
  expect(node).toBe(process.versions.node);
});

test("parseBaseImage throws when the base image is not pinned", () => {
  expect(() => parseBaseImage("FROM node:24 AS base\n")).toThrow("pinned by digest");
});

test("findNodeVersion throws when a file is not Node.js", () => {
  expect(() => findNodeVersion(Buffer.from("node-v24.0.0"))).toThrow("version is unknown");
});

test("writeImageBills adds the base image to both bills of materials of a build", async () => {
  const folder = await mkdtemp(join(tmpdir(), "olmv1-bills-"));
  try {
    await writeFile(join(folder, "sbom.cdx.json"), '{ "components": [] }');
    await writeFile(
      join(folder, "sbom.spdx.json"),
      '{ "documentNamespace": "a", "documentDescribes": ["b"], "packages": [], "relationships": [] }',
    );
    const base = await readBaseImage(DOCKERFILE, process.execPath);
    await writeImageBills(folder, base);
    for (const name of ["sbom.cdx.json", "sbom.spdx.json"]) {
      const bill = await readFile(join(folder, name), "utf8");
      expect(bill).toContain(`"${base.digest}"`);
      expect(bill).toContain(`pkg:generic/node@${base.node}`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
