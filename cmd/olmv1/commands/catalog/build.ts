import { catalogParts, findRejectedCatalog } from "../../../../pkg/authoring/build/imageContent.ts";
import { type ImageOptions, keyValues, publishImage, withImages } from "../../../../pkg/authoring/build/publishImage.ts";
import { formatImagePlace, parseDestination } from "../../../../pkg/oci/imagePlace.ts";
import { EXIT } from "../../cli/errors.ts";
import type { Output } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { printImage } from "../push.ts";
import { formatCatalogReport, reportOf } from "./validate.ts";

/** How `olmv1 catalog build` and `olmv1 bundle build` can be asked. */
export interface BuildOptions extends ImageOptions {
  output: Output;
  /** the place */
  tag: string;
  label?: string[];
  annotation?: string[];
  force?: boolean;
}

/** `olmv1 catalog build`. */
export async function buildCatalog(terminal: Terminal, directory: string, options: BuildOptions): Promise<void> {
  const place = parseDestination(options.tag);
  const metadata = { labels: keyValues("label", options.label), annotations: keyValues("annotation", options.annotation) };
  const refused = options.force ? undefined : await findRejectedCatalog(directory);
  if (refused) {
    terminal.err(formatCatalogReport(reportOf(refused)));
    terminal.err("nothing is built; --force builds it all the same\n");
    return terminal.exit(EXIT.no);
  }
  const report = await withImages(options, terminal, (stores) =>
    withProgress(terminal, `building ${formatImagePlace(place)}`, () =>
      publishImage(stores, place, catalogParts(directory, metadata), terminal.signal),
    ),
  );
  return printImage(terminal, options.output, report);
}
