import { summarizeBundle } from "../../../../pkg/bundle/bundleSummary.ts";
import { wrapError } from "../../../../pkg/errors/errors.ts";
import { writeExactJson } from "../../../../pkg/golang/json.ts";
import { buildUserConfigSchema } from "../../../../pkg/render/configSchema.ts";
import { type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** Options of `olmv1 bundle config-schema`. */
export interface SchemaOptions extends ReaderOptions {
  namespace?: string;
}

/** Runs `olmv1 bundle config-schema`. */
export async function showConfigSchema(terminal: Terminal, source: string, options: SchemaOptions): Promise<void> {
  const bundle = await withReader(options, (reader) => reader.bundle(source), terminal.signal).catch((err: unknown) => {
    throw wrapError(`${source}: `, err);
  });
  terminal.out(`${writeExactJson(buildUserConfigSchema(summarizeBundle(bundle), options.namespace), 2)}\n`);
}
