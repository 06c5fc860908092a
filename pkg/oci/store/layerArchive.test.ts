import { expect, test } from "vitest";
import { computeDigest } from "../digest.ts";
import { createTar } from "./layerArchive.ts";

const files: [string, Uint8Array][] = [
  ["manifests/b.yaml", Buffer.from("b")],
  ["manifests/a.yaml", Buffer.from("a")],
  ["metadata/annotations.yaml", Buffer.alloc(2000, "x")],
  [`long/${"n".repeat(120)}/ü`, Buffer.alloc(0)],
];

test("createTar returns the same bytes for the same files in any order", async () => {
  const tar = await createTar(new Map(files));
  expect(tar.equals(await createTar(new Map(files.toReversed())))).toBe(true);
  expect(computeDigest(tar)).toBe("sha256:1d02d6686c8958997d86dd5818a04842d7b6002d20e3cb2415ac6833a95e5947");
});

test.for(["", "/a", "a/", "a//b", "./a", "a/../b", "..", "."])("createTar rejects file path %o", async (path) => {
  await expect(createTar(new Map([[path, Buffer.from("x")]]))).rejects.toThrow("is not a relative file path");
});
