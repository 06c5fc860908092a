import { Reason } from "../../api/constants.ts";
import type { Step } from "../../controller/reconcile.ts";
import { messageOf, RetryableError } from "../../errors/errors.ts";
import { noReleaseText } from "../../openshift/upgradeable.ts";
import { installedOf } from "../../release/installedBundle.ts";
import { activeReleases } from "../../release/record.ts";
import { unreadableText } from "../../release/storage/decode.ts";
import { type ReleaseHistory, type ReleaseStore, requireReadable } from "../releases/releaseStore.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import { hideSourced } from "../state/hiddenValues.ts";
import type { ReconcileState } from "../state/reconcileState.ts";

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
