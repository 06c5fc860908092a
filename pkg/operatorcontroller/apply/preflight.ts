import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { type KubeObject, refOf } from "../../api/k8s.ts";
import { losesConversion } from "../../certificates/caBundle.ts";
import type { Client } from "../../kube/client.ts";
import type { ResourceOf } from "../../rbac/resources.ts";
import { objectKey } from "../../release/identity.ts";
import type { ExtensionExists, Owner } from "../../release/ownership.ts";
import type { ReleaseRecord } from "../../release/record.ts";
import { checkCrdUpgrades } from "../crdupgrade/crdUpgrades.ts";
import type { ObjectChecker } from "../crdupgrade/existingObjects.ts";
import { DeniedError } from "../waiting.ts";
import type { Applier, LiveObjects } from "./applier.ts";
import { requireUnclaimed } from "./conflicts.ts";
import type { DryRun } from "./dryRun.ts";
import type { Handovers, Need } from "./handovers.ts";
import { requireNamespaces } from "./missingNamespaces.ts";
import { quotaRefusals } from "./quotaCheck.ts";

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
