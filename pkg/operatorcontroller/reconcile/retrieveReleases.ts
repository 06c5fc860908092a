import {
  LABEL_BUNDLE_NAME,
  LABEL_BUNDLE_REFERENCE,
  LABEL_BUNDLE_RELEASE,
  LABEL_BUNDLE_VERSION,
  LABEL_PACKAGE_NAME,
  Reason,
} from "../../api/constants.ts";
import type { Step } from "../../controller/reconcile.ts";
import { messageOf, RetryableError } from "../../errors/errors.ts";
import { noReleaseText } from "../../openshift/upgradeable.ts";
import { activeReleases, lastDeployed, type ReleaseRecord } from "../../release/record.ts";
import { unreadableText } from "../../release/storage/decode.ts";
import { type ReleaseHistory, type ReleaseStore, requireReadable } from "../releases/releaseStore.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import { hideSourced } from "../state/hiddenValues.ts";
import type { InstalledBundle, ReconcileState } from "../state/reconcileState.ts";

/**
 * Finds out what is installed: the newest release that was deployed completely.
 * @throws RetryableError Retrying when the releases cannot be read, or one of them cannot: the pass ends before anything is written.
 */
export function retrieveReleases(
  releases: Pick<ReleaseStore, "history">,
  memory: ExtensionCache,
): Step<ReconcileState["extension"], ReconcileState> {
  return {
    name: "RetrieveReleases",
    async run(facts, { signal }) {
      const { extension } = facts;
      const { name, uid = "" } = extension.metadata;
      try {
        facts.history = await releases.history({ name, uid }, { signal });
      } catch (err) {
        facts.unknownBecause = messageOf(err);
        throw new RetryableError(Reason.Retrying, "retrying to get installed bundle", { cause: err });
      }
      facts.active = activeReleases(facts.history.current);
      memory.record(extension, facts.history.current, { keep: facts.history.unreadable.length > 0 });
      hideSourced(facts);
      memory.of(extension).hidden = facts.hidden;
      facts.installed = installedOf(facts.history.current);
      facts.unreadable = facts.history.unreadable.map(unreadableText);
      memory.of(extension).awaitsReleases = facts.unreadable.length > 0;
      const before = extension.status?.install?.bundle.name;
      if (before !== undefined && isEmpty(facts.history)) {
        facts.unreadable = [noReleaseText(before)];
        facts.unknownBecause = noReleaseText(before);
      }
      try {
        requireReadable(facts.history, "retrying to get installed bundle; ");
      } catch (err) {
        facts.unknownBecause = facts.unreadable.join("; ");
        throw err;
      }
      return undefined;
    },
  };
}

/** No Secret is there that could say anything about the extension. */
function isEmpty({ current, older, unfinished, unreadable }: ReleaseHistory): boolean {
  return current.length + older.length + unfinished.length + unreadable.length === 0;
}

/** The bundle of the last release that was applied completely, if there is one. */
export function installedOf(history: readonly ReleaseRecord[]): InstalledBundle | undefined {
  const deployed = lastDeployed(history);
  return deployed && installedFrom(deployed);
}

/** The bundle that a release holds, from the labels it was written with. */
export function installedFrom(release: ReleaseRecord): InstalledBundle {
  const { labels, properties, imageDigest, cautions } = release;
  return {
    packageName: labels[LABEL_PACKAGE_NAME] ?? "",
    name: labels[LABEL_BUNDLE_NAME] ?? "",
    version: labels[LABEL_BUNDLE_VERSION] ?? "",
    image: labels[LABEL_BUNDLE_REFERENCE] ?? "",
    release: labels[LABEL_BUNDLE_RELEASE],
    ...(properties === undefined ? {} : { properties }),
    ...(imageDigest === undefined ? {} : { imageDigest }),
    ...(cautions === undefined ? {} : { cautions }),
  };
}

/** The labels that make `installedFrom` give back `bundle`. */
export function labelsFrom(bundle: InstalledBundle): Record<string, string> {
  const labels: Record<string, string> = {
    [LABEL_PACKAGE_NAME]: bundle.packageName,
    [LABEL_BUNDLE_NAME]: bundle.name,
    [LABEL_BUNDLE_VERSION]: bundle.version,
    [LABEL_BUNDLE_REFERENCE]: bundle.image,
  };
  return bundle.release === undefined ? labels : { ...labels, [LABEL_BUNDLE_RELEASE]: bundle.release };
}
