import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import { ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { JsonObject } from "../api/k8s.ts";
import { parseYaml } from "../golang/yaml.ts";
import { listConfigNotes } from "./configNotes.ts";
import { renderBundle } from "./render.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/how-to/configure.md"), "utf8");
/** The ClusterExtension fields that the examples omit. */
const REST = {
  namespace: "operators",
  serviceAccount: { name: "installer" },
  source: { sourceType: "Catalog" as const, catalog: { packageName: "team-operator" } },
};
const EXAMPLES = [...PAGE.matchAll(/```yaml\n([\s\S]*?)```/g)]
  .map(([, text = ""]) => parseYaml(text) as { spec: Pick<ClusterExtension["spec"], "config"> })
  .map(({ spec }) => ({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, metadata: { name: "example" }, spec: { ...REST, ...spec } }));

/** A bundle with the Deployments of the examples. */
function exampleBundle(): ReturnType<typeof bundleOf> {
  const deployment = (name: string, labels: Record<string, string>): JsonObject => ({
    name,
    spec: { template: { metadata: { labels }, spec: { containers: [{ name: "c" }] } } },
  });
  const deployments = [deployment("manager", { "control-plane": "controller-manager" }), deployment("webhook", { app: "webhook" })];
  return bundleOf({ modes: ["AllNamespaces", "MultiNamespace"], deployments });
}

test("docs/how-to/configure.md contains two examples", () => {
  expect(EXAMPLES).toHaveLength(2);
});

test.for(EXAMPLES.map((example, index) => [index + 1, example] as const))(
  "renderBundle accepts example %i of docs/how-to/configure.md, and listConfigNotes reports no selector without effect",
  ([, example]) => {
    expect(ClusterExtension.safeParse(example).error).toBeUndefined();
    const { inline } = example.spec.config ?? {};
    const objects = renderBundle(exampleBundle(), { installNamespace: example.spec.namespace, config: inline });
    expect(objects).not.toEqual(renderBundle(exampleBundle(), { installNamespace: example.spec.namespace }));
    expect(listConfigNotes(inline, objects)).toEqual([]);
  },
);
