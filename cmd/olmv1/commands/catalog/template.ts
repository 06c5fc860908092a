import { readFile, stat } from "node:fs/promises";
import { ReferenceRenderer, readFolderMetas, readMetas } from "../../../../pkg/authoring/references/referenceRenderer.ts";
import { type CatalogFormat, catalogText, formatMeta, sortMetas } from "../../../../pkg/authoring/render/catalogText.ts";
import { readBasicTemplate, toBasicTemplate } from "../../../../pkg/authoring/template/basicTemplate.ts";
import {
  listSemverImages,
  readSemverTemplate,
  renderSemver,
  type TemplateBundle,
} from "../../../../pkg/authoring/template/semverTemplate.ts";
import {
  readSubstitutesTemplate,
  renderSubstitutes,
  type SubstitutesTemplate,
  substitutionError,
  toSubstitutesTemplate,
} from "../../../../pkg/authoring/template/substitutesTemplate.ts";
import {
  detectTemplateType,
  drawTemplateGraph,
  parseTemplateType,
  TEMPLATE_TYPES,
  type TemplateType,
} from "../../../../pkg/authoring/template/templateType.ts";
import { messageOf, wrapError } from "../../../../pkg/errors/errors.ts";
import type { Meta } from "../../../../pkg/fbc/types.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { levelOf, renderAll } from "./render.ts";

/** Options of `olmv1 catalog template`. */
export interface TemplateOptions extends ReaderOptions {
  readonly output: "json" | "yaml" | "mermaid";
  readonly migrateLevel?: string;
  readonly migrate?: boolean;
}

/** Renders the references of a template, in their order. */
type Render = (refs: readonly string[]) => Promise<TemplateBundle[]>;

/**
 * `olmv1 catalog template`.
 * @param args a type and a file, or one of them; `-`, or no file, is standard input.
 * @throws Error in opm's words.
 */
export async function template(terminal: Terminal, args: readonly string[], options: TemplateOptions): Promise<void> {
  const level = levelOf(options);
  const { type, text } = await templateInput(terminal, args);
  const metas = await withReader(
    options,
    (reader) =>
      rendered(type, text, (refs) => bundlesOf(terminal, refs, new ReferenceRenderer(reader, { level, allowed: ["bundle image"] }))),
    terminal.signal,
  ).catch((err: unknown) => {
    throw wrapError("rendering template: ", err);
  });
  terminal.out(options.output === "mermaid" ? drawTemplateGraph(metas) : catalogText(sortMetas(metas), options.output));
}

async function templateInput(terminal: Terminal, args: readonly string[]): Promise<{ type: TemplateType; text: string }> {
  const [first, second] = args;
  const isType = second !== undefined || TEMPLATE_TYPES.some((type) => type === first);
  const stated = isType && first !== undefined ? parseTemplateType(first) : undefined;
  const text = await textOf(terminal, isType ? second : first);
  if (stated !== undefined) return { type: stated, text };
  try {
    return { type: detectTemplateType(text), text };
  } catch (err) {
    throw wrapError("auto-detecting template type: ", err);
  }
}

/** The text of a file; of standard input for `-` and where none is named. */
function textOf(terminal: Terminal, file: string | undefined): Promise<string> {
  return file === undefined || file === "-" ? terminal.stdin() : readFile(file, "utf8");
}

async function bundlesOf(terminal: Terminal, refs: readonly string[], renderer: ReferenceRenderer): Promise<TemplateBundle[]> {
  const all = await renderAll(terminal, refs, renderer);
  return all.map(({ metas, csv }, i) => {
    const [meta] = metas;
    if (meta !== undefined && csv !== undefined && metas.length === 1) return { meta, csv };
    throw new Error(`bundle reference ${goQuote(refs[i] ?? "")} resulted in ${metas.length} bundles, expected 1`);
  });
}

async function rendered(type: TemplateType, text: string, render: Render): Promise<Meta[]> {
  if (type === "basic") {
    const { metas, images } = readBasicTemplate(text);
    return [...metas, ...(await render(images)).map(({ meta }) => meta)];
  }
  if (type === "substitutes") return substituted(readSubstitutesTemplate(text), render);
  const read = readSemverTemplate(text);
  const images = listSemverImages(read);
  const bundles = await render(images);
  return renderSemver(read, new Map(bundles.map((bundle, i) => [images[i] ?? "", bundle])));
}

/** Renders one after the other, so that what goes wrong is told with its substitution. */
async function substituted(template: SubstitutesTemplate, render: Render): Promise<Meta[]> {
  const bundles: (Meta | undefined)[] = [];
  for (const substitution of template.substitutions) {
    const [bundle] = await render([substitution.name]).catch((err: unknown) => {
      throw substitutionError(
        substitution,
        new Error(`failed to render bundle image reference ${goQuote(substitution.name)}: ${messageOf(err)}`, { cause: err }),
      );
    });
    bundles.push(bundle?.meta);
  }
  return renderSubstitutes(template, bundles);
}

/** Options of `olmv1 catalog template convert`. */
export interface ConvertTemplateOptions {
  readonly output: CatalogFormat;
}

/** `olmv1 catalog template convert`: prints the template that stands for a catalog in a folder, in a file, or in standard input. */
export async function convertToTemplate(
  terminal: Terminal,
  type: string,
  source: string | undefined,
  { output }: ConvertTemplateOptions,
): Promise<void> {
  if (type !== "basic" && type !== "substitutes")
    throw new Error(`catalogs are converted to templates of type "basic" or "substitutes", not ${goQuote(type)}`);
  const isFolder = source !== undefined && (await stat(source).catch(() => undefined))?.isDirectory() === true;
  const metas = isFolder ? await readFolderMetas(source) : await readMetas([Buffer.from(await textOf(terminal, source))], source ?? "-");
  terminal.out(formatMeta(type === "basic" ? toBasicTemplate(metas) : toSubstitutesTemplate(metas), output));
}
