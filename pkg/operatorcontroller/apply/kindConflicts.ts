import type { KubeObject, ObjectRef } from "../../api/k8s.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, isNotFound } from "../../kube/errors.ts";
import { CRD_KIND, isCrd, objectKey } from "../../release/identity.ts";
import { type ExtensionExists, type Owner, ownershipOf } from "../../release/ownership.ts";
import type { LiveObjects } from "./applier.ts";

/** What can be desired and is there, and for whom. */
export interface KindRequest {
  desired: readonly KubeObject[];
  live: LiveObjects;
  owner: Owner;
  extensionExists: ExtensionExists;
}

const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: CRD_KIND } as const;
/** Versions of a group that are looked at. */
const VERSIONS_MAX = 20;

/**
 * Kinds of definitions that do not exist yet which another definition gives to the API server already: it takes the second one, and never
 * serves it. A definition of the extension itself is no conflict. One request for each group of new definitions, and one for each version of
 * a group that is served.
 * @returns a message for each that names the definition that is there, and whose it is as far as that may be read.
 */
export async function kindConflicts(
  client: Pick<Client, "raw" | "get">,
  { desired, live, owner, extensionExists }: KindRequest,
  signal: AbortSignal,
): Promise<string[]> {
  const fresh = desired.filter((object) => isCrd(object) && !live.has(objectKey(object))).flatMap(namesOf);
  const conflicts: string[] = [];
  for (const group of new Set(fresh.map((crd) => crd.group))) {
    const served = await resourcesOf(client, group, signal);
    for (const { name, kind, plural } of fresh.filter((crd) => crd.group === group)) {
      const other = served.get(kind);
      if (other === undefined || other === plural) continue;
      const ref: ObjectRef = { ...CRD, name: `${other}.${group}` };
      const found = await read(client, ref, signal);
      const ownership = found === "forbidden" ? undefined : ownershipOf(found, owner, extensionExists);
      if (ownership?.kind === "ours") continue;
      const whose = ownership && "message" in ownership ? ownership.message.slice(ownership.message.indexOf("; ")) : "";
      conflicts.push(
        `${CRD_KIND} '${name}' cannot define kind ${kind} of group '${group}', which is served as '${ref.name}' already${whose}`,
      );
    }
  }
  return conflicts;
}

function namesOf(crd: KubeObject): { name: string; group: string; kind: string; plural: string }[] {
  const { group, names } = (crd["spec"] ?? {}) as { group?: unknown; names?: { kind?: unknown; plural?: unknown } };
  const [kind, plural] = [names?.kind, names?.plural];
  if (typeof group !== "string" || typeof kind !== "string" || typeof plural !== "string") return [];
  return [{ name: crd.metadata.name, group, kind, plural }];
}

/** Plural name by kind, over all served versions of a group; empty for a group that is not served. */
async function resourcesOf(client: Pick<Client, "raw">, group: string, signal: AbortSignal): Promise<Map<string, string>> {
  const path = `/apis/${encodeURIComponent(group)}`;
  const { versions = [] } = ((await orNothing(client.raw("GET", path, undefined, { signal }))) ?? {}) as {
    versions?: { version: string }[];
  };
  const found = new Map<string, string>();
  for (const { version } of versions.slice(0, VERSIONS_MAX)) {
    const list = await orNothing(client.raw("GET", `${path}/${encodeURIComponent(version)}`, undefined, { signal }));
    const { resources = [] } = (list ?? {}) as { resources?: { name: string; kind: string }[] };
    for (const { name, kind } of resources) if (!name.includes("/") && !found.has(kind)) found.set(kind, name);
  }
  return found;
}

async function read(client: Pick<Client, "get">, ref: ObjectRef, signal: AbortSignal): Promise<KubeObject | undefined | "forbidden"> {
  try {
    return await client.get(ref, { metadataOnly: true, signal });
  } catch (err) {
    if (isForbidden(err)) return "forbidden";
    throw err;
  }
}

/** A group that nobody serves, or discovery that may not be read: then the API server decides. */
async function orNothing(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (err) {
    if (isNotFound(err) || isForbidden(err)) return undefined;
    throw err;
  }
}
