import { createHash } from "node:crypto";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import {
  API_VERSION,
  CLUSTER_EXTENSION,
  EXTENSION_NAME_MAX,
  LABEL_DEPENDENCY,
  LABEL_DEPENDENT_PREFIX,
  LABEL_METADATA_NAME,
} from "../../api/constants.ts";
import { DNS1123_SUBDOMAIN } from "../../api/rules.ts";
import type { SolverBundle } from "../../resolve/solver/problem.ts";

/** A package that has to be installed for the sake of an extension. */
export interface Need {
  readonly bundle: SolverBundle;
  /** For `spec.source.catalog.version`; empty for any. */
  readonly version: string;
}

const HASH_LENGTH = 8;

/** Names for the extension of a package, the first that is free being the one to take: the package's own, and a shortened one that is its alone. */
export function dependencyNames(packageName: string): string[] {
  const hash = createHash("sha256").update(packageName).digest("hex").slice(0, HASH_LENGTH);
  const short = packageName.slice(0, EXTENSION_NAME_MAX - HASH_LENGTH - 1).replace(/[-.]+$/, "");
  return [...(packageName.length <= EXTENSION_NAME_MAX ? [packageName] : []), `${short}-${hash}`];
}

/** Whether an extension may name the package. Catalogs may call packages anything. */
export function canBeNamed(packageName: string): boolean {
  return packageName.length <= 253 && new RegExp(DNS1123_SUBDOMAIN).test(packageName);
}

/** The extension that is made for `parent` to meet a need: of the same namespace and identity, unless its template says otherwise. */
export function dependencyExtension(parent: ClusterExtension, { bundle, version }: Need, name: string): ClusterExtension {
  const { namespace, serviceAccount, dependencies, approval } = parent.spec;
  const template = dependencies?.template;
  const account = template?.serviceAccount ?? serviceAccount;
  const catalog = bundle.catalog ?? "";
  return {
    apiVersion: API_VERSION,
    kind: CLUSTER_EXTENSION,
    metadata: { name, labels: { [LABEL_DEPENDENCY]: "true", [dependentLabel(parent)]: parent.metadata.uid ?? "" } },
    spec: {
      namespace: template?.namespace ?? namespace,
      ...(account ? { serviceAccount: account } : {}),
      source: {
        sourceType: "Catalog",
        catalog: {
          packageName: bundle.packageName,
          ...(version === "" ? {} : { version }),
          selector: { matchLabels: { [LABEL_METADATA_NAME]: catalog } },
        },
      },
      dependencies: { policy: "Install", ...(template ? { template } : {}) },
      ...(approval ? { approval } : {}),
    },
  };
}

/** The label by which an extension keeps those that were made for it. */
export function dependentLabel({ metadata }: Pick<ClusterExtension, "metadata">): string {
  return `${LABEL_DEPENDENT_PREFIX}${metadata.name}`;
}

/** Names and uids of the extensions that keep `dependency`. */
export function dependentsOf({ metadata }: Pick<ClusterExtension, "metadata">): { name: string; uid: string }[] {
  const labels = Object.entries(metadata.labels ?? {});
  return labels.flatMap(([label, uid]) =>
    label.startsWith(LABEL_DEPENDENT_PREFIX) ? [{ name: label.slice(LABEL_DEPENDENT_PREFIX.length), uid }] : [],
  );
}

/** Whether policy Install made the extension, and nobody has taken it over since by removing the label. */
export function isDependencyExtension({ metadata }: Pick<ClusterExtension, "metadata">): boolean {
  return metadata.labels?.[LABEL_DEPENDENCY] === "true";
}
