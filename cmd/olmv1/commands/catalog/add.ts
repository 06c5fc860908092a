import { setTimeout as sleep } from "node:timers/promises";
import type { ClusterCatalog } from "../../../../pkg/api/clusterCatalog.ts";
import { wrapError } from "../../../../pkg/errors/errors.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { buildClusterCatalog, formatCatalogName, getCatalogRef } from "../../../../pkg/installer/catalogObject.ts";
import type { Client } from "../../../../pkg/kube/client.ts";
import { isAlreadyExists } from "../../../../pkg/kube/errors.ts";
import { readPatiently } from "../../../../pkg/kube/patientRead.ts";
import { describeCatalogState, findCatalogFailure, isServed } from "../../../../pkg/rollout/catalogState.ts";
import { withCluster } from "../../cli/cluster.ts";
import { EXIT } from "../../cli/errors.ts";
import type { ClusterOptions } from "../../cli/options.ts";
import { type Output, print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import { suggestNext, type Terminal } from "../../cli/terminal.ts";

/** Options of `olmv1 catalog add`. */
export interface AddOptions extends ClusterOptions {
  /** Milliseconds. */
  pollInterval?: number;
  priority?: number;
  label: string[];
  wait?: boolean;
  /** Milliseconds. */
  timeout: number;
  dryRun?: "client" | "server";
  output: Output;
}

const POLL_MS = 500;

/** Runs `olmv1 catalog add`. */
export async function add(terminal: Terminal, name: string, image: string, options: AddOptions): Promise<void> {
  const { pollInterval, priority, label: labels, dryRun } = options;
  const object = buildClusterCatalog({ name, image, pollInterval, priority, labels });
  if (dryRun === "client") return printResult(terminal, object, `${formatCatalogName(name)} created (dry run)`, options.output);
  await withCluster(options, async (client) => {
    const created = await create(client, object, dryRun === "server", terminal.signal);
    if (dryRun === "server") return printResult(terminal, created, `${formatCatalogName(name)} created (server dry run)`, options.output);
    if (!options.wait) return printResult(terminal, created, `${formatCatalogName(name)} created`, options.output);
    const waited = await waitUntilServed(terminal, client, created, options.timeout);
    if (waited.because === undefined) {
      await printResult(terminal, waited.catalog, `${formatCatalogName(name)} is served`, options.output);
      return suggestNext(terminal, "olmv1 search WORD finds a package, olmv1 install PACKAGE installs it");
    }
    await printResult(terminal, waited.catalog, `${formatCatalogName(name)} is not served: ${waited.because}`, options.output);
    terminal.exit(EXIT.no);
    return undefined;
  });
}

async function create(client: Client, object: ClusterCatalog, dryRun: boolean, signal: AbortSignal): Promise<ClusterCatalog> {
  try {
    return await client.create(object, { fieldManager: "olmv1", dryRun, signal });
  } catch (err) {
    if (!isAlreadyExists(err)) throw wrapError(`create ClusterCatalog ${goQuote(object.metadata.name)}: `, err);
    const existing = await client.get<ClusterCatalog>(getCatalogRef(object.metadata.name), { signal });
    const ref = existing?.spec.source.image?.ref;
    throw new Error(
      `ClusterCatalog ${goQuote(object.metadata.name)} already exists${ref === undefined ? "" : ` with image ${ref}`}; change it with kubectl edit, or remove it with olmv1 catalog remove`,
      { cause: err },
    );
  }
}

/**
 * Waits until the catalog is served, or has an error that retries cannot fix. Prints a retried error whenever it changes.
 * @returns why the catalog is not served, with a suggested fix if known.
 * @throws the signal's reason after Ctrl-C, and errors of the API server that persist until the timeout.
 */
export async function waitUntilServed(
  terminal: Terminal,
  client: Client,
  created: ClusterCatalog,
  timeoutMs: number,
): Promise<{ catalog: ClusterCatalog; because?: string }> {
  const { name } = created.metadata;
  const deadline = Date.now() + timeoutMs;
  return withProgress(terminal, `catalog ${name}: waiting for catalogd`, async (progress) => {
    let reported: string | undefined;
    for (let catalog = created; ; ) {
      if (isServed(catalog)) return { catalog };
      const failure = findCatalogFailure(catalog);
      if (failure?.isFinal)
        return { catalog, because: `${failure.because}${failure.remedy === undefined ? "" : `. ${capitalize(failure.remedy)}`}` };
      if (Date.now() > deadline) {
        const seconds = Math.round(timeoutMs / 1_000);
        return {
          catalog,
          because:
            failure?.because ?? `its state is still ${describeCatalogState(catalog).text} after ${seconds} s; check that catalogd runs`,
        };
      }
      if (failure && failure.because !== reported) progress.report(`catalog ${name}: catalogd retries: ${failure.because}`);
      reported = failure?.because;
      progress.now(`catalog ${name}: ${describeCatalogState(catalog).text}`);
      let now: ClusterCatalog | "later" | undefined;
      do {
        await sleep(POLL_MS, undefined, { signal: terminal.signal });
        now = await readPatiently<ClusterCatalog>(client, getCatalogRef(name), { signal: terminal.signal, isLate: Date.now() > deadline });
      } while (now === "later");
      if (!now || now.metadata.uid !== created.metadata.uid) return { catalog, because: "it was removed" };
      catalog = now;
    }
  });
}

async function printResult(terminal: Terminal, catalog: ClusterCatalog, text: string, output: Output): Promise<void> {
  await print(terminal, output, { data: catalog, text: () => `${text}\n`, names: () => [formatCatalogName(catalog.metadata.name)] });
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
