import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import { findCondition } from "../../api/conditions.ts";
import { ConditionType, Reason } from "../../api/constants.ts";
import type { Step } from "../../controller/steps.ts";
import { TerminalError, wrapError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { CatalogImageSource } from "../catalogImages.ts";
import type { CatalogFacts } from "../facts.ts";
import { type PollRecord, pollReason } from "../polling.ts";
import type { CatalogContent } from "../store/content.ts";

/** What fetching the image needs from the outside. */
export interface FetchDependencies {
  images: Pick<CatalogImageSource, "fetch">;
  contents: { get(name: string): CatalogContent | undefined };
  /** By catalog name. */
  polls: ReadonlyMap<string, PollRecord>;
  /** Milliseconds since the epoch. */
  now: () => number;
}

/** Until content that was lost while its image was looked up is fetched. */
const LOST_RETRY_MS = 300;

/**
 * Finds out which image is wanted, and fetches it unless its content is stored. The registry is asked only when the spec changed, when the
 * interval has passed, and after a restart or a failure. The step does not wait for it: the pass ends, and the end of the fetch brings the next one.
 */
export function fetchImage({ images, contents, polls, now }: FetchDependencies): Step<CatalogFacts["catalog"], CatalogFacts> {
  return {
    name: "FetchImage",
    async run(facts, { log }) {
      const { metadata, spec } = facts.catalog;
      const { ref, pollIntervalMinutes } = imageOf(facts);
      const stored = contents.get(metadata.name);
      const record = polls.get(metadata.name);
      const subject = { ref, generation: metadata.generation ?? 0, intervalMinutes: pollIntervalMinutes };
      const reason = pollReason(record, subject, now()) ?? (stored ? undefined : "no stored content found for this catalog");
      if (reason === undefined && record && stored?.origin.ref === record.canonical) {
        facts.content = stored;
        return undefined;
      }
      const fetched = images.fetch(metadata.name, ref, (canonical) => contents.get(metadata.name)?.origin.ref === canonical);
      if (fetched.kind === "failed") throw wrapError("source catalog content: ", fetched.error);
      if (fetched.kind === "pending" && fetched.isNew) log.debug({ reason, source: spec.source.type }, "unpack required");
      if (fetched.kind === "pending") {
        if (!fetched.isSlow || !isToldOf(facts.catalog)) facts.leave = true;
        else facts.unpacking = ref;
        return { isPending: true };
      }
      const { resolved, unpacked, pullBegan } = fetched.value;
      facts.resolved = resolved;
      if (unpacked) facts.unpacked = unpacked;
      else if (stored?.origin.ref === resolved.canonical) facts.content = stored;
      else {
        facts.leave = true; // what was stored is lost since then
        return { isPending: true, requeueAfterMs: LOST_RETRY_MS };
      }
      if (pullBegan !== undefined) facts.pullBegan = pullBegan;
      return undefined;
    },
  };
}

/** Whether the status tells of the fetch: of a new catalog or spec it does; a poll is not worth a word, and a failure stays until there is an answer. */
function isToldOf({ metadata, status }: Readonly<ClusterCatalog>): boolean {
  const progressing = findCondition(status?.conditions, ConditionType.Progressing);
  if (!progressing) return true;
  return progressing.reason === Reason.Succeeded && progressing.observedGeneration !== metadata.generation;
}

function imageOf({ catalog }: CatalogFacts): { ref: string; pollIntervalMinutes?: number | undefined } {
  const { type, image } = catalog.spec.source;
  if ((type as string) !== "Image") throw new TerminalError("Blocked", `unknown source type ${goQuote(type)}`);
  if (!image) throw new TerminalError("Blocked", `error parsing ClusterCatalog ${goQuote(catalog.metadata.name)}, image source is nil`);
  return image;
}
