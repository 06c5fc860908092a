import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { countTasks } from "../../../test/support/countTasks.ts";
import { refuse } from "../../../test/support/loopbackRegistry.ts";
import { folder, insecureRegistry, loopbackRegistry, puller } from "../../../test/support/pulling.ts";
import { tarball } from "../../../test/support/tarball.ts";
import { ImageCache, removeTree } from "./cache.ts";

const UNPRIVILEGED = 65_534;

/**
 * Runs in an unprivileged process: pulls two images for one owner, copies one to another owner, and
 * removes them.
 */
const PROGRAM = `
  const { pino } = await import("pino");
  const { Puller } = await import(process.argv[1] + "/puller.ts");
  const { BUNDLE_IMAGE_LIMITS } = await import(process.argv[1] + "/../limits.ts");
  const [, , cacheDir, registriesConf, host] = process.argv;
  const puller = new Puller({ cacheDir, registriesConf, limits: BUNDLE_IMAGE_LIMITS, log: pino({ enabled: false }) });
  const o = { signal: new AbortController().signal };
  await puller.pull("ext", host + "/ns/app:v1", o);
  await puller.pull("other", host + "/ns/app:v1", o);
  const { dir } = await puller.pull("ext", host + "/ns/app:v2", o);
  const { readdirSync, writeFileSync } = await import("node:fs");
  let refused = "";
  try { writeFileSync(dir + "/d/new", ""); } catch (err) { refused = err.code; }
  const entries = readdirSync(cacheDir + "/ext").length;
  await puller.remove("ext");
  await puller.remove("other");
  await puller.close();
  console.log(JSON.stringify({ uid: process.getuid(), refused, entries, left: readdirSync(cacheDir) }));
`;

test("the image cache replaces and removes read-only images without root permissions", async (context) => {
  const registry = await loopbackRegistry();
  registry.addImage("ns/app", "v1", { layers: [tarball([{ name: "d/e/f", content: "1" }])] });
  registry.addImage("ns/app", "v2", { layers: [tarball([{ name: "d/e/g", content: "2" }])] });
  const dir = await folder();
  await chmod(dir, 0o755);
  await writeFile(join(dir, "registries.conf"), insecureRegistry(registry.host));
  const cacheDir = join(dir, "cache");
  await mkdir(cacheDir, { mode: 0o777 });
  await chmod(cacheDir, 0o777);
  const asUnprivileged = process.getuid?.() === 0 ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {};
  const args = ["--input-type=module", "-e", PROGRAM, import.meta.dirname, cacheDir, join(dir, "registries.conf"), registry.host];
  const run = await promisify(execFile)(process.execPath, args, { ...asUnprivileged, cwd: join(import.meta.dirname, "../../..") }).catch(
    (err: Error) => err,
  );
  if (run instanceof Error && /EACCES|ERR_MODULE_NOT_FOUND/.test(run.message)) context.skip("other users cannot read this checkout");
  if (run instanceof Error) throw run;
  expect(JSON.parse(run.stdout)).toEqual({ uid: asUnprivileged.uid ?? process.getuid?.(), refused: "EACCES", entries: 2, left: [] });
});

test("removeTree does not follow symlinks", async () => {
  const dir = await mkdtemp(join(tmpdir(), "olmv1-remove-"));
  onTestFinished(() => removeTree(dir));
  await mkdir(join(dir, "kept"));
  await writeFile(join(dir, "kept/file"), "");
  await mkdir(join(dir, "gone/sub"), { recursive: true });
  await symlink(join(dir, "kept"), join(dir, "gone/link"));
  await symlink(join(dir, "kept"), join(dir, "alias"));
  await chmod(join(dir, "gone/sub"), 0o500);
  await removeTree(join(dir, "gone"));
  await removeTree(join(dir, "alias"));
  await removeTree(join(dir, "absent"));
  expect(await readdir(dir, { recursive: true })).toEqual(["kept", "kept/file"]);
});

test("removeTree runs other tasks between the entries of a directory", async () => {
  const dir = await folder();
  const trees = Array.from({ length: 200 }, (_, i) => join(dir, `d${i}/sub`));
  await Promise.all(trees.map((tree) => mkdir(tree, { recursive: true })));
  expect(await countTasks(() => removeTree(dir))).toBeGreaterThan(trees.length);
});

test("an unpacked image is visible in the cache only after publish, and discard removes it", async () => {
  const dir = await folder();
  const cache = new ImageCache(dir);
  const digest = `sha256:${"a".repeat(64)}`;
  const draft = await cache.begin("owner");
  await writeFile(join(draft.content, "file"), "");
  expect(await cache.find("owner", digest)).toBeUndefined();
  await cache.removeOthers("owner", digest);
  expect(await readdir(draft.content)).toEqual(["file"]);
  await cache.discard(draft);
  expect(await readdir(join(dir, "owner"))).toEqual([]);
  const stored = { config: { labels: { a: "b" }, architecture: "amd64", os: "linux" }, root: "configs" };
  const next = await cache.begin("owner");
  const image = await cache.publish(next, "owner", digest, stored);
  await cache.discard(next);
  expect(await cache.find("owner", digest)).toEqual(image);
  expect(image.stored).toEqual({ ...stored, size: { files: 0, bytes: 0 } });
});

test.for<[what: string, damage: (dir: string) => Promise<unknown>]>([
  ["is truncated", (dir) => truncate(join(dir, "d/file"), 2)],
  ["is missing", (dir) => rm(join(dir, "d/file"))],
])("the image cache of the next process does not return an image when a file %s", async ([, damage]) => {
  const dir = await folder();
  const digest = `sha256:${"a".repeat(64)}`;
  const cache = new ImageCache(dir);
  const draft = await cache.begin("owner");
  await mkdir(join(draft.content, "d"));
  await writeFile(join(draft.content, "d/file"), "text");
  await symlink("file", join(draft.content, "d/link"));
  const image = await cache.publish(draft, "owner", digest, { config: { labels: {}, architecture: "amd64", os: "linux" }, root: "" });
  await cache.discard(draft);
  expect(await new ImageCache(dir).find("owner", digest)).toEqual(image);
  await damage(image.dir);
  expect(await new ImageCache(dir).find("owner", digest)).toBeUndefined();
  expect((await readdir(join(dir, "owner"))).includes(digest)).toBe(false);
});

test("the image cache removes drafts of a killed process at its first use, also when each pull fails", async () => {
  const registry = await loopbackRegistry();
  const { digest } = registry.addImage("ns/app", "v1", { layers: [tarball([{ name: "a", content: "1" }])] });
  registry.misbehave = (_req, res) => refuse(res, 500, "UNKNOWN", "broken");
  const made = await puller({ conf: insecureRegistry(registry.host), limits: { attempts: 1 } });
  for (const owner of ["ext", "other"]) {
    await mkdir(join(made.cacheDir, owner, ".draft-dead/content/d"), { recursive: true, mode: 0o500 });
    await writeFile(join(made.cacheDir, owner, `.${digest}.json.new`), "");
  }
  const { signal } = new AbortController();
  await expect(made.puller.pull("ext", `${registry.host}/ns/app@${digest}`, { signal })).rejects.toThrow("500 Internal Server Error");
  expect([await made.entries("ext"), await made.entries("other")]).toEqual([[], []]);
});

test("the image cache keeps drafts in use when it begins another one for the same owner, and removes all others", async () => {
  const dir = await folder();
  const cache = new ImageCache(dir);
  const first = await cache.begin("owner");
  await mkdir(join(dir, "owner/.draft-kept-by-an-error/content"), { recursive: true });
  const second = await cache.begin("owner");
  expect((await readdir(join(dir, "owner"))).sort()).toEqual([basename(first.scratch), basename(second.scratch)].sort());
});
