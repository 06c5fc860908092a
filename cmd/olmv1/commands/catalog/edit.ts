import { promote, setDefaultChannel } from "../../../../pkg/authoring/edit/channelEdits.ts";
import { type DeprecationTarget, deprecate, removeDeprecation } from "../../../../pkg/authoring/edit/deprecate.ts";
import { addEdge, removeEdge, setSkipRange, skip, zstream } from "../../../../pkg/authoring/edit/edgeEdits.ts";
import { EditError, type EditResult, editCatalog, type PackageEdit } from "../../../../pkg/authoring/edit/packageEdit.ts";
import { unifiedDiff } from "../../../../pkg/authoring/edit/unifiedDiff.ts";
import { Schema } from "../../../../pkg/fbc/content.ts";
import { CatalogTexts } from "../../../../pkg/sources/catalogTexts.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";
import { formatCount } from "../../../../pkg/text/lists.ts";
import { type Output, print } from "../../cli/output.ts";
import type { Terminal } from "../../cli/terminal.ts";

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
  return lines.length > 10 ? `${lines.slice(0, 10).join("")}and ${formatCount(lines.length - 10, "more file")}\n` : lines.join("");
}

function changeOf(before: string | undefined, after: string | undefined): "created" | "removed" | "changed" {
  if (before === undefined) return "created";
  return after === undefined ? "removed" : "changed";
}

/** What a new entry of a channel follows. */
export interface EdgeOptions {
  replaces?: string;
  skips: string[];
  skipRange?: string;
}

/** The edges that were asked for; none where nothing was. */
export function edgesOf({ replaces, skips, skipRange }: EdgeOptions): { replaces?: string; skips?: string[]; skipRange?: string } {
  return {
    ...(replaces === undefined ? {} : { replaces }),
    ...(skips.length === 0 ? {} : { skips }),
    ...(skipRange === undefined ? {} : { skipRange }),
  };
}

export interface DeprecateOptions extends EditOptions {
  channel?: string;
  bundle?: string;
  message?: string;
  undo?: boolean;
}

/** `olmv1 catalog deprecate`. */
export async function runDeprecate(terminal: Terminal, root: string, packageName: string, options: DeprecateOptions): Promise<void> {
  const { channel, bundle, message = "", undo = false } = options;
  if (channel !== undefined && bundle !== undefined) throw new EditError("--channel and --bundle cannot be given together");
  if (undo === (message !== "")) throw new EditError("give either --message, what to use instead, or --undo");
  const target: DeprecationTarget =
    channel !== undefined
      ? { schema: Schema.channel, name: channel }
      : bundle !== undefined
        ? { schema: Schema.bundle, name: bundle }
        : { schema: Schema.package, name: "" };
  await editFolder(terminal, root, packageName, options, (edit) =>
    undo ? removeDeprecation(edit, target) : deprecate(edit, target, message),
  );
}

/** `olmv1 catalog promote`. */
export async function runPromote(
  terminal: Terminal,
  where: { root: string; package: string; bundle: string; channel: string },
  options: EditOptions & EdgeOptions,
): Promise<void> {
  const placement = { channel: where.channel, ...edgesOf(options) };
  await editFolder(terminal, where.root, where.package, options, (edit) => promote(edit, where.bundle, placement));
}

/** `olmv1 catalog set-default-channel`. */
export async function runSetDefaultChannel(
  terminal: Terminal,
  where: { root: string; package: string; channel: string },
  options: EditOptions,
): Promise<void> {
  await editFolder(terminal, where.root, where.package, options, (edit) => setDefaultChannel(edit, where.channel));
}

export interface AddEdgeOptions extends EditOptions {
  from?: string;
  to: string;
  channel?: string;
  type?: "replaces" | "skips";
  skipRange?: string;
}

/** `olmv1 catalog edge add`. */
export async function runAddEdge(terminal: Terminal, root: string, packageName: string, options: AddEdgeOptions): Promise<void> {
  const { from, to, channel, type, skipRange } = options;
  if ((from === undefined) === (skipRange === undefined))
    throw new EditError("give either --from, a bundle, or --skip-range, a range of versions");
  await editFolder(terminal, root, packageName, options, (edit) => {
    if (from !== undefined) addEdge(edit, { from, to }, type, channel);
    else setSkipRange(edit, to, skipRange, channel);
  });
}

export interface RemoveEdgeOptions extends EditOptions {
  from?: string;
  to: string;
  channel?: string;
  skipRange?: boolean;
}

/** `olmv1 catalog edge remove`. */
export async function runRemoveEdge(terminal: Terminal, root: string, packageName: string, options: RemoveEdgeOptions): Promise<void> {
  const { from, to, channel, skipRange = false } = options;
  if ((from !== undefined) === skipRange) throw new EditError("give either --from, a bundle, or --skip-range");
  await editFolder(terminal, root, packageName, options, (edit) => {
    if (from !== undefined) removeEdge(edit, { from, to }, channel);
    else setSkipRange(edit, to, undefined, channel);
  });
}

/** `olmv1 catalog skip`. */
export async function runSkip(
  terminal: Terminal,
  where: { root: string; package: string; bundle: string },
  options: EditOptions & { by?: string; channel?: string },
): Promise<void> {
  await editFolder(terminal, where.root, where.package, options, (edit) => skip(edit, where.bundle, options.by, options.channel));
}

/** `olmv1 catalog zstream`. */
export async function runZstream(
  terminal: Terminal,
  root: string,
  packageName: string,
  options: EditOptions & { channel?: string },
): Promise<void> {
  await editFolder(terminal, root, packageName, options, (edit) => zstream(edit, options.channel));
}
