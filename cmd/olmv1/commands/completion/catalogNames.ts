import { createReadStream } from "node:fs";
import { catalogFiles } from "../../../../pkg/catalogd/load/catalogFiles.ts";
import { CONTENT_LIMITS } from "../../../../pkg/catalogd/load/loader.ts";
import { getPackageName, Schema } from "../../../../pkg/fbc/content.ts";
import { decodeMetas } from "../../../../pkg/fbc/decode.ts";
import { compareText } from "../../../../pkg/text/compare.ts";
import type { NameKind } from "./kinds.ts";

/** Longer than that nobody waits for a proposal. */
const TIMEOUT_MS = 2_000;
const SCHEMAS: Partial<Record<NameKind, string>> = {
  catalogPackage: Schema.package,
  catalogChannel: Schema.channel,
  catalogBundle: Schema.bundle,
};

/** Names in the catalog of a folder, of one package where it is named, in order; none where it cannot be read, and those found in two seconds. */
export async function catalogNames(kind: NameKind, folder: string, packageName: string | undefined): Promise<string[]> {
  const schema = SCHEMAS[kind];
  const names = new Set<string>();
  const until = performance.now() + TIMEOUT_MS;
  try {
    for (const { path, location } of catalogFiles(folder, CONTENT_LIMITS)) {
      for await (const meta of decodeMetas(createReadStream(location) as AsyncIterable<Uint8Array>, path)) {
        if (performance.now() > until) return [...names].sort(compareText);
        if (meta.schema === schema && (kind === "catalogPackage" || getPackageName(meta) === packageName)) names.add(meta.name);
      }
    }
  } catch {
    // What was found before is still of use.
  }
  return [...names].sort(compareText);
}
