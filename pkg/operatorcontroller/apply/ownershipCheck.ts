import { Reason } from "../../api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../../api/k8s.ts";
import { newProblem, toProblemObject } from "../../api/problems.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, isNotFound } from "../../kube/errors.ts";
import { CRD, CRD_KIND, getObjectKey, isCrd } from "../../release/identity.ts";
import {
  type Claim,
  determineOwnership,
  type ExtensionExists,
  findOwnershipConflict,
  formatClaim,
  type Owner,
} from "../../release/ownership.ts";
import { sortForUninstall } from "../../release/plan.ts";
import { type UnblockCheck, WaitingError } from "../state/conditionPoller.ts";
import type { LiveObjects } from "../state/objectActions.ts";
import { AbandonedObjects } from "./abandonedObjects.ts";
import { newFinding, type PreflightCheck, type PreflightFinding } from "./preflightRequest.ts";

/** The desired and the live objects, and the owner of the desired ones. */
interface KindRequest {
  desired: readonly KubeObject[];
  live: LiveObjects;
  owner: Owner;
  extensionExists: ExtensionExists;
}

/** Maximum number of versions of a group that are checked. */
const MAX_API_VERSIONS = 20;

/**
 * Finds new CustomResourceDefinitions whose kind another CRD already defines: the API server would accept the new CRD but never serve it. A CRD of
 * the extension itself is not a conflict. Sends one request for each group of new CRDs, and one for each served version of a group.
 * @returns a finding for each conflict, with the existing CRD and, if the client may read the CRD, its owner.
 */
async function findKindConflicts(
  client: Pick<Client, "raw" | "get">,
  { desired, live, owner, extensionExists }: KindRequest,
  signal: AbortSignal,
): Promise<PreflightFinding[]> {
  const created = desired.filter((object) => isCrd(object) && !live.has(getObjectKey(object))).flatMap(readCrdNames);
  const conflicts: PreflightFinding[] = [];
  for (const group of new Set(created.map((crd) => crd.group))) {
    const served = await readPluralNames(client, group, signal);
    for (const { name, kind, plural } of created.filter((crd) => crd.group === group)) {
      const other = served.get(kind);
      if (other === undefined || other === plural) continue;
      const ref: ObjectRef = { ...CRD, name: `${other}.${group}` };
      const found = await readIfAllowed(client, ref, signal);
      const ownership = found === "forbidden" ? undefined : determineOwnership(found, owner, extensionExists);
      if (ownership?.kind === "ours") continue;
      const claim: Claim | undefined = ownership && "claim" in ownership ? ownership.claim : undefined;
      const conflict = `${CRD_KIND} '${name}' cannot define kind ${kind} of group '${group}', because '${ref.name}' already defines it`;
      const details = [{ group: "apiextensions.k8s.io", kind: CRD_KIND, name }];
      conflicts.push(
        newFinding("kindConflict", newProblem("KindConflict", { message: conflict, next: claim && formatClaim(claim), details })),
      );
    }
  }
  return conflicts;
}

function readCrdNames(crd: KubeObject): { name: string; group: string; kind: string; plural: string }[] {
  const { group, names } = (crd["spec"] ?? {}) as { group?: unknown; names?: { kind?: unknown; plural?: unknown } };
  const [kind, plural] = [names?.kind, names?.plural];
  if (typeof group !== "string" || typeof kind !== "string" || typeof plural !== "string") return [];
  return [{ name: crd.metadata.name, group, kind, plural }];
}

/** Reads the plural names by kind, over all served versions of a group; empty for a group that is not served. */
async function readPluralNames(client: Pick<Client, "raw">, group: string, signal: AbortSignal): Promise<Map<string, string>> {
  const path = `/apis/${encodeURIComponent(group)}`;
  const { versions = [] } = ((await ignoreAbsent(client.raw("GET", path, undefined, { signal }))) ?? {}) as {
    versions?: { version: string }[];
  };
  const found = new Map<string, string>();
  for (const { version } of versions.slice(0, MAX_API_VERSIONS)) {
    const list = await ignoreAbsent(client.raw("GET", `${path}/${encodeURIComponent(version)}`, undefined, { signal }));
    const { resources = [] } = (list ?? {}) as { resources?: { name: string; kind: string }[] };
    for (const { name, kind } of resources) if (!name.includes("/") && !found.has(kind)) found.set(kind, name);
  }
  return found;
}

async function readIfAllowed(
  client: Pick<Client, "get">,
  ref: ObjectRef,
  signal: AbortSignal,
): Promise<KubeObject | undefined | "forbidden"> {
  try {
    return await client.get(ref, { metadataOnly: true, signal });
  } catch (err) {
    if (isForbidden(err)) return "forbidden";
    throw err;
  }
}

/** Returns undefined if the group is not served or discovery is denied. In these cases the API server decides. */
async function ignoreAbsent(request: Promise<unknown>): Promise<unknown> {
  try {
    return await request;
  } catch (err) {
    if (isNotFound(err) || isForbidden(err)) return undefined;
    throw err;
  }
}

/** The desired objects, whose owners are checked. */
export interface ConflictRequest extends KindRequest {
  /** Keys of the objects in the deployed release. These objects count as owned by the extension unless another extension owns them. */
  released: ReadonlySet<string>;
}

/** A desired object that belongs to another owner. */
export interface ForeignObject {
  object: KubeObject;
  /** The reason why it cannot be applied. */
  message: string;
  /** Name of the owner, if it is a ClusterExtension. */
  owner: string | undefined;
  /** The two parts of `message`. */
  refusal: string;
  claim: Claim;
}

/** Finds the desired objects that belong to another owner. */
export function findForeignObjects({ desired, live, owner, extensionExists, released }: ConflictRequest): ForeignObject[] {
  return desired.flatMap((object) => {
    const key = getObjectKey(object);
    const ownership = determineOwnership(live.get(key), owner, extensionExists);
    if (ownership.kind !== "foreign") return [];
    const { message, refusal, claim } = ownership;
    const other = ownership.owner === owner.name ? undefined : ownership.owner;
    return released.has(key) && other === undefined ? [] : [{ object, message, owner: other, refusal, claim }];
  });
}

/** Interval in milliseconds of the check whether another owner has released an object or kind. */
const CONFLICT_RECHECK_MS = 3_000;
const GO_PREFIX = "failed to get release state using server-side dry-run: ";

/**
 * Denies objects that belong to another owner, and kinds that are already defined. Objects that other extensions give up, because their next release
 * does not contain them, become `needs`. The controller retries when the object that an uninstall would remove last is free; each check sends one
 * request for its metadata. If no object is denied, the controller retries when the kinds are free.
 * The release adopts objects that OLM v0 left on the cluster.
 */
export const ownershipCheck: PreflightCheck = {
  name: "ownership",
  async run({ desired, base, owner, extensionExists, handovers, willBeAdopted, client, discovery, signal }, checked) {
    const { live, refused } = checked;
    const released = new Set(base?.objects.map(getObjectKey));
    const foreign = findForeignObjects({ desired, live, owner, extensionExists, released });
    const isHandedOver = ({ object, owner: other }: ForeignObject): boolean => other !== undefined && handovers.excludes(other, object);
    const isGiven = ({ object }: ForeignObject): boolean => {
      const current = live.get(getObjectKey(object));
      return current !== undefined && (willBeAdopted?.(current) ?? false);
    };
    const abandoned = new AbandonedObjects(discovery, desired, signal);
    const denied: ForeignObject[] = [];
    for (const one of foreign) {
      const current = live.get(getObjectKey(one.object));
      const isFree = isGiven(one) || isHandedOver(one) || (one.owner === undefined && current && (await abandoned.contains(current)));
      if (!isFree) denied.push(one);
    }
    const readable = { desired: desired.filter((object) => !refused.has(getObjectKey(object))), live, owner, extensionExists };
    const findings = [...denied.map(newOwnershipFinding), ...(await findKindConflicts(client, readable, signal))];
    checked.needs = foreign.flatMap((one) =>
      one.owner !== undefined && isHandedOver(one) ? [{ object: one.object, owner: one.owner }] : [],
    );
    for (const { object } of denied) refused.add(getObjectKey(object));
    if (findings.length === 0) return undefined;
    const last = sortForUninstall(denied.map(({ object }) => object)).at(-1);
    const isFree = (ref: ObjectRef): UnblockCheck => {
      return async (until) => {
        if (denied.every(isHandedOver)) return true;
        const current = await client.get(ref, { metadataOnly: true, signal: until });
        if (findOwnershipConflict(current, owner, extensionExists) === undefined) return true;
        return current !== undefined && new AbandonedObjects(discovery, desired, until).contains(current);
      };
    };
    // The ServiceAccount may lack permission to read the CRD, but every client may read the served kinds.
    const isUndefined: UnblockCheck = async (until) => (await findKindConflicts(client, readable, until)).length === 0;
    const error = new WaitingError(Reason.Retrying, `${GO_PREFIX}${findings.map(({ message }) => message).join("\n")}`, {
      isOver: last ? isFree(toObjectRef(last)) : isUndefined,
      everyMs: CONFLICT_RECHECK_MS,
    });
    return { findings, error };
  },
};

function newOwnershipFinding({ object, refusal, claim }: ForeignObject): PreflightFinding {
  const next = formatClaim(claim);
  const details = [{ ...toProblemObject(toObjectRef(object)), owner: next }];
  return newFinding("ownership", newProblem("ObjectConflict", { message: refusal, next, details }));
}
