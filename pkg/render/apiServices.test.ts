import { join } from "node:path";
import { expect, test } from "vitest";
import { bundleFiles } from "../../test/cases/topics/render.ts";
import { type BundleParts, bundleOf } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { describeWithData } from "../../test/support/sharedData.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { aggregatedApis } from "../bundle/aggregatedApis.ts";
import { loadBundle } from "../bundle/load.ts";
import { CERTIFICATE_PROVIDERS, providerOf } from "./providers.ts";
import { renderBundle } from "./render.ts";

interface ApiServicesCase extends CaseHead {
  given: BundleParts;
  /** By name of the certificate provider. */
  want: Record<string, KubeObject[]>;
  /** Of each container of the first Deployment. */
  mounts?: JsonObject[][];
}

const CASES = loadCases<ApiServicesCase>("api-services").flatMap(({ name, given, want, mounts }) =>
  Object.entries(want).map(([provider, objects]) => ({ title: `${name}, with ${provider}`, given, provider, want: objects, mounts })),
);

test.for(CASES)("$title", ({ given, provider: name, want, mounts }) => {
  const certProvider = CERTIFICATE_PROVIDERS.find((provider) => provider.name === name);
  const objects = renderBundle(bundleOf(given), { installNamespace: "ns", certProvider });
  expect(objects.filter(({ kind }) => kind !== "Deployment")).toEqual(want);
  expect(providerOf(objects)?.name).toBe(name);
  if (mounts) {
    const deployment = objects.find(({ kind }) => kind === "Deployment");
    const { template } = (deployment?.["spec"] ?? {}) as { template?: { spec: { containers: { volumeMounts?: unknown }[] } } };
    expect(template?.spec.containers.map(({ volumeMounts }) => volumeMounts)).toEqual(mounts);
  }
});

// Source: the one real bundle with API services in the data, refused by operator-controller.
describeWithData("a real bundle that brings API services", (folder) => {
  test("is rendered, and its containers keep the place where they look for their certificate", () => {
    const bundle = loadBundle(bundleFiles(join(folder, "bundles/enmasse/0.28.2")));
    for (const certProvider of CERTIFICATE_PROVIDERS) {
      const objects = renderBundle(bundle, { installNamespace: "ns", config: { watchNamespace: "ns" }, certProvider });
      const named = (kind: string) => objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);
      expect(named("APIService")).toEqual(["v1beta1.enmasse.io", "v1beta1.user.enmasse.io"]);
      expect(named("Service")).toEqual(expect.arrayContaining(["api-server-service", "user-api-server-service"]));
      expect(named("RoleBinding")).toEqual(expect.arrayContaining(["ns:api-server-service:auth-reader"]));
      expect(aggregatedApis(objects).map(({ kind }) => kind)).toEqual(["AddressSpace", "Address", "AddressSpaceSchema", "MessagingUser"]);
      const server = objects.find(({ kind, metadata }) => kind === "Deployment" && metadata.name === "api-server");
      expect(JSON.stringify(server?.["spec"])).toContain('{"name":"apiservice-cert","readOnly":true,"mountPath":"/api-server-cert"}');
      expect(providerOf(objects)).toBe(certProvider);
    }
  });
});
