import { join } from "node:path";
import { expect, test } from "vitest";
import { readPackage, selectBundles, type VersionChoice } from "./catalogContent.ts";

const CATALOG = join(import.meta.dirname, "../devcluster/sample/catalog");

test.for<[why: string, choice: Partial<VersionChoice>, bundles: string[]]>([
  ["the default version without a range", {}, ["hello-operator.v1.2.0"]],
  ["the default version of a channel without a range", { channels: ["candidate"] }, ["hello-operator.v1.2.0"]],
  ["versions in a range, highest first", { version: ">=1.1.0" }, ["hello-operator.v1.2.0", "hello-operator.v1.1.0"]],
  ["a deprecated version, because it can be installed", { version: "1.0.0" }, ["hello-operator.v1.0.0"]],
])("selectBundles returns bundles of a package: %s", async ([, choice, bundles]) => {
  const content = await readPackage(CATALOG, "hello-operator");
  expect(selectBundles(content, { packageName: "hello-operator", channels: [], ...choice }).map(({ name }) => name)).toEqual(bundles);
});

test.for<[why: string, packageName: string, choice: Partial<VersionChoice>, message: RegExp]>([
  [
    "no such package",
    "nope",
    { version: "1.x" },
    /^no bundles found for package "nope" matching version "1\.x"; the catalog does not contain the package$/,
  ],
  ["no such package for a new installation", "nope", {}, /^no bundles found for package "nope"; /],
  [
    "no such version",
    "hello-operator",
    { version: ">=7" },
    /^no bundles found for package "hello-operator" matching version ">=7"; the highest version in the package is 1\.2\.0$/,
  ],
  [
    "no such channel",
    "hello-operator",
    { version: "1.x", channels: ["beta"] },
    /matching version "1\.x" in channels \[beta\]; the highest/,
  ],
  ["an invalid range", "hello-operator", { version: "|" }, /^desired version range "\|" is invalid: constraint parser error$/],
])("selectBundles explains why no bundle matches: %s", async ([, packageName, choice, message]) => {
  const content = await readPackage(CATALOG, packageName);
  expect(() => selectBundles(content, { packageName, channels: [], ...choice })).toThrow(message);
});

test("readPackage reads a catalog from a file or a folder", async () => {
  const content = await readPackage(join(CATALOG, "hello-operator/catalog.yaml"), "hello-operator");
  expect(content.bundles.length).toBe(3);
});
