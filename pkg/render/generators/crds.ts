import { Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { MANIFEST_TYPES } from "../../bundle/goTypes.ts";
import type { Crd, RegistryV1Bundle, WebhookDescription } from "../../bundle/types.ts";
import { RetryableError } from "../../errors/errors.ts";
import { certificateNames } from "../certificateProvider.ts";
import type { GeneratorOptions } from "./options.ts";

/**
 * The bundle's CRDs; those that a conversion webhook names get its conversion and the hint for the certificate provider.
 * @throws RetryableError Retrying for a CRD that keeps unknown fields or is named twice, which conversion rules out.
 */
export function crds({ csv, crds }: RegistryV1Bundle, options: GeneratorOptions): KubeObject[] {
  const webhooks = new Map<string, WebhookDescription>();
  for (const webhook of csv.spec.webhookdefinitions ?? []) {
    if (webhook.type !== "ConversionWebhook") continue;
    for (const name of webhook.conversionCRDs ?? []) {
      if (webhooks.has(name))
        throw refused(`custom resource definition '${name}' is referenced by multiple conversion webhook definitions`);
      webhooks.set(name, webhook);
    }
  }
  return crds.map((crd) => {
    const webhook = webhooks.get(crd.metadata.name);
    return webhook ? converted(crd, webhook, options) : crd;
  });
}

function converted(crd: Crd, webhook: WebhookDescription, { installNamespace, certProvider }: GeneratorOptions): KubeObject {
  const { name } = crd.metadata;
  if (crd.spec.preserveUnknownFields) {
    throw refused(
      `custom resource definition '${name}' must have .spec.preserveUnknownFields set to false to let API Server call webhook to do the conversion`,
    );
  }
  const names = certificateNames(webhook.deploymentName ?? "", installNamespace);
  const service = {
    namespace: installNamespace,
    name: names.serviceName,
    path: webhook.webhookPath ?? "/",
    port: webhook.containerPort ?? 0,
  };
  const conversion = {
    strategy: "Webhook",
    webhook: { clientConfig: { service }, conversionReviewVersions: webhook.admissionReviewVersions },
  };
  const annotations = { ...crd.metadata.annotations, ...certProvider?.annotations("CustomResourceDefinition", names) };
  const changed = { ...crd, metadata: { ...crd.metadata, annotations }, spec: { ...crd.spec, conversion } };
  return MANIFEST_TYPES.convert("apiextensions/v1.CustomResourceDefinition", changed) as KubeObject;
}

function refused(text: string): RetryableError {
  return new RetryableError(Reason.Retrying, text);
}
