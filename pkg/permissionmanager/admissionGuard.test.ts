import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeClock } from "../../test/support/fakeClock.ts";
import type { KubeObject, ObjectRef } from "../api/k8s.ts";
import { parseYamlDocuments } from "../golang/yaml.ts";
import { KubeError } from "../kube/errors.ts";
import { AdmissionGuard } from "./admissionGuard.ts";

const MANIFESTS = parseYamlDocuments(
  readFileSync(join(import.meta.dirname, "../../config/permissions/admission.yaml"), "utf8"),
) as KubeObject[];
const { signal } = new AbortController();

function denial(policy: string): KubeError {
  const message = `ValidatingAdmissionPolicy '${policy}' with binding '${policy}' denied request: no`;
  const text = `clusterroles.rbac.authorization.k8s.io "olmv1-admission-check" is forbidden: ${message}`;
  return new KubeError(text, { status: 422, reason: "Invalid", details: { causes: [{ message }] } });
}

/** An API server with the policies in config/permissions, which a test changes. */
class PolicyServer {
  readonly objects = new Map(MANIFESTS.map((object) => [`${object.kind} ${object.metadata.name}`, structuredClone(object)]));
  response: Error | undefined = denial("olmv1-permission-manager");
  requests = 0;

  get<T extends KubeObject>({ kind, name }: ObjectRef): Promise<T | undefined> {
    this.requests++;
    return Promise.resolve(this.objects.get(`${kind} ${name}`) as T | undefined);
  }

  create<T extends KubeObject>(object: T): Promise<T> {
    this.requests++;
    return this.response ? Promise.reject(this.response) : Promise.resolve(object);
  }

  setSpec(name: string, spec: object): void {
    const object = this.objects.get(name);
    if (!object) throw new Error(`${name} does not exist`);
    Object.assign(object["spec"] as object, spec);
  }
}

test("AdmissionGuard accepts the policies in config/permissions, and checks them again after a minute", async () => {
  const [server, clock] = [new PolicyServer(), new FakeClock()];
  const guard = new AdmissionGuard(server, clock);
  await guard.check(signal);
  expect(server.requests).toBe(13);
  await guard.check(signal);
  expect(server.requests).toBe(13);
  clock.advance(60_000);
  server.response = undefined;
  await expect(guard.check(signal)).rejects.toThrow("grants nothing");
});

const NOT_IN_FORCE =
  /^ValidatingAdmissionPolicy "olmv1-[a-z-]+" or its binding does not exist or does not deny requests, so permission-manager grants nothing/;
test.for<[what: string, change: (server: PolicyServer) => void, message: RegExp]>([
  ["a policy does not exist", ({ objects }) => objects.delete("ValidatingAdmissionPolicy olmv1-granted-objects"), NOT_IN_FORCE],
  ["a binding does not exist", ({ objects }) => objects.delete("ValidatingAdmissionPolicyBinding olmv1-permission-policies"), NOT_IN_FORCE],
  [
    "a policy does not fail closed",
    (server) => server.setSpec("ValidatingAdmissionPolicy olmv1-extension-identities", { failurePolicy: "Ignore" }),
    NOT_IN_FORCE,
  ],
  [
    "a binding only warns",
    (server) => server.setSpec("ValidatingAdmissionPolicyBinding olmv1-extension-permissions", { validationActions: ["Warn"] }),
    NOT_IN_FORCE,
  ],
  [
    "the API server rejects the forbidden role for another reason",
    (server) => (server.response = new KubeError("ClusterRole is invalid", { status: 422, reason: "Invalid" })),
    /^cannot verify that ValidatingAdmissionPolicy "olmv1-permission-manager" limits permission-manager \(ClusterRole is invalid\)/,
  ],
  ["another policy denies the forbidden role", (server) => (server.response = denial("names")), /^cannot verify that .*'names'/],
  [
    "the API server accepts the forbidden role",
    (server) => (server.response = undefined),
    /^ValidatingAdmissionPolicy "olmv1-permission-manager" does not limit permission-manager/,
  ],
])("AdmissionGuard rejects when %s", async ([, change, message]) => {
  const server = new PolicyServer();
  change(server);
  await expect(new AdmissionGuard(server, new FakeClock()).check(signal)).rejects.toThrow(message);
});
