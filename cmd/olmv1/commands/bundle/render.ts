import type { WebhookCertProvider } from "../../../../pkg/api/flagValues.ts";
import { readProxyVariables } from "../../../../pkg/api/proxy.ts";
import { formatObjects, mergeConfigFiles, renderForInstall } from "../../../../pkg/authoring/bundle/renderedBundle.ts";
import { wrapError } from "../../../../pkg/errors/errors.ts";
import { chooseNamespace } from "../../../../pkg/installer/bundlePermissions.ts";
import { hideInError, revealNamespaces } from "../../../../pkg/operatorcontroller/state/hiddenValues.ts";
import { HiddenTexts } from "../../../../pkg/render/redaction.ts";
import { type ReaderOptions, withReader } from "../../../../pkg/sources/bundleReader.ts";
import { escapeControlCharacters } from "../../../../pkg/text/escape.ts";
import { readConfigFile } from "../../cli/inputFiles.ts";
import type { ProxyOptions } from "../../cli/options.ts";
import { parseProxySettings } from "../../cli/proxySettings.ts";
import type { Terminal } from "../../cli/terminal.ts";

/** Options of `olmv1 bundle render`. */
export interface BundleRenderOptions extends ReaderOptions, ProxyOptions {
  namespace?: string;
  config?: string;
  valuesFrom: string[];
  certProvider: WebhookCertProvider;
  aggregateUserRoles?: boolean;
  output: "yaml" | "json";
}

/** Runs `olmv1 bundle render`. */
export async function printRenderedBundle(terminal: Terminal, source: string, options: BundleRenderOptions): Promise<void> {
  const { namespace, certProvider, aggregateUserRoles = false, output } = options;
  const proxy = readProxyVariables(parseProxySettings(options).given);
  const inline = options.config === undefined ? undefined : await readConfigFile(options.config, terminal);
  const bundle = await withReader(options, (reader) => reader.bundle(source), terminal.signal).catch((err: unknown) => {
    throw wrapError(`${source}: `, err);
  });
  const installNamespace = namespace ?? chooseNamespace(bundle);
  const { config, hidden } =
    options.valuesFrom.length === 0
      ? { config: inline, hidden: new HiddenTexts() }
      : await mergeConfigFiles(options.valuesFrom, installNamespace, inline, terminal);
  try {
    const { objects, notes } = renderForInstall(bundle, { namespace: installNamespace, config, certProvider, proxy, aggregateUserRoles });
    revealNamespaces(hidden, objects);
    for (const note of notes) terminal.err(`olmv1: ${escapeControlCharacters(hidden.hide(note))}\n`);
    terminal.out(formatObjects(objects, output));
  } catch (err) {
    hideInError(err, hidden);
    throw err;
  }
}
