import { expect, test } from "vitest";
import { createCatalog } from "../../../test/support/catalogs.ts";
import { createExtension } from "../../../test/support/extensions.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { findAffectedExtensions } from "./catalogPackages.ts";

const EDITION = { catalog: createCatalog("c", { digest: "quay.io/c@sha256:2" }), before: "quay.io/c@sha256:1" };

/** An extension whose last reconcile, at generation 1, succeeded or ended with this reason. `generation` is the current generation. */
function extension(name: string, packageName: string, { reason = "Succeeded", generation = 1, installed = true } = {}): ClusterExtension {
  const { metadata, ...rest } = createExtension(name, { packageName });
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  const progressing = { type: "Progressing", status: "True" as const, reason, message: "", lastTransitionTime, observedGeneration: 1 };
  const install = installed ? { install: { bundle: { name: `${packageName}.v1`, version: "1.0.0" } } } : {};
  return { ...rest, metadata: { ...metadata, generation }, status: { conditions: [progressing], ...install } };
}

async function runFind(extensions: readonly ClusterExtension[], changed: readonly string[] = []) {
  const requested: string[] = [];
  const names: string[] = [];
  const contents = {
    isUnchanged: (_catalog: unknown, before: string | undefined, packageName: string) => {
      requested.push(`${packageName} ${before}`);
      return Promise.resolve(!changed.includes(packageName));
    },
  };
  await findAffectedExtensions(EDITION, extensions, contents, (name) => names.push(name));
  return { names: names.sort(), requested };
}

test("findAffectedExtensions returns the extensions whose packages have changed, and reads each package once", async () => {
  const { names, requested } = await runFind([extension("a", "p"), extension("b", "q"), extension("c", "q")], ["q"]);
  expect(names).toEqual(["b", "c"]);
  expect(requested).toEqual(["p quay.io/c@sha256:1", "q quay.io/c@sha256:1"]);
});

test.for<[string, Parameters<typeof extension>[2]]>([
  ["is retried", { reason: "Retrying" }],
  ["has changed since its last reconcile", { generation: 2 }],
  ["is not installed", { installed: false }],
])("findAffectedExtensions returns an extension that %s, even if its package has not changed", async ([, state]) => {
  const { names, requested } = await runFind([extension("a", "p", state)]);
  expect(names).toEqual(["a"]);
  expect(requested).toEqual([]);
});
