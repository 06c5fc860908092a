import { spawn } from "node:child_process";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const PROJECT = { name: "empty", version: "1.0.0", private: true };
const LOCK = { ...PROJECT, lockfileVersion: 3, requires: true, packages: { "": PROJECT } };

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "olmv1-setup-"));
  await mkdir(join(folder, ".ci"));
  await cp(join(ROOT, ".ci/setup.mjs"), join(folder, ".ci/setup.mjs"));
  await writeFile(join(folder, "package.json"), JSON.stringify(PROJECT));
  await writeFile(join(folder, "package-lock.json"), JSON.stringify(LOCK));
});
afterEach(() => rm(folder, { recursive: true }));

/** Runs the setup with a fake npm that only prints its last line after a delay; "npm" counts as one line of output. */
async function setUp(added: Readonly<Record<string, string>> = {}): Promise<{ code: number | null; output: string }> {
  const bin = join(folder, "bin");
  await mkdir(bin, { recursive: true });
  await writeFile(
    join(bin, "npm"),
    "#!/bin/sh\necho npm$npm_config_global >&2\nsleep ${NPM_SECONDS:-0.4}\nmkdir -p node_modules\necho {} > node_modules/.package-lock.json\n",
  );
  await chmod(join(bin, "npm"), 0o755);
  const { npm_execpath: _npm, ...env } = process.env;
  const options = {
    env: { ...env, ...added, PATH: `${bin}${delimiter}${env["PATH"] ?? ""}` },
    stdio: ["ignore", "ignore", "pipe"] as ["ignore", "ignore", "pipe"],
  };
  const child = spawn(process.execPath, [join(folder, ".ci/setup.mjs")], options);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return { output: await text(child.stderr), code: await ended };
}

/** How npm runs a script while it installs a folder. */
const PREPARE = { npm_lifecycle_event: "prepare" };

const installs = (output: string): number => output.split("\n").filter((line) => line === "npm").length;

test("setup installs once and then prints nothing", async () => {
  const first = await setUp();
  expect([first.code, installs(first.output)]).toEqual([0, 1]);
  expect(await setUp()).toEqual({ code: 0, output: "" });
});

test("setup installs again, once, when the lockfile is newer than the installation", async () => {
  await setUp();
  const later = new Date(Date.now() + 60_000);
  await utimes(join(folder, "package-lock.json"), later, later);
  expect(installs((await setUp()).output)).toBe(1);
  expect(installs((await setUp()).output)).toBe(0);
});

test("setup installs once when two processes run it concurrently, and the second process reports that it waits", async () => {
  const slow = { NPM_SECONDS: "4" }; // the second process must start before the first ends
  const both = await Promise.all([setUp(slow), setUp(slow)]);
  expect(both.map(({ code }) => code)).toEqual([0, 0]);
  expect(both.reduce((sum, { output }) => sum + installs(output), 0)).toBe(1);
  expect(both.filter(({ output }) => /^process \d+ is installing packages; waiting$/m.test(output))).toHaveLength(1);
});

test("setup installs when npm installs the folder globally, which does not install its packages", async () => {
  expect(installs((await setUp({ ...PREPARE, npm_config_global: "true" })).output)).toBe(1);
});

test("setup does nothing when npm installs the packages of the folder", async () => {
  expect(await setUp(PREPARE)).toEqual({ code: 0, output: "" });
});

test("setup fails when npm fails, and the next run retries", async () => {
  await writeFile(join(folder, "package-lock.json"), "");
  await mkdir(join(folder, "bin"));
  await writeFile(join(folder, "node_modules"), "in the way");
  const failed = await setUp();
  expect(failed.code).toBe(1);
  await rm(join(folder, "node_modules"));
  expect((await setUp()).code).toBe(0);
});

test("setup reports the Node.js version when it is too old", async () => {
  await setUp();
  await mkdir(join(folder, "node_modules/.bin"));
  await writeFile(join(folder, "old-node"), "#!/bin/sh\necho v22.18.0\n");
  await chmod(join(folder, "old-node"), 0o755);
  await symlink(join(folder, "old-node"), join(folder, "node_modules/.bin/node"));
  const { code, output } = await setUp();
  expect(code).toBe(1);
  expect(output).toMatch(/^Node 22\.19 or newer is needed, but .*node is v22\.18\.0; install it/);
});

// A shell remembers where it found `node`, so it does not use the Node.js that the setup has installed.
test("scripts start a new shell for node when the setup has installed the packages", async () => {
  const { scripts } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { scripts: Record<string, string> };
  const withSetup = Object.entries(scripts).filter(([, script]) => script.includes(".ci/setup.mjs"));
  expect(withSetup).not.toEqual([]);
  expect(withSetup.filter(([, script]) => /setup\.mjs && .*\bnode /.test(script))).toEqual([]);
});
