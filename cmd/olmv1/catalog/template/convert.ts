import { stat } from "node:fs/promises";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { type CatalogFormat, objectText } from "../../../../pkg/authoring/render/catalogText.ts";
import { basicTemplate } from "../../../../pkg/authoring/template/basicTemplate.ts";
import { substitutesTemplate } from "../../../../pkg/authoring/template/substitutesTemplate.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { catalogMetas, metasFrom } from "../render/catalogMetas.ts";
import { textOf } from "./template.ts";

/** Options of `olmv1 catalog template convert`. */
export interface ConvertOptions {
  readonly output: CatalogFormat;
}

/** `olmv1 catalog template convert`: prints the template that stands for a catalog in a folder, in a file, or in standard input. */
export async function convert(terminal: Terminal, type: string, source: string | undefined, { output }: ConvertOptions): Promise<void> {
  if (type !== "basic" && type !== "substitutes")
    throw new Error(`catalogs are converted to templates of type "basic" or "substitutes", not ${goQuote(type)}`);
  const isFolder = source !== undefined && (await stat(source).catch(() => undefined))?.isDirectory() === true;
  const metas = isFolder ? await catalogMetas(source) : await metasFrom([Buffer.from(await textOf(terminal, source))], source ?? "-");
  terminal.out(objectText(type === "basic" ? basicTemplate(metas) : substitutesTemplate(metas), output));
}
