import { CERTIFICATES_FIELD_MANAGER } from "../api/constants.ts";
import { type GroupVersionKind, getGroup, type KubeObject, type ObjectRef } from "../api/k8s.ts";
import { isApiService } from "../bundle/apiServices.ts";
import { isCrd } from "../release/identity.ts";
import { hasApplied } from "../release/managedFields.ts";

/**
 * An object that contains the CA bundle with which the API server verifies a webhook or an
 * aggregated API server.
 */
export interface CaTarget {
  readonly ref: ObjectRef;
  /**
   * Names of the webhooks in a webhook configuration; undefined for the single CA bundle of a
   * CustomResourceDefinition or APIService.
   */
  readonly webhooks: readonly string[] | undefined;
}

/** Returns whether objects of this kind can contain a CA bundle. */
export function mayTrust(kind: GroupVersionKind): boolean {
  return isCrd(kind) || isApiService(kind) || getGroup(kind.apiVersion) === "admissionregistration.k8s.io";
}

interface ClientConfig {
  clientConfig?: { caBundle?: string };
}

/**
 * Returns the CA bundles of the target in a live object, PEM, one per webhook; "" for a webhook
 * without a CA bundle.
 */
export function getCaBundles(live: KubeObject, { ref, webhooks }: CaTarget): string[] {
  if (!webhooks) {
    const spec = live["spec"] as { caBundle?: string; conversion?: { webhook?: ClientConfig } } | undefined;
    return [isApiService(ref) ? decodeCaBundle(spec?.caBundle) : readCaBundle(spec?.conversion?.webhook)];
  }
  const entries = (live["webhooks"] ?? []) as readonly (ClientConfig & { name: string })[];
  return webhooks.map((name) => readCaBundle(entries.find((entry) => entry.name === name)));
}

/**
 * Returns an object to apply that sets only this CA bundle. Applying it fails if the live object no
 * longer exists.
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

/** Returns a copy of an object to create with this CA bundle. @param bundle PEM */
export function addCaBundle(object: KubeObject, { webhooks }: CaTarget, bundle: string): KubeObject {
  const caBundle = Buffer.from(bundle).toString("base64");
  if (webhooks) {
    const entries = (object["webhooks"] ?? []) as readonly (ClientConfig & { name: string })[];
    const trusting = entries.map((entry) =>
      webhooks.includes(entry.name) ? { ...entry, clientConfig: { ...entry.clientConfig, caBundle } } : entry,
    );
    return { ...object, webhooks: trusting };
  }
  const spec = object["spec"] as { conversion?: { webhook?: ClientConfig } } | undefined;
  if (isApiService(object)) return { ...object, spec: { ...spec, caBundle } };
  const webhook = { ...spec?.conversion?.webhook, clientConfig: { ...spec?.conversion?.webhook?.clientConfig, caBundle } };
  return { ...object, spec: { ...spec, conversion: { ...spec?.conversion, webhook } } };
}

/**
 * Returns whether a CustomResourceDefinition loses a conversion webhook for which
 * operator-controller set a CA bundle. The API server rejects this change while a field manager
 * sets a CA bundle, so a dry run fails before `withoutBundle` is applied.
 */
export function isConversionLost(desired: KubeObject, live: KubeObject | undefined): live is KubeObject {
  if (!live || !isCrd(desired) || !hasApplied(live.metadata, CERTIFICATES_FIELD_MANAGER)) return false;
  return !isConverted(desired);
}

/** Returns whether a CustomResourceDefinition has a conversion webhook. */
export function isConverted(crd: KubeObject): boolean {
  const spec = crd["spec"] as { conversion?: { strategy?: string } } | undefined;
  return spec?.conversion?.strategy === "Webhook";
}

/**
 * Returns the part of the target that can have a CA bundle in a live object; undefined if there is
 * none. The API server rejects a CA bundle on a CustomResourceDefinition without a conversion
 * webhook, and for a webhook that the live object does not contain.
 */
export function limitTarget(target: CaTarget, live: KubeObject): CaTarget | undefined {
  if (!target.webhooks) return !isCrd(live) || isConverted(live) ? target : undefined;
  const entries = (live["webhooks"] ?? []) as readonly { name: string }[];
  const webhooks = target.webhooks.filter((name) => entries.some((entry) => entry.name === name));
  return webhooks.length > 0 ? { ...target, webhooks } : undefined;
}

/** Returns an object to apply that removes every CA bundle from an object. */
export function withoutBundle({ apiVersion, kind, metadata: { name, uid } }: KubeObject): KubeObject {
  return { apiVersion, kind, metadata: uid === undefined ? { name } : { name, uid } };
}

function readCaBundle(webhook: ClientConfig | undefined): string {
  return decodeCaBundle(webhook?.clientConfig?.caBundle);
}

function decodeCaBundle(caBundle = ""): string {
  return Buffer.from(caBundle, "base64").toString();
}
