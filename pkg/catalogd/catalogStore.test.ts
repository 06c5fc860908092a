import { mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TempFolder } from "../../test/support/tempFolder.ts";
import { createLogger } from "../telemetry/log.ts";
import { CatalogStore } from "./catalogStore.ts";
import { CONTENT_LIMITS, Loader } from "./load/loader.ts";
import type { ContentLimits } from "./load/loadMessage.ts";
import type { CatalogContent, ContentOrigin } from "./store/content.ts";

const log = createLogger({ component: "test", level: "silent" });
const signal = new AbortController().signal;
const LIMITS: ContentLimits = {
  ...CONTENT_LIMITS,
  files: 20,
  fileBytes: 5_000,
  totalBytes: 8_000,
  documentBytes: 2_000,
  metas: 10,
  keyLength: 1_000,
  totalKeyLength: 2_000,
};

function originOf(digest: string): ContentOrigin {
  return { ref: `registry.example/catalog@${digest}`, digest, lastUnpacked: "2026-01-02T03:04:05Z" };
}

async function textOf(content: CatalogContent | undefined): Promise<string | undefined> {
  if (!content) return undefined;
  const buffer = Buffer.alloc(content.catalog.file.bytes);
  await content.catalog.file.handle.read(buffer, 0, buffer.length, 0);
  return buffer.toString();
}

let folder: TempFolder;
let store: CatalogStore;
const dir = (): string => join(folder.path, "catalogs");
const opened = (): Promise<CatalogStore> => CatalogStore.open({ dir: dir(), log, loader: new Loader({ limits: LIMITS }) });

beforeEach(async () => {
  folder = new TempFolder();
  store = await opened();
});
afterEach(async () => {
  await store.close();
  folder[Symbol.dispose]();
});

describe("reading a catalog", () => {
  test("store reads files in lexical order and documents in file order, and writes JSON like Go with sorted keys", async () => {
    const root = folder.write("fbc", {
      "b.yaml": "schema: b1\n---\nschema: b2\n",
      "a/z.json": '{"schema":"az","n":1.50,"<":"&\\u2028"}',
      "a.yaml": "zeta: 1e3\nschema: a\nAlpha: yes\n",
      "a/.hidden": "schema: hidden",
      "B.yaml": "schema: B\n",
    });
    const content = await store.store("test", root, originOf("sha256:1"), signal);
    expect(await textOf(content)).toBe(
      [
        '{"schema":"B"}',
        '{"schema":"hidden"}',
        '{"<":"&\\u2028","n":1.5,"schema":"az"}',
        '{"Alpha":true,"schema":"a","zeta":1000}',
        '{"schema":"b1"}',
        '{"schema":"b2"}',
        "",
      ].join("\n"),
    );
  });

  test("store does not corrupt long texts of multibyte characters at buffer boundaries", async () => {
    const texts = ["x", "\u00e9", "\u20ac", "\u{1f600}", "\u{1f600}\\n"].flatMap((unit) =>
      [0, 1, 2].map((before) => `${"a".repeat(before)}${unit.repeat(70_000)}`),
    );
    const documents = texts.map((text) => `{"schema":"a","text":"${text}"}\n`);
    const root = folder.write("fbc", Object.fromEntries(documents.map((text, i) => [`${String(i).padStart(2, "0")}.json`, text])));
    const roomy = await CatalogStore.open({ dir: join(folder.path, "roomy"), log });
    const content = await roomy.store("test", root, originOf("sha256:1"), signal);
    expect(await textOf(content)).toBe(documents.join(""));
    await roomy.close();
  });

  test("store excludes files that match an .indexignore file in any folder", async () => {
    const root = folder.write("fbc", {
      ".indexignore": "*.md\n/skipped/\n",
      "README.md": "prose",
      "skipped/broken.yaml": "[",
      "sub/.indexignore": "!NOTES.md\nbroken.yaml\n",
      "sub/NOTES.md": "schema: notes",
      "sub/broken.yaml": "[",
      "sub/deep/broken.yaml": "[",
    });
    expect(await textOf(await store.store("test", root, originOf("sha256:1"), signal))).toBe('{"schema":"notes"}\n');
  });

  test("store follows links inside the catalog", async () => {
    const root = folder.write("fbc", { "a/real.yaml": "schema: a" });
    symlinkSync("a/real.yaml", join(root, "link.yaml"));
    expect(await textOf(await store.store("test", root, originOf("sha256:1"), signal))).toBe('{"schema":"a"}\n{"schema":"a"}\n');
  });

  test.for<[string, (root: string) => void, string]>([
    [
      "a link out of the catalog",
      (root) => symlinkSync("/etc/hostname", join(root, "x/out")),
      "x/out: link to a target outside the catalog",
    ],
    ["a link to the parent folder", (root) => symlinkSync("../..", join(root, "x/up")), "x/up: link to a target outside the catalog"],
    [
      "a link next to the root",
      (root) => (writeFileSync(`${root}-sibling`, "schema: a"), symlinkSync(`../../${root.split("/").at(-1)}-sibling`, join(root, "x/l"))),
      "x/l: link to a target outside the catalog",
    ],
    ["a link to a folder", (root) => symlinkSync("x", join(root, "y")), "y: links to folders are not supported"],
    ["a link to itself", (root) => symlinkSync("self", join(root, "self")), "self: dangling link"],
    ["a dangling link", (root) => symlinkSync("nothing", join(root, "dangling")), "dangling: dangling link"],
    [
      ".indexignore as a link out of the catalog",
      (root) => symlinkSync("/etc/hostname", join(root, ".indexignore")),
      ".indexignore: link to a target outside the catalog",
    ],
    ["an invalid document", (root) => writeFileSync(join(root, "x/c.yaml"), "schema: a\n---\nname: [\n"), "x/c.yaml: document 2, line 4: "],
    ["prose", (root) => writeFileSync(join(root, "README"), "hello"), "README: document 1, line 1: expected an object, got a string"],
    [
      "a long file",
      (root) => writeFileSync(join(root, "long"), " ".repeat(5_001)),
      "long: the file is too large: 5001 bytes, maximum 5000",
    ],
    [
      "a long document",
      (root) => writeFileSync(join(root, "long"), `schema: ${"x".repeat(2_001)}`),
      "long: document 1, line 1: document too large: more than 2000 bytes",
    ],
    [
      "too many bytes",
      (root) => ["a", "b"].forEach((name) => writeFileSync(join(root, name), " ".repeat(4_500))),
      "the catalog is too large: 9009 bytes, maximum 8000",
    ],
    [
      "too many files",
      (root) => Array.from({ length: 20 }, (_, i) => writeFileSync(join(root, `f${i}`), "")),
      "the catalog has too many files and folders: maximum 20",
    ],
    [
      "too many objects",
      (root) => writeFileSync(join(root, "many"), '{"schema":"a"}'.repeat(11)),
      "the catalog has too many objects: maximum 10",
    ],
    ...(["schema", "package", "name"] as const).map((field): [string, (root: string) => void, string] => [
      `a long ${field}`,
      (root) => writeFileSync(join(root, "long"), JSON.stringify({ schema: "a", [field]: "x".repeat(1_001) })),
      `long: document 1, line 1: the ${field} is too long: 1001 characters, maximum 1000`,
    ]),
    [
      "too many characters of different names",
      (root) => writeFileSync(join(root, "names"), ["x", "y", "x", "z"].map((c) => `schema: a\nname: ${c.repeat(999)}\n`).join("---\n")),
      "names: document 4, line 10: the catalog has too many different schemas, packages and names: more than 2000 characters",
    ],
    ["a missing folder", (root) => rmSync(root, { recursive: true }), "ENOENT"],
  ])("store rejects %s and serves the previous content", async ([, spoil, message]) => {
    const good = await store.store("test", folder.write("good", { "x/a.yaml": "schema: a" }), originOf("sha256:1"), signal);
    const root = folder.write("bad", { "x/a.yaml": "schema: a" });
    spoil(root);
    await expect(store.store("test", root, originOf("sha256:2"), signal)).rejects.toThrow(message);
    expect(store.get("test")).toBe(good);
    expect(await textOf(store.get("test"))).toBe('{"schema":"a"}\n');
    await store.settled();
    expect(readdirSync(join(dir(), "test")).filter((name) => name.startsWith("."))).toEqual([]);
  });

  test("store rejects a named pipe without blocking", async () => {
    const root = folder.write("bad", {});
    const { execFileSync } = await import("node:child_process");
    execFileSync("mkfifo", [join(root, "pipe")]);
    await expect(store.store("test", root, originOf("sha256:1"), signal)).rejects.toThrow("pipe: not a regular file");
  });

  test("store leaves no files when a read is aborted", async () => {
    const stop = new AbortController();
    const storing = store.store("test", folder.write("fbc", { "a.yaml": "schema: a" }), originOf("sha256:1"), stop.signal);
    setTimeout(() => stop.abort(new Error("stopped")), 5);
    await expect(storing).rejects.toThrow("stopped");
    expect([store.get("test"), readdirSync(join(dir(), "test"))]).toEqual([undefined, []]);
  });
});

describe("replacing and removing", () => {
  test("store replaces content atomically, and readers of the old content can finish", async () => {
    const old = await store.store("test", folder.write("1", { a: "schema: old" }), originOf("sha256:1"), signal);
    old.hold();
    const now = await store.store("test", folder.write("2", { a: "schema: new" }), originOf("sha256:2"), signal);
    expect(store.get("test")).toBe(now);
    expect(now.lastModified).toBeGreaterThan(old.lastModified);
    await store.settled();
    expect(await textOf(old)).toBe('{"schema":"old"}\n');
    expect(await textOf(now)).toBe('{"schema":"new"}\n');
    old.release();
    await expect.poll(() => old.catalog.file.handle.fd).toBe(-1);
    const names = readdirSync(join(dir(), "test"));
    expect(names.sort()).toEqual([readlinkSync(join(dir(), "test/current")), "current"].sort());
  });

  test("store.remove deletes only the folder of the removed catalog", async () => {
    await store.store("test", folder.write("1", { a: "schema: a" }), originOf("sha256:1"), signal);
    await store.store("test-2", folder.write("2", { a: "schema: a" }), originOf("sha256:1"), signal);
    await store.remove("test");
    expect([store.get("test"), readdirSync(dir())]).toEqual([undefined, ["test-2"]]);
    await store.remove("never-there");
  });

  test("store accepts several catalogs concurrently", async () => {
    const names = ["a", "b", "c", "d"];
    await Promise.all(names.map((name) => store.store(name, folder.write(name, { f: `schema: ${name}` }), originOf("sha256:1"), signal)));
    expect(await Promise.all(names.map((name) => textOf(store.get(name))))).toEqual(names.map((name) => `{"schema":"${name}"}\n`));
  });

  test.for(["../x", "a/b", "", ".", "..", "A"])("store rejects catalog name %j", async (name) => {
    await expect(store.store(name, folder.path, originOf("sha256:1"), signal)).rejects.toThrow("invalid catalog name: ");
    await expect(store.remove(name)).rejects.toThrow("invalid catalog name: ");
  });
});

describe("a restart", () => {
  const restart = async (): Promise<void> => {
    await store.close();
    store = await opened();
  };

  test("store serves the same content after a restart, with index, times and compressed files", async () => {
    const root = folder.write("1", {
      a: "schema: olm.package\nname: foo\n---\nschema: olm.channel\npackage: foo\nname: c\n",
      b: `schema: x\nt: ${"y".repeat(1_500)}`,
    });
    const before = await store.store("test", root, originOf("sha256:1"), signal);
    await store.settled();
    const want = {
      tag: before.catalog.index.tag,
      origin: before.origin,
      lastModified: before.lastModified,
      found: before.catalog.select({ package: "foo" }),
      text: await textOf(before),
    };
    await restart();
    const after = store.get("test");
    expect(after).toBeDefined();
    expect({
      tag: after?.catalog.index.tag,
      origin: after?.origin,
      lastModified: after?.lastModified,
      found: after?.catalog.select({ package: "foo" }),
      text: await textOf(after),
    }).toEqual(want);
    expect(after?.catalog.encodings).toEqual(["zstd", "gzip"]);
    for (const [encoding, decompress] of [
      ["zstd", zstdDecompressSync],
      ["gzip", gunzipSync],
    ] as const) {
      const file = after?.catalog.compressed(encoding);
      const compressed = Buffer.alloc(file?.bytes ?? 0);
      await file?.handle.read(compressed, 0, compressed.length, 0);
      expect(decompress(compressed).toString()).toBe(want.text);
    }
  });

  test("store creates a missing compressed file after a restart", async () => {
    await store.store("test", folder.write("1", { a: "schema: a" }), originOf("sha256:1"), signal);
    await store.settled();
    rmSync(join(dir(), "test", readlinkSync(join(dir(), "test/current")), "catalog.jsonl.gz"));
    await restart();
    await store.settled();
    expect(store.get("test")?.catalog.encodings).toEqual(["zstd", "gzip"]);
  });

  test("after a restart, store does not serve foreign entries or follow links out of its folder", async () => {
    mkdirSync(join(dir(), "Foreign"));
    writeFileSync(join(dir(), "file"), "");
    mkdirSync(join(dir(), "evil"));
    symlinkSync("../../../etc", join(dir(), "evil/current"));
    await restart();
    expect(store.get("evil")).toBeUndefined();
    expect((await store.names()).sort()).toEqual(["Foreign", "file"]);
    for (const name of await store.names()) await store.removeEntry(name);
    expect(readdirSync(dir())).toEqual([]);
  });
});
