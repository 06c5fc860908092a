import { buildCatalogParts, findRejectedCatalog } from "../../../../pkg/authoring/build/imageContent.ts";
import { type ImageOptions, parseKeyValues, publishImage, withImages } from "../../../../pkg/authoring/build/publishImage.ts";
import { formatImagePlace, parseDestination } from "../../../../pkg/oci/imagePlace.ts";
import { EXIT } from "../../cli/errors.ts";
import type { Output } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { printImage } from "../push.ts";
import { buildReport, formatCatalogReport } from "./validate.ts";

/** Options of `olmv1 catalog build` and `olmv1 bundle build`. */
export interface BuildOptions extends ImageOptions {
  output: Output;
  /** Destination of the image. */
  tag: string;
  label?: string[];
  annotation?: string[];
  force?: boolean;
}

/** Runs `olmv1 catalog build`. */
export async function buildCatalog(terminal: Terminal, directory: string, options: BuildOptions): Promise<void> {
  const place = parseDestination(options.tag);
  const metadata = { labels: parseKeyValues("label", options.label), annotations: parseKeyValues("annotation", options.annotation) };
  const rejected = options.force ? undefined : await findRejectedCatalog(directory);
  if (rejected) {
    terminal.err(formatCatalogReport(buildReport(rejected)));
    terminal.err("no image was built; use --force to build it anyway\n");
    return terminal.exit(EXIT.no);
  }
  const report = await withImages(options, terminal, (stores) =>
    withProgress(terminal, `building ${formatImagePlace(place)}`, () =>
      publishImage(stores, place, buildCatalogParts(directory, metadata), terminal.signal),
    ),
  );
  return printImage(terminal, options.output, report, "catalog");
}
