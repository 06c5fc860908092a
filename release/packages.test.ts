import { expect, test } from "vitest";
import {
  addBaseImageToCycloneDx,
  addBaseImageToSpdx,
  addNodeToCycloneDx,
  addNodeToSpdx,
  formatCycloneDx,
  formatSpdx,
} from "./billsOfMaterials.ts";
import { formatNotices } from "./notices.ts";
import { type Lockfile, listBundledPackages } from "./packages.ts";

const LOCK: Lockfile = {
  packages: {
    "": { name: "olmv1", version: "1.0.0", license: "Apache-2.0" },
    "node_modules/a": { version: "2.0.0", license: "MIT", integrity: "sha512-AAEC", resolved: "https://example.com/a-2.0.0.tgz" },
    "node_modules/a/node_modules/@b/c": { version: "3.0.0", license: "(MIT OR Apache-2.0)", integrity: "sha512-/w==" },
    "node_modules/@b/c": { version: "3.0.0", license: "(MIT OR Apache-2.0)", integrity: "sha512-/w==" },
    "node_modules/unused": { version: "1.0.0", license: "MIT", integrity: "sha512-AA==" },
  },
};
const METAFILE = {
  outputs: {
    "dist/x.js": {
      inputs: {
        "pkg/text/list.ts": { bytesInOutput: 10 },
        "node_modules/a/lib/index.js": { bytesInOutput: 10 },
        "node_modules/a/node_modules/@b/c/index.js": { bytesInOutput: 10 },
        "node_modules/unused/index.js": { bytesInOutput: 0 },
      },
    },
  },
};
const bundled = () => listBundledPackages(METAFILE, ["node_modules/@b/c/other.js"], LOCK);

test("listBundledPackages returns each version once, and no package without content in the build", () => {
  expect(bundled().map(({ purl, hash }) => [purl, hash.hex])).toEqual([
    ["pkg:npm/%40b/c@3.0.0", "ff"],
    ["pkg:npm/a@2.0.0", "000102"],
  ]);
});

test("listBundledPackages throws when the lockfile does not contain a bundled package", () => {
  expect(() => listBundledPackages({ outputs: {} }, ["node_modules/gone/index.js"], LOCK)).toThrow(
    "package-lock.json does not contain the bundled package node_modules/gone",
  );
});

test("formatSpdx and formatCycloneDx list the same packages with the same checksums and licenses", () => {
  const spdx = JSON.parse(formatSpdx(bundled(), LOCK)) as {
    packages: { name: string; versionInfo: string; licenseDeclared: string; checksums?: { checksumValue: string }[] }[];
    relationships: { relatedSpdxElement: string }[];
  };
  const [program, ...components] = spdx.packages;
  expect([program?.name, program?.versionInfo, program?.licenseDeclared]).toEqual(["olmv1", "1.0.0", "Apache-2.0"]);
  const cycloneDx = JSON.parse(formatCycloneDx(bundled(), LOCK)) as {
    components: { name: string; version: string; licenses: object[]; hashes: { content: string }[] }[];
  };
  expect(components.map(({ name, versionInfo, checksums }) => [name, versionInfo, checksums?.[0]?.checksumValue])).toEqual(
    cycloneDx.components.map(({ name, version, hashes }) => [name, version, hashes[0]?.content]),
  );
  expect(components.map(({ licenseDeclared }) => licenseDeclared)).toEqual(["(MIT OR Apache-2.0)", "MIT"]);
  expect(cycloneDx.components.map(({ licenses }) => licenses)).toEqual([
    [{ expression: "(MIT OR Apache-2.0)" }],
    [{ license: { id: "MIT" } }],
  ]);
  expect(spdx.relationships.map(({ relatedSpdxElement }) => relatedSpdxElement)).toEqual([
    "SPDXRef-pkg-npm-40b-c-3.0.0",
    "SPDXRef-pkg-npm-a-2.0.0",
  ]);
});

test("addNodeToCycloneDx and addNodeToSpdx add Node.js with its checksum to the packages of a build", () => {
  const node = { version: "24.0.0", sha256: "a".repeat(64) };
  const cycloneDx = JSON.parse(addNodeToCycloneDx(formatCycloneDx(bundled(), LOCK), node)) as { components: object[] };
  expect(cycloneDx.components.length).toBe(3);
  expect(cycloneDx.components[2]).toMatchObject({ purl: "pkg:generic/node@24.0.0", hashes: [{ alg: "SHA-256", content: node.sha256 }] });
  const before = JSON.parse(formatSpdx(bundled(), LOCK)) as { documentNamespace: string };
  const spdx = JSON.parse(addNodeToSpdx(formatSpdx(bundled(), LOCK), node)) as {
    documentNamespace: string;
    packages: { name: string; SPDXID: string }[];
    relationships: { spdxElementId: string; relatedSpdxElement: string }[];
  };
  expect(spdx.packages.map(({ name }) => name)).toEqual(["olmv1", "@b/c", "a", "node"]);
  expect(spdx.relationships.at(-1)).toMatchObject({
    spdxElementId: "SPDXRef-olmv1-1.0.0",
    relatedSpdxElement: spdx.packages.at(-1)?.SPDXID,
  });
  expect(spdx.documentNamespace).not.toBe(before.documentNamespace);
});

test("addBaseImageToCycloneDx and addBaseImageToSpdx add the base image with its digest, and its Node.js", () => {
  const hex = "b".repeat(64);
  const base = { name: "gcr.io/distroless/nodejs", tag: "nonroot", digest: `sha256:${hex}`, node: "24.0.0" };
  const purl = `pkg:oci/nodejs@sha256%3A${hex}?repository_url=gcr.io/distroless/nodejs&tag=nonroot`;
  const cycloneDx = JSON.parse(addBaseImageToCycloneDx(formatCycloneDx(bundled(), LOCK), base)) as { components: object[] };
  expect(cycloneDx.components.slice(2)).toEqual([
    expect.objectContaining({ name: "node", version: "24.0.0" }),
    expect.objectContaining({ type: "container", name: base.name, version: base.digest, purl, hashes: [{ alg: "SHA-256", content: hex }] }),
  ]);
  const spdx = JSON.parse(addBaseImageToSpdx(formatSpdx(bundled(), LOCK), base)) as {
    packages: { name: string; versionInfo: string; SPDXID: string }[];
    relationships: { relatedSpdxElement: string }[];
  };
  expect(spdx.packages.slice(3).map(({ name, versionInfo }) => [name, versionInfo])).toEqual([
    ["node", "24.0.0"],
    [base.name, base.digest],
  ]);
  expect(spdx.relationships.map(({ relatedSpdxElement }) => relatedSpdxElement)).toEqual(
    spdx.packages.slice(1).map(({ SPDXID }) => SPDXID),
  );
});

test("formatNotices prints each text once when several packages have the same license text", () => {
  const text = formatNotices([
    { name: "a", version: "1.0.0", license: "MIT", texts: ["MIT License"] },
    { name: "b", version: "2.0.0", license: "MIT", texts: ["MIT License"] },
    { name: "c", version: "3.0.0", license: undefined, texts: [] },
  ]);
  expect(text.split("-".repeat(80)).slice(1)).toEqual([
    "\na 1.0.0 (MIT)\nb 2.0.0 (MIT)\n\nMIT License\n",
    "\nc 3.0.0 (license not declared)\n\nThe package contains no license file.\n",
  ]);
});
