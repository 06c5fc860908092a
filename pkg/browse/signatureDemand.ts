import type { KubeObject } from "../api/k8s.ts";
import { mapInParallel } from "../async/concurrency.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { findMember } from "../golang/members.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed } from "../kube/errors.ts";
import { findApplicable } from "../oci/policy/applicable.ts";
import { CLUSTER_IMAGE_POLICY, type ImagePolicies, toImagePolicies } from "../oci/policy/imagePolicies.ts";
import { INSECURE_POLICY, type Policy, parsePolicy } from "../oci/policy/policyFile.ts";
import { parsePullReference } from "../oci/reference.ts";
import type { OpenCatalogs } from "../sources/openCatalogs.ts";
import type { PackageMatch } from "./searchResults.ts";

/** The ConfigMap of the servers' policy, in the Helm chart and in config/overlays/signatures. */
const CONFIG_MAP = "signatures";
const POLICY_KEY = "policy.json";
/** Concurrent reads of packages. */
const PARALLEL = 8;

/** The signature policies of a cluster that apply to bundles in every namespace. */
export interface SignatureDemand {
  readonly file: Policy;
  readonly policies: ImagePolicies;
}

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/**
 * Reads ConfigMap `signatures` of the system namespace and the ClusterImagePolicies. ImagePolicies are not read, because they apply only in the
 * namespace of an extension.
 * @returns why the policies are unknown, as a sentence, if one cannot be read or parsed
 */
export async function readSignatureDemand(client: Client, systemNamespace: string, signal: AbortSignal): Promise<SignatureDemand | string> {
  const place = { apiVersion: "v1", kind: "ConfigMap", namespace: systemNamespace, name: CONFIG_MAP };
  try {
    const [stored, items] = await Promise.all([client.get<ConfigMap>(place, { signal }), listPolicies(client, signal)]);
    const text = stored?.data?.[POLICY_KEY];
    return { file: text === undefined ? INSECURE_POLICY : parsePolicy(text), policies: toImagePolicies(items, []) };
  } catch (err) {
    signal.throwIfAborted();
    return `The signature policies of the cluster are unknown: ${getErrorMessage(err)}`;
  }
}

async function listPolicies(client: Client, signal: AbortSignal): Promise<KubeObject[]> {
  try {
    return (await client.list(CLUSTER_IMAGE_POLICY, { signal })).items;
  } catch (err) {
    if (err instanceof KindNotServed) return [];
    throw err;
  }
}

/** Returns whether the servers accept an image only with a signature. False for an invalid reference. Pure. */
export function needsSignature({ file, policies }: SignatureDemand, image: string): boolean {
  try {
    return findApplicable(file, parsePullReference(image), policies).requirements.some(({ type }) => type === "sigstoreSigned");
  } catch {
    return false;
  }
}

/** Selects the packages whose shown bundle is accepted only with a signature. Reads each package from its catalog. */
export async function selectSigned(
  matches: readonly PackageMatch[],
  catalogs: OpenCatalogs["catalogs"],
  demand: SignatureDemand,
): Promise<PackageMatch[]> {
  const books = new Map(catalogs.map(({ name, book }) => [name, book]));
  const signed = await mapInParallel(matches, PARALLEL, async ({ catalog, package: name, bundle }) => {
    const metas = (await books.get(catalog)?.metasOf(name)) ?? [];
    const meta = metas.find((one) => one.schema === "olm.bundle" && one.name === bundle);
    const image = meta && findMember(meta.blob, "image");
    return typeof image === "string" && needsSignature(demand, image);
  });
  return matches.filter((_, i) => signed[i]);
}
