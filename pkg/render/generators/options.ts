import type { KubeObject } from "../../api/k8s.ts";
import type { RegistryV1Bundle } from "../../bundle/types.ts";
import type { CertificateProvider } from "../certificateProvider.ts";
import type { DeploymentConfig } from "../config.ts";
import type { ProxyVariables } from "../proxy.ts";

/** What every generator may look at. */
export interface GeneratorOptions {
  readonly installNamespace: string;
  /** Namespaces the operator watches; `[""]` stands for all. */
  readonly targetNamespaces: readonly string[];
  readonly certProvider: CertificateProvider | undefined;
  /** The user's, applied one after another. */
  readonly deploymentConfigs: readonly DeploymentConfig[];
  readonly proxy: ProxyVariables | undefined;
}

/** Makes one group of a bundle's objects, in a stable order; it changes neither the bundle nor the options. */
export type Generator = (bundle: RegistryV1Bundle, options: GeneratorOptions) => KubeObject[];

/** Whether the operator watches all namespaces. */
export function watchesAll({ targetNamespaces }: GeneratorOptions): boolean {
  return targetNamespaces.length === 1 && targetNamespaces[0] === "";
}
