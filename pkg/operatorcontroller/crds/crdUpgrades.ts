import type { ClusterExtension, StorageMigration } from "../../api/clusterExtension.ts";
import { Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { systemClock } from "../../async/clock.ts";
import { type CrdFinding, formatFindings } from "../../crdsafety/crdFindings.ts";
import type { StoredVersionChanges } from "../../crdsafety/existingObjects.ts";
import { RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { getObjectKey, isCrd } from "../../release/identity.ts";
import { formatCount, formatList } from "../../text/lists.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import type { LiveObjects } from "../state/objectActions.ts";
import type { UpgradeRefusal } from "./crdRefusal.ts";
import { getServedKind } from "./crdUse.ts";
import { ObjectChecker, type ObjectCheckRequest, type ObjectsFound, type RunningCheck } from "./existingObjects.ts";
import { planStorageMigration } from "./storageMigration.ts";
import type { StorageMigrator } from "./storageMigrator.ts";
import { dropStoredVersions, formatStoredAdvice, formatUnservedAdvice, migrateBeforeUpgrade } from "./storedVersions.ts";

/** Interval of the check whether all custom resources are checked, in milliseconds. */
const CHECK_POLL_MS = 2_000;

/** The result of checking CRD upgrades. */
interface CheckedUpgrades {
  /** Sentences about skipped checks and about changes. */
  readonly notes: readonly string[];
  /** The CRDs whose status.storedVersions was not changed, or only in a dry run; empty unless `onlyTries`. */
  readonly tried: readonly KubeObject[];
  readonly refusal?: UpgradeRefusal;
}

/** The CRDs to apply, and the live CRDs. */
export interface CrdUpgradeRequest {
  desired: readonly KubeObject[];
  live: LiveObjects;
  spec: ClusterExtension["spec"];
  /** How to grant the permission to remove versions from a CRD's status, if it is needed. */
  advice: string;
  /** Writes nothing: versions are removed from status.storedVersions only in a dry run. */
  onlyTries: boolean;
  /** Runs storage migrations. Default: a migration that the upgrade needs is only reported, as in a dry run. */
  migrator?: StorageMigrator | undefined;
  /** uid of the extension. */
  owner: string;
  /** Checks custom resources, in the background if that takes long. Default: a new checker, which does not use the background. */
  objects?: ObjectChecker | undefined;
}

/** The check of one existing CRD. */
interface CrdUpgrade {
  name: string;
  live: KubeObject;
  /** Empty without findings. */
  findings: readonly CrdFinding[];
  /** Further reasons to deny the upgrade. */
  refusals: string[];
  /** Sentences for the user. */
  notes: string[];
  /** Versions to remove from status.storedVersions. Removing them resolves the only finding. */
  drop: string[];
  /** Set while the check of custom resources continues in the background. */
  running?: RunningCheck;
  /** Whether custom resources must be stored in another version first. */
  migrates: boolean;
}

/**
 * Checks that CRD upgrades do not lose data of custom resources and do not break clients, according to spec.install.preflight.crdUpgradeSafety.
 * Removes versions without stored objects from the status of a CRD, as the API server requires.
 * @returns notes and, if the upgrade is denied, the refusal with RetryableError Retrying and the findings for all CRDs; findings that the Go
 * operator-controller also has come first.
 */
export async function checkCrdUpgrades(
  client: Pick<Client, "get" | "list" | "listPage" | "patch" | "raw">,
  { desired, live, spec, advice, onlyTries, migrator, owner, objects: shared }: CrdUpgradeRequest,
  signal: AbortSignal,
): Promise<CheckedUpgrades> {
  const { enforcement = "Strict", ignore = [] } = spec.install?.preflight?.crdUpgradeSafety ?? {};
  if (enforcement === "None") return { notes: [], tried: [] };
  const ignored = new Set<string>(ignore);
  const mode = spec.install?.storageMigration ?? "Manual";
  const objects = shared ?? new ObjectChecker(systemClock);
  const upgrades: CrdUpgrade[] = [];
  for (const object of desired) {
    const before = isCrd(object) ? live.get(getObjectKey(object)) : undefined;
    if (!before) continue;
    const check = (request: ObjectCheckRequest): Promise<ObjectsFound | RunningCheck> =>
      shared ? objects.follow(owner, before, client, request, signal) : objects.check(client, request, signal);
    upgrades.push(await checkCrdUpgrade({ live: before, after: object, ignored, mode }, objects, check));
  }
  const running = upgrades.find((upgrade) => upgrade.running);
  if (running?.running) return { notes: [], tried: [], refusal: newRunningRefusal(running.name, running.running) };
  objects.forget(owner);
  const findings = upgrades.flatMap(({ name, findings: found }) => (found.length > 0 ? [formatFindings(name, found)] : [])).join("\n");
  const refusals = upgrades.flatMap((upgrade) => upgrade.refusals);
  const notes = upgrades.flatMap((upgrade) => upgrade.notes);
  if (findings !== "" || refusals.length > 0) {
    const texts = [...(findings === "" ? [] : [findings]), ...refusals, ...notes];
    const [message = "", ...more] = texts;
    const crds = upgrades.filter((upgrade) => upgrade.findings.length > 0 || upgrade.refusals.length > 0);
    const denied = crds.map((upgrade) => ({ name: upgrade.name, findings: upgrade.findings, refusals: upgrade.refusals }));
    return { notes: [], tried: [], refusal: { crds: denied, message, more, error: new RetryableError(Reason.Retrying, message) } };
  }
  const tried: KubeObject[] = [];
  for (const { live: crd, migrates } of upgrades) {
    if (!migrates) continue;
    if (migrator && !onlyTries) return { notes, tried, refusal: migrateBeforeUpgrade(migrator, client, crd, { owner, advice }) };
    const { storage, obsolete } = planStorageMigration(crd);
    notes.push(
      `dry run: before the upgrade, the controller stores the custom resources of CRD ${goQuote(crd.metadata.name)} in version ${storage} instead of ${obsolete.join(", ")}`,
    );
    tried.push(crd);
  }
  for (const { live: crd, drop } of upgrades) {
    if (drop.length === 0) continue;
    const dropped = await dropStoredVersions(client, crd, drop, { advice, onlyTries }, signal);
    if (onlyTries) tried.push(crd);
    if (typeof dropped !== "string") return { notes, tried, refusal: dropped };
    notes.push(onlyTries ? `dry run: ${dropped}` : dropped);
  }
  return { notes, tried };
}

async function checkCrdUpgrade(
  { live, after, ignored, mode }: { live: KubeObject; after: KubeObject; ignored: ReadonlySet<string>; mode: StorageMigration },
  checker: Pick<ObjectChecker, "compare">,
  check: (request: ObjectCheckRequest) => Promise<ObjectsFound | RunningCheck>,
): Promise<CrdUpgrade> {
  const { name } = live.metadata;
  const upgrade: CrdUpgrade = { name, live, findings: [], refusals: [], notes: [], drop: [], migrates: false };
  const { findings, checks, removed, stored } = await checker.compare(live, after, ignored);
  const isMigrationUseful = stored.versions.length > 0 || stored.unserved.length > 0;
  if (findings.length > 0 || checks.length > 0 || removed.length > 0 || isMigrationUseful) {
    const objects = await check({ checks, listAs: getServedKind(live) });
    if (objects.kind === "running") return { ...upgrade, running: objects };
    if (checks.length > 0) reportInvalid(upgrade, objects, findings.length > 0);
    if (removed.length > 0) reportRemoved(upgrade, objects, removed);
    const onlyStored = findings.every((finding) => finding.check === "storedVersionRemoval");
    if (onlyStored && stored.writtenNow.length === 0 && upgrade.refusals.length === 0 && isEmpty(objects)) {
      return { ...upgrade, drop: stored.versions };
    }
    const canMigrate = onlyStored && stored.writtenNow.length === 0 && upgrade.refusals.length === 0;
    if (mode === "Automatic" && canMigrate && needsMigration(live, stored)) return { ...upgrade, migrates: true };
    if (stored.unserved.length > 0 && mode !== "Never" && !isEmpty(objects)) upgrade.notes.push(formatUnservedAdvice(name, stored));
  }
  upgrade.findings = findings;
  if (findings.some((finding) => finding.check === "storedVersionRemoval")) upgrade.refusals.push(formatStoredAdvice(name, stored, mode));
  return upgrade;
}

/** Reports whether custom resources may be stored in a version that the upgrade removes or stops serving, and that is not the storage version. */
function needsMigration(live: KubeObject, { versions, unserved }: StoredVersionChanges): boolean {
  if (!getServedKind(live)) return false;
  const { obsolete } = planStorageMigration(live);
  return [...versions, ...unserved].some((version) => obsolete.includes(version));
}

/** Returns the refusal of an upgrade until all custom resources are checked. */
function newRunningRefusal(name: string, { checked, total, isOver }: RunningCheck): UpgradeRefusal {
  const done = total === undefined ? `${checked}` : `${checked} of ${total}`;
  const message = `existingObjects: checking the custom resources of CRD ${goQuote(name)} against its new schema: ${done} checked`;
  const error = new WaitingError(Reason.Retrying, message, { isOver: () => Promise.resolve(isOver()), everyMs: CHECK_POLL_MS });
  return { crds: [{ name, findings: [], refusals: [message] }], message, more: [], error };
}

function isEmpty(objects: ObjectsFound): boolean {
  return objects.kind === "seen" && objects.count === 0 && !objects.cut;
}

function reportInvalid({ name, refusals, notes }: CrdUpgrade, objects: ObjectsFound, refused: boolean): void {
  if (objects.kind === "unseen") {
    notes.push(`existingObjects: the custom resources of CRD ${goQuote(name)} were not checked: ${objects.reason}`);
    return;
  }
  const { count, cut, invalid, named, someUnknown, uncheckedRules } = objects;
  const all = formatCount(count, "custom resource");
  if (invalid > 0) {
    const list = formatList(named, { max: named.length, separator: "; ", total: invalid });
    refusals.push(`existingObjects: ${invalid} of ${all} would not be valid under the new CRD ${goQuote(name)}: ${list}`);
  } else if (refused && (count > 0 || !cut)) {
    notes.push(count === 0 ? `no custom resources of CRD ${goQuote(name)} exist` : `${all} of CRD ${goQuote(name)} would still be valid`);
  }
  if (cut) {
    const checked = cut.total === undefined ? `the first ${count}` : `${count} of ${cut.total}`;
    notes.push(`existingObjects: checked only ${checked} custom resources of CRD ${goQuote(name)}: ${cut.reason}`);
  }
  if (someUnknown) notes.push(`existingObjects: some patterns of CRD ${goQuote(name)} could not be evaluated`);
  if (uncheckedRules.length > 0) {
    const rules = uncheckedRules.join("; ");
    notes.push(`existingObjects: some rules (x-kubernetes-validations) of CRD ${goQuote(name)} were not checked: ${rules}`);
  }
}

function reportRemoved({ name, refusals, notes }: CrdUpgrade, objects: ObjectsFound, removed: readonly string[]): void {
  const versions = `served versions removed : [${removed.join(" ")}]`;
  if (objects.kind === "unseen") {
    notes.push(`servedVersionRemoval: ${versions} of CRD ${goQuote(name)}: cannot check whether custom resources exist: ${objects.reason}`);
  } else if (!isEmpty(objects)) {
    const advice = "first upgrade to a bundle that no longer serves the version, and then to one that removes it";
    refusals.push(`servedVersionRemoval: ${versions} of CRD ${goQuote(name)} while custom resources exist: ${advice}`);
  }
}
