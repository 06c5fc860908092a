import { createReadStream } from "node:fs";
import { type LintedBundle, LintedCatalog } from "../../../../pkg/authoring/lint/lintedCatalog.ts";
import { parseSelection } from "../../../../pkg/authoring/mirror/subset.ts";
import { findCatalogFiles } from "../../../../pkg/catalogd/load/catalogFiles.ts";
import { CONTENT_LIMITS } from "../../../../pkg/catalogd/load/loader.ts";
import { compareKnownVersions } from "../../../../pkg/fbc/bundleOrder.ts";
import { decodeMetas } from "../../../../pkg/fbc/decode.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { findCatalogFolder, type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { compareText } from "../../../../pkg/text/compare.ts";
import { type Output, print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import { formatTable } from "../../cli/table.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** Options of `olmv1 catalog images`. */
export interface ImagesOptions extends ReaderOptions {
  packages: string[];
  versions: string[];
  bundles: string[];
  output: Output;
}

/** The images of a bundle. */
interface BundleImageList {
  readonly package: string;
  readonly bundle: string;
  readonly version: string | undefined;
  readonly image: string;
  /** Without the bundle image. */
  readonly relatedImages: readonly string[];
}

/** Runs `olmv1 catalog images`. @throws Error if no bundle is selected. */
export async function printImages(terminal: Terminal, source: string, options: ImagesOptions): Promise<void> {
  const catalog = await withReader(
    options,
    (reader) => withProgress(terminal, `reading ${source}`, async () => readCatalogContent(await findCatalogFolder(source, reader))),
    terminal.signal,
  );
  const found = selectBundles(catalog, options);
  const all = [...new Set(found.flatMap(({ image, relatedImages }) => [image, ...relatedImages]))].sort();
  await print(terminal, options.output, {
    data: { images: all, bundles: found },
    names: () => all,
    text: () =>
      formatTable(
        terminal,
        ["PACKAGE", "BUNDLE", "KIND", "IMAGE"],
        found.flatMap((one) => [
          [one.package, one.bundle, "bundle", one.image],
          ...one.relatedImages.map((image) => [one.package, one.bundle, "related", image]),
        ]),
      ),
  });
}

async function readCatalogContent(folder: string): Promise<LintedCatalog> {
  const catalog = new LintedCatalog();
  for (const { path, location } of findCatalogFiles(folder, CONTENT_LIMITS))
    for await (const meta of decodeMetas(createReadStream(location) as AsyncIterable<Uint8Array>, path)) catalog.add(meta);
  return catalog;
}

function selectBundles({ packages }: LintedCatalog, options: ImagesOptions): BundleImageList[] {
  const selection = parseSelection({ packages: options.packages, versions: options.versions, channels: [] });
  const isSelected = ({ package: name, name: bundle, version }: LintedBundle): boolean => {
    if (options.bundles.length > 0 && !options.bundles.some((pattern) => matches(pattern, bundle))) return false;
    if (selection?.packages?.has(name) === false) return false;
    const range = selection?.versionsOf(name);
    return range === undefined || (version?.parsed !== undefined && range.contains(version.parsed.version));
  };
  for (const name of options.packages) if (!packages.has(name)) throw new Error(`package ${goQuote(name)} not found in the catalog`);
  const found = [...packages.values()].flatMap(({ bundles }) => [...bundles.values()]).filter(isSelected);
  if (found.length === 0) throw new Error("no bundle in the catalog matches the selection");
  return found.toSorted(compareBundles).map((bundle) => ({
    package: bundle.package,
    bundle: bundle.name,
    version: bundle.version?.text,
    image: bundle.image,
    relatedImages: [...new Set(bundle.relatedImages)].filter((image) => image !== "" && image !== bundle.image),
  }));
}

/** Returns whether a name matches a pattern, which may end with `*`. */
function matches(pattern: string, name: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

/** Sorts by package, newest version first. */
function compareBundles(a: LintedBundle, b: LintedBundle): number {
  return compareText(a.package, b.package) || compareKnownVersions(b.version?.parsed, a.version?.parsed);
}
