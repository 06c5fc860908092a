import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../test/support/eventually.ts";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { createLogger } from "../telemetry/log.ts";
import { CatalogStore } from "./catalogStore.ts";
import type { ContentOrigin } from "./store/content.ts";
import { readSealed, writeSealed } from "./store/storedFile.ts";

const log = createLogger({ component: "test", level: "silent" });
const signal = new AbortController().signal;
const TEXT = `{"schema":"a","t":"${"y".repeat(1_500)}"}\n`;
const OLD = '{"schema":"old"}\n';

function originOf(digest: string): ContentOrigin {
  return { ref: `registry.example/catalog@${digest}`, digest, lastUnpacked: "2026-01-02T03:04:05Z" };
}

/** Flips one bit in the middle of a file. */
function flip(file: string): void {
  const bytes = readFileSync(file);
  const middle = bytes.length >> 1;
  bytes[middle] = (bytes[middle] ?? 0) ^ 4;
  writeFileSync(file, bytes);
}

/** Changes the metadata in an index and recomputes its checksum. */
async function reseal(version: string, change: object): Promise<void> {
  const { value, columns } = await readSealed(join(version, "index"));
  await writeSealed(join(version, "index"), { ...(value as object), ...change }, columns);
}

/** The catalogs "test" and "good" on disk, and an earlier version of "test". */
const stored = new TempFolder();
let folder: TempFolder;
let store: CatalogStore;
let lost: string[];
const dir = (): string => join(folder.path, "catalogs");
/** Returns the folder of the current content of "test". */
const version = (top = dir()): string => join(top, "test", readlinkSync(join(top, "test/current")));

beforeAll(async () => {
  const made = await CatalogStore.open({ dir: join(stored.path, "catalogs"), log });
  await made.store("test", stored.write("old", { a: OLD }), originOf("sha256:0"), signal);
  await made.settled();
  cpSync(version(join(stored.path, "catalogs")), join(stored.path, "before"), { recursive: true });
  for (const name of ["test", "good"]) await made.store(name, stored.write("a", { a: TEXT }), originOf("sha256:1"), signal);
  await made.settled();
  await made.close();
});
afterAll(() => stored[Symbol.dispose]());

beforeEach(() => {
  folder = new TempFolder();
  cpSync(join(stored.path, "catalogs"), dir(), { recursive: true, verbatimSymlinks: true });
});
afterEach(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

async function open(): Promise<void> {
  store = await CatalogStore.open({ dir: dir(), log, retryMs: 5 });
  lost = [];
  store.onLost((name) => lost.push(name));
}

async function textOf(name: string): Promise<string | undefined> {
  const file = store.get(name)?.catalog.file;
  if (!file) return undefined;
  const buffer = Buffer.alloc(file.bytes);
  await file.handle.read(buffer, 0, buffer.length, 0);
  return buffer.toString();
}

/** Ways to damage the content file or its index. */
const DAMAGES: [string, (version: string) => void | Promise<void>][] = [
  ["a shortened content file", (at) => truncateSync(join(at, "catalog.jsonl"), 3)],
  ["a flipped bit in the content file", (at) => flip(join(at, "catalog.jsonl"))],
  ["a longer content file", (at) => appendFileSync(join(at, "catalog.jsonl"), "{}\n")],
  ["a missing content file", (at) => rmSync(join(at, "catalog.jsonl"))],
  ["a folder in place of the content file", (at) => (rmSync(join(at, "catalog.jsonl")), mkdirSync(join(at, "catalog.jsonl")))],
  ["a missing index", (at) => rmSync(join(at, "index"))],
  ["an empty index", (at) => truncateSync(join(at, "index"), 0)],
  ["a shortened index", (at) => truncateSync(join(at, "index"), 50)],
  ["an index without its last byte", (at) => truncateSync(join(at, "index"), statSync(join(at, "index")).size - 1)],
  ["a longer index", (at) => appendFileSync(join(at, "index"), "x")],
  ["a flipped bit in the index", (at) => flip(join(at, "index"))],
  ["an index with other data", (at) => writeFileSync(join(at, "index"), Buffer.alloc(4_096, 0xff))],
];

describe("content store at the start", () => {
  test.for<[string, (version: string) => void | Promise<void>]>([
    ...DAMAGES,
    ["an index of an older format", (at) => reseal(at, { format: 2 })],
    ["an index that lists unknown artifacts", (at) => reseal(at, { artifacts: ["catalog", "unheard-of"] })],
    ["a store of an older format", (at) => renameSync(join(at, "index"), join(at, "index.json"))],
  ])("store removes and reports a catalog with %s, and serves other catalogs", async ([, spoil]) => {
    await spoil(version());
    await open();
    expect([store.catalogs(), readdirSync(dir()), lost]).toEqual([["good"], ["good"], ["test"]]);
  });

  test("store keeps the timestamp of a removed catalog when the same content is stored again", async () => {
    const before = await CatalogStore.open({ dir: dir(), log });
    const { lastModified } = before.get("test") ?? {};
    await before.close();
    flip(join(version(), "catalog.jsonl"));
    await open();
    const again = await store.store("test", folder.write("a", { a: TEXT }), originOf("sha256:1"), signal);
    expect([await textOf("test"), again.lastModified]).toEqual([TEXT, lastModified]);
  });

  test.for<[string, (version: string) => void]>([
    ["a dangling link", (at) => (rmSync(join(at, "../current")), symlinkSync("nowhere", join(at, "../current")))],
    ["a link to another folder", (at) => (rmSync(join(at, "../current")), symlinkSync("/etc", join(at, "../current")))],
    ["a folder in place of the link", (at) => (rmSync(join(at, "../current")), mkdirSync(join(at, "../current")))],
    ["a missing link", (at) => rmSync(join(at, "../current"))],
    ["foreign files", (at) => (writeFileSync(join(at, "x"), ""), mkdirSync(join(at, "../y")), writeFileSync(join(at, "../z"), ""))],
    ["an unfinished write", (at) => (mkdirSync(join(at, "../.staging-1")), symlinkSync("x", join(at, "../.link-1")))],
  ])("store serves a catalog despite %s", async ([, spoil]) => {
    const before = version();
    spoil(before);
    await open();
    await store.settled();
    expect([await textOf("test"), version(), lost]).toEqual([TEXT, before, []]);
    expect(
      readdirSync(join(dir(), "test"))
        .filter((name) => name !== "z")
        .sort(),
    ).toEqual(["current", basename(before)].sort());
  });

  test("store serves the previous content when the current content is incomplete", async () => {
    cpSync(join(stored.path, "before"), join(dir(), "test/before"), { recursive: true });
    truncateSync(join(version(), "catalog.jsonl"), 100);
    await open();
    expect([await textOf("test"), store.get("test")?.origin.digest, basename(version())]).toEqual([OLD, "sha256:0", "before"]);
    await store.settled();
    expect(readdirSync(join(dir(), "test")).sort()).toEqual(["before", "current"]);
  });

  test.for<[string, (file: string) => void]>([
    ["a flipped bit", (file) => flip(file)],
    ["a missing end", (file) => truncateSync(file, 20)],
    ["a missing index", (file) => rmSync(`${file}.index`)],
    ["a damaged index", (file) => flip(`${file}.index`)],
    ["an index without its file", (file) => rmSync(file)],
    ["an unfinished write", (file) => (renameSync(file, `${file}.tmp`), rmSync(`${file}.index`))],
  ])("store recreates compressed files with the same bytes after damage: %s", async ([, spoil]) => {
    const files = [".gz", ".zst"].map((suffix) => join(version(), `catalog.jsonl${suffix}`));
    const before = files.map((file) => readFileSync(file));
    files.forEach(spoil);
    await open();
    expect([await textOf("test"), store.get("test")?.catalog.encodings]).toEqual([TEXT, []]);
    await store.settled();
    expect([store.get("test")?.catalog.encodings, files.map((file) => readFileSync(file))]).toEqual([["zstd", "gzip"], before]);
  });
});

describe("content store while content is served", () => {
  test.for(DAMAGES)("scrub removes and reports a catalog with %s, and other catalogs are still served", async ([, spoil]) => {
    await open();
    await store.settled();
    const at = version();
    await spoil(at);
    await store.scrub(signal);
    expect([store.catalogs(), lost]).toEqual([["good"], ["test"]]);
    await store.settled();
    expect([existsSync(at), store.get("good")?.catalog.encodings]).toEqual([false, ["zstd", "gzip"]]);
  });

  test("scrub does not change an undamaged catalog", async () => {
    await open();
    await store.settled();
    const before = store.get("test");
    await store.scrub(signal);
    expect([store.get("test") === before, lost, before?.catalog.encodings]).toEqual([true, [], ["zstd", "gzip"]]);
  });

  test("scrub recreates a damaged compressed file and keeps the content", async () => {
    await open();
    await store.settled();
    const content = store.get("test");
    const file = join(version(), "catalog.jsonl.gz");
    const before = readFileSync(file);
    flip(file);
    await store.scrub(signal);
    expect([store.get("test") === content, content?.catalog.encodings]).toEqual([true, ["zstd"]]);
    await store.settled();
    expect([content?.catalog.encodings, readFileSync(file), lost]).toEqual([["zstd", "gzip"], before, []]);
  });

  test("store stops serving a catalog when its file is shorter than expected", async () => {
    await open();
    const content = store.get("test");
    truncateSync(join(version(), "catalog.jsonl"), 10);
    const file = content?.catalog.file;
    await expect(file?.read(Buffer.alloc(100), 0, 100, 10)).rejects.toThrow("the content file is shorter than recorded in its index");
    expect([store.get("test"), lost]).toEqual([undefined, ["test"]]);
  });

  test("store stops serving a compressed file that is too short until the file is recreated", async () => {
    await open();
    await store.settled();
    const artifact = store.get("test")?.catalog;
    truncateSync(join(version(), "catalog.jsonl.gz"), 10);
    await expect(artifact?.compressed("gzip")?.read(Buffer.alloc(100), 0, 100, 10)).rejects.toThrow("shorter");
    expect([artifact?.encodings, lost]).toEqual([["zstd"], []]);
    await store.settled();
    expect(artifact?.encodings).toEqual(["zstd", "gzip"]);
  });

  test("store stops serving a catalog when compression detects damage", async () => {
    for (const file of ["catalog.jsonl.gz.index", "catalog.jsonl.zst.index"]) rmSync(join(version(), file));
    await open();
    flip(join(version(), "catalog.jsonl"));
    await store.settled();
    expect([store.catalogs(), lost]).toEqual([["good"], ["test"]]);
  });

  test("store serves a catalog that cannot be compressed with gzip, and retries the compression", async () => {
    const at = join(version(), "catalog.jsonl.gz.tmp");
    rmSync(join(version(), "catalog.jsonl.gz"));
    mkdirSync(at); // blocks the path
    await open();
    await store.settled();
    expect([await textOf("test"), store.get("test")?.catalog.encodings, lost]).toEqual([TEXT, ["zstd"], []]);
    rmSync(at, { recursive: true });
    await eventually(() => expect(store.get("test")?.catalog.encodings).toEqual(["zstd", "gzip"]));
  });
});
