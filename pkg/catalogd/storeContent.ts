import { lstat, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { ConditionType, Reason } from "../api/constants.ts";
import type { EventSink } from "../api/events.ts";
import type { Condition } from "../api/k8s.ts";
import { newProblem } from "../api/problems.ts";
import { messageOf, RetryableError, TerminalError, terminalIn } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { formatTime } from "../golang/time.ts";
import { formatCount } from "../text/lists.ts";
import { SourceError, StoreFailedError } from "./failures.ts";
import type { CatalogKeeper } from "./finalizer.ts";
import type { CatalogStep, Fetched, Stored, UnpackedImage } from "./phases.ts";
import type { CatalogContent, ContentOrigin, FindingsSummary } from "./store/content.ts";

const SOUND = "no errors were found in the content that is served";

/** Condition Valid of a catalog whose content was checked. @param base URL below which the content is served; the findings are at `<base>/findings`. */
export function validity(
  { errors, warnings, first }: FindingsSummary,
  base: string,
): Pick<Condition, "type" | "status" | "reason" | "message"> {
  const type = ConditionType.Valid;
  if (errors === 0 && warnings === 0) return { type, status: "True", reason: Reason.Valid, message: SOUND };
  const list = [`all at ${base}/findings; the first:`, ...first].join("\n");
  if (errors === 0)
    return { type, status: "True", reason: Reason.Valid, message: `${SOUND}, but ${formatCount(warnings, "warning")}; ${list}` };
  return {
    type,
    status: "False",
    reason: Reason.InvalidContent,
    message: `${countsText({ errors, warnings })} in the content that is served; ${list}`,
  };
}

/** Such as "2 errors and 1 warning". */
function countsText({ errors, warnings }: Pick<FindingsSummary, "errors" | "warnings">): string {
  return `${formatCount(errors, "error")}${warnings > 0 ? ` and ${formatCount(warnings, "warning")}` : ""}`;
}

/** What storing needs from the outside. */
export interface StoreDependencies {
  store: { store(name: string, root: string, origin: ContentOrigin, signal: AbortSignal): Promise<CatalogContent> };
  /** Where unpacked images are: what was stored is not needed there any more. */
  images: CatalogKeeper;
  events: EventSink;
  /** Milliseconds from any start; the default is the process's clock. */
  now?: () => number;
}

const ROOT_LABEL = "operators.operatorframework.io.index.configs.v1";
/** As many fit into an Event; more are in the condition. */
const FIRST_FINDINGS = 3;
/** A failure after less is tried again as the back-off says. */
const CHEAP_MS = 20_000;
const REST_FACTOR = 4;
const EMPTY = "the catalog holds no objects";

/** Reads the unpacked catalog and serves it from now on; what was served before stays when that fails. */
export function storeContent({ store, images, events, now = () => performance.now() }: StoreDependencies): CatalogStep<Fetched, Stored> {
  return {
    name: "StoreContent",
    async run({ image, ...fetched }, { log, signal }) {
      const { catalog, problems } = fetched;
      const { name } = catalog.metadata;
      const unpack = async (unpacked: UnpackedImage): Promise<CatalogContent> => {
        const root = await catalogRoot(catalog, unpacked);
        const origin = { ref: unpacked.canonical, digest: unpacked.digest, lastUnpacked: formatTime(unpacked.modTime) };
        const content = await stored(() => store.store(name, root, origin, signal), signal, now);
        events.record(catalog, "Normal", "ContentStored", `serving ${summary(content)} of ${unpacked.canonical}`);
        const { findings } = content;
        if (findings.errors > 0) events.record(catalog, "Warning", "InvalidContent", invalidText(findings));
        await images.remove(name).catch((err: unknown) => log.warn({ err }, "unpacked image was not removed"));
        return content;
      };
      const content = image.kind === "stored" ? image.content : await unpack(image.unpacked);
      if (content.catalog.index.lines === 0) problems.push(newProblem("CatalogEmpty", { message: EMPTY }));
      return { ...fetched, phase: "stored", content };
    },
  };
}

/**
 * Every cause is retried, as in Go: the image of a tag can be replaced, and a full disk can be emptied. What failed after minutes is not
 * retried at once, because that would keep a processor busy.
 * @throws StoreFailedError
 */
async function stored(store: () => Promise<CatalogContent>, signal: AbortSignal, now: () => number): Promise<CatalogContent> {
  const began = now();
  try {
    return await store();
  } catch (err) {
    signal.throwIfAborted();
    const tookMs = now() - began;
    const rest = tookMs < CHEAP_MS ? {} : { restMs: Math.round(tookMs * REST_FACTOR) };
    const cause = terminalIn(err) ? {} : { cause: err };
    throw new StoreFailedError("Retrying", `error storing fbc: error walking FBC root: ${messageOf(err)}`, { ...rest, ...cause });
  }
}

/** The catalog's folder on disk; Go serves nothing, and says nothing, when the image does not have it. */
async function catalogRoot(catalog: Stored["catalog"], { dir, root }: UnpackedImage): Promise<string> {
  const wanted = join(dir, root);
  const top = await realpath(dir);
  const found = await realpath(wanted).catch(() => undefined);
  const inside = found !== undefined && (found === top || found.startsWith(top + sep));
  if (inside && (await lstat(found)).isDirectory()) return found;
  const text = `catalog image has no folder ${goQuote(`/${root}`)}, where its label ${goQuote(ROOT_LABEL)} says the catalog is`;
  const error = catalog.spec.source.image?.ref.includes("@") ? new TerminalError("Blocked", text) : new RetryableError("Retrying", text);
  throw new SourceError(error);
}

function invalidText(findings: FindingsSummary): string {
  return [`serving content with ${countsText(findings)}, the first:`, ...findings.first.slice(0, FIRST_FINDINGS)].join("\n");
}

function summary({ catalog: { index } }: CatalogContent): string {
  const counts = index.countsBySchema();
  const known = (["olm.package", "olm.bundle"] as const).map((schema) => `${counts.get(schema) ?? 0} ${schema.slice("olm.".length)}s`);
  return `${index.lines} objects (${known.join(", ")})`;
}
