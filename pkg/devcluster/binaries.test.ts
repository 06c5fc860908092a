import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Binaries, type FindOptions, findBinaries, NoBinariesError } from "./binaries.ts";
import { CONTROL_PLANE_PROGRAMS } from "./binaryCache.ts";
import { KUBERNETES_VERSIONS } from "./kubernetesVersions.ts";

const SERVERS = CONTROL_PLANE_PROGRAMS.filter((program) => program !== "kubectl" && program !== "helm");
const silent = (): void => undefined;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "olmv1-binaries-"));
});
afterEach(() => rm(folder, { recursive: true }));

/** Creates a folder of executables with these names. */
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
  const compile: FindOptions["compile"] = (_module, _version, output) => writeFile(output, "");
  return findBinaries(say, {
    env: { XDG_CACHE_HOME: join(folder, "cache"), ...env },
    compilerIn: () => Promise.resolve(compiler),
    compile,
  });
}

/** Maps programs to the part of their path that shows their origin. */
function origins(binaries: Binaries): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(binaries).map(([program, { path }]) => [program, path.slice(folder.length + 1).split("/")[0]]));
}

test("findBinaries uses only KUBEBUILDER_ASSETS when it is complete", async () => {
  const assets = await holding("assets", SERVERS);
  const found = await search({ KUBEBUILDER_ASSETS: assets, PATH: await holding("bin", CONTROL_PLANE_PROGRAMS) }, "go1.26.8");
  expect(found).toEqual(Object.fromEntries(SERVERS.map((program) => [program, { path: join(assets, program), watchesStdin: false }])));
});

test("findBinaries finds programs on PATH that are missing in KUBEBUILDER_ASSETS when PATH has all programs", async () => {
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

test("findBinaries builds all programs when PATH has only some of them, and later prefers the built programs to PATH", async () => {
  const bin = await holding("bin", ["etcd", "registry"]);
  const lines: string[] = [];
  const built = await search({ PATH: bin }, "go1.26.8", (line) => void lines.push(line));
  expect(origins(built)).toEqual(Object.fromEntries(CONTROL_PLANE_PROGRAMS.map((program) => [program, "cache"])));
  expect(built.etcd.watchesStdin).toBe(true);
  expect(lines[0]).toContain("building");

  const again = await search({ PATH: await holding("all", SERVERS) }, "go1.26.8", () => {
    throw new Error("expected no output");
  });
  expect(again).toEqual(built);
});

test("findBinaries builds each Kubernetes version once, and ignores PATH, when KUBERNETES_VERSION is set", async () => {
  const bin = await holding("bin", CONTROL_PLANE_PROGRAMS);
  const lines: string[] = [];
  const folders = new Set<string>();
  for (const { minor, release } of [...KUBERNETES_VERSIONS, ...KUBERNETES_VERSIONS])
    for (const version of [minor, release, release.slice(1)]) {
      const { etcd } = await search({ KUBERNETES_VERSION: version, PATH: bin }, "go1.26.8", (line) => void lines.push(line));
      folders.add(etcd.path);
    }
  expect(folders.size).toBe(KUBERNETES_VERSIONS.length);
  const built = lines.filter((line) => line.includes("building"));
  expect(built).toEqual(KUBERNETES_VERSIONS.map(({ release }) => expect.stringContaining(`Kubernetes ${release}`) as string));
});

test.each(["1.31", "1.3", "30", "latest"])("findBinaries names the supported versions when KUBERNETES_VERSION is %s", async (version) => {
  const expected = `cannot use KUBERNETES_VERSION=${version}: it is not a supported version. Set it to one of 1.30 (v1.30.14), 1.36 (v1.36.3)`;
  await expect(search({ KUBERNETES_VERSION: version })).rejects.toThrow(expected);
});

test("findBinaries ignores a file that is not executable", async () => {
  const assets = await holding("assets", SERVERS);
  await chmod(join(assets, "etcd"), 0o644);
  await expect(search({ KUBEBUILDER_ASSETS: assets })).rejects.toThrow("etcd not found (KUBEBUILDER_ASSETS=");
});

test("findBinaries lists the missing programs and the solutions in its error", async () => {
  const error = await search({ PATH: await holding("bin", ["etcd"]) }).catch((err: unknown) => err);
  expect(error).toBeInstanceOf(NoBinariesError);
  const { message } = error as NoBinariesError;
  expect(message).toContain("kube-apiserver, kube-controller-manager, registry not found, and Go 1.26 or newer");
  for (const way of ["install Go 1.26", "set KUBEBUILDER_ASSETS", "on PATH"]) expect(message).toContain(way);
});

test("findBinaries does not propose to install Go when the installation has no Go module", async () => {
  const options = {
    env: { XDG_CACHE_HOME: folder, PATH: "" },
    compilerIn: () => Promise.resolve("go1.26.8"),
    moduleFolder: join(folder, "none"),
  };
  await expect(findBinaries(silent, options)).rejects.toThrow("this installation has no sources to build the control plane from");
});
