import { expect, test } from "vitest";
import type { KubeObject } from "../../api/k8s.ts";
import { KindNotServed } from "../../kube/errors.ts";
import { findWaitingError } from "../state/conditionPoller.ts";
import { denyUnservedKinds } from "./kindsCheck.ts";
import { lookUpKinds } from "./preparedObjects.ts";

/** Discovery that serves only core kinds and counts lookups. */
class CoreOnly {
  readonly lookups: string[] = [];

  resourceFor({ apiVersion, kind }: { apiVersion: string; kind: string }) {
    this.lookups.push(kind);
    if (apiVersion !== "v1") return Promise.reject(new KindNotServed(apiVersion, kind));
    const namespaced = kind !== "Namespace";
    return Promise.resolve({ group: "", version: "v1", resource: kind.toLowerCase(), kind, namespaced, verbs: [] });
  }
}

const object = (apiVersion: string, kind: string, name: string, namespace?: string): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
});

const PREFIX =
  "failed to get release state using server-side dry-run: error while running post render on files: postrenderer[0] (*client.ownerPostRenderer) failed: ";

test.for<[why: string, missing: KubeObject[], text: string]>([
  [
    "one object of one kind",
    [object("cert-manager.io/v1", "Certificate", "serving", "ns")],
    `${PREFIX}resource mapping not found for name: "serving" namespace: "ns" from "": no matches for kind "Certificate" in version "cert-manager.io/v1"
ensure CRDs are installed first`,
  ],
  [
    "several objects of several kinds",
    [
      object("cert-manager.io/v1", "Issuer", "self", "ns"),
      object("cert-manager.io/v1", "Certificate", "a", "ns"),
      object("cert-manager.io/v1", "Certificate", "b"),
    ],
    `${PREFIX}[resource mapping not found for name: "self" namespace: "ns" from "": no matches for kind "Issuer" in version "cert-manager.io/v1"
ensure CRDs are installed first, resource mapping not found for name: "a" namespace: "ns" from "": no matches for kind "Certificate" in version "cert-manager.io/v1"
ensure CRDs are installed first, resource mapping not found for name: "b" namespace: "" from "": no matches for kind "Certificate" in version "cert-manager.io/v1"
ensure CRDs are installed first]`,
  ],
])("denyUnservedKinds returns the Go implementation's message when the cluster does not serve %s", async ([, missing, text]) => {
  const discovery = new CoreOnly();
  const kinds = await lookUpKinds(discovery, [object("v1", "ConfigMap", "x", "ns"), ...missing]);
  const { findings = [], error } = denyUnservedKinds(missing, kinds, discovery) ?? {};
  expect(error).toMatchObject({ message: text, reason: "KindNotServed", retry: true });
  expect(findings).toMatchObject([
    { kind: "kindNotServed", next: "first install the operator or CustomResourceDefinition that provides the missing kind" },
  ]);
  expect(findings[0]?.message).toMatch(/^this cluster does not serve /);
});

test("denyUnservedKinds reports the CRD of the bundle when that CRD defines the kind that is not served", async () => {
  const discovery = new CoreOnly();
  const spec = { group: "example.com", names: { kind: "Thing" }, versions: [{ name: "v1" }] };
  const crd = { ...object("apiextensions.k8s.io/v1", "CustomResourceDefinition", "things.example.com"), spec };
  const unserved = [object("example.com/v1", "Thing", "x"), object("example.com/v2", "Thing", "y")];
  const runCheck = async (objects: KubeObject[]): Promise<unknown> =>
    denyUnservedKinds([crd, ...objects], await lookUpKinds(discovery, objects), discovery)?.findings[0];
  expect(await runCheck(unserved)).toMatchObject({
    message: "this cluster does not serve Thing (example.com/v1), Thing (example.com/v2)",
    next: expect.stringMatching(
      /^first install the operator that provides Thing \(example.com\/v2\), and apply the CustomResourceDefinition of Thing \(example.com\/v1\) from the bundle/,
    ),
    problems: [
      {
        type: "KindNotServed",
        details: {
          objects: [
            { group: "example.com", kind: "Thing" },
            { group: "example.com", kind: "Thing" },
          ],
        },
      },
    ],
  });
  expect(await runCheck(unserved.slice(0, 1))).toMatchObject({
    next: expect.stringMatching(/^apply the CustomResourceDefinition of Thing/),
  });
  expect(await runCheck([])).toBeUndefined();
});

test("lookUpKinds sends one discovery request for each kind, even if the kind is not served", async () => {
  const discovery = new CoreOnly();
  const objects = ["ConfigMap", "ConfigMap", "Namespace"].map((kind, i) => object("v1", kind, `x${i}`));
  const lost = ["a", "b", "c"].map((name) => object("example.com/v1", "Thing", name));
  const kinds = await lookUpKinds(discovery, [...objects, ...lost]);
  expect(discovery.lookups).toEqual(["ConfigMap", "Namespace", "Thing"]);
  expect([...objects, ...lost].map((one) => kinds.isNamespaced(one))).toEqual([true, true, false, undefined, undefined, undefined]);
  expect(kinds.unserved).toEqual(lost);
});

test("lookUpKinds fails when discovery fails for another reason", async () => {
  const broken = { resourceFor: () => Promise.reject(new Error("connection refused")) };
  await expect(lookUpKinds(broken, [object("v1", "ConfigMap", "x")])).rejects.toThrow("connection refused");
});

test("denyUnservedKinds returns an error that is over when the first missing kind is served", async () => {
  const discovery = new CoreOnly();
  const missing = [object("cert-manager.io/v1", "Issuer", "self", "ns"), object("example.com/v1", "Thing", "x")];
  const kinds = await lookUpKinds(discovery, missing);
  const refusal = denyUnservedKinds(missing, kinds, discovery);
  discovery.lookups.length = 0;
  expect(await findWaitingError(refusal?.error)?.isOver(new AbortController().signal)).toBe(false);
  expect(discovery.lookups).toEqual(["Issuer"]);
});
