import { type ImageOptions, withImages } from "../../../../pkg/authoring/build/publishImage.ts";
import { mirrorCatalog } from "../../../../pkg/authoring/mirror/mirrorCatalog.ts";
import { formatMappingLine, parseTarget } from "../../../../pkg/authoring/mirror/mirroredImages.ts";
import type { MirrorGoal } from "../../../../pkg/authoring/mirror/mirrorSource.ts";
import { parseSelection } from "../../../../pkg/authoring/mirror/subset.ts";
import { parseLayoutPlace } from "../../../../pkg/oci/imagePlace.ts";
import { type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { formatCount } from "../../../../pkg/text/lists.ts";
import { EXIT } from "../../cli/errors.ts";
import { type Output, print } from "../../cli/output.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** Options of `olmv1 catalog mirror`. */
export interface CatalogMirrorOptions extends ReaderOptions, ImageOptions {
  output: Output;
  packages?: string[];
  channels?: string[];
  versions?: string[];
  name?: string;
  toDir?: string;
  manifestsOnly?: boolean;
  dryRun?: boolean;
  continueOnError?: boolean;
  blockSources?: boolean;
  parallel: number;
}

/** Runs `olmv1 catalog mirror`. */
export async function mirror(terminal: Terminal, source: string, target: string, options: CatalogMirrorOptions): Promise<void> {
  const { output, name, toDir, manifestsOnly, dryRun, continueOnError = false, blockSources = false, insecure = false, parallel } = options;
  const until = dryRun ? "planned" : manifestsOnly ? "written" : "copied";
  const request = {
    source,
    target: parseGoal(target, options),
    selection: parseSelection(options),
    name,
    toDir,
    until,
  } as const;
  const result = await withImages(options, terminal, (stores) =>
    withReader(
      options,
      (reader) => mirrorCatalog({ ...request, continueOnError, blockSources, insecure, parallel }, stores, reader, terminal),
      terminal.signal,
    ),
  );
  const { catalog, mapping, images, files } = result;
  const lines = [...mapping].map(([from, to]) => formatMappingLine(from, to));
  const data = { catalog, mapping: Object.fromEntries(mapping), images, files };
  await print(terminal, output, { data, text: () => (until === "planned" ? lines.join("") : `${catalog}\n`) });
  const failed = images.filter(({ status }) => status === "failed").length;
  if (failed === 0) return;
  terminal.err(`olmv1: ${formatCount(failed, "image")} of ${images.length} could not be mirrored; run the command again to retry them\n`);
  terminal.exit(EXIT.no);
}

/** Parses the target. @throws Error for an unsupported target. */
function parseGoal(text: string, { manifestsOnly, toDir }: Pick<CatalogMirrorOptions, "manifestsOnly" | "toDir">): MirrorGoal {
  const place = parseLayoutPlace(text);
  if (!place) return parseTarget(text);
  if (place.kind !== "oci" || place.tag !== "")
    throw new Error(`cannot mirror to ${text}: mirror to oci:FOLDER, which can be resumed, and create an archive from the folder`);
  if (manifestsOnly || toDir !== undefined)
    throw new Error("--manifests-only and --to-dir require a registry as target: use them when you mirror the layout to the registry");
  return { layout: place.path };
}
