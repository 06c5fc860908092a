import { existsSync, readdirSync, statSync } from "node:fs";
import { extract, listPackageNames, onlyPackages } from "../../../../pkg/authoring/edit/extract.ts";
import { applyEdit, EditError, editCatalog, formatNames } from "../../../../pkg/authoring/edit/packageEdit.ts";
import { parseSelection } from "../../../../pkg/authoring/mirror/subset.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { findCatalogFolder, type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { CatalogTexts } from "../../../../pkg/sources/catalogTexts.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { type EditOptions, printEdit } from "./edit.ts";

/** Options of `olmv1 catalog extract`. */
export interface ExtractOptions extends EditOptions, ReaderOptions {
  packages: string[];
  channels: string[];
  versions: string[];
  headsOnly?: boolean;
  defaultChannel?: string;
}

/** Runs `olmv1 catalog extract`. */
export async function runExtract(terminal: Terminal, source: string, target: string, options: ExtractOptions): Promise<void> {
  if (existsSync(target) && !statSync(target).isDirectory()) throw new EditError(`output dir ${goQuote(target)} is a file`);
  if (existsSync(target) && readdirSync(target).length > 0) throw new EditError(`output dir ${goQuote(target)} must be empty`);
  const texts = await withReader(
    options,
    (reader) => withProgress(terminal, `reading ${source}`, async () => CatalogTexts.read(await findCatalogFolder(source, reader))),
    terminal.signal,
  );
  const { files, notes } = extractPackages(texts.files, options);
  if (!options.dryRun) texts.copyTo(target, files);
  await printEdit(terminal, new Map(), { files, notes }, options);
}

function extractPackages(all: ReadonlyMap<string, string>, options: ExtractOptions): { files: Map<string, string>; notes: string[] } {
  const { headsOnly = false, defaultChannel } = options;
  const selection = parseSelection(options);
  const names = listPackageNames(all);
  const unknown = [...(selection?.packages ?? [])].filter((name) => !names.includes(name));
  if (unknown.length > 0) throw new EditError(`package ${formatNames(unknown)} not found in the catalog`);
  const selected = names.filter((name) => selection?.packages?.has(name) ?? true);
  let files = onlyPackages(all, new Set(selected));
  const notes: string[] = [];
  for (const name of selected) {
    const constraint = selection?.versionsOf(name);
    const result = editCatalog(files, name, (edit) =>
      extract(edit, {
        channels: selection?.channelsOf(name) ?? [],
        includes: constraint && ((version): boolean => version?.parsed !== undefined && constraint.contains(version.parsed.version)),
        headsOnly,
        defaultChannel,
      }),
    );
    files = applyEdit(files, result);
    notes.push(...result.notes);
  }
  return { files, notes };
}
