import type { ClusterExtension } from "../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { ObjectRef } from "../api/k8s.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden, KindNotServed } from "../kube/errors.ts";
import { compareText, similarName } from "../text/compare.ts";

/** The kind of extensions. */
const EXTENSION_KIND = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION } as const;

/** The reference of an extension. */
export function extensionRef(name: string): ObjectRef {
  return { ...EXTENSION_KIND, name };
}

/** All extensions of the cluster, by name. */
export async function extensionsOf(client: Pick<Client, "list">): Promise<ClusterExtension[]> {
  const { items } = await client.list<ClusterExtension>(EXTENSION_KIND);
  return items.toSorted((a, b) => compareText(a.metadata.name, b.metadata.name));
}

/** One extension. @throws Error where there is none of that name, with one that is written nearly so, or the command that lists them. */
export async function readExtension(client: Pick<Client, "get" | "list">, name: string): Promise<ClusterExtension> {
  const found = await client.get<ClusterExtension>(extensionRef(name));
  if (found) return found;
  const others = await extensionsOf(client).catch(() => []);
  const names = others.map(({ metadata }) => metadata.name);
  const similar = similarName(name, names) ?? others.find(({ spec }) => spec.source.catalog?.packageName === name)?.metadata.name;
  const advice = similar === undefined ? "olmv1 list shows those there are" : `did you mean ${goQuote(similar)}?`;
  throw new Error(`there is no ClusterExtension ${goQuote(name)}; ${advice}`);
}

/** A bundle that an extension of the cluster has installed. */
export interface InstalledHere {
  readonly extension: string;
  readonly package: string;
  /** Name of the bundle. */
  readonly bundle: string;
  readonly version: string;
  readonly release?: string | undefined;
  /** The catalog that it came from, as status has it. */
  readonly catalog?: string | undefined;
}

/** What the cluster's ClusterExtensions have installed by their status; undefined where no cluster is asked, or they may not be listed. */
export async function installedHere(client: Client | undefined, signal: AbortSignal): Promise<InstalledHere[] | undefined> {
  if (!client) return undefined;
  try {
    const { items } = await client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, { signal });
    return items.flatMap(installedBy);
  } catch (err) {
    if (isForbidden(err) || err instanceof KindNotServed) return undefined;
    throw err;
  }
}

/** What an extension has installed, as far as it comes from a catalog. */
function installedBy({ metadata, spec, status }: ClusterExtension): InstalledHere[] {
  const packageName = spec?.source?.catalog?.packageName;
  const bundle = status?.install?.bundle;
  if (packageName === undefined || !bundle) return [];
  const { name, version, release } = bundle;
  return [{ extension: metadata.name, package: packageName, bundle: name, version, release, catalog: status.install?.catalog }];
}
