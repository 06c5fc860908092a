import { type ClusterCatalog, ClusterCatalog as Schema } from "../api/clusterCatalog.ts";
import { API_VERSION, CLUSTER_CATALOG, GROUP } from "../api/constants.ts";
import type { ObjectRef } from "../api/k8s.ts";

/** The settings of a new ClusterCatalog. */
export interface CatalogSettings {
  readonly name: string;
  readonly image: string;
  /** Milliseconds. */
  readonly pollInterval?: number | undefined;
  readonly priority?: number | undefined;
  /** Each `key=value`. */
  readonly labels: readonly string[];
}

/** Builds the ClusterCatalog. @throws Error that lists the fields that the API server would reject */
export function buildClusterCatalog({ name, image, pollInterval, priority, labels }: CatalogSettings): ClusterCatalog {
  const pollIntervalMinutes = pollInterval === undefined ? undefined : parseMinutes(pollInterval);
  const object: ClusterCatalog = {
    apiVersion: API_VERSION,
    kind: CLUSTER_CATALOG,
    metadata: { name, ...(labels.length > 0 ? { labels: Object.fromEntries(labels.map(parseLabel)) } : {}) },
    spec: {
      source: { type: "Image", image: { ref: image, ...(pollIntervalMinutes === undefined ? {} : { pollIntervalMinutes }) } },
      ...(priority === undefined ? {} : { priority }),
    },
  };
  const { error } = Schema.safeParse(object);
  if (error) throw new Error(error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; "));
  return object;
}

/** Returns a reference to a ClusterCatalog. */
export function getCatalogRef(name: string): ObjectRef {
  return { apiVersion: API_VERSION, kind: CLUSTER_CATALOG, name };
}

/** Formats the name like kubectl: clustercatalog.olm.operatorframework.io/NAME. */
export function formatCatalogName(name: string): string {
  return `${CLUSTER_CATALOG.toLowerCase()}.${GROUP}/${name}`;
}

/** @throws Error unless the interval is a positive number of whole minutes */
function parseMinutes(intervalMs: number): number {
  const minutes = intervalMs / 60_000;
  if (minutes < 1 || !Number.isSafeInteger(minutes)) throw new Error("--poll-interval must be whole minutes, such as 10m or 1h30m");
  return minutes;
}

/** @throws Error unless the text has the form key=value */
function parseLabel(text: string): [string, string] {
  const at = text.indexOf("=");
  if (at < 1) throw new Error(`--label ${JSON.stringify(text)} must be in the form key=value`);
  return [text.slice(0, at), text.slice(at + 1)];
}
