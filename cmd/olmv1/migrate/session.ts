import type { Client } from "../../../pkg/kube/client.ts";
import type { Progress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";
import type { BundleReader } from "../rbac/bundleReader.ts";
import type { CatalogOffers } from "./catalogOffers.ts";
import type { ConversionSettings } from "./conversion.ts";
import type { ConvertOptions } from "./migrateOptions.ts";

/** With what conversions are made. */
export interface Session {
  readonly terminal: Terminal;
  readonly options: ConvertOptions;
  readonly client: Client;
  readonly reader: BundleReader;
  readonly progress: Progress;
}

/** @throws Error where two ServiceAccounts are asked for. */
export function requireOneAccount({ serviceAccount, createServiceAccount }: ConvertOptions): void {
  if (serviceAccount !== undefined && createServiceAccount !== undefined)
    throw new Error("--service-account names one that exists, --create-service-account makes one: give one of them");
}

/** Whether it is said as whom extensions are installed. */
export function hasAccount({ serviceAccount, createServiceAccount }: ConvertOptions): boolean {
  return serviceAccount !== undefined || createServiceAccount !== undefined;
}

/** What is told where it has to be said, and is not. */
export const NO_ACCOUNT =
  "as whom is the extension to be installed? Give --create-service-account, which makes an identity with the rights that the bundle needs, or --service-account NAME";

/** How a conversion is planned in a session. */
export function settingsOf(
  { terminal, options, client, reader }: Pick<Session, "terminal" | "options" | "client" | "reader">,
  offers: CatalogOffers,
  createsServiceAccount: boolean,
): ConversionSettings {
  const { operatorProxy, operatorHttpProxy, operatorHttpsProxy, operatorNoProxy, systemNamespace, webhookCertProvider } = options;
  return {
    terminal,
    client,
    reader,
    offers,
    systemNamespace,
    webhookCertProvider,
    createsServiceAccount,
    signal: terminal.signal,
    operatorProxy,
    ...(operatorHttpProxy === undefined ? {} : { operatorHttpProxy }),
    ...(operatorHttpsProxy === undefined ? {} : { operatorHttpsProxy }),
    ...(operatorNoProxy === undefined ? {} : { operatorNoProxy }),
  };
}
