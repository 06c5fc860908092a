import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { CatalogContentOrigin } from "../../consoleapi/catalogs.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { getServedContent } from "../../operatorcontroller/catalogs/catalogPackages.ts";
import type { CatalogLease } from "../../sources/keptCatalogs.ts";
import { redactSecrets } from "../../text/redact.ts";
import { CAUSE_LENGTH, truncate } from "../../text/truncate.ts";

/** Returns from where the console reads the content of a catalog. Reads the content if no page has needed it yet. */
export async function readContentOrigin(
  catalog: ClusterCatalog,
  lease: Pick<CatalogLease, "origin">,
  signal: AbortSignal,
): Promise<CatalogContentOrigin> {
  const content = getServedContent(catalog);
  if (typeof content === "string") return { from: "nowhere", because: content };
  try {
    const { from, ...rest } = await lease.origin(content);
    return "because" in rest ? { from, because: formatCause(rest.because) } : { from };
  } catch (err) {
    signal.throwIfAborted();
    return { from: "nowhere", because: formatCause(getErrorMessage(err)) };
  }
}

function formatCause(text: string): string {
  return truncate(redactSecrets(text), CAUSE_LENGTH);
}
