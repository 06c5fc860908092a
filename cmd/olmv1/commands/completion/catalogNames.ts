import { createReadStream } from "node:fs";
import { findCatalogFiles } from "../../../../pkg/catalogd/load/catalogFiles.ts";
import { CONTENT_LIMITS } from "../../../../pkg/catalogd/load/loader.ts";
import { getPackageName, Schema } from "../../../../pkg/fbc/content.ts";
import { decodeMetas } from "../../../../pkg/fbc/decode.ts";
import { compareText } from "../../../../pkg/text/compare.ts";
import type { NameKind } from "./kinds.ts";

/** Maximum time to look up names. */
const TIMEOUT_MS = 2_000;
const SCHEMAS: Partial<Record<NameKind, string>> = {
  catalogPackage: Schema.package,
  catalogChannel: Schema.channel,
  catalogBundle: Schema.bundle,
};

/** Returns sorted names from the catalog in a folder, optionally only from one package. The list is incomplete after two seconds or an error. */
export async function listCatalogNames(kind: NameKind, folder: string, packageName: string | undefined): Promise<string[]> {
  const schema = SCHEMAS[kind];
  const names = new Set<string>();
  const until = performance.now() + TIMEOUT_MS;
  try {
    for (const { path, location } of findCatalogFiles(folder, CONTENT_LIMITS)) {
      for await (const meta of decodeMetas(createReadStream(location) as AsyncIterable<Uint8Array>, path)) {
        if (performance.now() > until) return [...names].sort(compareText);
        if (meta.schema === schema && (kind === "catalogPackage" || getPackageName(meta) === packageName)) names.add(meta.name);
      }
    }
  } catch {
    // Returns the names found so far.
  }
  return [...names].sort(compareText);
}
