import { execFile } from "node:child_process";
import { symlinkSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { API_VERSION } from "../../pkg/api/constants.ts";
import { findBinaries } from "../../pkg/devcluster/binaries.ts";
import { describeWithPrivateCluster, eventually } from "../support/cluster.ts";
import { TempFolder } from "../support/tempFolder.ts";
import { World } from "../support/world.ts";

const ROOT = join(import.meta.dirname, "../..");

/** Returns all commands of the tutorial as one script. */
async function commands(): Promise<string> {
  const text = await readFile(join(ROOT, "docs/tutorial.md"), "utf8");
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block).join("\n");
}

// Source: the tutorial, which requires an empty cluster only.
describeWithPrivateCluster("the tutorial", (cluster) => {
  test("the commands of the tutorial succeed and leave nothing behind", async () => {
    const world = await World.start(cluster);
    await using _ = { [Symbol.asyncDispose]: () => world.stop() };
    using folder = new TempFolder();
    const bin = folder.write("bin", {});
    symlinkSync(join(ROOT, "cmd/olmv1/launch.sh"), join(bin, "olmv1"));
    const { kubectl } = await findBinaries(() => undefined);
    const script = join(folder.write("script", {}), "tutorial.sh");
    await writeFile(script, `set -eu -o pipefail\n${await commands()}`);
    const env = {
      PATH: [bin, dirname(kubectl?.path ?? ""), process.env["PATH"]].join(":"),
      HOME: folder.write("home", {}),
      KUBECONFIG: cluster.kubeconfig,
      CONTAINERS_REGISTRIES_CONF: join(world.workDir, "registries.conf"),
      REGISTRY: cluster.registry.host,
    };
    const ended = await run(script, folder.write("work", {}), env);
    expect(ended.code, ended.output).toBe(0);
    for (const text of ["2 differences, 0 breaking", "goes back to revision 1", "Namespace kitchen deleted"])
      expect(ended.output).toContain(text);
    await eventually(async () => {
      for (const kind of ["ClusterExtension", "ClusterCatalog"])
        expect((await cluster.client.list({ apiVersion: API_VERSION, kind })).items).toEqual([]);
      expect(await cluster.client.get({ apiVersion: "v1", kind: "Namespace", name: "kitchen" })).toBeUndefined();
    });
  });
});

function run(script: string, cwd: string, env: Record<string, string>): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = execFile("bash", ["-c", `bash "${script}" 2>&1`], { cwd, env }, (_, output) =>
      resolve({ code: child.exitCode ?? -1, output }),
    );
  });
}
