import type { StorageMigration } from "../../api/clusterExtension.ts";
import { Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { readCrdStoredVersions } from "../../crdsafety/crdParts.ts";
import type { StoredVersionChanges } from "../../crdsafety/existingObjects.ts";
import { getErrorMessage, RetryableError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { toRule } from "../../rbac/policyRule.ts";
import { getStoredVersionsGrant } from "../../rbac/requiredRules.ts";
import { formatRuleLines } from "../../rbac/ruleSets.ts";
import { isAllowed } from "../permissions/ownRules.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import type { UpgradeRefusal } from "./crdRefusal.ts";
import { patchStoredVersions, planStorageMigration } from "./storageMigration.ts";
import { describeMigrationFailure, formatMigrationProgress, type MigrationClient, type StorageMigrator } from "./storageMigrator.ts";

/** Interval of the check whether a migration has ended, in milliseconds. */
const POLL_MS = 2_000;
/** Minimum time between reports of the progress, in milliseconds. */
const REPORT_MS = 15_000;
/** Delay before a failed migration starts again, in milliseconds. */
const REST_MS = 60_000;

/**
 * Removes versions from status.storedVersions of a CRD. The API server requires this before an upgrade can remove the versions. Call it only for a
 * CRD without custom resources, and for versions other than the storage version, because no object can be stored in such versions.
 * @returns a sentence about the change, or a refusal if the change fails. The refusal's error is WaitingError Retrying if the permission is missing,
 * and RetryableError Retrying if the CRD has changed since it was read or cannot be written now.
 */
export async function dropStoredVersions(
  client: Pick<Client, "patch" | "raw">,
  crd: KubeObject,
  versions: readonly string[],
  { advice, onlyTries }: { advice: string; onlyTries: boolean },
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

/**
 * Stores all custom resources of a CRD in its storage version, and removes the other versions from status.storedVersions, before an upgrade.
 * @returns the refusal of the upgrade until a later reconcile finds the migration complete. Its error is WaitingError Retrying with the progress, or
 * RetryableError Retrying if the migration failed.
 */
export function migrateBeforeUpgrade(
  migrator: StorageMigrator,
  client: MigrationClient,
  crd: KubeObject,
  { owner, advice }: { owner: string; advice: string },
): UpgradeRefusal {
  const { name } = crd.metadata;
  const { storage, obsolete } = planStorageMigration(crd);
  const doing = `storing the custom resources of CRD ${goQuote(name)} in version ${storage} instead of ${obsolete.join(", ")}`;
  const state = migrator.follow(owner, client, crd);
  if (state.kind !== "running") {
    const message = `storageMigration: ${doing} failed: ${describeMigrationFailure(state)}`;
    const needsPermission = state.kind === "failed" && isForbidden(state.error);
    const error = new RetryableError(Reason.Retrying, message, {
      restMs: REST_MS,
      ...(state.kind === "failed" ? { cause: state.error } : {}),
    });
    return { crds: [{ name, findings: [], refusals: [message] }], message, more: [], ...(needsPermission ? { next: advice } : {}), error };
  }
  const { progress } = state;
  const began = performance.now();
  const isOver = (): Promise<boolean> => {
    const now = migrator.poll(owner, crd);
    return Promise.resolve(now === undefined || (now !== progress && performance.now() - began >= REPORT_MS));
  };
  const message = `${doing} before the upgrade: ${formatMigrationProgress(progress)}`;
  const error = new WaitingError(Reason.Retrying, message, { isOver, everyMs: POLL_MS });
  return { crds: [{ name, findings: [], refusals: [message] }], message, more: [], type: "StorageMigrationRunning", error };
}

/** Describes how an upgrade can remove stored versions, according to `spec.install.storageMigration`. */
export function formatStoredAdvice(name: string, { versions, writtenNow }: StoredVersionChanges, mode: StorageMigration): string {
  if (writtenNow.length > 0) {
    return `storedVersionRemoval: objects of CRD ${goQuote(name)} are stored in version ${writtenNow.join(", ")}: first upgrade to a bundle that stores them in another version`;
  }
  const stored = `storedVersionRemoval: objects of CRD ${goQuote(name)} may be stored in version ${versions.join(", ")}`;
  if (mode === "Never") return stored;
  return `${stored}: store them in the new version, and remove the old one: olmv1 crd migrate ${name}`;
}

/** Recommends a migration for an upgrade that stops serving stored versions. */
export function formatUnservedAdvice(name: string, { unserved }: StoredVersionChanges): string {
  return (
    `storageMigration: objects of CRD ${goQuote(name)} may be stored in version ${unserved.join(", ")}, which the bundle no longer serves: ` +
    `after the upgrade, store them in the new version: olmv1 crd migrate ${name}`
  );
}
