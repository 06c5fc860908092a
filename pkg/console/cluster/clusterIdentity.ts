import { GROUP } from "../../api/constants.ts";
import type { Client } from "../../kube/client.ts";
import { isNotFound, KubeError } from "../../kube/errors.ts";
import type { Logger } from "../../telemetry/log.ts";
import { ClusterWatches } from "../live/clusterWatches.ts";
import { AccessChecks } from "./accessChecks.ts";
import { ExtensionFields } from "./extensionFields.ts";

const SELF_REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const WATCHED = [
  ["extensions", "clusterextensions"],
  ["catalogs", "clustercatalogs"],
] as const;

/** One user of a cluster: the client with the user's credentials, the user's watches, and what the user may do. */
export class ClusterIdentity implements Disposable {
  readonly client: Client;
  readonly access: AccessChecks;
  readonly fields: ExtensionFields;
  readonly #log: Logger;
  readonly #disposal = new AbortController();
  #watches: ClusterWatches | undefined;
  #user: Promise<string | undefined> | undefined;

  constructor(client: Client, log: Logger) {
    this.client = client;
    this.access = new AccessChecks(client);
    this.fields = new ExtensionFields(client);
    this.#log = log;
  }

  /** Aborts when the identity is disposed of, for example because the API server does not accept its credentials any more. */
  get disposed(): AbortSignal {
    return this.#disposal.signal;
  }

  /** The user's watches, which start with the first use. */
  get watches(): ClusterWatches {
    this.#watches ??= new ClusterWatches(this.client, this.#log);
    return this.#watches;
  }

  /** Starts to read what every page needs, so that the first page does not wait for it. */
  prepare(): void {
    void this.watches;
    this.userName().catch(() => undefined); // the page reports it
  }

  /** Returns the name of the user; undefined if the API server does not report it. */
  userName(): Promise<string | undefined> {
    this.#user ??= this.#readUser();
    this.#user.catch(() => (this.#user = undefined));
    return this.#user;
  }

  /**
   * Asks the API server whether it still accepts the credentials, and whether the user may still list what the watches show. The API server ends a
   * watch neither when a token expires nor when a permission is revoked. A watch that failed later still shows its rows.
   * @returns false if not; the caller must then dispose of the identity
   * @throws the error if the API server does not respond
   */
  async isCurrent(): Promise<boolean> {
    try {
      await this.#readUser();
      for (const [table, resource] of WATCHED) {
        const isShown = this.#watches?.state.getWatch(table).isLoaded;
        if (isShown && !(await this.access.isAllowedNow({ verb: "list", group: GROUP, resource }))) return false;
      }
      return true;
    } catch (err) {
      if (err instanceof KubeError && err.status === 401) return false;
      throw err;
    }
  }

  async #readUser(): Promise<string | undefined> {
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    try {
      const review = (await this.client.raw("POST", SELF_REVIEW, body)) as { status?: { userInfo?: { username?: string } } };
      return review.status?.userInfo?.username;
    } catch (err) {
      if (isNotFound(err)) return undefined; // Kubernetes before 1.28
      throw err;
    }
  }

  /** Stops the watches and the logs. The client belongs to the caller. */
  [Symbol.dispose](): void {
    this.#disposal.abort();
    this.#watches?.[Symbol.dispose]();
  }
}

/** An identity that a page uses for longer than one request. */
export interface HeldIdentity {
  readonly identity: ClusterIdentity;
  /** Call once after the last use. */
  readonly release: () => void;
}
