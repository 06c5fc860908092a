import type { ClusterCatalog } from "../../api/clusterCatalog.ts";
import type { ClusterExtension } from "../../api/clusterExtension.ts";
import { API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { WatchState } from "../../consoleapi/live.ts";
import { Informer } from "../../controller/informer.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden, KindNotServed } from "../../kube/errors.ts";
import type { Logger } from "../../telemetry/log.ts";
import { classifyConnectionFailure } from "../http/connectionFailure.ts";
import { LiveState, type WatchedTable } from "./liveState.ts";
import { toCatalogRow, toExtensionRow } from "./rows.ts";

/** Maximum delay before the console tries to reach the API server again, in milliseconds. */
const MAX_BACKOFF_MS = 3_000;

/** Watches the extensions and catalogs of a cluster with one identity, for all pages of that identity. One watch per kind. */
export class ClusterWatches implements Disposable {
  readonly state: LiveState;
  readonly #stop = new AbortController();
  readonly extensions: Informer<ClusterExtension>;
  readonly catalogs: Informer<ClusterCatalog>;
  /** Names of the extensions with a plan in progress, whose rows depend on other extensions. */
  readonly #planned = new Set<string>();

  constructor(client: Client, log: Logger) {
    this.state = new LiveState(new Date().toISOString());
    this.extensions = this.#createInformer<ClusterExtension>(client, "extensions", CLUSTER_EXTENSION, log);
    this.catalogs = this.#createInformer<ClusterCatalog>(client, "catalogs", CLUSTER_CATALOG, log);
    this.extensions.onEvent(({ type, object }) => {
      const { name } = object.metadata;
      if (type === "delete") {
        this.state.extensions.delete(name);
        this.#planned.delete(name);
      } else this.#setExtension(object);
      for (const planned of this.#planned) if (planned !== name) this.#refresh(planned);
      this.state.notify();
    });
    this.catalogs.onEvent(({ type, object }) => {
      if (type === "delete") this.state.catalogs.delete(object.metadata.name);
      else this.state.catalogs.set(toCatalogRow(object));
      this.state.notify();
    });
    void this.extensions.run(this.#stop.signal);
    void this.catalogs.run(this.#stop.signal);
  }

  /** Stops the watches. */
  [Symbol.dispose](): void {
    this.#stop.abort();
    this.state.close();
  }

  #createInformer<T extends KubeObject>(client: Client, table: WatchedTable, kind: string, log: Logger): Informer<T> {
    const setCurrent = (): void => this.#setWatch(table, { state: "current" });
    const options = {
      maxBackoffMs: MAX_BACKOFF_MS,
      onList: setCurrent,
      onOpen: setCurrent, // a watch that resumes has no list, and maybe no events
      onError: (err: unknown) => this.#setWatch(table, describeFailure(err)),
    };
    return new Informer<T>(client, { apiVersion: API_VERSION, kind }, options, log);
  }

  #setExtension(extension: ClusterExtension): void {
    const { name } = extension.metadata;
    if (extension.status?.dependencyPlan) this.#planned.add(name);
    else this.#planned.delete(name);
    this.state.extensions.set(toExtensionRow(extension, this.#planned.has(name) ? this.extensions.list() : []));
  }

  #refresh(name: string): void {
    const extension = this.extensions.get(name);
    if (extension) this.#setExtension(extension);
  }

  #setWatch(table: WatchedTable, state: Omit<WatchState, "since" | "isLoaded">): void {
    const isLoaded = state.state === "current" || this.state.getWatch(table).isLoaded;
    this.state.setWatch(table, { ...state, isLoaded, since: new Date().toISOString() });
  }
}

function describeFailure(err: unknown): Omit<WatchState, "since" | "isLoaded"> {
  const message = getErrorMessage(err);
  if (isForbidden(err)) return { state: "forbidden", message };
  if (err instanceof KindNotServed) return { state: "missing", message };
  return { state: "disconnected", failure: classifyConnectionFailure(err), message };
}
