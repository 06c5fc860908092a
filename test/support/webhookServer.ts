import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { ServingPod } from "./servingPod.ts";

interface Review {
  request: { uid: string; object?: KubeObject; objects?: KubeObject[]; desiredAPIVersion?: string };
}

/** Serves webhooks behind a Service. It refuses ConfigMaps with data `refuse`, and converts by setting apiVersion and `spec.convertedTo`. */
export function startWebhookServer(admin: Client, namespace: string, service: string, secret: string): Promise<ServingPod> {
  return ServingPod.start(admin, {
    namespace,
    service,
    secret,
    answer({ path, body }) {
      const { request: review, ...rest } = body as Review;
      const answer = path === "/convert" ? converted(review) : checked(review);
      return { ...rest, response: { uid: review.uid, ...answer } };
    },
  });
}

function checked({ object }: Review["request"]): object {
  const data = (object?.["data"] ?? {}) as Record<string, string>;
  return data["refuse"] === undefined ? { allowed: true } : { allowed: false, status: { message: `refused: ${data["refuse"]}` } };
}

function converted({ objects = [], desiredAPIVersion = "" }: Review["request"]): object {
  const convertedObjects = objects.map((object) => ({
    ...object,
    apiVersion: desiredAPIVersion,
    spec: { ...(object["spec"] as object | undefined), convertedTo: desiredAPIVersion },
  }));
  return { result: { status: "Success" }, convertedObjects };
}
