import { lstat, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { ConditionType, Reason } from "../api/constants.ts";
import type { EventSink } from "../api/events.ts";
import type { Condition } from "../api/k8s.ts";
import type { Step } from "../controller/reconcile.ts";
import { messageOf, RetryableError, TerminalError, terminalIn, wrapError } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { formatTime } from "../golang/time.ts";
import { counted } from "../text/amounts.ts";
import type { CatalogKeeper } from "./finalizer.ts";
import type { CatalogReconcileState, UnpackedImage } from "./reconcileState.ts";
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
    return { type, status: "True", reason: Reason.Valid, message: `${SOUND}, but ${counted(warnings, "warning")}; ${list}` };
  return {
    type,
    status: "False",
    reason: Reason.InvalidContent,
    message: `${countsText({ errors, warnings })} in the content that is served; ${list}`,
  };
}

/** Such as "2 errors and 1 warning". */
function countsText({ errors, warnings }: Pick<FindingsSummary, "errors" | "warnings">): string {
  return `${counted(errors, "error")}${warnings > 0 ? ` and ${counted(warnings, "warning")}` : ""}`;
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

/** The content of a catalog could not be read or stored; the cause says which. */
export class StoreFailedError extends RetryableError {
  override readonly name = "StoreFailedError";
}

/** Reads the unpacked catalog and serves it from now on; what was served before stays when that fails. */
export function storeContent({
  store,
  images,
  events,
  now = () => performance.now(),
}: StoreDependencies): Step<CatalogReconcileState["catalog"], CatalogReconcileState> {
  return {
    name: "StoreContent",
    async run(facts, { log, signal }) {
      const { catalog, unpacked } = facts;
      const { name } = catalog.metadata;
      if (unpacked) {
        const root = await catalogRoot(facts, unpacked);
        const origin = { ref: unpacked.canonical, digest: unpacked.digest, lastUnpacked: formatTime(unpacked.modTime) };
        facts.content = await stored(() => store.store(name, root, origin, signal), signal, now);
        events.record(catalog, "Normal", "ContentStored", `serving ${summary(facts.content)} of ${unpacked.canonical}`);
        const { findings } = facts.content;
        if (findings.errors > 0) events.record(catalog, "Warning", "InvalidContent", invalidText(findings));
        await images.remove(name).catch((err: unknown) => log.warn({ err }, "unpacked image was not removed"));
      }
      if (facts.content?.catalog.index.lines === 0) facts.notes.push(EMPTY);
      return undefined;
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
async function catalogRoot({ catalog }: CatalogReconcileState, { dir, root }: UnpackedImage): Promise<string> {
  const wanted = join(dir, root);
  const top = await realpath(dir);
  const found = await realpath(wanted).catch(() => undefined);
  const inside = found !== undefined && (found === top || found.startsWith(top + sep));
  if (inside && (await lstat(found)).isDirectory()) return found;
  const text = `catalog image has no folder ${goQuote(`/${root}`)}, where its label ${goQuote(ROOT_LABEL)} says the catalog is`;
  const error = catalog.spec.source.image?.ref.includes("@") ? new TerminalError("Blocked", text) : new RetryableError("Retrying", text);
  throw wrapError("source catalog content: ", error);
}

function invalidText(findings: FindingsSummary): string {
  return [`serving content with ${countsText(findings)}, the first:`, ...findings.first.slice(0, FIRST_FINDINGS)].join("\n");
}

function summary({ catalog: { index } }: CatalogContent): string {
  const counts = index.countsBySchema();
  const known = (["olm.package", "olm.bundle"] as const).map((schema) => `${counts.get(schema) ?? 0} ${schema.slice("olm.".length)}s`);
  return `${index.lines} objects (${known.join(", ")})`;
}
