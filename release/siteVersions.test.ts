import { expect, test } from "vitest";
import { chooseSiteVersions } from "./siteVersions.ts";

const MAIN = { name: "main", folder: "main" };

test.for<[string, string[], unknown[]]>([
  ["only the checkout without a release", ["", "nightly", "1.0.0", "v1"], [MAIN]],
  ["no pre-release", ["v1.0.0-rc.1"], [MAIN]],
  [
    "the last patch release of each minor version, newest first",
    ["v1.10.0", "v1.9.1", "v1.9.10", "v1.9.2", "v2.0.0"],
    [
      { name: "2.0", folder: "v2.0", tag: "v2.0.0" },
      { name: "1.10", folder: "v1.10", tag: "v1.10.0" },
      { name: "1.9", folder: "v1.9", tag: "v1.9.10" },
      MAIN,
    ],
  ],
])("chooseSiteVersions returns %s", ([, tags, want]) => {
  expect(chooseSiteVersions(tags)).toEqual(want);
});

test("chooseSiteVersions returns five minor versions and the checkout when there are more", () => {
  const tags = Array.from({ length: 9 }, (_, minor) => `v1.${minor}.0`);
  expect(chooseSiteVersions(tags).map(({ name }) => name)).toEqual(["1.8", "1.7", "1.6", "1.5", "1.4", "main"]);
});
