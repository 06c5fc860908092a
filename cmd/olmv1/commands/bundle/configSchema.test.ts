import { join } from "node:path";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../../pkg/api/k8s.ts";
import { olmv1 } from "../../../../test/support/runCli.ts";
import { TempFolder } from "../../../../test/support/tempFolder.ts";
import { tinyBundle } from "../../../../test/support/tinyBundle.ts";

test("bundle config-schema prints a JSON Schema with the required fields and the allowed watch namespaces", async () => {
  using folder = new TempFolder();
  const source = folder.write("bundle", tinyBundle("1.0.0", { modes: ["OwnNamespace"] }));
  const { code, out, err } = await olmv1("bundle", "config-schema", source, "--namespace", "operators");
  expect([code, err]).toEqual([0, ""]);
  const schema = JSON.parse(out) as { title: string; required: string[]; properties: Record<string, JsonObject> };
  expect(schema.title).toBe("Configuration of bundle p.v1.0.0");
  expect(schema.required).toEqual(["watchNamespace"]);
  expect(schema.properties["watchNamespace"]?.["enum"]).toEqual(["operators"]);
});

test("bundle config-schema reports the name of a source that is not a bundle", async () => {
  using folder = new TempFolder();
  const source = folder.write("bundle", {});
  const { code, out, err } = await olmv1("bundle", "config-schema", source);
  expect([code, out]).toEqual([2, ""]);
  expect(err).toMatch(new RegExp(`^olmv1: ${source}: `));
});

test("bundle render reports configuration fields that have no effect", async () => {
  using folder = new TempFolder();
  const source = folder.write("bundle", tinyBundle("1.0.0"));
  const config = JSON.stringify({ deploymentConfig: { selector: { matchLabels: { app: "other" } }, env: [{ name: "A", valu: "b" }] } });
  const path = join(folder.write("config", { "config.json": config }), "config.json");
  const { code, err } = await olmv1("bundle", "render", source, "--config", path);
  expect([code, err]).toEqual([
    0,
    "olmv1: deploymentConfig.selector in the configuration has no effect: it matches no Deployment in the bundle; existing: tiny (app=tiny)\n" +
      'olmv1: field "deploymentConfig.env.0.valu" in the configuration is ignored: Kubernetes has no such field, did you mean "value"?\n',
  ]);
});
