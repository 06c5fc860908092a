import { ANNOTATION_INJECT_CA_FROM_SECRET } from "../../api/constants.ts";
import type { JsonObject, KubeObject } from "../../api/k8s.ts";
import { isApiService } from "../../bundle/apiServices.ts";
import { listAt, memberAt, textAt } from "./members.ts";
import { HEALTHY, type Health, health } from "./verdict.ts";

/** An object with one of these asks somebody to write the CA of its server's certificate into it. */
const INJECTED_BY: Readonly<Record<string, string>> = {
  "cert-manager.io/inject-ca-from": "cert-manager",
  "cert-manager.io/inject-ca-from-secret": "cert-manager",
  "service.beta.openshift.io/inject-cabundle": "the service CA operator",
  [ANNOTATION_INJECT_CA_FROM_SECRET]: "operator-controller",
};

/** Whether somebody is asked to write a CA into the object. */
export function isInjected(object: KubeObject): boolean {
  return annotationOf(object) !== undefined;
}

/**
 * A webhook configuration, a CustomResourceDefinition with a conversion webhook, or an APIService that waits for its CA: until it is there, the
 * API server cannot call what serves it. Whether anything answers is told by the workload behind it, which is an object of the bundle as well.
 */
export function injectionHealth(object: KubeObject): Health {
  const annotation = annotationOf(object);
  if (annotation === undefined) return HEALTHY;
  const waiting = clientConfigs(object).filter(({ config }) => textAt(config, "caBundle") === "");
  const [first] = waiting;
  if (!first) return HEALTHY;
  const more = waiting.length > 1 ? ` and ${waiting.length - 1} more` : "";
  return health("progressing", "NoCABundle", `${first.name}${more} has no CA yet, which ${INJECTED_BY[annotation]} is to write`);
}

function annotationOf({ metadata: { annotations } }: KubeObject): string | undefined {
  return Object.keys(INJECTED_BY).find((name) => annotations?.[name]);
}

function clientConfigs(object: KubeObject): { name: string; config: JsonObject }[] {
  if (isApiService(object)) return listAt({ list: [object["spec"]] }, "list").map((config) => ({ name: "its Service", config }));
  const conversion = memberAt(object, "spec.conversion.webhook.clientConfig");
  const own = listAt({ list: [conversion] }, "list").map((config) => ({ name: "its conversion webhook", config }));
  const webhooks = listAt(object, "webhooks").flatMap((webhook) =>
    listAt({ list: [webhook["clientConfig"]] }, "list").map((config) => ({ name: `webhook ${textAt(webhook, "name")}`, config })),
  );
  return [...own, ...webhooks];
}
