import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { systemClock } from "../../async/clock.ts";
import { type CrdFinding, formatFindings } from "../../crdsafety/crdFindings.ts";
import { readCrdStoredVersions } from "../../crdsafety/crdParts.ts";
import { getErrorMessage, RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { toRule } from "../../rbac/policyRule.ts";
import { getStoredVersionsGrant } from "../../rbac/requiredRules.ts";
import { formatRuleLines } from "../../rbac/ruleSets.ts";
import { getObjectKey, isCrd } from "../../release/identity.ts";
import { formatCount, formatList } from "../../text/lists.ts";
import { isAllowed } from "../permissions/ownRules.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import type { LiveObjects } from "../state/objectActions.ts";
import { getServedKind } from "./crdUse.ts";
import { ObjectChecker, type ObjectsFound } from "./existingObjects.ts";
import { patchStoredVersions } from "./storageMigration.ts";

/** The reasons why a CRD cannot replace the existing one. */
export interface CrdRefusal {
  /** Name of the CRD. */
  readonly name: string;
  readonly findings: readonly CrdFinding[];
  /** Further reasons. */
  readonly refusals: readonly string[];
}

/** The reasons why CRD upgrades are denied. */
export interface UpgradeRefusal {
  readonly crds: readonly CrdRefusal[];
  /** The text of the condition: the findings of the Go implementation if there are any. */
  readonly message: string;
  /** Findings that the Go implementation does not have: about existing custom resources, and about failed checks. */
  readonly more: readonly string[];
  /** Suggested fix, if known. */
  readonly next?: string;
  /** The error with `message`. */
  readonly error: RetryableError;
}

/** The result of checking CRD upgrades. */
interface CheckedUpgrades {
  /** Sentences about skipped checks and about changes. */
  readonly notes: readonly string[];
  /** The CRDs whose status.storedVersions was only changed in a dry run; empty unless `onlyTries`. */
  readonly tried: readonly KubeObject[];
  readonly refusal?: UpgradeRefusal;
}

/**
 * Removes versions from status.storedVersions of a CRD. The API server requires this before an upgrade can remove the versions. Call it only for a
 * CRD without custom resources, and for versions other than the storage version, because no object can be stored in such versions.
 * @returns a sentence about the change, or a refusal if the change fails. The refusal's error is WaitingError Retrying if the permission is missing,
 * and RetryableError Retrying if the CRD has changed since it was read or cannot be written now.
 */
async function dropStoredVersions(
  client: Pick<Client, "patch" | "raw">,
  crd: KubeObject,
  versions: readonly string[],
  { advice, onlyTries }: Pick<CrdUpgradeRequest, "advice" | "onlyTries">,
  signal: AbortSignal,
): Promise<string | UpgradeRefusal> {
  const { name } = crd.metadata;
  const storedVersions = readCrdStoredVersions(crd).filter((version) => !versions.includes(version));
  try {
    await patchStoredVersions(client, crd, storedVersions, { signal, dryRun: onlyTries });
  } catch (err) {
    const removed = `stored versions removed : [${versions.join(" ")}]`;
    const doing = `no objects are stored in these versions, but status.storedVersions of the CRD could not be updated: ${getErrorMessage(err)}`;
    const crds = [{ name, findings: [{ check: "storedVersionRemoval", text: removed } as const], refusals: [doing] }];
    const text = `validating upgrade for CRD ${goQuote(name)}: storedVersionRemoval: ${removed}; ${doing}`;
    if (!isForbidden(err)) return { crds, message: text, more: [], error: new RetryableError(Reason.Retrying, text, { cause: err }) };
    const grant = getStoredVersionsGrant(name);
    const rules = { clusterRules: [toRule(grant)], namespaceRules: new Map<string, never>(), unknownKinds: [] };
    const [line] = formatRuleLines(rules, Number.POSITIVE_INFINITY);
    const isOver = (until: AbortSignal): Promise<boolean> => isAllowed(client, "", grant, until);
    const message = `${text}; service account requires the following permission:\n  ${line}`;
    const error = new WaitingError(Reason.Retrying, message, { cause: err, isOver });
    return { crds, message, more: [], next: advice, error };
  }
  return `removed ${versions.join(", ")} from status.storedVersions of CRD ${goQuote(name)}: no custom resources exist`;
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
  /** Checks custom resources. All callers share one checker, which runs one check at a time. */
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
}

/**
 * Checks that CRD upgrades do not lose data of custom resources and do not break clients, according to spec.install.preflight.crdUpgradeSafety.
 * Removes versions without stored objects from the status of a CRD, as the API server requires.
 * @returns notes and, if the upgrade is denied, the refusal with RetryableError Retrying and the findings for all CRDs; findings that the Go
 * operator-controller also has come first.
 */
export async function checkCrdUpgrades(
  client: Pick<Client, "list" | "listPage" | "patch" | "raw">,
  { desired, live, spec, advice, onlyTries, objects = new ObjectChecker(systemClock) }: CrdUpgradeRequest,
  signal: AbortSignal,
): Promise<CheckedUpgrades> {
  const { enforcement = "Strict", ignore = [] } = spec.install?.preflight?.crdUpgradeSafety ?? {};
  if (enforcement === "None") return { notes: [], tried: [] };
  const ignored = new Set<string>(ignore);
  const upgrades: CrdUpgrade[] = [];
  for (const object of desired) {
    const before = isCrd(object) ? live.get(getObjectKey(object)) : undefined;
    if (before) upgrades.push(await checkCrdUpgrade(client, before, object, ignored, objects, signal));
  }
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
  client: Pick<Client, "list" | "listPage">,
  live: KubeObject,
  after: KubeObject,
  ignored: ReadonlySet<string>,
  checker: ObjectChecker,
  signal: AbortSignal,
): Promise<CrdUpgrade> {
  const { name } = live.metadata;
  const upgrade: CrdUpgrade = { name, live, findings: [], refusals: [], notes: [], drop: [] };
  const { findings, checks, removed, stored } = await checker.compare(live, after, ignored);
  if (findings.length > 0 || checks.length > 0 || removed.length > 0 || stored.versions.length > 0) {
    const objects = await checker.check(client, checks, getServedKind(live), signal);
    if (checks.length > 0) reportInvalid(upgrade, objects, findings.length > 0);
    if (removed.length > 0) reportRemoved(upgrade, objects, removed);
    const onlyStored = findings.every(({ check }) => check === "storedVersionRemoval");
    if (onlyStored && stored.writtenNow.length === 0 && upgrade.refusals.length === 0 && isEmpty(objects)) {
      return { ...upgrade, drop: stored.versions };
    }
  }
  upgrade.findings = findings;
  if (findings.some(({ check }) => check === "storedVersionRemoval")) upgrade.refusals.push(formatStoredAdvice(name, stored));
  return upgrade;
}

function isEmpty(objects: ObjectsFound): boolean {
  return objects.kind === "seen" && objects.count === 0 && !objects.cut;
}

function reportInvalid({ name, refusals, notes }: CrdUpgrade, objects: ObjectsFound, refused: boolean): void {
  if (objects.kind === "unseen") {
    notes.push(`existingObjects: the custom resources of CRD ${goQuote(name)} were not checked: ${objects.reason}`);
    return;
  }
  const { count, cut, invalid, named, someUnknown } = objects;
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

function formatStoredAdvice(name: string, { versions, writtenNow }: { versions: string[]; writtenNow: string[] }): string {
  if (writtenNow.length > 0) {
    return `storedVersionRemoval: objects of CRD ${goQuote(name)} are stored in version ${writtenNow.join(", ")}: first upgrade to a bundle that stores them in another version`;
  }
  return (
    `storedVersionRemoval: objects of CRD ${goQuote(name)} may be stored in version ${versions.join(", ")}: ` +
    `store them in the new version, and remove the old one: olmv1 crd migrate ${name}`
  );
}
