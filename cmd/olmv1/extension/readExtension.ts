import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import type { ObjectRef } from "../../../pkg/api/k8s.ts";
import { similarName } from "../../../pkg/text/compare.ts";
import { goQuote } from "../../../pkg/golang/quote.ts";
import type { Client } from "../../../pkg/kube/client.ts";

/** The kind of extensions. */
export const EXTENSION_KIND = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION } as const;

/** The reference of an extension. */
export function extensionRef(name: string): ObjectRef {
  return { ...EXTENSION_KIND, name };
}

/** All extensions of the cluster, by name. */
export async function extensionsOf(client: Pick<Client, "list">): Promise<ClusterExtension[]> {
  const { items } = await client.list<ClusterExtension>(EXTENSION_KIND);
  return items.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
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
