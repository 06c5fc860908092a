import { stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, normalize, resolve } from "node:path";
import { OPM_IMAGE, parseLabels, renderCatalogDockerfile } from "../../../../pkg/authoring/render/dockerfile.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { type Output, print } from "../../cli/output.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** Options of `olmv1 catalog dockerfile`. */
export interface DockerfileCommandOptions {
  readonly baseImage?: string;
  readonly builderImage?: string;
  readonly binaryImage?: string;
  readonly extraLabels: readonly string[];
  readonly force?: boolean;
  readonly output: Output;
}

/** Runs `olmv1 catalog dockerfile`: writes the Dockerfile next to the folder of a catalog. @throws Error with the text of opm. */
export async function runDockerfile(terminal: Terminal, given: string, options: DockerfileCommandOptions): Promise<void> {
  const { base, builder } = selectImages(options);
  const labels = parseLabels(options.extraLabels);
  const { folder, name, path } = locate(given);
  if (!(await stat(folder).catch(() => undefined))?.isDirectory())
    throw new Error(`provided root path ${goQuote(given)} is not a directory`);
  const text = renderCatalogDockerfile({ folder: name, base, builder, labels });
  await write(path, text, options.force === true);
  await print(terminal, options.output, {
    data: { path, baseImage: base, builderImage: builder, labels: Object.fromEntries(labels) },
    text: () => `${path}\n`,
  });
}

/** Returns the folder of the catalog, its name, and the path of the Dockerfile next to it. */
function locate(given: string): { folder: string; name: string; path: string } {
  const named = normalize(given).replace(/(?<=.)\/+$/, "");
  const folder = /^\.{1,2}$/.test(basename(named)) ? resolve(named) : named;
  const name = basename(folder);
  return { folder, name, path: join(dirname(folder), `${name}.Dockerfile`) };
}

function selectImages({ baseImage, builderImage, binaryImage }: DockerfileCommandOptions): { base: string; builder: string } {
  if (binaryImage !== undefined && baseImage !== undefined) throw new Error("--binary-image is an alias of --base-image: use one of them");
  return { base: binaryImage ?? baseImage ?? OPM_IMAGE, builder: builderImage ?? binaryImage ?? OPM_IMAGE };
}

async function write(path: string, text: string, force: boolean): Promise<void> {
  try {
    await writeFile(path, text, { flag: force ? "w" : "wx" });
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== "EEXIST") throw err;
    throw new Error(`path ${goQuote(path)}: file already exists; use --force to overwrite it`, { cause: err });
  }
}
