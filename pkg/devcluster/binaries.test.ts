import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Binaries, type FindOptions, findBinaries, NoBinariesError } from "./binaries.ts";
import { CONTROL_PLANE_PROGRAMS } from "./binaryCache.ts";

const SERVERS = CONTROL_PLANE_PROGRAMS.filter((program) => program !== "kubectl" && program !== "helm");
const silent = (): void => undefined;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "olmv1-binaries-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** A folder of executables with these names. */
async function holding(name: string, programs: readonly string[]): Promise<string> {
  const path = join(folder, name);
  await mkdir(path);
  for (const program of programs) {
    await writeFile(join(path, program), "");
    await chmod(join(path, program), 0o755);
  }
  return path;
}

function search(env: Record<string, string>, compiler?: string, say: (line: string) => void = silent): Promise<Binaries> {
  const compile: FindOptions["compile"] = (_module, output) => writeFile(output, "");
  return findBinaries(say, {
    env: { XDG_CACHE_HOME: join(folder, "cache"), ...env },
    compilerIn: () => Promise.resolve(compiler),
    compile,
  });
}

/** Program → the part of its path that tells where it comes from. */
function origins(binaries: Binaries): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(binaries).map(([program, { path }]) => [program, path.slice(folder.length + 1).split("/")[0]]));
}

test("a complete KUBEBUILDER_ASSETS is all that is used", async () => {
  const assets = await holding("assets", SERVERS);
  const found = await search({ KUBEBUILDER_ASSETS: assets, PATH: await holding("bin", CONTROL_PLANE_PROGRAMS) }, "go1.26.8");
  expect(found).toEqual(Object.fromEntries(SERVERS.map((program) => [program, { path: join(assets, program), watchesStdin: false }])));
});

test("what KUBEBUILDER_ASSETS lacks comes from PATH when PATH has all of it", async () => {
  const env = {
    KUBEBUILDER_ASSETS: await holding("assets", ["etcd", "kube-apiserver", "kubectl"]),
    PATH: `/nowhere:${await holding("bin", SERVERS)}`,
  };
  expect(origins(await search(env, "go1.26.8"))).toEqual({
    etcd: "assets",
    "kube-apiserver": "assets",
    "kube-controller-manager": "bin",
    registry: "bin",
    kubectl: "assets",
  });
});

test("a PATH that has only some of it is left aside for a build, which the next search finds in the cache before PATH", async () => {
  const bin = await holding("bin", ["etcd", "registry"]);
  const said: string[] = [];
  const built = await search({ PATH: bin }, "go1.26.8", (line) => void said.push(line));
  expect(origins(built)).toEqual(Object.fromEntries(CONTROL_PLANE_PROGRAMS.map((program) => [program, "cache"])));
  expect(built.etcd.watchesStdin).toBe(true);
  expect(said[0]).toContain("building");

  const again = await search({ PATH: await holding("all", SERVERS) }, "go1.26.8", () => {
    throw new Error("nothing was to be said");
  });
  expect(again).toEqual(built);
});

test("a file that cannot be executed does not count", async () => {
  const assets = await holding("assets", SERVERS);
  await chmod(join(assets, "etcd"), 0o644);
  await expect(search({ KUBEBUILDER_ASSETS: assets })).rejects.toThrow("etcd not found (KUBEBUILDER_ASSETS=");
});

test("without any way the error names what is missing and lists the ways out", async () => {
  const error = await search({ PATH: await holding("bin", ["etcd"]) }).catch((err: unknown) => err);
  expect(error).toBeInstanceOf(NoBinariesError);
  const { message } = error as NoBinariesError;
  expect(message).toContain("kube-apiserver, kube-controller-manager, registry not found, and no Go 1.26 or newer");
  for (const way of ["install Go 1.26", "set KUBEBUILDER_ASSETS", "on PATH"]) expect(message).toContain(way);
});

test("an installation without the Go module says so and does not propose to install Go", async () => {
  const options = {
    env: { XDG_CACHE_HOME: folder, PATH: "" },
    compilerIn: () => Promise.resolve("go1.26.8"),
    moduleFolder: join(folder, "none"),
  };
  await expect(findBinaries(silent, options)).rejects.toThrow("this installation has no sources to build the control plane from");
});
