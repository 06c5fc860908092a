import { type EditResult, type PackageEdit, editCatalog } from "../../../../pkg/authoring/edit/packageEdit.ts";
import { unifiedDiff } from "../../../../pkg/authoring/edit/unifiedDiff.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";
import { type Output, print } from "../../cli/output.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { counted } from "../../counted.ts";
import { CatalogTexts } from "./catalogTexts.ts";

/** How every edit can be asked. */
export interface EditOptions {
  dryRun?: boolean;
  output: Output;
}

/** Edits one package of the catalog in a folder, or prints what the edit would change. @throws EditError where it cannot be done; then nothing is changed. */
export async function editFolder(
  terminal: Terminal,
  root: string,
  packageName: string,
  options: EditOptions,
  work: (edit: PackageEdit) => void,
): Promise<void> {
  const texts = await CatalogTexts.read(root);
  const result = editCatalog(texts.files, packageName, work);
  if (!options.dryRun) texts.write(result.files);
  await printEdit(terminal, texts.files, result, options);
}

/** Tells what was changed, or would be. */
export async function printEdit(
  terminal: Terminal,
  before: ReadonlyMap<string, string>,
  { files, notes }: EditResult,
  { dryRun = false, output }: EditOptions,
): Promise<void> {
  const diff = (): string => [...files].map(([path, text]) => unifiedDiff(path, before.get(path), text)).join("");
  for (const note of notes) terminal.err(`olmv1: ${escapeControlCharacters(note)}\n`);
  await print(terminal, output, {
    data: {
      dryRun,
      files: [...files].map(([path, text]) => ({ path, change: changeOf(before.get(path), text) })),
      notes,
      ...(dryRun ? { diff: diff() } : {}),
    },
    text: () => (dryRun ? diff() : summary(before, files)),
  });
}

function summary(before: ReadonlyMap<string, string>, files: EditResult["files"]): string {
  if (files.size === 0) return "nothing to change\n";
  const lines = [...files].map(([path, text]) => `${changeOf(before.get(path), text)} ${escapeControlCharacters(path)}\n`);
  return lines.length > 10 ? `${lines.slice(0, 10).join("")}and ${counted(lines.length - 10, "more file")}\n` : lines.join("");
}

function changeOf(before: string | undefined, after: string | undefined): "created" | "removed" | "changed" {
  if (before === undefined) return "created";
  return after === undefined ? "removed" : "changed";
}
