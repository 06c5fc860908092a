import { promote, setDefaultChannel } from "../../../../pkg/authoring/edit/channelEdits.ts";
import { type DeprecationTarget, deprecate, removeDeprecation } from "../../../../pkg/authoring/edit/deprecate.ts";
import { addEdge, rebuildZstream, removeEdge, setSkipRange, skip } from "../../../../pkg/authoring/edit/edgeEdits.ts";
import { EditError, type EditResult, editCatalog, type PackageEdit } from "../../../../pkg/authoring/edit/packageEdit.ts";
import { formatUnifiedDiff } from "../../../../pkg/authoring/edit/unifiedDiff.ts";
import { Schema } from "../../../../pkg/fbc/content.ts";
import { CatalogTexts } from "../../../../pkg/sources/catalogTexts.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";
import { formatCount } from "../../../../pkg/text/lists.ts";
import { type Output, print } from "../../cli/output.ts";
import { suggestNext, type Terminal } from "../../cli/terminal.ts";

/** Options of all edit commands. */
export interface EditOptions {
  dryRun?: boolean;
  output: Output;
}

/** Edits a package of the catalog in a folder, or prints the change. @throws EditError if the edit is not possible; no file is changed. */
export async function editFolder(
  terminal: Terminal,
  root: string,
  packageName: string,
  options: EditOptions,
  work: (edit: PackageEdit) => void,
): Promise<void> {
  const texts = await CatalogTexts.read(root);
  const result = editCatalog(texts.files, packageName, work);
  if (options.dryRun) texts.check(result.files);
  else texts.write(result.files);
  await printEdit(terminal, texts.files, result, options);
}

/** Prints the changes of an edit. */
export async function printEdit(
  terminal: Terminal,
  before: ReadonlyMap<string, string>,
  { files, notes }: EditResult,
  { dryRun = false, output }: EditOptions,
): Promise<void> {
  const diff = (): string => [...files].map(([path, text]) => formatUnifiedDiff(path, before.get(path), text)).join("");
  for (const note of notes) terminal.err(`olmv1: ${escapeControlCharacters(note)}\n`);
  await print(terminal, output, {
    data: {
      dryRun,
      files: [...files].map(([path, text]) => ({ path, change: classifyChange(before.get(path), text) })),
      notes,
      ...(dryRun ? { diff: diff() } : {}),
    },
    text: () => (dryRun ? diff() : formatSummary(before, files)),
  });
  if (!dryRun && files.size > 0 && output === "text")
    suggestNext(terminal, "olmv1 catalog validate checks the catalog, olmv1 catalog build publishes it");
}

function formatSummary(before: ReadonlyMap<string, string>, files: EditResult["files"]): string {
  if (files.size === 0) return "nothing to change\n";
  const lines = [...files].map(([path, text]) => `${classifyChange(before.get(path), text)} ${escapeControlCharacters(path)}\n`);
  return lines.length > 10 ? `${lines.slice(0, 10).join("")}and ${formatCount(lines.length - 10, "more file")}\n` : lines.join("");
}

function classifyChange(before: string | undefined, after: string | undefined): "created" | "removed" | "changed" {
  if (before === undefined) return "created";
  return after === undefined ? "removed" : "changed";
}

/** Upgrade edges of a new channel entry. */
export interface EdgeOptions {
  replaces?: string;
  skips: string[];
  skipRange?: string;
}

/** Returns the requested edges. */
export function readEdges({ replaces, skips, skipRange }: EdgeOptions): { replaces?: string; skips?: string[]; skipRange?: string } {
  return {
    ...(replaces === undefined ? {} : { replaces }),
    ...(skips.length === 0 ? {} : { skips }),
    ...(skipRange === undefined ? {} : { skipRange }),
  };
}

/** Options of `olmv1 catalog deprecate`. */
export interface DeprecateOptions extends EditOptions {
  channel?: string;
  bundle?: string;
  message?: string;
  undo?: boolean;
}

/** Runs `olmv1 catalog deprecate`. */
export async function runDeprecate(terminal: Terminal, root: string, packageName: string, options: DeprecateOptions): Promise<void> {
  const { channel, bundle, message = "", undo = false } = options;
  if (channel !== undefined && bundle !== undefined) throw new EditError("--channel and --bundle cannot be given together");
  if (undo === (message !== "")) throw new EditError("use either --message or --undo");
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

/** Runs `olmv1 catalog promote`. */
export async function runPromote(
  terminal: Terminal,
  where: { root: string; package: string; bundle: string; channel: string },
  options: EditOptions & EdgeOptions,
): Promise<void> {
  const placement = { channel: where.channel, ...readEdges(options) };
  await editFolder(terminal, where.root, where.package, options, (edit) => promote(edit, where.bundle, placement));
}

/** Runs `olmv1 catalog set-default-channel`. */
export async function runSetDefaultChannel(
  terminal: Terminal,
  where: { root: string; package: string; channel: string },
  options: EditOptions,
): Promise<void> {
  await editFolder(terminal, where.root, where.package, options, (edit) => setDefaultChannel(edit, where.channel));
}

/** Options of `olmv1 catalog edge add`. */
export interface AddEdgeOptions extends EditOptions {
  from?: string;
  to: string;
  channel?: string;
  type?: "replaces" | "skips";
  skipRange?: string;
}

/** Runs `olmv1 catalog edge add`. */
export async function runAddEdge(terminal: Terminal, root: string, packageName: string, options: AddEdgeOptions): Promise<void> {
  const { from, to, channel, type, skipRange } = options;
  if ((from === undefined) === (skipRange === undefined))
    throw new EditError("use either --from with a bundle or --skip-range with a version range");
  await editFolder(terminal, root, packageName, options, (edit) => {
    if (from !== undefined) addEdge(edit, { from, to }, type, channel);
    else setSkipRange(edit, to, skipRange, channel);
  });
}

/** Options of `olmv1 catalog edge remove`. */
export interface RemoveEdgeOptions extends EditOptions {
  from?: string;
  to: string;
  channel?: string;
  skipRange?: boolean;
}

/** Runs `olmv1 catalog edge remove`. */
export async function runRemoveEdge(terminal: Terminal, root: string, packageName: string, options: RemoveEdgeOptions): Promise<void> {
  const { from, to, channel, skipRange = false } = options;
  if ((from !== undefined) === skipRange) throw new EditError("use either --from or --skip-range");
  await editFolder(terminal, root, packageName, options, (edit) => {
    if (from !== undefined) removeEdge(edit, { from, to }, channel);
    else setSkipRange(edit, to, undefined, channel);
  });
}

/** Runs `olmv1 catalog skip`. */
export async function runSkip(
  terminal: Terminal,
  where: { root: string; package: string; bundle: string },
  options: EditOptions & { by?: string; channel?: string },
): Promise<void> {
  await editFolder(terminal, where.root, where.package, options, (edit) => skip(edit, where.bundle, options.by, options.channel));
}

/** Runs `olmv1 catalog zstream`. */
export async function runZstream(
  terminal: Terminal,
  root: string,
  packageName: string,
  options: EditOptions & { channel?: string },
): Promise<void> {
  await editFolder(terminal, root, packageName, options, (edit) => rebuildZstream(edit, options.channel));
}
