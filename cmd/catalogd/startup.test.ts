import { execFileSync } from "node:child_process";
import { mkdir, open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { INDEX_FILE } from "../../pkg/catalogd/store/indexFile.ts";
import { eventually } from "../../test/support/eventually.ts";
import { ProgramProcess } from "../../test/support/programProcess.ts";
import { folder } from "../../test/support/pulling.ts";

const KUBECONFIG = `apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: "https://127.0.0.1:1" } }]
contexts: [{ name: c, context: { cluster: c, user: u } }]
current-context: c
users: [{ name: u, user: { token: t } }]
`;

test("catalogd is alive but not ready while it reads stored content", async () => {
  const dir = await folder();
  await writeFile(join(dir, "kubeconfig"), KUBECONFIG);
  const version = join(dir, "cache/catalogs/big/1");
  await mkdir(version, { recursive: true });
  const index = join(version, INDEX_FILE);
  execFileSync("mkfifo", [index]);
  const address = "127.0.0.1:0";
  await using catalogd = new ProgramProcess([
    join(import.meta.dirname, "main.ts"),
    `--kubeconfig=${join(dir, "kubeconfig")}`,
    `--cache-dir=${join(dir, "cache")}`,
    "--system-namespace=olmv1-system",
    `--catalogs-server-addr=${address}`,
    `--health-probe-bind-address=${address}`,
    "--shutdown-delay=0s",
  ]);
  const [, probes = ""] = await catalogd.find(/"probes":"([^"]+)"/);
  const get = async (path: string): Promise<[number, string]> => {
    const response = await fetch(new URL(path, probes));
    return [response.status, await response.text()];
  };
  expect(await get("/healthz")).toEqual([200, "ok"]);
  expect((await get("/readyz/catalog-server"))[0]).toBe(500);
  await catalogd.find(/the stored content is still being read/);
  await (await open(index, "w")).close();
  await eventually(async () => expect(await get("/readyz/catalog-server")).toEqual([200, "ok"]));
});
