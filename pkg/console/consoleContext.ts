import type { IncomingHttpHeaders } from "node:http";
import type { Session } from "../consoleapi/session.ts";
import type { DependencySearch } from "../preview/previewChoice.ts";
import { type BundleReader, type ReaderOptions, withReader } from "../sources/bundleReader.ts";
import type { CatalogContentReader } from "../sources/clusterCatalogs.ts";
import type { KeptCatalogs } from "../sources/keptCatalogs.ts";
import type { ServedCatalogs } from "../sources/servedCatalogs.ts";
import type { Logger } from "../telemetry/log.ts";
import type { ClusterIdentity, HeldIdentity } from "./cluster/clusterIdentity.ts";
import type { EventStreams } from "./live/eventStreams.ts";

/** How callers prove who they are. */
export interface Callers extends Disposable {
  /** Returns the identity of the caller of a request. @throws ConsoleError signedOut */
  identify(headers: IncomingHttpHeaders): ClusterIdentity;
  /** Returns the identity of the caller, and keeps its watches running until it is released. @throws ConsoleError signedOut, limited */
  hold(headers: IncomingHttpHeaders): Promise<HeldIdentity>;
  /** Uses a login token. Returns undefined if it is invalid; absent if callers do not log in at the console. */
  readonly logIn?: (token: string) => { readonly cookie: string; readonly token: string } | undefined;
}

/** What the routes of the API need. */
export interface ConsoleContext {
  readonly callers: Callers;
  readonly streams: EventStreams;
  /** The content of catalogs; the server closes it. Pass only ClusterCatalogs that the caller may read. */
  readonly catalogs: KeptCatalogs;
  /** Access to catalogd. Pass only ClusterCatalogs that the caller may read. */
  readonly served: ServedCatalogs;
  /** How to pull bundle images: with the registry credentials of the process. The server adds the cache of bundles. */
  readonly registry: ReaderOptions;
  /** Searches for dependencies outside of the thread that serves all users. */
  readonly search: DependencySearch;
  /** The session without the name of the user. */
  readonly session: Omit<Session, "user">;
  readonly log: Logger;
}

/** Reads packages of catalogs, and bundles. */
export type PlanReader = Pick<BundleReader, "bundleImage"> & CatalogContentReader;

/** Runs a task that reads packages of catalogs, and bundles, such as a plan. @throws errors of the task */
export function withPlanReader<T>(
  { catalogs, registry }: Pick<ConsoleContext, "catalogs" | "registry">,
  signal: AbortSignal,
  task: (reader: PlanReader) => Promise<T>,
): Promise<T> {
  return catalogs.use(signal, (lease) =>
    withReader(
      registry,
      (bundles) =>
        task({
          bundleImage: (ref) => bundles.bundleImage(ref),
          catalogFolder: (source, base) => lease.catalogFolder(source, base),
          packageContent: (source, packageName, base) => lease.packageContent(source, packageName, base),
        }),
      signal,
    ),
  );
}
