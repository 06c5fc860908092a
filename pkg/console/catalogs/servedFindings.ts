import * as z from "zod/mini";
import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import { findCondition } from "../../api/conditions.ts";
import { type CatalogFindingRow, type CatalogFindings, MAX_ENTRIES } from "../../consoleapi/catalogs.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { tryParseJson } from "../../golang/json.ts";
import type { HttpResponse } from "../../http/types.ts";
import { readBytes } from "../../kube/response.ts";
import { readErrorText } from "../../operatorcontroller/catalogs/catalogClient.ts";
import type { ServedCatalogs } from "../../sources/servedCatalogs.ts";
import { redactSecrets } from "../../text/redact.ts";
import { quoteShellWord } from "../../text/shell.ts";
import { CAUSE_LENGTH, truncate } from "../../text/truncate.ts";

const MAX_BYTES = 8 * 1024 * 1024;
const MAX_MESSAGE = 4_000;
const MAX_FIRST = 12;
const TIMEOUT_MS = 10_000;

/** The used members of a finding of catalogd: docs/reference/catalogd-api.md. */
const Finding = z.object({
  rule: z.string(),
  severity: z.enum(["error", "warning"]),
  message: z.string(),
  place: z.object({ file: z.string(), line: z.optional(z.number()) }),
  schema: z.string(),
  package: z.string(),
  name: z.string(),
});

/** Reads the findings of a catalog from catalogd. If they cannot be read, returns the first ones from the status. */
export async function readServedFindings(
  served: ServedCatalogs,
  { status, spec }: Pick<ClusterCatalog, "status" | "spec">,
  signal: AbortSignal,
): Promise<CatalogFindings> {
  const image = status?.resolvedSource?.image?.ref ?? spec.source.image?.ref ?? "";
  const command = `olmv1 catalog validate ${quoteShellWord(image)}`;
  // The condition contains the first findings after two lines of introduction.
  const valid = findCondition(status?.conditions, "Valid")?.message ?? "";
  const first = valid
    .split("\n")
    .slice(2, MAX_FIRST)
    .map((line) => truncate(line, MAX_MESSAGE));
  const base = status?.urls?.base ?? "";
  if (!URL.canParse(base)) return { findings: [], unavailable: "The catalog is not served.", first: [], command };
  try {
    const response = await served.get(base, "/findings", AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]));
    if (response.statusCode !== 200)
      return { findings: [], unavailable: describeStatus(response.statusCode, await readErrorText(response)), first, command };
    return { findings: parseFindings(await readBounded(response)), first: [], command };
  } catch (err) {
    signal.throwIfAborted();
    return { findings: [], unavailable: truncate(redactSecrets(getErrorMessage(err)), CAUSE_LENGTH), first, command };
  }
}

async function readBounded({ body }: HttpResponse): Promise<string> {
  const bytes = await readBytes(body, MAX_BYTES);
  if (bytes === undefined) throw new Error(`the response has more than ${MAX_BYTES} bytes`);
  return Buffer.from(bytes).toString("utf8");
}

/** Describes an error of the API server or of catalogd. An older catalogd, or that of the Go implementation, has no findings. */
function describeStatus(status: number, text: string): string {
  if (status === 403) return "You may not reach catalogd through the API server (get services/proxy in its namespace).";
  if (status === 404) return "catalogd does not report findings.";
  return `catalogd responds with status ${status}: ${truncate(redactSecrets(text), CAUSE_LENGTH)}`;
}

/** Parses JSON Lines. Skips lines of a newer form. */
export function parseFindings(text: string): CatalogFindingRow[] {
  const findings: CatalogFindingRow[] = [];
  for (const line of text.split("\n")) {
    if (line === "" || findings.length === MAX_ENTRIES) continue;
    const parsed = z.safeParse(Finding, tryParseJson(line));
    if (!parsed.success) continue;
    const { place, message, ...finding } = parsed.data;
    findings.push({ ...finding, message: truncate(message, MAX_MESSAGE), file: place.file, line: place.line });
  }
  return findings;
}
