import type { ClusterExtension, ClusterExtensionSpec } from "../../api/clusterExtension.ts";
import { Reason } from "../../api/constants.ts";
import { groupOf, type KubeObject, type ObjectRef, refOf } from "../../api/k8s.ts";
import { losesConversion } from "../../certificates/caBundle.ts";
import { messageOf } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, isNamespaceMissing, isNotFound, KubeError } from "../../kube/errors.ts";
import type { ResourceOf } from "../../rbac/resources.ts";
import { CRD_KIND, describeObject, isCrd, objectKey } from "../../release/identity.ts";
import { type ExtensionExists, type Owner, ownershipConflict, ownershipOf } from "../../release/ownership.ts";
import { uninstallOrder } from "../../release/plan.ts";
import { type CountedObject, exceededQuotas, exceededText } from "../../release/quota.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { compareText } from "../../text/compare.ts";
import { checkCrdUpgrades } from "../crds/crdUpgrades.ts";
import type { ObjectChecker } from "../crds/existingObjects.ts";
import { type LiveObjects, listed } from "../state/objectActions.ts";
import { DeniedError, type IsOver, WaitingError } from "../state/waiting.ts";
import type { Applier, Failure } from "./applier.ts";
import type { DryRun } from "./dryRun.ts";
import type { Handovers, Need } from "./handovers.ts";

/** What can be desired and is there, and for whom. */
interface KindRequest {
  desired: readonly KubeObject[];
  live: LiveObjects;
  owner: Owner;
  extensionExists: ExtensionExists;
}

const CRD = { apiVersion: "apiextensions.k8s.io/v1", kind: CRD_KIND } as const;
/** Versions of a group that are looked at. */
const MAX_API_VERSIONS = 20;

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
  const fresh = desired.filter((object) => isCrd(object) && !live.has(objectKey(object))).flatMap(readCrdNames);
  const conflicts: string[] = [];
  for (const group of new Set(fresh.map((crd) => crd.group))) {
    const served = await readPluralNames(client, group, signal);
    for (const { name, kind, plural } of fresh.filter((crd) => crd.group === group)) {
      const other = served.get(kind);
      if (other === undefined || other === plural) continue;
      const ref: ObjectRef = { ...CRD, name: `${other}.${group}` };
      const found = await readIfAllowed(client, ref, signal);
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

function readCrdNames(crd: KubeObject): { name: string; group: string; kind: string; plural: string }[] {
  const { group, names } = (crd["spec"] ?? {}) as { group?: unknown; names?: { kind?: unknown; plural?: unknown } };
  const [kind, plural] = [names?.kind, names?.plural];
  if (typeof group !== "string" || typeof kind !== "string" || typeof plural !== "string") return [];
  return [{ name: crd.metadata.name, group, kind, plural }];
}

/** Plural name by kind, over all served versions of a group; empty for a group that is not served. */
async function readPluralNames(client: Pick<Client, "raw">, group: string, signal: AbortSignal): Promise<Map<string, string>> {
  const path = `/apis/${encodeURIComponent(group)}`;
  const { versions = [] } = ((await orNothing(client.raw("GET", path, undefined, { signal }))) ?? {}) as {
    versions?: { version: string }[];
  };
  const found = new Map<string, string>();
  for (const { version } of versions.slice(0, MAX_API_VERSIONS)) {
    const list = await orNothing(client.raw("GET", `${path}/${encodeURIComponent(version)}`, undefined, { signal }));
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

/** A group that nobody serves, or discovery that may not be read: then the API server decides. */
async function orNothing(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (err) {
    if (isNotFound(err) || isForbidden(err)) return undefined;
    throw err;
  }
}

/** Milliseconds between two looks at what an extension cannot have because it is somebody else's. */
const CONFLICT_RECHECK_MS = 3_000;
const GO_PREFIX = "failed to get release state using server-side dry-run: ";

/** Whose the desired objects are to be. */
export interface ConflictRequest extends KindRequest {
  /** Keys of what the deployed release holds: that needs no proof that it is the extension's, unless another extension has it. */
  released: ReadonlySet<string>;
}

/** A desired object that is somebody else's. */
export interface ForeignObject {
  object: KubeObject;
  /** Refuses it. */
  message: string;
  /** The extension that owns it, if one does. */
  owner: string | undefined;
}

/** Those of the desired objects that are somebody else's. */
export function foreignObjects({ desired, live, owner, extensionExists, released }: ConflictRequest): ForeignObject[] {
  return desired.flatMap((object) => {
    const key = objectKey(object);
    const ownership = ownershipOf(live.get(key), owner, extensionExists);
    if (ownership.kind !== "foreign") return [];
    const { message } = ownership;
    const other = ownership.owner === owner.name ? undefined : ownership.owner;
    return released.has(key) && other === undefined ? [] : [{ object, message, owner: other }];
  });
}

/**
 * Refuses objects that are somebody else's and stay so, and kinds that are defined already. What is waited for is the object that an uninstallation of all
 * of them would remove last: one request for its metadata each time; without any, the kinds.
 * @returns what other extensions own and will give up, since they aim at a release without it.
 * @throws WaitingError Retrying with every conflict at once.
 */
async function requireUnclaimed(
  client: Pick<Client, "raw" | "get">,
  request: ConflictRequest & { handovers: Pick<Handovers, "excludes"> },
  signal: AbortSignal,
): Promise<Need[]> {
  const { owner, extensionExists, handovers } = request;
  const foreign = foreignObjects(request);
  const isGiven = ({ object, owner: other }: ForeignObject): boolean => other !== undefined && handovers.excludes(other, object);
  const refused = foreign.filter((one) => !isGiven(one));
  const kinds = await kindConflicts(client, request, signal);
  const messages = [...refused.map(({ message }) => message), ...kinds];
  if (messages.length === 0) return foreign.flatMap(({ object, owner: other }) => (other === undefined ? [] : [{ object, owner: other }]));
  const last = uninstallOrder(refused.map(({ object }) => object)).at(-1);
  const isFree: IsOver = async (until) => {
    if (!last || refused.every(isGiven)) return true;
    const found = await client.get(refOf(last), { metadataOnly: true, signal: until });
    return ownershipConflict(found, owner, extensionExists) === undefined;
  };
  // The ServiceAccount may not be allowed to read the definition, but the kinds that are served anybody may.
  const isUndefined: IsOver = async (until) => (await kindConflicts(client, request, until)).length === 0;
  throw new WaitingError(Reason.Retrying, `${GO_PREFIX}${messages.join("\n")}`, {
    isOver: last ? isFree : isUndefined,
    everyMs: CONFLICT_RECHECK_MS,
  });
}

/** A namespace that does not exist, and how many objects were to go there. */
export interface MissingNamespace {
  readonly namespace: string;
  readonly count: number;
}

/** The namespaces for lack of which requests were refused, in order of name. */
export function missingNamespaces(failures: readonly Failure[]): MissingNamespace[] {
  const counts = new Map<string, number>();
  for (const { err } of failures) {
    if (!isNamespaceMissing(err)) continue;
    const namespace = String(err.details?.["name"]);
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  }
  return [...counts].sort(([a], [b]) => compareText(a, b)).map(([namespace, count]) => ({ namespace, count }));
}

/** Which namespace is missing, for what, and what to do about it. */
export function missingNamespaceText(
  { namespace, count }: MissingNamespace,
  spec: Pick<ClusterExtensionSpec, "namespace" | "config">,
): string {
  const objects = count === 1 ? "1 object" : `${count} objects`;
  return `namespace ${goQuote(namespace)} does not exist, so ${objects} could not be tried: ${adviceOn(namespace, spec)}`;
}

function adviceOn(namespace: string, { namespace: installed, config }: Pick<ClusterExtensionSpec, "namespace" | "config">): string {
  if (namespace === installed) return "create it before the ClusterExtension";
  const { watchNamespace, watchNamespaces } = config?.inline ?? {};
  if (watchNamespace === namespace) return "create it, or name another one in spec.config.inline.watchNamespace";
  const isListed = Array.isArray(watchNamespaces) && watchNamespaces.includes(namespace);
  return isListed ? "create it, or take it out of spec.config.inline.watchNamespaces" : "create it, or take it out of the configuration";
}

/**
 * Makes sure that no object was refused for lack of its namespace.
 * @param tried the objects that failures are about.
 * @throws WaitingError Retrying with all namespaces that do not exist, over as soon as one of them does.
 */
export function requireNamespaces(
  failures: readonly Failure[],
  spec: Pick<ClusterExtensionSpec, "namespace" | "config">,
  tried: readonly KubeObject[],
  dryRun: Pick<DryRun, "untilNot">,
): void {
  const first = failures.find(({ err }) => isNamespaceMissing(err));
  const object = first && tried.find((other) => objectKey(other) === objectKey(first.item));
  if (!object) return;
  const texts = missingNamespaces(failures).map((missing) => missingNamespaceText(missing, spec));
  const text = `${texts.join("; ")}; nothing was changed, and it goes on by itself within seconds once there is such a namespace`;
  throw new WaitingError(Reason.Retrying, text, { cause: first.err, isOver: dryRun.untilNot(isNamespaceMissing, object) });
}

/** Objects that are to be applied. */
export interface QuotaRequest {
  /** Prepared objects. */
  desired: readonly KubeObject[];
  live: LiveObjects;
  resourceOf: ResourceOf;
}

const QUOTA = { apiVersion: "v1", kind: "ResourceQuota" };
/** ResourceQuotas of one namespace that are looked at. */
const MAX_QUOTAS = 500;

/**
 * The quotas that have room for each new object and not for all of them, a sentence each; none where the client may not list quotas. One
 * request for each namespace in which something is new.
 * @throws what `signal` aborts with.
 */
export async function quotaRefusals(client: Pick<Client, "list">, request: QuotaRequest, signal: AbortSignal): Promise<string[]> {
  const created = createdObjects(request);
  const namespaces = [...new Set(created.map(({ object }) => object.metadata.namespace ?? ""))].sort();
  const found = await Promise.all(
    namespaces.map(async (namespace) => {
      try {
        return (await client.list(QUOTA, { namespace, maxItems: MAX_QUOTAS, signal })).items;
      } catch (err) {
        if (!(err instanceof KubeError)) throw err;
        return [];
      }
    }),
  );
  return exceededQuotas(found.flat(), created).map((exceeded) => {
    const counted = listed(exceeded.objects.map(describeObject));
    return `ResourceQuota ${exceeded.namespace}/${exceeded.name} has no room for all new objects: ${exceededText(exceeded)}; counted are ${counted}`;
  });
}

/** Whether the API server refused something because of a quota; there is no code for it. */
export function isQuotaRefusal(err: unknown): boolean {
  for (let e = err; e instanceof Error; e = e.cause)
    if (isForbidden(e)) return /exceeded quota: |status unknown for quota: /.test(messageOf(err));
  return false;
}

function createdObjects({ desired, live, resourceOf }: QuotaRequest): CountedObject[] {
  return desired.flatMap((object) => {
    const resource = resourceOf(object);
    if (!resource?.namespaced || live.has(objectKey(object))) return [];
    return [{ object, group: groupOf(object.apiVersion), resource: resource.resource }];
  });
}

/** What is to be applied, and for whom. */
export interface PreflightRequest {
  /** Prepared objects. */
  desired: readonly KubeObject[];
  /** The last deployed release: what it holds needs no proof that it is the extension's. */
  base: ReleaseRecord | undefined;
  owner: Owner;
  extensionExists: ExtensionExists;
  handovers: Pick<Handovers, "excludes">;
  spec: ClusterExtension["spec"];
  /** Sees and writes what the extension may. */
  client: Pick<Client, "get" | "list" | "listPage" | "patch" | "raw">;
  /** How to get a right that turns out to be needed only now. */
  advice: string;
  resourceOf: ResourceOf;
  /** Checks custom resources before their CRD is upgraded. */
  objects?: ObjectChecker | undefined;
  signal: AbortSignal;
}

/** The objects as they are on the cluster and as they would be, and what the checks want to be known. */
export interface Passed {
  live: LiveObjects;
  after: LiveObjects;
  notes: string[];
  /** What is taken from other extensions. */
  needs: Need[];
}

/**
 * Asks everything that can refuse the objects before anything is written: whose the live ones are, whether CRDs may replace those that
 * exist, then admission, validation, quota and rights of the ServiceAccount, each object for itself, then quotas for all of them together.
 * @throws RetryableError Retrying with every refusal of one sort at once; a WaitingError where somebody has to make room or to allow it.
 */
export async function preflight(applier: Applier, dryRun: DryRun, request: PreflightRequest): Promise<Passed> {
  const { desired, base, owner, extensionExists, handovers, spec, client, resourceOf, advice, objects, signal } = request;
  const live = await applier.read(desired.map(refOf));
  const released = new Set(base?.objects.map(objectKey));
  const needs = await requireUnclaimed(client, { desired, live, owner, extensionExists, released, handovers }, signal);
  const notes = await checkCrdUpgrades(client, { desired, live, spec, advice, objects }, signal);
  const tried = desired.filter((object) => !losesConversion(object, live.get(objectKey(object))));
  const taken = new Map(needs.flatMap(({ object }) => pairsOf(live, objectKey(object))));
  const after = await dryRun.require(tried, { check: (failures) => requireNamespaces(failures, spec, tried, dryRun), taken });
  const quotas = (until: AbortSignal): Promise<string[]> => quotaRefusals(client, { desired, live, resourceOf }, until);
  const exceeded = await quotas(signal);
  if (exceeded.length > 0) throw new DeniedError(exceeded.join("\n"), { isOver: async (until) => (await quotas(until)).length === 0 });
  return { live, after, notes, needs };
}

function pairsOf(live: LiveObjects, key: string): [string, KubeObject][] {
  const found = live.get(key);
  return found ? [[key, found]] : [];
}
