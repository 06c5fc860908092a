import type { Step } from "../../controller/steps.ts";
import { TerminalError, wrapError } from "../../errors/errors.ts";
import { goQuote } from "../../errors/goQuote.ts";
import type { CatalogFacts, ResolvedImage } from "../facts.ts";
import { type PollRecord, pollReason } from "../polling.ts";
import type { CatalogContent } from "../store/content.ts";

/** Looks up what an image reference stands for. */
export interface ImageResolver {
  resolve(ref: string, signal: AbortSignal): Promise<ResolvedImage>;
}

/** What finding the image needs from the outside. */
export interface ResolveDependencies {
  images: ImageResolver;
  contents: { get(name: string): CatalogContent | undefined };
  /** By catalog name. */
  polls: ReadonlyMap<string, PollRecord>;
  /** Milliseconds since the epoch. */
  now: () => number;
}

/**
 * Finds out which image is wanted; the registry is asked only when the spec changed, when the interval has passed, and after a restart or a
 * failure. When that image's content is stored, there is nothing to fetch.
 */
export function resolveImage({ images, contents, polls, now }: ResolveDependencies): Step<CatalogFacts["catalog"], CatalogFacts> {
  return {
    name: "ResolveImage",
    async run(facts, { log, signal }) {
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
      log.debug({ reason, source: spec.source.type }, "unpack required");
      facts.resolved = await resolved(images, ref, signal);
      if (stored?.origin.ref === facts.resolved.canonical) facts.content = stored;
      return undefined;
    },
  };
}

async function resolved(images: ImageResolver, ref: string, signal: AbortSignal): Promise<ResolvedImage> {
  try {
    return await images.resolve(ref, signal);
  } catch (err) {
    throw wrapError("source catalog content: ", err);
  }
}

function imageOf({ catalog }: CatalogFacts): { ref: string; pollIntervalMinutes?: number | undefined } {
  const { type, image } = catalog.spec.source;
  if ((type as string) !== "Image") throw new TerminalError("Blocked", `unknown source type ${goQuote(type)}`);
  if (!image) throw new TerminalError("Blocked", `error parsing ClusterCatalog ${goQuote(catalog.metadata.name)}, image source is nil`);
  return image;
}
