import { parseDestination, parsePlace, placeText } from "../../../pkg/oci/imagePlace.ts";
import type { Output } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";
import { type Expected, pushInto } from "./pushInto.ts";
import { printImage } from "./report.ts";
import { type ImageOptions, withImages } from "./withImages.ts";

/** How `olmv1 catalog push` and `olmv1 bundle push` can be asked. */
export interface PushOptions extends ImageOptions {
  output: Output;
  force?: boolean;
}

/** `olmv1 catalog push` and `olmv1 bundle push`. @param expected what the image has to be, unless --force is given. */
export async function push(
  terminal: Terminal,
  source: string,
  destination: string,
  expected: Expected,
  options: PushOptions,
): Promise<void> {
  const request = { from: parsePlace(source), to: parseDestination(destination), expected: options.force ? undefined : expected };
  const report = await withImages(options, terminal, (stores) =>
    withProgress(terminal, `pushing ${placeText(request.to)}`, () => pushInto(stores, request, terminal.signal)),
  );
  return printImage(terminal, options.output, report);
}
