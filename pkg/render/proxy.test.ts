import * as fc from "fast-check";
import { expect, test } from "vitest";
import { bundleOf } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { overridesProxy, PROXY_NAMES, type ProxyVariables } from "../api/proxy.ts";
import { renderBundle } from "./render.ts";

interface ProxyCase extends CaseHead {
  proxy: ProxyVariables;
  container: JsonObject[];
  env?: JsonObject[];
  want: JsonObject[];
}

interface PodSpec {
  containers: JsonObject[];
  initContainers: JsonObject[];
}

function podOf(objects: readonly KubeObject[]): PodSpec {
  const { spec } = objects.find(({ kind }) => kind === "Deployment") as unknown as { spec: { template: { spec: PodSpec } } };
  return spec.template.spec;
}

function rendered(env: JsonObject[], config: JsonObject | undefined, proxy: ProxyVariables | undefined): PodSpec {
  const containers = [
    { name: "manager", env },
    { name: "sidecar", env },
  ];
  const template = { metadata: {}, spec: { containers, initContainers: [{ name: "init" }] } };
  const bundle = bundleOf({ deployments: [{ name: "d", spec: { template } }] });
  return podOf(renderBundle(bundle, { installNamespace: "ns", config, proxy }));
}

test.for(loadCases<ProxyCase>("proxy"))("$name", ({ proxy, container, env, want }) => {
  const config = env ? { deploymentConfig: { env } } : undefined;
  const { containers, initContainers } = rendered(container, config, proxy);
  for (const { env: got = [] } of containers) expect(got).toEqual(want);
  expect(initContainers).toEqual([{ name: "init", resources: {} }]);
});

const variable = fc.record({ name: fc.constantFrom("A", "B", ...PROXY_NAMES, "no_proxy"), value: fc.string({ minLength: 1 }) });
const variables = fc.uniqueArray(variable, { selector: ({ name }) => name });
const proxies: fc.Arbitrary<ProxyVariables> = fc.record(
  { HTTP_PROXY: fc.webUrl(), HTTPS_PROXY: fc.webUrl(), NO_PROXY: fc.domain() },
  { requiredKeys: [] },
);

test("renderBundle with a proxy changes only environment variables, and changes nothing if the user sets a proxy variable", () => {
  fc.assert(
    fc.property(variables, variables, proxies, (container, env, proxy) => {
      const config = { deploymentConfig: { env } };
      const [without, withIt] = [rendered(container, config, undefined), rendered(container, config, proxy)];
      if (overridesProxy(config)) expect(withIt).toEqual(without);
      const bare = ({ containers, ...pod }: PodSpec): unknown => ({
        ...pod,
        containers: containers.map((container) => ({ ...container, env: [] })),
      });
      expect(bare(withIt)).toEqual(bare(without));
    }),
  );
});

test.for([
  undefined,
  {},
  { deploymentConfig: null },
  { deploymentConfig: { env: "x" } },
  { deploymentConfig: { env: [null, "x", { name: 1 }] } },
])("overridesProxy accepts a configuration of any form: %j", (inline) => {
  expect(overridesProxy(inline as JsonObject | undefined)).toBe(false);
});
