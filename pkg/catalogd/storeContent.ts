import { lstat, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { ConditionType, Reason } from "../api/constants.ts";
import type { EventSink } from "../api/events.ts";
import type { Condition } from "../api/k8s.ts";
import { newProblem } from "../api/problems.ts";
import { findTerminalError, getErrorMessage, RetryableError, TerminalError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { formatTime } from "../golang/time.ts";
import { formatCount } from "../text/lists.ts";
import { SourceError, StoreFailedError } from "./failures.ts";
import type { CatalogKeeper } from "./finalizer.ts";
import type { CatalogStep, Fetched, Stored, UnpackedImage } from "./phases.ts";
import type { CatalogContent, ContentOrigin, FindingsSummary } from "./store/content.ts";

const SOUND = "no errors found in the served content";

/**
 * Returns the Valid condition for checked catalog content. @param base URL of the content; the
 * findings are at `<base>/findings`.
 */
export function checkValidity(
  { errors, warnings, first }: FindingsSummary,
  base: string,
): Pick<Condition, "type" | "status" | "reason" | "message"> {
  const type = ConditionType.Valid;
  if (errors === 0 && warnings === 0) return { type, status: "True", reason: Reason.Valid, message: SOUND };
  // The first line is a whole sentence: lists show only that.
  const list = [`All findings: ${base}/findings. First findings:`, ...first].join("\n");
  if (errors === 0)
    return { type, status: "True", reason: Reason.Valid, message: `${SOUND}, but ${formatCount(warnings, "warning")}.\n${list}` };
  return {
    type,
    status: "False",
    reason: Reason.InvalidContent,
    message: `${countsText({ errors, warnings })} in the served content.\n${list}`,
  };
}

/** Formats the counts, for example "2 errors and 1 warning". */
function countsText({ errors, warnings }: Pick<FindingsSummary, "errors" | "warnings">): string {
  return `${formatCount(errors, "error")}${warnings > 0 ? ` and ${formatCount(warnings, "warning")}` : ""}`;
}

/** Dependencies of storing content. */
export interface StoreDependencies {
  store: { store(name: string, root: string, origin: ContentOrigin, signal: AbortSignal): Promise<CatalogContent> };
  /** The unpacked images, each removed after its content is stored. */
  images: CatalogKeeper;
  events: EventSink;
  /** Milliseconds of any monotonic clock; default: the clock of the process. */
  now?: () => number;
}

const ROOT_LABEL = "operators.operatorframework.io.index.configs.v1";
/** Maximum number of findings in an Event; the condition contains more. */
const FIRST_FINDINGS = 3;
/** A failure within this time is retried with the normal backoff. */
const CHEAP_MS = 20_000;
const REST_FACTOR = 4;
const EMPTY = "the catalog contains no objects";

/** Reads the unpacked catalog and serves it. If that fails, the previous content is kept. */
export function storeContent({ store, images, events, now = () => performance.now() }: StoreDependencies): CatalogStep<Fetched, Stored> {
  return {
    name: "StoreContent",
    async run({ image, ...fetched }, { log, signal }) {
      const { catalog, problems } = fetched;
      const { name } = catalog.metadata;
      const unpack = async (unpacked: UnpackedImage): Promise<CatalogContent> => {
        const root = await catalogRoot(catalog, unpacked);
        const origin = { ref: unpacked.canonical, digest: unpacked.digest, lastUnpacked: formatTime(unpacked.modTime) };
        const content = await storeOrClassify(() => store.store(name, root, origin, signal), signal, now);
        events.record(catalog, "Normal", "ContentStored", `serving ${summary(content)} of ${unpacked.canonical}`);
        const { findings } = content;
        if (findings.errors > 0) events.record(catalog, "Warning", "InvalidContent", invalidText(findings));
        await images.remove(name).catch((err: unknown) => log.warn({ err }, "cannot remove unpacked image"));
        return content;
      };
      const content = image.kind === "stored" ? image.content : await unpack(image.unpacked);
      if (content.catalog.index.lines === 0) problems.push(newProblem("CatalogEmpty", { message: EMPTY }));
      return { ...fetched, phase: "stored", content };
    },
  };
}

/**
 * Classifies every failure as retryable, as in Go: a tag can get another image, and a full disk can
 * be cleaned up. To save CPU, a failure after minutes is not retried immediately.
 * @throws StoreFailedError
 */
async function storeOrClassify(store: () => Promise<CatalogContent>, signal: AbortSignal, now: () => number): Promise<CatalogContent> {
  const began = now();
  try {
    return await store();
  } catch (err) {
    signal.throwIfAborted();
    const tookMs = now() - began;
    const rest = tookMs < CHEAP_MS ? {} : { restMs: Math.round(tookMs * REST_FACTOR) };
    const cause = findTerminalError(err) ? {} : { cause: err };
    throw new StoreFailedError("Retrying", `error storing fbc: error walking FBC root: ${getErrorMessage(err)}`, { ...rest, ...cause });
  }
}

/**
 * Returns the catalog's folder on disk. If the image does not contain it, Go serves nothing and
 * reports no error.
 */
async function catalogRoot(catalog: Stored["catalog"], { dir, root }: UnpackedImage): Promise<string> {
  const target = join(dir, root);
  const top = await realpath(dir);
  const found = await realpath(target).catch(() => undefined);
  const inside = found !== undefined && (found === top || found.startsWith(top + sep));
  if (inside && (await lstat(found)).isDirectory()) return found;
  const text = `catalog image has no folder ${goQuote(`/${root}`)}, which its label ${goQuote(ROOT_LABEL)} specifies`;
  const error = catalog.spec.source.image?.ref.includes("@") ? new TerminalError("Blocked", text) : new RetryableError("Retrying", text);
  throw new SourceError(error);
}

function invalidText(findings: FindingsSummary): string {
  return [`serving content with ${countsText(findings)}. First findings:`, ...findings.first.slice(0, FIRST_FINDINGS)].join("\n");
}

function summary({ catalog: { index } }: CatalogContent): string {
  const counts = index.countsBySchema();
  const known = (["olm.package", "olm.bundle"] as const).map((schema) => `${counts.get(schema) ?? 0} ${schema.slice("olm.".length)}s`);
  return `${index.lines} objects (${known.join(", ")})`;
}
