import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TempFolder } from "../../../test/support/tempFolder.ts";
import { CONTENT_LIMITS, Loader, type LoaderOptions } from "./loader.ts";

const never = new AbortController().signal;
const PACKAGE = '{"schema":"olm.package","name":"foo"}\n';

let temp: TempFolder;
let count = 0;
beforeAll(() => {
  temp = new TempFolder();
});
afterAll(() => temp?.[Symbol.dispose]());

/** Loads a catalog with these files. @returns the lines of the catalog file. */
async function loaded(
  files: Record<string, string | Uint8Array>,
  options: LoaderOptions = {},
  loader = new Loader(options),
): Promise<string> {
  const name = `catalog${count++}`;
  const staging = join(temp.path, name, "staging");
  mkdirSync(staging, { recursive: true });
  await loader.load(temp.write(join(name, "root"), files), staging, never);
  return readFileSync(join(staging, "catalog.jsonl"), "utf8");
}

test("loader rejects a document that expands beyond the limit and reports its position", async () => {
  const bomb = `schema: a\na0: &a0 "${"x".repeat(20_000)}"\na1: [${"*a0,".repeat(90)}]\n`;
  await expect(
    loaded({ "a.json": PACKAGE, "dir/bomb.yaml": bomb }, { limits: { ...CONTENT_LIMITS, documentBytes: 1_000_000 } }),
  ).rejects.toThrow("dir/bomb.yaml: document 1, line 1: the object is too large: more than 1000000 characters of JSON");
});

test("loader stops reading at the deadline and reports the file", async () => {
  const files = { "a.json": PACKAGE, "slow/f.yaml": "schema: a\n---\n".repeat(200_000) };
  const deadline = { baseMs: 600_000, perMibMs: 0, maxMs: 1 };
  await expect(loaded(files, { deadline })).rejects.toThrow(
    /^reading the catalog timed out after 0 s at (a\.json|slow\/f\.yaml|the list of files)\. Split large or deeply nested objects, or exclude the file with \.indexignore$/,
  );
});

test("loader extends the deadline with the size of the catalog", async () => {
  const deadline = { baseMs: 60_000, perMibMs: 100_000, maxMs: 600_000 };
  expect(await loaded({ "a.json": PACKAGE }, { deadline })).toBe('{"name":"foo","schema":"olm.package"}\n');
});

test("loader fails when a catalog exceeds the memory limit, and can then read another catalog", async () => {
  const loader = new Loader({ heapMib: 64 });
  const keys = Array.from({ length: 600_000 }, (_, i) => `k${i}: [${i}]`).join("\n");
  await expect(loaded({ "a.json": PACKAGE, "large.yaml": `schema: a\n${keys}` }, {}, loader)).rejects.toThrow(
    "reading the catalog needs more than 64 MiB of memory at large.yaml. Split large or deeply nested objects, or exclude the file with .indexignore",
  );
  expect(await loaded({ "a.json": PACKAGE }, {}, loader)).toBe('{"name":"foo","schema":"olm.package"}\n');
});

test("loader rejects an aborted read with the abort reason, both while queued and while running", async () => {
  const loader = new Loader();
  const stop = new AbortController();
  const load = (name: string): Promise<unknown> => {
    const root = temp.write(join(name, "root"), { "f.yaml": "schema: a\n---\n".repeat(300_000) });
    const staging = join(temp.path, name, "staging");
    mkdirSync(staging);
    return loader.load(root, staging, stop.signal).catch((err: unknown) => err);
  };
  const both = [load("running"), load("waiting")];
  stop.abort(new Error("the catalog was deleted"));
  for (const ended of await Promise.all(both)) expect(ended).toMatchObject({ message: "the catalog was deleted" });
});
