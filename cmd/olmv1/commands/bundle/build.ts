import { buildBundleParts } from "../../../../pkg/authoring/build/imageContent.ts";
import { parseKeyValues, publishImage, withImages } from "../../../../pkg/authoring/build/publishImage.ts";
import { checkSources } from "../../../../pkg/authoring/validate/checkBundles.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { formatImagePlace, parseDestination } from "../../../../pkg/oci/imagePlace.ts";
import { readBundleFiles } from "../../../../pkg/operatorcontroller/bundles/bundleFiles.ts";
import { isDirectory } from "../../../../pkg/sources/bundleReader.ts";
import { EXIT } from "../../cli/errors.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import type { BuildOptions } from "../catalog/build.ts";
import { printImage } from "../push.ts";
import { formatBundleReport, hasFailed } from "./validate.ts";

/** Runs `olmv1 bundle build`. */
export async function buildBundle(terminal: Terminal, directory: string, options: BuildOptions): Promise<void> {
  const place = parseDestination(options.tag);
  const metadata = { labels: parseKeyValues("label", options.label), annotations: parseKeyValues("annotation", options.annotation) };
  if (!(await isDirectory(directory))) throw new Error(`${goQuote(directory)} is not a directory`);
  const files = await readBundleFiles(directory);
  const reader = { files: () => Promise.resolve(files) };
  const checked = options.force ? [] : await checkSources([directory], { severity: "error", ignore: [] }, reader);
  if (hasFailed(checked, "error")) {
    terminal.err(formatBundleReport(checked));
    terminal.err("no image was built; use --force to build it anyway\n");
    return terminal.exit(EXIT.no);
  }
  const parts = buildBundleParts(files, metadata);
  const report = await withImages(options, terminal, (stores) =>
    withProgress(terminal, `building ${formatImagePlace(place)}`, () => publishImage(stores, place, parts, terminal.signal)),
  );
  return printImage(terminal, options.output, report, "bundle");
}
