import { addBundleToChannels } from "../../../../pkg/authoring/edit/channelEdits.ts";
import { EditError } from "../../../../pkg/authoring/edit/packageEdit.ts";
import { ReferenceRenderer } from "../../../../pkg/authoring/references/referenceRenderer.ts";
import { parseImageTemplate } from "../../../../pkg/authoring/render/renderBundle.ts";
import { Schema } from "../../../../pkg/fbc/content.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { type EdgeOptions, type EditOptions, editFolder, readEdges } from "./edit.ts";
import { parseLevelOptions, warn } from "./render.ts";

/** Options of `olmv1 catalog add-bundle`. */
export interface AddBundleOptions extends EditOptions, EdgeOptions, ReaderOptions {
  channels: string[];
  image?: string;
  migrate?: boolean;
  migrateLevel?: string;
}

/** Runs `olmv1 catalog add-bundle`. */
export async function runAddBundle(terminal: Terminal, root: string, source: string, options: AddBundleOptions): Promise<void> {
  const { image } = options;
  const formatImage = image === undefined ? undefined : parseImageTemplate(image);
  const rendered = await withReader(
    options,
    (reader) => {
      const renderer = new ReferenceRenderer(reader, {
        level: parseLevelOptions(options),
        imageOf: formatImage,
        allowed: ["bundle folder", "bundle image"],
      });
      return withProgress(terminal, `rendering ${source}`, () => renderer.render(source));
    },
    terminal.signal,
  );
  warn(terminal, source, rendered.warnings);
  const bundle = rendered.metas.find(({ schema }) => schema === Schema.bundle);
  if (!bundle) throw new EditError(`${goQuote(source)} contains no bundle`);
  if (bundle.blob["image"] === undefined || bundle.blob["image"] === "")
    throw new EditError(`cannot determine the image of the bundle in ${goQuote(source)}: set --image`);
  const placements = options.channels.map((channel) => ({ channel, ...readEdges(options) }));
  await editFolder(terminal, root, bundle.package, options, (edit) => addBundleToChannels(edit, bundle.blob, placements));
}
