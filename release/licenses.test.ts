import { expect, test } from "vitest";
import { listRejectedLicenses } from "./licenses.ts";
import type { LockedPackage } from "./packages.ts";

const FOLDER = "node_modules/a/node_modules/@b/c";
const CASES: readonly [string, LockedPackage, boolean, isShipped?: boolean][] = [
  ["a shipped package has a permissive license", { license: "MIT" }, true],
  ["a shipped package has no license", {}, false],
  ["a shipped package has a license with copyleft", { license: "GPL-3.0-only" }, false],
  ["a shipped package has a license for changes of its files", { license: "MPL-2.0" }, false],
  ["a tool has a license for changes of its files", { license: "MPL-2.0", dev: true }, true],
  [
    "a package for development, which the console contains, has a license for changes of its files",
    { license: "MPL-2.0", dev: true },
    false,
    true,
  ],
  ["a tool has a license with copyleft", { license: "AGPL-3.0-only", dev: true }, false],
  ["one of two alternatives is permissive", { license: "(GPL-2.0-only OR MIT)" }, true],
  ["one of two licenses that both apply is not permissive", { license: "MIT AND GPL-2.0-only" }, false],
  ["all licenses that apply are permissive", { license: "(Apache-2.0 AND BSD-3-Clause)" }, true],
  ["a package of another platform declares no license", { optional: true, os: ["darwin"] }, true],
  ["a package of another platform has a license with copyleft", { optional: true, os: ["darwin"], license: "GPL-3.0-only" }, false],
];

test.for(CASES)("listRejectedLicenses decides when %s", ([, locked, isAllowed, isShipped = locked.dev !== true]) => {
  const packages = { "": { name: "olmv1" }, [FOLDER]: { version: "1.0.0", ...locked } };
  const rejected = isAllowed ? [] : [`@b/c 1.0.0: ${locked.license ?? "no license is declared"}`];
  expect(listRejectedLicenses({ packages }, new Set(isShipped ? [FOLDER] : []))).toEqual(rejected);
});
