import * as z from "zod/mini";
import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import { findCondition } from "../../api/conditions.ts";
import { type CatalogFindingRow, type CatalogFindings, MAX_ENTRIES } from "../../consoleapi/catalogs.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { openConnections } from "../../http/connections.ts";
import type { HttpResponse } from "../../http/types.ts";
import type { Client } from "../../kube/client.ts";
import { redactSecrets } from "../../text/redact.ts";
import { quoteShellWord } from "../../text/shell.ts";
import { CAUSE_LENGTH, truncate } from "../../text/truncate.ts";

const MAX_BYTES = 8 * 1024 * 1024;
const MAX_MESSAGE = 4_000;
const MAX_FIRST = 12;
const TIMEOUT_MS = 10_000;
/** Host of a Service in the cluster. */
const SERVICE = /^([a-z0-9-]{1,63})\.([a-z0-9-]{1,63})\.svc(\.[a-z0-9.-]+)?$/;
const LOOPBACK = /^(127\.\d+\.\d+\.\d+|\[::1\]|localhost)$/;

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

/**
 * Reads the findings of a catalog from catalogd: through the API server with the user's permissions, or directly from the development cluster on this
 * machine. Other addresses are not read, because they come from a status.
 */
export async function readServedFindings(
  client: Client,
  { status, spec }: Pick<ClusterCatalog, "status" | "spec">,
  { isLaptop, signal }: { readonly isLaptop: boolean; readonly signal: AbortSignal },
): Promise<CatalogFindings> {
  const image = status?.resolvedSource?.image?.ref ?? spec.source.image?.ref ?? "";
  const command = `olmv1 catalog validate ${quoteShellWord(image)}`;
  const base = URL.parse(status?.urls?.base ?? "");
  // The condition contains the first findings after two lines of introduction.
  const valid = findCondition(status?.conditions, "Valid")?.message ?? "";
  const first = valid
    .split("\n")
    .slice(2, MAX_FIRST)
    .map((line) => truncate(line, MAX_MESSAGE));
  if (!base) return { findings: [], unavailable: "The catalog is not served.", first: [], command };
  try {
    const { statusCode, text } = await request(client, base, isLaptop, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]));
    if (statusCode !== 200) return { findings: [], unavailable: describeStatus(statusCode, text), first, command };
    return { findings: parseFindings(text), first: [], command };
  } catch (err) {
    signal.throwIfAborted();
    return { findings: [], unavailable: truncate(redactSecrets(getErrorMessage(err)), CAUSE_LENGTH), first, command };
  }
}

async function request(client: Client, base: URL, isLaptop: boolean, signal: AbortSignal): Promise<{ statusCode: number; text: string }> {
  const path = `${base.pathname.replace(/\/$/, "")}/findings`;
  const [, service, namespace] = SERVICE.exec(base.hostname) ?? [];
  if (service !== undefined) {
    const port = base.port || (base.protocol === "https:" ? "443" : "80");
    const name = `${base.protocol === "https:" ? "https:" : ""}${service}:${port}`;
    return readBounded(await client.request("GET", `/api/v1/namespaces/${namespace}/services/${name}/proxy${path}`, { signal }));
  }
  if (!isLaptop || !LOOPBACK.test(base.hostname)) throw new Error(`the console does not read catalogs from ${base.host}`);
  const connections = openConnections({ tls: {}, keepAliveMs: TIMEOUT_MS });
  try {
    return await readBounded(
      await connections.request(new URL(path, base), { method: "GET", headers: { accept: "application/jsonl" }, signal }),
    );
  } finally {
    await connections.close();
  }
}

async function readBounded({ body, statusCode }: HttpResponse): Promise<{ statusCode: number; text: string }> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`the response has more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return { statusCode, text: Buffer.concat(chunks).toString("utf8") };
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
    const parsed = z.safeParse(Finding, parseJson(line));
    if (!parsed.success) continue;
    const { place, message, ...finding } = parsed.data;
    findings.push({ ...finding, message: truncate(message, MAX_MESSAGE), file: place.file, line: place.line });
  }
  return findings;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
