import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject, KubeObject } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { selfSigned } from "../../pkg/certificates/providers.ts";
import { readBundleFiles } from "../../pkg/operatorcontroller/bundles/bundleFiles.ts";
import { findKnownResource } from "../../pkg/rbac/resources.ts";
import { getObjectKey, isCrd } from "../../pkg/release/identity.ts";
import { prepareObjects } from "../../pkg/release/prepare.ts";
import { renderBundle } from "../../pkg/render/render.ts";
import { compareVersions, parseVersion } from "../../pkg/version/version.ts";

/** An operator whose bundles are in folders, with one or two versions, the older first. */
export interface RealOperator {
  /** Name of the package, and of all objects that a test creates for it. */
  name: string;
  namespace: string;
  config: JsonObject | undefined;
  versions: readonly OperatorVersion[];
}

export interface OperatorVersion {
  version: string;
  folder: string;
  /** Rendered. */
  objects: readonly KubeObject[];
}

/** Maximum of CRDs for each operator: each CRD makes the API server recompute its whole schema. */
const MAX_CRDS = 3;

/** Kinds that a control plane serves without additions. */
const SERVED: ReadonlySet<string> = new Set([
  "v1",
  "apps/v1",
  "policy/v1",
  "batch/v1",
  "networking.k8s.io/v1",
  "scheduling.k8s.io/v1",
  "rbac.authorization.k8s.io/v1",
  "apiextensions.k8s.io/v1",
  "admissionregistration.k8s.io/v1",
]);

/**
 * Picks operators in an order that `seed` determines, up to the wanted number of bundles. Their bundles render to kinds of Kubernetes itself, their
 * webhooks do not select objects of other operators, and no two operators contain the same object.
 */
export async function chooseOperators(folder: string, seed: number, count: number): Promise<RealOperator[]> {
  const chosen: RealOperator[] = [];
  const taken = new Set<string>();
  for (const name of shuffle(readdirSync(folder).sort(), seed)) {
    if (chosen.flatMap(({ versions }) => versions).length >= count) break;
    const operator = await operatorIn(folder, name);
    const keys = operator?.versions.flatMap(({ objects }) => objects.map(getObjectKey)) ?? [];
    if (!operator || keys.some((key) => taken.has(key))) continue;
    for (const key of keys) taken.add(key);
    chosen.push(operator);
  }
  return chosen;
}

async function operatorIn(folder: string, name: string): Promise<RealOperator | undefined> {
  const versions = readdirSync(join(folder, name)).filter((version) => isVersion(version));
  versions.sort((a, b) => compareVersions(parseVersion(a), parseVersion(b)));
  const short = name.slice(0, 40).replace(/[^a-z0-9-]|-+$/g, "");
  const namespace = `${short}-system`;
  for (const config of [undefined, { watchNamespace: namespace }]) {
    try {
      const rendered: OperatorVersion[] = [];
      for (const version of versions.slice(-2)) {
        const bundle = loadBundle(await readBundleFiles(join(folder, name, version)));
        const objects = renderBundle(bundle, { installNamespace: namespace, config, certProvider: selfSigned });
        const owner = { apiVersion: "v1", kind: "X", name: "x", uid: "x" };
        prepareObjects(objects, { owner, installNamespace: namespace, isNamespaced: (gvk) => findKnownResource(gvk)?.namespaced });
        rendered.push({ version, folder: join(folder, name, version), objects });
      }
      const all = rendered.flatMap(({ objects }) => objects);
      const fits =
        all.every((object) => isServed(object) && !isAboutOthers(object)) &&
        rendered.every(({ objects }) => objects.length > 0 && objects.filter(isCrd).length <= MAX_CRDS);
      const [first, second] = rendered;
      const installable = first && second && dropsStoredVersion(first, second) ? [second] : rendered;
      return fits && installable.length > 0 ? { name: short, namespace, config, versions: installable } : undefined;
    } catch {
      // needs another configuration, or cannot be installed at all
    }
  }
  return undefined;
}

/** Kinds of other operators that bundles expect although an API server does not define them. */
export const GROUPS_OF_OTHERS: ReadonlySet<string> = new Set([
  "cert-manager.io",
  "console.openshift.io",
  "monitoring.coreos.com",
  "security.openshift.io",
]);

/** Whether it is a webhook configuration for kinds that other bundles contain. */
export function isAboutOthers(object: KubeObject): boolean {
  const { webhooks } = object as { webhooks?: { rules?: { apiGroups?: string[] }[] }[] };
  const groups = (webhooks ?? []).flatMap(({ rules = [] }) => rules.flatMap(({ apiGroups = [] }) => apiGroups));
  return groups.some((group) => group === "*" || !group.includes(".") || group.endsWith(".k8s.io") || GROUPS_OF_OTHERS.has(group));
}

function isServed(object: KubeObject): boolean {
  return findKnownResource(object) !== undefined && SERVED.has(object.apiVersion);
}

/** The API server rejects a CRD without the version in which its custom resources are stored, regardless of the client. */
function dropsStoredVersion(before: OperatorVersion, after: OperatorVersion): boolean {
  const listVersions = (crd: KubeObject | undefined): { name: string; storage?: boolean }[] =>
    (crd?.["spec"] as { versions?: { name: string; storage?: boolean }[] } | undefined)?.versions ?? [];
  return before.objects.filter(isCrd).some((crd) => {
    const later = after.objects.find((object) => getObjectKey(object) === getObjectKey(crd));
    const names = listVersions(later).map(({ name }) => name);
    return later !== undefined && listVersions(crd).some(({ name, storage }) => storage === true && !names.includes(name));
  });
}

function isVersion(text: string): boolean {
  try {
    parseVersion(text);
    return true;
  } catch {
    return false;
  }
}

/** Shuffles, reproducible by seed (Fisher and Yates, numbers by Lehmer). */
export function shuffle<T>(items: readonly T[], seed: number): T[] {
  const out = [...items];
  let state = seed;
  for (let i = out.length - 1; i > 0; i--) {
    state = (state * 48_271) % 2_147_483_647;
    const j = state % (i + 1);
    [out[i], out[j]] = [out[j] as T, out[i] as T];
  }
  return out;
}
