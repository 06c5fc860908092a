import { wrapError } from "../../../pkg/errors/errors.ts";
import { printable } from "../../../pkg/errors/printable.ts";
import type { WebhookCertProvider } from "../../../pkg/operatorcontroller/certificates/providerNames.ts";
import { proxyFrom } from "../../../pkg/render/proxy.ts";
import type { ProxyOptions } from "../cli/proxyOptions.ts";
import type { Terminal } from "../cli/terminal.ts";
import { proxySettingsOf } from "../plan/proxyOptions.ts";
import { type ReaderOptions, withReader } from "../rbac/bundleReader.ts";
import { configFile } from "./configFile.ts";
import { printedObjects, renderedBundle } from "./renderedBundle.ts";

/** How `olmv1 bundle render` can be asked. */
export interface RenderOptions extends ReaderOptions, ProxyOptions {
  namespace?: string;
  config?: string;
  certProvider: WebhookCertProvider;
  aggregateUserRoles?: boolean;
  output: "yaml" | "json";
}

/** `olmv1 bundle render`. */
export async function render(terminal: Terminal, source: string, options: RenderOptions): Promise<void> {
  const { namespace, certProvider, aggregateUserRoles = false, output } = options;
  const proxy = proxyFrom(proxySettingsOf(options).given);
  const config = options.config === undefined ? undefined : await configFile(options.config, terminal);
  const bundle = await withReader(options, (reader) => reader.bundle(source), terminal.signal).catch((err: unknown) => {
    throw wrapError(`${source}: `, err);
  });
  const { objects, notes } = renderedBundle(bundle, { namespace, config, certProvider, proxy, aggregateUserRoles });
  for (const note of notes) terminal.err(`olmv1: ${printable(note)}\n`);
  terminal.out(printedObjects(objects, output));
}
