import { CERTIFICATES_FIELD_MANAGER } from "../api/constants.ts";
import { type GroupVersionKind, groupOf, type KubeObject, type ObjectRef } from "../api/k8s.ts";
import { isApiService } from "../bundle/apiServices.ts";
import { isCrd } from "../release/identity.ts";
import { hasApplied } from "../release/managedFields.ts";

/** An object that tells the API server which CA to trust when it calls a webhook, or an API server behind it. */
export interface CaTarget {
  readonly ref: ObjectRef;
  /** Names of the webhooks of a webhook configuration; undefined for the one CA of a CustomResourceDefinition or APIService. */
  readonly webhooks: readonly string[] | undefined;
}

/** Whether objects of this kind may tell the API server whom to trust. */
export function mayTrust(kind: GroupVersionKind): boolean {
  return isCrd(kind) || isApiService(kind) || groupOf(kind.apiVersion) === "admissionregistration.k8s.io";
}

interface ClientConfig {
  clientConfig?: { caBundle?: string };
}

/** The CA bundles that a live object has for the target, PEM, one for each webhook; "" for those without. */
export function bundlesIn(live: KubeObject, { ref, webhooks }: CaTarget): string[] {
  if (!webhooks) {
    const spec = live["spec"] as { caBundle?: string; conversion?: { webhook?: ClientConfig } } | undefined;
    return [isApiService(ref) ? decoded(spec?.caBundle) : textOf(spec?.conversion?.webhook)];
  }
  const entries = (live["webhooks"] ?? []) as readonly (ClientConfig & { name: string })[];
  return webhooks.map((name) => textOf(entries.find((entry) => entry.name === name)));
}

/**
 * What to apply to give the target this CA bundle, and nothing else; only to the very object that was read.
 * @param bundle PEM.
 */
export function withBundle(live: KubeObject, { ref, webhooks }: CaTarget, bundle: string): KubeObject {
  const caBundle = Buffer.from(bundle).toString("base64");
  const clientConfig = { caBundle };
  const { apiVersion, kind } = ref;
  const { name, uid } = live.metadata;
  const metadata = uid === undefined ? { name } : { name, uid };
  if (isApiService(ref)) return { apiVersion, kind, metadata, spec: { caBundle } };
  if (!webhooks) return { apiVersion, kind, metadata, spec: { conversion: { webhook: { clientConfig } } } };
  return { apiVersion, kind, metadata, webhooks: webhooks.map((webhook) => ({ name: webhook, clientConfig })) };
}

/**
 * Whether a CustomResourceDefinition is to lose the conversion webhook for which we wrote a CA into it. The API server refuses that as long as
 * somebody states a CA, so it cannot be tried out before `withoutBundle` is applied.
 */
export function losesConversion(desired: KubeObject, live: KubeObject | undefined): live is KubeObject {
  if (!live || !isCrd(desired) || !hasApplied(live.metadata, CERTIFICATES_FIELD_MANAGER)) return false;
  return !isConverted(desired);
}

/** Whether a CustomResourceDefinition has a conversion webhook. */
export function isConverted(crd: KubeObject): boolean {
  const spec = crd["spec"] as { conversion?: { strategy?: string } } | undefined;
  return spec?.conversion?.strategy === "Webhook";
}

/** Whether a live object can have a CA now: the API server refuses one on a CustomResourceDefinition that has no conversion webhook yet. */
export function canTrust(live: KubeObject): boolean {
  return !isCrd(live) || isConverted(live);
}

/** What to apply to give up every CA in an object. */
export function withoutBundle({ apiVersion, kind, metadata: { name, uid } }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata: uid === undefined ? { name } : { name, uid } };
}

function textOf(webhook: ClientConfig | undefined): string {
  return decoded(webhook?.clientConfig?.caBundle);
}

function decoded(caBundle = ""): string {
  return Buffer.from(caBundle, "base64").toString();
}
