import { type JsonObject, type KubeObject } from "../../pkg/api/k8s.ts";
import { type WebhookDescription } from "../../pkg/bundle/types.ts";
import { type Client } from "../../pkg/kube/client.ts";
import { ServingPod } from "./servingPod.ts";
import { tinyBundle } from "./tinyBundle.ts";

/** Parameters of a bundle with webhooks. */
interface WebhookParts {
  /** Name of the Deployment. */
  name?: string;
  webhooks?: readonly Partial<WebhookDescription>[];
  objects?: readonly KubeObject[];
  deployment?: JsonObject;
}

/** Creates a validating webhook of the Deployment `tiny` for ConfigMaps with label `reviewWidget`; the given members replace its own. */
export function webhook(parts: Partial<WebhookDescription> = {}): Partial<WebhookDescription> {
  return {
    generateName: "check.tiny.example.com",
    type: "ValidatingAdmissionWebhook",
    deploymentName: "tiny",
    containerPort: 443,
    targetPort: 9443,
    webhookPath: "/validate",
    sideEffects: "None",
    failurePolicy: "Fail",
    admissionReviewVersions: ["v1"],
    objectSelector: { matchExpressions: [{ key: "checked", operator: "Exists" }] },
    rules: [{ operations: ["CREATE", "UPDATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
    ...parts,
  };
}

/** `tinyBundle` whose Deployment serves webhooks. */
export function webhookBundle(
  version: string,
  { webhooks = [webhook()], objects = [], ...parts }: WebhookParts = {},
): Record<string, string> {
  const files = tinyBundle(version, { objects, ...parts });
  const csv = JSON.parse(files["manifests/csv.yaml"] ?? "") as { spec: JsonObject };
  const owned = objects.flatMap((object) => (object.kind === "CustomResourceDefinition" ? [ownedBy(object)] : []));
  const spec = { ...csv.spec, webhookdefinitions: webhooks, customresourcedefinitions: { owned } };
  return { ...files, "manifests/csv.yaml": JSON.stringify({ ...csv, spec }) };
}

function ownedBy({ metadata, spec }: KubeObject): JsonObject {
  const { names, versions = [] } = spec as { names: { kind: string }; versions?: { name: string }[] };
  return { name: metadata.name, kind: names.kind, version: versions[0]?.name ?? "v1" };
}

interface Review {
  request: { uid: string; object?: KubeObject; objects?: KubeObject[]; desiredAPIVersion?: string };
}

/** Serves webhooks for a Service. It rejects ConfigMaps with data `refuse`, and converts by setting apiVersion and `spec.convertedTo`. */
export function startWebhookServer(admin: Client, namespace: string, service: string, secret: string): Promise<ServingPod> {
  return ServingPod.start(admin, {
    namespace,
    service,
    secret,
    answer({ path, body }) {
      const { request: review, ...rest } = body as Review;
      const answer = path === "/convert" ? convert(review) : reviewWidget(review);
      return { ...rest, response: { uid: review.uid, ...answer } };
    },
  });
}

function reviewWidget({ object }: Review["request"]): object {
  const data = (object?.["data"] ?? {}) as Record<string, string>;
  return data["refuse"] === undefined ? { allowed: true } : { allowed: false, status: { message: `refused: ${data["refuse"]}` } };
}

function convert({ objects = [], desiredAPIVersion = "" }: Review["request"]): object {
  const convertedObjects = objects.map((object) => ({
    ...object,
    apiVersion: desiredAPIVersion,
    spec: { ...(object["spec"] as object | undefined), convertedTo: desiredAPIVersion },
  }));
  return { result: { status: "Success" }, convertedObjects };
}
