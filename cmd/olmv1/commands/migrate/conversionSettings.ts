import type { Client } from "../../../../pkg/kube/client.ts";
import type { CatalogOffers } from "../../../../pkg/migrate/catalogOffers.ts";
import type { ConversionSettings } from "../../../../pkg/migrate/planConversion.ts";
import type { BundleReader } from "../../../../pkg/sources/bundleReader.ts";
import { parseProxySettings } from "../../cli/proxySettings.ts";
import type { Terminal } from "../../cli/terminal.ts";
import type { MigrateCheckOptions } from "./migrateOptions.ts";

/** Returns the settings for planning conversions. */
export function getConversionSettings(
  { terminal, options, client, reader }: { terminal: Terminal; options: MigrateCheckOptions; client: Client; reader: BundleReader },
  offers: CatalogOffers,
  account: ConversionSettings["account"],
): ConversionSettings {
  const { systemNamespace, webhookCertProvider } = options;
  return {
    terminal,
    client,
    reader,
    offers,
    systemNamespace,
    webhookCertProvider,
    account,
    signal: terminal.signal,
    proxy: parseProxySettings(options),
  };
}
