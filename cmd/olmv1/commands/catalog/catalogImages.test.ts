import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { folder, insecureRegistry, loopbackRegistry } from "../../../../test/support/pulling.ts";
import { type Ended, runCli } from "../../../../test/support/runCli.ts";
import { tarball } from "../../../../test/support/tarball.ts";

const CATALOG = join(import.meta.dirname, "../../../../test/cases/fbc-edit/catalog");

test("catalog validate, images, extract and diff read the catalog in an image", async () => {
  const registry = await loopbackRegistry();
  const dir = await folder();
  const content = readFileSync(join(CATALOG, "etcd/catalog.yaml"));
  const layer = gzipSync(tarball([{ name: "configs/etcd/catalog.yaml", content }]));
  registry.addImage("example/catalog", "v1", {
    layers: [layer],
    labels: { "operators.operatorframework.io.index.configs.v1": "/configs" },
  });
  const conf = join(dir, "registries.conf");
  await writeFile(conf, insecureRegistry(registry.host));
  const image = `${registry.host}/example/catalog:v1`;
  const run = (command: string, ...args: string[]): Promise<Ended> => runCli(["catalog", command, ...args, "--registries-conf", conf]);

  expect(await run("validate", image, "--severity", "warning")).toEqual({
    code: 0,
    out: "the catalog is valid: 0 errors and 0 warnings in 1 package, 2 channels, 3 bundles\n",
    err: "",
  });
  const { out } = await run("validate", image, "-o", "sarif");
  expect(out).toContain('"uri": "etcd/catalog.yaml"');
  expect((await run("images", image, "-o", "name")).out.split("\n")).toHaveLength(4);
  const target = join(dir, "etcd");
  expect(await run("extract", image, target, "--channels", "etcd:stable")).toMatchObject({ code: 0, out: "created etcd/catalog.yaml\n" });
  const { code, out: differences } = await run("diff", image, target);
  expect([code, differences]).toEqual([1, 'etcd:\n  - channel "candidate" [breaking]\n1 difference, 1 breaking\n']);
  expect((await run("diff", image, join(CATALOG))).out).toContain('+ package "queue"');
});
