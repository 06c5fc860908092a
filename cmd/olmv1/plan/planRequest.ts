import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import type { CertificateProviders } from "../../../pkg/operatorcontroller/certificates/providerChoice.ts";
import type { ClusterProxy } from "../../../pkg/operatorcontroller/proxy/clusterProxy.ts";
import type { LackingPermissions } from "../../../pkg/operatorcontroller/rights/permissions.ts";
import type { Logger } from "../../../pkg/telemetry/log.ts";
import type { BundleReader } from "../rbac/bundleReader.ts";
import type { WantedExtension } from "./extensionFile.ts";
import { type TriedOut } from "./tryOut.ts";

/** What a plan is made of, and with whose rights. */
export interface PlanRequest {
  wanted: WantedExtension;
  catalogs: readonly ClusterCatalog[];
  /** The user's: for everything that operator-controller does with its own rights. */
  client: Client;
  /** For the objects of the bundle. */
  scoped: Client;
  /** Whether `scoped` is the extension's ServiceAccount, whose rights are looked at then. */
  isServiceAccount: boolean;
  /** Asks for the permissions of the extension's ServiceAccount although `scoped` is another user. Missing permissions are reported, not counted as findings. */
  account?: { readonly client: Client; readonly tell: (lacking: LackingPermissions | undefined) => void } | undefined;
  reader: BundleReader;
  /** Chooses who provides the certificates of webhooks, as operator-controller does. */
  providers: CertificateProviders;
  /** Proxy for installed operators. */
  clusterProxy: ClusterProxy;
  systemNamespace: string;
  /** Whether an object that is somebody else's now will have been given to the extension before it is applied; default: none will. */
  willBeGiven?: (live: KubeObject) => boolean;
  /** Gets the objects as they are and as they would be, by `objectKey`. */
  seen?: (tried: Pick<TriedOut, "live" | "after">) => void;
  log: Logger;
  signal: AbortSignal;
}
