import { type ImageOptions, withImages } from "../../../../pkg/authoring/build/publishImage.ts";
import { mirrorCatalog } from "../../../../pkg/authoring/mirror/mirrorCatalog.ts";
import { mappingLine, parseTarget } from "../../../../pkg/authoring/mirror/mirroredImages.ts";
import type { MirrorGoal } from "../../../../pkg/authoring/mirror/mirrorSource.ts";
import { parseSelection } from "../../../../pkg/authoring/mirror/subset.ts";
import { layoutPlace } from "../../../../pkg/oci/imagePlace.ts";
import { type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { formatCount } from "../../../../pkg/text/lists.ts";
import { EXIT } from "../../cli/errors.ts";
import { type Output, print } from "../../cli/output.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** How `olmv1 catalog mirror` can be asked. */
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

/** `olmv1 catalog mirror`. */
export async function mirror(terminal: Terminal, source: string, target: string, options: CatalogMirrorOptions): Promise<void> {
  const { output, name, toDir, manifestsOnly, dryRun, continueOnError = false, blockSources = false, insecure = false, parallel } = options;
  const until = dryRun ? "planned" : manifestsOnly ? "written" : "copied";
  const request = {
    source,
    target: goalFrom(target, options),
    selection: parseSelection(options),
    name,
    toDir,
    until,
  } as const;
  const result = await withImages(options, terminal, (stores) =>
    withReader(options, (reader) =>
      mirrorCatalog({ ...request, continueOnError, blockSources, insecure, parallel }, stores, reader, terminal),
    ),
  );
  const { catalog, mapping, images, files } = result;
  const lines = [...mapping].map(([from, to]) => mappingLine(from, to));
  const data = { catalog, mapping: Object.fromEntries(mapping), images, files };
  await print(terminal, output, { data, text: () => (until === "planned" ? lines.join("") : `${catalog}\n`) });
  const failed = images.filter(({ status }) => status === "failed").length;
  if (failed === 0) return;
  terminal.err(`olmv1: ${formatCount(failed, "image")} of ${images.length} could not be mirrored; run it again to go on with the rest\n`);
  terminal.exit(EXIT.no);
}

/** @throws Error for what no images can be mirrored to. */
function goalFrom(text: string, { manifestsOnly, toDir }: Pick<CatalogMirrorOptions, "manifestsOnly" | "toDir">): MirrorGoal {
  const place = layoutPlace(text);
  if (!place) return parseTarget(text);
  if (place.kind !== "oci" || place.tag !== "")
    throw new Error(
      `${text} cannot be mirrored to: oci:FOLDER is expected, which can be gone on with where it stopped; pack it when it is done`,
    );
  if (manifestsOnly || toDir !== undefined)
    throw new Error("--manifests-only and --to-dir are about the registry: give them where the layout is mirrored to it");
  return { layout: place.path };
}
