import { join } from "node:path";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { bundleFiles } from "../../test/cases/topics/render.ts";
import { type BundleParts, bundleOf } from "../../test/support/bundleFixture.ts";
import { type CaseHead, loadCases } from "../../test/support/caseFiles.ts";
import { describeWithData } from "../../test/support/sharedData.ts";
import type { JsonObject, KubeObject } from "../api/k8s.ts";
import { listAggregatedApis } from "../bundle/apiServices.ts";
import { loadBundle } from "../bundle/load.ts";
import type { DeploymentSpec } from "../bundle/types.ts";
import { CERTIFICATE_PROVIDERS, findProvider, withOwnMountsKept } from "../certificates/providers.ts";
import { renderBundle } from "./render.ts";

interface ApiServicesCase extends CaseHead {
  given: BundleParts;
  /** By name of the certificate provider. */
  want: Record<string, KubeObject[]>;
  /** Expected mounts in each container of the first Deployment. */
  mounts?: JsonObject[][];
}

const CASES = loadCases<ApiServicesCase>("api-services").flatMap(({ name, given, want, mounts }) =>
  Object.entries(want).map(([provider, objects]) => ({ title: `${name}, with ${provider}`, given, provider, want: objects, mounts })),
);

test.for(CASES)("$title", ({ given, provider: name, want, mounts }) => {
  const certProvider = CERTIFICATE_PROVIDERS.find((provider) => provider.name === name);
  const objects = renderBundle(bundleOf(given), { installNamespace: "ns", certProvider });
  expect(objects.filter(({ kind }) => kind !== "Deployment")).toEqual(want);
  expect(findProvider(objects)?.name).toBe(name);
  if (mounts) {
    const deployment = objects.find(({ kind }) => kind === "Deployment");
    const { template } = (deployment?.["spec"] ?? {}) as { template?: { spec: { containers: { volumeMounts?: unknown }[] } } };
    expect(template?.spec.containers.map(({ volumeMounts }) => volumeMounts)).toEqual(mounts);
  }
});

const CERTIFICATE_PATHS = ["/tmp/k8s-webhook-server/serving-certs", "/apiserver.local.config/certificates"];
const mount = fc.record({
  name: fc.constantFrom("mine", "webhook-cert", "apiservice-cert"),
  mountPath: fc.constantFrom("/mine", "/other", ...CERTIFICATE_PATHS),
});

// Source: S0-141; the API server rejects a container that mounts two volumes at one path.
test("withOwnMountsKept mounts the certificate without mounting a path twice, for any mounts of a container", () => {
  fc.assert(
    fc.property(fc.uniqueArray(mount, { selector: ({ mountPath }) => mountPath }), (volumeMounts) => {
      const containers = [{ name: "a", volumeMounts }];
      const volumes = [...new Set(volumeMounts.map(({ name }) => name))].map((name) => ({ name, emptyDir: {} }));
      const spec = { selector: null, template: { metadata: {}, spec: { volumes, containers } } } as unknown as DeploymentSpec;
      const secret = { secretName: "s", certificateKey: "tls.crt", privateKeyKey: "tls.key" };
      const { spec: pod } = withOwnMountsKept(spec, secret).template;
      const mounts = pod.containers?.[0]?.volumeMounts ?? [];
      const paths = mounts.map(({ mountPath }) => mountPath);
      expect(new Set(paths).size).toBe(paths.length);
      const ofSecret = mounts.filter(isProtected);
      for (const [i, name] of ["webhook-cert", "apiservice-cert"].entries()) {
        const found = ofSecret.some((one) => one.name === name || one.mountPath === CERTIFICATE_PATHS[i]);
        expect(found).toBe(true);
      }
      expect(mounts).toEqual(expect.arrayContaining(volumeMounts.filter(isProtected)));
      const names = new Set(pod.volumes?.map(({ name }) => name));
      expect(mounts.filter(({ name }) => !names.has(name))).toEqual([]);
      const again = withOwnMountsKept(withOwnMountsKept(spec, secret), secret);
      expect(again).toEqual(withOwnMountsKept(spec, secret));
    }),
  );
});

function isProtected({ name }: { name: string }): boolean {
  return name !== "mine";
}

// Source: the only real bundle with API services in the data, rejected by operator-controller.
describeWithData("a real bundle with API services", (folder) => {
  test("renderBundle renders a real bundle with API services and keeps the certificate paths of its containers", () => {
    const bundle = loadBundle(bundleFiles(join(folder, "bundles/enmasse/0.28.2")));
    for (const certProvider of CERTIFICATE_PROVIDERS) {
      const objects = renderBundle(bundle, { installNamespace: "ns", config: { watchNamespace: "ns" }, certProvider });
      const named = (kind: string) => objects.filter((object) => object.kind === kind).map(({ metadata }) => metadata.name);
      expect(named("APIService")).toEqual(["v1beta1.enmasse.io", "v1beta1.user.enmasse.io"]);
      expect(named("Service")).toEqual(expect.arrayContaining(["api-server-service", "user-api-server-service"]));
      expect(named("RoleBinding")).toEqual(expect.arrayContaining(["ns:api-server-service:auth-reader"]));
      expect(listAggregatedApis(objects).map(({ kind }) => kind)).toEqual([
        "AddressSpace",
        "Address",
        "AddressSpaceSchema",
        "MessagingUser",
      ]);
      const server = objects.find(({ kind, metadata }) => kind === "Deployment" && metadata.name === "api-server");
      expect(JSON.stringify(server?.["spec"])).toContain('{"name":"apiservice-cert","readOnly":true,"mountPath":"/api-server-cert"}');
      expect(findProvider(objects)).toBe(certProvider);
    }
  });
});
