import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { TempFolder } from "../../test/support/tempFolder.ts";
import type { Client } from "../kube/client.ts";
import { isAlive } from "./binaryCache.ts";
import { startInstallation } from "./installation.ts";

const KUBECONFIG = `
current-context: c
clusters: [{ name: c, cluster: { server: "https://127.0.0.1:1" } }]
contexts: [{ name: c, context: { cluster: c, user: u } }]
users: [{ name: u, user: { token: t } }]
`;
/** A server that is ready until it is stopped. Writes its process id to a file next to its program. */
const READY = `
const { createServer } = require("node:http");
const { writeFileSync } = require("node:fs");
const [host, port] = process.argv[process.argv.indexOf("--health-probe-bind-address") + 1].split(":");
writeFileSync(__filename + ".pid", String(process.pid));
createServer((_, response) => response.end()).listen(Number(port), host);
`;
const BROKEN = "process.exit(3);";
/** Manifests of an installation without CRDs. */
const CONFIG = Object.fromEntries(["namespace", "crd", "rbac", "permissions"].map((name) => [`${name}/kustomization.yaml`, ""]));

test("startInstallation stops all servers when one of them ends during the start", async () => {
  using folder = new TempFolder();
  const programs = folder.write("programs", { "catalogd.js": READY, "operator-controller.js": BROKEN, "permission-manager.js": READY });
  const config = folder.write("config", CONFIG);
  const adminKubeconfig = join(folder.write("admin", { kubeconfig: KUBECONFIG }), "kubeconfig");
  const admin: Pick<Client, "raw"> = { raw: () => Promise.resolve({ status: { token: "t" } }) };
  const ends: string[] = [];
  const starting = startInstallation({
    admin: admin as Client,
    adminKubeconfig,
    workDir: join(folder.path, "work"),
    programs,
    config,
    onExit: (text) => ends.push(text),
  });
  const error = "operator-controller ended unexpectedly (exit code 3)";
  await expect(starting).rejects.toThrow(error);
  expect(ends).toEqual([expect.stringContaining(error)]);
  const pids = ["catalogd", "permission-manager"].map((name) => Number(readFileSync(join(programs, `${name}.js.pid`), "utf8")));
  expect(pids.map((pid) => [pid > 0, isAlive(pid)])).toEqual([
    [true, false],
    [true, false],
  ]);
});
