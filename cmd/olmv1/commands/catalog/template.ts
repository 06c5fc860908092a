import { stat } from "node:fs/promises";
import { ReferenceRenderer, readFolderMetas, readMetas } from "../../../../pkg/authoring/references/referenceRenderer.ts";
import { type CatalogFormat, formatCatalog, formatMeta, sortMetas } from "../../../../pkg/authoring/render/catalogText.ts";
import { readBasicTemplate, toBasicTemplate } from "../../../../pkg/authoring/template/basicTemplate.ts";
import {
  listSemverImages,
  readSemverTemplate,
  renderSemver,
  type TemplateBundle,
} from "../../../../pkg/authoring/template/semverTemplate.ts";
import {
  createSubstitutionError,
  readSubstitutesTemplate,
  renderSubstitutes,
  type SubstitutesTemplate,
  toSubstitutesTemplate,
} from "../../../../pkg/authoring/template/substitutesTemplate.ts";
import {
  detectTemplateType,
  drawTemplateGraph,
  parseTemplateType,
  TEMPLATE_TYPES,
  type TemplateType,
} from "../../../../pkg/authoring/template/templateType.ts";
import { getErrorMessage, wrapError } from "../../../../pkg/errors/errors.ts";
import type { Meta } from "../../../../pkg/fbc/types.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { readInputFile } from "../../cli/inputFiles.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { parseLevelOptions, renderAll } from "./render.ts";

/** Options of `olmv1 catalog template`. */
export interface TemplateOptions extends ReaderOptions {
  readonly output: "json" | "yaml" | "mermaid";
  readonly migrateLevel?: string;
  readonly migrate?: boolean;
}

/** Renders the references of a template, in their order. */
type Render = (refs: readonly string[]) => Promise<TemplateBundle[]>;

/**
 * Runs `olmv1 catalog template`.
 * @param args type and file, or one of them; `-` or a missing file is standard input.
 * @throws Error with the text of opm.
 */
export async function runTemplate(terminal: Terminal, args: readonly string[], options: TemplateOptions): Promise<void> {
  const level = parseLevelOptions(options);
  const { type, text } = await readTemplate(terminal, args);
  const metas = await withReader(
    options,
    (reader) =>
      renderTemplate(type, text, (refs) =>
        renderBundles(terminal, refs, new ReferenceRenderer(reader, { level, allowed: ["bundle image"] })),
      ),
    terminal.signal,
  ).catch((err: unknown) => {
    throw wrapError("rendering template: ", err);
  });
  terminal.out(options.output === "mermaid" ? drawTemplateGraph(metas) : formatCatalog(sortMetas(metas), options.output));
}

async function readTemplate(terminal: Terminal, args: readonly string[]): Promise<{ type: TemplateType; text: string }> {
  const [first, second] = args;
  const isType = second !== undefined || TEMPLATE_TYPES.some((type) => type === first);
  const stated = isType && first !== undefined ? parseTemplateType(first) : undefined;
  const text = await readInputFile((isType ? second : first) ?? "-", terminal);
  if (stated !== undefined) return { type: stated, text };
  try {
    return { type: detectTemplateType(text), text };
  } catch (err) {
    throw wrapError("auto-detecting template type: ", err);
  }
}

async function renderBundles(terminal: Terminal, refs: readonly string[], renderer: ReferenceRenderer): Promise<TemplateBundle[]> {
  const all = await renderAll(terminal, refs, renderer);
  return all.map(({ metas, csv }, i) => {
    const [meta] = metas;
    if (meta !== undefined && csv !== undefined && metas.length === 1) return { meta, csv };
    throw new Error(`bundle reference ${goQuote(refs[i] ?? "")} resulted in ${metas.length} bundles, expected 1`);
  });
}

async function renderTemplate(type: TemplateType, text: string, render: Render): Promise<Meta[]> {
  if (type === "basic") {
    const { metas, images } = readBasicTemplate(text);
    return [...metas, ...(await render(images)).map(({ meta }) => meta)];
  }
  if (type === "substitutes") return renderSubstitutions(readSubstitutesTemplate(text), render);
  const read = readSemverTemplate(text);
  const images = listSemverImages(read);
  const bundles = await render(images);
  return renderSemver(read, new Map(bundles.map((bundle, i) => [images[i] ?? "", bundle])));
}

/** Renders substitutions one by one, so that an error contains the name of its substitution. */
async function renderSubstitutions(runTemplate: SubstitutesTemplate, render: Render): Promise<Meta[]> {
  const bundles: (Meta | undefined)[] = [];
  for (const substitution of runTemplate.substitutions) {
    const [bundle] = await render([substitution.name]).catch((err: unknown) => {
      throw createSubstitutionError(
        substitution,
        new Error(`failed to render bundle image reference ${goQuote(substitution.name)}: ${getErrorMessage(err)}`, { cause: err }),
      );
    });
    bundles.push(bundle?.meta);
  }
  return renderSubstitutes(runTemplate, bundles);
}

/** Options of `olmv1 catalog template convert`. */
export interface ConvertTemplateOptions {
  readonly output: CatalogFormat;
}

/** Runs `olmv1 catalog template convert`: prints a template for a catalog in a folder, a file or standard input. */
export async function convertToTemplate(
  terminal: Terminal,
  type: string,
  source: string | undefined,
  { output }: ConvertTemplateOptions,
): Promise<void> {
  if (type !== "basic" && type !== "substitutes") throw new Error(`unsupported template type ${goQuote(type)}: use basic or substitutes`);
  const isFolder = source !== undefined && (await stat(source).catch(() => undefined))?.isDirectory() === true;
  const metas = isFolder
    ? await readFolderMetas(source)
    : await readMetas([Buffer.from(await readInputFile(source ?? "-", terminal))], source ?? "-");
  terminal.out(formatMeta(type === "basic" ? toBasicTemplate(metas) : toSubstitutesTemplate(metas), output));
}
