import { addBundleToChannels } from "../../../../pkg/authoring/edit/channelEdits.ts";
import { EditError } from "../../../../pkg/authoring/edit/packageEdit.ts";
import { ReferenceRenderer } from "../../../../pkg/authoring/references/referenceRenderer.ts";
import { imageTemplate } from "../../../../pkg/authoring/render/renderBundle.ts";
import { Schema } from "../../../../pkg/fbc/content.ts";
import { goQuote } from "../../../../pkg/golang/quote.ts";
import { type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { withProgress } from "../../cli/progress.ts";
import type { Terminal } from "../../cli/terminal.ts";
import { type EdgeOptions, type EditOptions, edgesOf, editFolder } from "./edit.ts";
import { levelOf, warn } from "./render.ts";

/** How `olmv1 catalog add-bundle` can be asked. */
export interface AddBundleOptions extends EditOptions, EdgeOptions, ReaderOptions {
  channels: string[];
  image?: string;
  migrate?: boolean;
  migrateLevel?: string;
}

/** `olmv1 catalog add-bundle`. */
export async function runAddBundle(terminal: Terminal, root: string, source: string, options: AddBundleOptions): Promise<void> {
  const { image } = options;
  const imageOf = image === undefined ? undefined : imageTemplate(image);
  const rendered = await withReader(options, (reader) => {
    const renderer = new ReferenceRenderer(reader, { level: levelOf(options), imageOf, allowed: ["bundle folder", "bundle image"] });
    return withProgress(terminal, `rendering ${source}`, () => renderer.render(source));
  });
  warn(terminal, source, rendered.warnings);
  const bundle = rendered.metas.find(({ schema }) => schema === Schema.bundle);
  if (!bundle) throw new EditError(`${goQuote(source)} has no bundle`);
  if (bundle.blob["image"] === undefined || bundle.blob["image"] === "")
    throw new EditError(`the image of the bundle in ${goQuote(source)} is not known: name it with --image`);
  const placements = options.channels.map((channel) => ({ channel, ...edgesOf(options) }));
  await editFolder(terminal, root, bundle.package, options, (edit) => addBundleToChannels(edit, bundle.blob, placements));
}
