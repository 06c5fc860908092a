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
import { suggestNext, type Terminal } from "../cli/terminal.ts";

/** The suggested next command, by kind of the pushed image. */
export const NEXT_COMMANDS = {
  catalog: "olmv1 catalog add NAME IMAGE adds the catalog to a cluster",
  bundle: "olmv1 catalog add-bundle CATALOG BUNDLE --image IMAGE adds the bundle to a catalog",
} as const;

/** Prints a pushed image by digest. */
export async function printImage(terminal: Terminal, output: Output, report: ImageReport, kind: keyof typeof NEXT_COMMANDS): Promise<void> {
  if (report.present) terminal.err(`${escapeControlCharacters(report.reference)} already exists\n`);
  await print(terminal, output, { data: report, text: () => `${escapeControlCharacters(report.image)}\n`, names: () => [report.image] });
  if (output === "text") suggestNext(terminal, NEXT_COMMANDS[kind]);
}

/** Options of `olmv1 catalog push` and `olmv1 bundle push`. */
export interface PushOptions extends ImageOptions {
  output: Output;
  force?: boolean;
}

/** Runs `olmv1 catalog push` and `olmv1 bundle push`. @param expected the required content of the image, unless --force is given. */
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
  return printImage(terminal, options.output, report, expected.what === "catalog" ? "catalog" : "bundle");
}
