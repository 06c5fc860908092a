import {
  type ExpectedLabel,
  type ImageOptions,
  type ImageReport,
  pushInto,
  withImages,
} from "../../../pkg/authoring/build/publishImage.ts";
import { formatImagePlace, parseDestination, parsePlace } from "../../../pkg/oci/imagePlace.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { type Output, print } from "../cli/output.ts";
import { withProgress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";

/** Prints an image that is in place: by digest, for whoever deploys it. */
export async function printImage(terminal: Terminal, output: Output, report: ImageReport): Promise<void> {
  if (report.present) terminal.err(`${escapeControlCharacters(report.reference)} was there already\n`);
  await print(terminal, output, { data: report, text: () => `${escapeControlCharacters(report.image)}\n`, names: () => [report.image] });
}

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
  expected: ExpectedLabel,
  options: PushOptions,
): Promise<void> {
  const request = { from: parsePlace(source), to: parseDestination(destination), expected: options.force ? undefined : expected };
  const report = await withImages(options, terminal, (stores) =>
    withProgress(terminal, `pushing ${formatImagePlace(request.to)}`, () => pushInto(stores, request, terminal.signal)),
  );
  return printImage(terminal, options.output, report);
}
