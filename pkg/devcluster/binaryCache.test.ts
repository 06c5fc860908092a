import { chmod, mkdir, mkdtemp, readdir, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { buildInto, CONTROL_PLANE_PROGRAMS, findCachedBuild, getCacheRoot, hashSources } from "./binaryCache.ts";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "olmv1-cache-"));
});
afterEach(() => rm(root, { recursive: true }));

test("getCacheRoot returns a folder in XDG_CACHE_HOME, or else in the home folder", () => {
  expect(getCacheRoot({ XDG_CACHE_HOME: "/c" })).toBe("/c/olmv1/controlplane");
  expect(getCacheRoot({ XDG_CACHE_HOME: "" })).toMatch(/\/\.cache\/olmv1\/controlplane$/);
});

test("hashSources returns another hash when the version or any of its module files changes", async () => {
  const version = { minor: "1.2", release: "v1.2.3", moduleFile: "go-1.2.mod", flags: [] };
  const files = ["go-1.2.mod", "go-1.2.sum", "main.go", "helm.go"];
  for (const name of files) await writeFile(join(root, name), "x");
  const hashes = new Set([await hashSources(root, version), await hashSources(root, { ...version, release: "v1.2.4" })]);
  for (const name of files) {
    await writeFile(join(root, name), "y");
    hashes.add(await hashSources(root, version));
  }
  expect(hashes.size).toBe(files.length + 2);
});

describe("buildInto", () => {
  const slowBuild = (calls: string[]) => async (output: string) => {
    calls.push(output);
    await sleep(100);
    await writeFile(output, "binary");
    await chmod(output, 0o755);
  };

  test("buildInto builds once for two concurrent callers, and returns the same folder with a link for each program to both", async () => {
    const calls: string[] = [];
    const waits: (number | undefined)[] = [];
    const options = {
      root,
      source: "abc",
      compiler: "go1.26.8",
      build: slowBuild(calls),
      waiting: (owner?: { pid: number }) => void waits.push(owner?.pid),
    };
    const [first, second] = await Promise.all([buildInto(options), buildInto(options)]);
    expect(calls).toHaveLength(1);
    expect(waits).toEqual([process.pid]);
    expect([first, second]).toEqual([join(root, "abc-go1.26.8"), join(root, "abc-go1.26.8")]);
    for (const program of CONTROL_PLANE_PROGRAMS) expect(await readlink(join(first, program))).toBe("controlplane");
    expect(await readdir(root)).toEqual(["abc-go1.26.8"]);
  });

  test("buildInto leaves no files after a failed build, and a waiting caller builds next", async () => {
    let attempts = 0;
    const build = async (output: string): Promise<void> => {
      await sleep(50);
      if (++attempts === 1) throw new Error("no space left on device");
      await writeFile(output, "binary");
    };
    const options = { root, source: "abc", compiler: "go1.26.8", build, waiting: () => undefined };
    const results = await Promise.allSettled([buildInto(options), buildInto(options)]);
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    expect(await readdir(root)).toEqual(["abc-go1.26.8"]);
  });

  test("buildInto removes the files of a killed build", async () => {
    await mkdir(join(root, "abc-go1.26.8.0000.tmp"));
    await buildInto({ root, source: "abc", compiler: "go1.26.8", build: slowBuild([]), waiting: () => undefined });
    expect(await readdir(root)).toEqual(["abc-go1.26.8"]);
  });

  test("findCachedBuild returns a build by another compiler only when no compiler is installed", async () => {
    await buildInto({ root, source: "abc", compiler: "go1.26.8", build: slowBuild([]), waiting: () => undefined });
    expect(await findCachedBuild(root, "abc", "go1.26.8")).toBe(join(root, "abc-go1.26.8"));
    expect(await findCachedBuild(root, "abc", "go1.27.0")).toBeUndefined();
    expect(await findCachedBuild(root, "abc", undefined)).toBe(join(root, "abc-go1.26.8"));
    expect(await findCachedBuild(root, "abd", undefined)).toBeUndefined();
    expect(await findCachedBuild(join(root, "missing"), "abc", undefined)).toBeUndefined();
  });
});
