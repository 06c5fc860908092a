import { ANNOTATION_ROLLBACK_TO, Reason } from "../../api/constants.ts";
import type { Step } from "../../controller/reconcile.ts";
import { RetryableError, TerminalError, messageOf } from "../../errors/errors.ts";
import { type ReleaseRecord, parseRevision, requireRevision } from "../../release/record.ts";
import type { PassFacts } from "../facts.ts";
import { type ReleaseStore, recordOf } from "../releases/releaseStore.ts";
import { installedFrom } from "./retrieveReleases.ts";

/**
 * Keeps an extension at the release that annotation `olm.operatorframework.io/rollback-to` names, for as long as it does; without it, `resolve`
 * decides. `resolve` runs in any case, for what catalogs say about deprecation, but what it finds or fails with does not count then.
 * @throws TerminalError Blocked when the annotation names no release that can be gone back to.
 */
export function pinRelease(
  releases: Pick<ReleaseStore, "read">,
  resolve: Step<PassFacts["extension"], PassFacts>,
): Step<PassFacts["extension"], PassFacts> {
  return {
    name: resolve.name,
    async run(facts, context) {
      const text = facts.extension.metadata.annotations?.[ANNOTATION_ROLLBACK_TO];
      if (text === undefined) return resolve.run(facts, context);
      const { revision, release } = await pinned(releases, facts, text, context.signal);
      try {
        await resolve.run(facts, context);
      } catch (err) {
        context.signal.throwIfAborted();
        context.log.debug({ reason: messageOf(err) }, "nothing resolved beside the pinned release");
      }
      const bundle = installedFrom(release);
      const why = `annotation ${ANNOTATION_ROLLBACK_TO} keeps bundle "${bundle.name}" of revision ${revision}; remove it to follow the catalogs again`;
      facts.pinned = { revision, release };
      facts.resolved = { ...bundle, explanation: why };
      facts.notes = [why];
      return undefined;
    },
  };
}

/** The release that was made for the annotation, or the one that it names. */
async function pinned(
  releases: Pick<ReleaseStore, "read">,
  { history, extension }: PassFacts,
  text: string,
  signal: AbortSignal,
): Promise<{ revision: number; release: ReleaseRecord }> {
  let revision: number;
  try {
    revision = parseRevision(text);
    const [latest] = history.current;
    if (latest?.pinnedTo === revision) return { revision, release: latest };
    requireRevision([...history.current, ...history.older], revision);
  } catch (err) {
    throw new TerminalError(Reason.Blocked, `annotation ${ANNOTATION_ROLLBACK_TO}: ${messageOf(err)}`, { cause: err });
  }
  const known = history.current.find(({ version }) => version === revision);
  const release = known ?? recordOf(await releases.read(extension.metadata.name, revision, { signal }));
  if (!release) throw new RetryableError(Reason.Retrying, `annotation ${ANNOTATION_ROLLBACK_TO}: revision ${revision} is gone by now`);
  return { revision, release };
}
