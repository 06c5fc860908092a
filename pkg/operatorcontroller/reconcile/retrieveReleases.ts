import { Reason } from "../../api/constants.ts";
import { newProblem } from "../../api/problems.ts";
import { fail } from "../../controller/stepSequence.ts";
import { getErrorMessage, RetryableError } from "../../errors/errors.ts";
import { formatMissingRelease } from "../../openshift/upgradeable.ts";
import { findInstalledBundle } from "../../release/installedBundle.ts";
import { ObjectSetUnreadable } from "../../release/objectSet.ts";
import { listActiveReleases } from "../../release/record.ts";
import { formatUnreadable } from "../../release/storage/decode.ts";
import { type ReleaseHistory, requireReadable } from "../releases/releaseStore.ts";
import { createUnknownReleases } from "../state/clusterChanges.ts";
import { hideSourced } from "../state/hiddenValues.ts";
import type { Observed, ReconcileStep, Started, WithReleases } from "../state/phases.ts";
import type { Services } from "./services.ts";

/**
 * Reads the releases of an extension into `phase.releases`, imports those in object sets, and hides values in them that come from
 * `spec.config.valuesFrom`.
 * @throws KubeError or RetryableError if they cannot be read, after setting `unknownBecause` to the reason.
 */
export async function readReleases(
  { releases: store, memory, objectSets }: Pick<Services, "releases" | "memory" | "objectSets">,
  phase: WithReleases,
  signal: AbortSignal,
): Promise<void> {
  const { extension, releases, hidden, report } = phase;
  const { name, uid = "" } = extension.metadata;
  const entry = memory.of(extension);
  const known = entry.uninstalledReleases;
  try {
    // An uninstall cannot be undone, and forgets objects of a release that it does not see.
    const read = { signal, isConsistent: extension.metadata.deletionTimestamp !== undefined, known };
    releases.history = await store.history({ name, uid }, read);
    const isNew = releases.history !== known && releases.history.unreadable.length === 0;
    const isImported = isNew && (await objectSets?.store(extension, releases.history, signal));
    if (isImported) releases.history = await store.history({ name, uid }, read);
  } catch (err) {
    releases.unknownBecause = getErrorMessage(err);
    if (err instanceof ObjectSetUnreadable) report.problems.push(newProblem("ReleaseUnreadable", { message: err.message }));
    throw err;
  }
  hideSourced(phase);
  entry.hidden = hidden;
  releases.installed = findInstalledBundle(releases.history.current);
  releases.unreadable = releases.history.unreadable.map(formatUnreadable);
  report.problems.push(...releases.unreadable.map((message) => newProblem("ReleaseUnreadable", { message })));
  entry.awaitsReleases = releases.unreadable.length > 0;
}

/**
 * Determines the installed bundle: the bundle of the newest completely deployed release. Fails with RetryableError
 * Retrying if any release cannot be read, which ends the reconcile before anything is written.
 */
export function retrieveReleases(services: Pick<Services, "releases" | "memory" | "objectSets">): ReconcileStep<Started, Observed> {
  return {
    name: "RetrieveReleases",
    async run(started, { signal }) {
      const phase: Observed = { ...started, phase: "observed", releases: createUnknownReleases() };
      const { extension, releases, report } = phase;
      try {
        await readReleases(services, phase, signal);
      } catch (err) {
        const why = err instanceof ObjectSetUnreadable ? `; ${err.message}` : "";
        return fail(phase, new RetryableError(Reason.Retrying, `retrying to get installed bundle${why}`, { cause: err }));
      }
      releases.active = listActiveReleases(releases.history.current);
      services.memory.record(extension, releases.history.current, { keep: releases.unreadable.length > 0 });
      const before = extension.status?.install?.bundle.name;
      if (before !== undefined && isEmpty(releases.history)) {
        releases.unreadable = [formatMissingRelease(before)];
        report.problems.push(newProblem("ReleaseUnreadable", { message: formatMissingRelease(before) }));
        releases.unknownBecause = formatMissingRelease(before);
      }
      try {
        requireReadable(releases.history, "retrying to get installed bundle; ");
        return phase;
      } catch (err) {
        releases.unknownBecause = releases.unreadable.join("; ");
        return fail(phase, err);
      }
    },
  };
}

/** Reports whether no Secret contains a release of the extension. */
function isEmpty({ current, older, unfinished, unreadable }: ReleaseHistory): boolean {
  return current.length + older.length + unfinished.length + unreadable.length === 0;
}
