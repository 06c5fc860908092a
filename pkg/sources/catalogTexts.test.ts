import { chmodSync, existsSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { CatalogTexts } from "./catalogTexts.ts";

const PACKAGE = "schema: olm.package\nname: foo\n";

test("CatalogTexts writes through symbolic links, keeps file modes, and creates and removes files without leftovers", async () => {
  using folder = new TempFolder();
  const root = folder.write("catalog", { "a.yaml": PACKAGE, "real/b.yaml": PACKAGE.replace("foo", "bar"), ".indexignore": "real/\n" });
  chmodSync(join(root, "real/b.yaml"), 0o640);
  symlinkSync("real/b.yaml", join(root, "link.yaml"));
  const texts = await CatalogTexts.read(root);
  expect([...texts.files.keys()]).toEqual(["a.yaml", "link.yaml"]);
  texts.write(
    new Map([
      ["a.yaml", undefined],
      ["link.yaml", "schema: x\n"],
      ["new/c.yaml", "schema: y\n"],
    ]),
  );
  expect(readdirSync(root, { recursive: true, encoding: "utf8" }).sort()).toEqual([
    ".indexignore",
    "link.yaml",
    "new",
    "new/c.yaml",
    "real",
    "real/b.yaml",
  ]);
  expect([readFileSync(join(root, "real/b.yaml"), "utf8"), statSync(join(root, "real/b.yaml")).mode & 0o777]).toEqual([
    "schema: x\n",
    0o640,
  ]);
});

test("CatalogTexts writes nothing when one file cannot be written", async () => {
  using folder = new TempFolder();
  const root = folder.write("catalog", { "a.yaml": PACKAGE });
  const texts = await CatalogTexts.read(root);
  expect(() =>
    texts.write(
      new Map([
        ["a.yaml", "schema: x\n"],
        ["a.yaml/b.yaml", "schema: y\n"],
      ]),
    ),
  ).toThrow();
  expect(readdirSync(root)).toEqual(["a.yaml"]);
  expect(readFileSync(join(root, "a.yaml"), "utf8")).toBe(PACKAGE);
});

test("CatalogTexts writes nothing when .indexignore excludes an existing file with the path of a new one", async () => {
  using folder = new TempFolder();
  const root = folder.write("catalog", { "a.yaml": PACKAGE, "drafts/b.yaml": PACKAGE, ".indexignore": "drafts/\n" });
  const texts = await CatalogTexts.read(root);
  const files = new Map([
    ["a.yaml", "schema: x\n"],
    ["drafts/b.yaml", "schema: y\n"],
  ]);
  const error = "drafts/b.yaml exists, but .indexignore excludes it. Move it, or change .indexignore; no changes were made";
  expect(() => texts.check(files)).toThrow(error);
  expect(() => texts.write(files)).toThrow(error);
  for (const path of ["a.yaml", "drafts/b.yaml"]) expect(readFileSync(join(root, path), "utf8")).toBe(PACKAGE);
  expect(readdirSync(root).sort()).toEqual([".indexignore", "a.yaml", "drafts"]);
});

test("CatalogTexts rejects an unreadable catalog", async () => {
  using folder = new TempFolder();
  await expect(CatalogTexts.read(folder.write("catalog", { "a.yaml": "[" }))).rejects.toThrow(
    /^cannot read the catalog \(no changes were made\): a.yaml: document 1, line/,
  );
  await expect(CatalogTexts.read(join(folder.path, "gone"))).rejects.toThrow(/is not a directory$/);
  expect(existsSync(join(folder.path, "gone"))).toBe(false);
});
