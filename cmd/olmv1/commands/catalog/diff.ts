import { type CatalogDifference, diffCatalogs } from "../../../../pkg/authoring/diff/diffCatalogs.ts";
import { findCatalogFolder, type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { readComparedCatalog } from "../../../../pkg/sources/comparedCatalogs.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";
import { formatCount } from "../../../../pkg/text/lists.ts";
import { EXIT } from "../../cli/errors.ts";
import { type Output, print } from "../../cli/output.ts";
import { withProgress } from "../../cli/progress.ts";
import { formatStyled } from "../../cli/table.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** Options of `olmv1 catalog diff`. */
export interface DiffOptions extends ReaderOptions {
  failOn: "breaking" | "any" | "never";
  output: Output;
}

const SIGNS = { added: "+", removed: "-", changed: "~" } as const;
const MOODS = { added: "good", removed: "bad", changed: "warning" } as const;

/** Runs `olmv1 catalog diff`. */
export async function diff(terminal: Terminal, before: string, after: string, options: DiffOptions): Promise<void> {
  const found = await withReader(
    options,
    (reader) =>
      withProgress(terminal, "reading the catalogs", async (progress) => {
        progress.now(`reading ${before}`);
        const old = await readComparedCatalog(await findCatalogFolder(before, reader));
        progress.now(`reading ${after}`);
        return diffCatalogs(old, await readComparedCatalog(await findCatalogFolder(after, reader)));
      }),
    terminal.signal,
  );
  const breaking = found.filter((one) => one.breaking).length;
  await print(terminal, options.output, {
    data: { differences: found.length, breaking, changes: found },
    text: () => formatDiff(terminal, found),
  });
  if (options.failOn === "any" ? found.length > 0 : options.failOn === "breaking" && breaking > 0) terminal.exit(EXIT.no);
}

/** Formats the differences by package. */
function formatDiff(terminal: Pick<Terminal, "colour">, found: readonly CatalogDifference[]): string {
  if (found.length === 0) return "the catalogs have the same packages, channels, upgrade edges, bundles and deprecations\n";
  const lines: string[] = [];
  for (const [name, differences] of Map.groupBy(found, (one) => one.package)) {
    lines.push(`${formatStyled(terminal, { text: escapeControlCharacters(name), mood: "strong" })}:`);
    for (const { change, message, breaking } of differences) {
      const line = formatStyled(terminal, { text: `${SIGNS[change]} ${escapeControlCharacters(message)}`, mood: MOODS[change] });
      lines.push(`  ${line}${breaking ? ` ${formatStyled(terminal, { text: "[breaking]", mood: "strong" })}` : ""}`);
    }
  }
  const breaking = found.filter((one) => one.breaking).length;
  return `${lines.join("\n")}\n${formatCount(found.length, "difference")}, ${breaking} breaking\n`;
}
