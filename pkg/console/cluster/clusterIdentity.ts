import type { Client } from "../../kube/client.ts";
import type { Logger } from "../../telemetry/log.ts";
import { ClusterWatches } from "../live/clusterWatches.ts";
import { AccessChecks } from "./accessChecks.ts";

const SELF_REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

/** One user of a cluster: the client with the user's credentials, the user's watches, and what the user may do. */
export class ClusterIdentity implements Disposable {
  readonly client: Client;
  readonly access: AccessChecks;
  readonly #log: Logger;
  #watches: ClusterWatches | undefined;
  #user: Promise<string | undefined> | undefined;

  constructor(client: Client, log: Logger) {
    this.client = client;
    this.access = new AccessChecks(client);
    this.#log = log;
  }

  /** The user's watches, which start with the first use. */
  get watches(): ClusterWatches {
    this.#watches ??= new ClusterWatches(this.client, this.#log);
    return this.#watches;
  }

  /** Returns the name of the user; undefined if the API server does not report it. */
  userName(): Promise<string | undefined> {
    this.#user ??= this.#readUser();
    this.#user.catch(() => (this.#user = undefined));
    return this.#user;
  }

  async #readUser(): Promise<string | undefined> {
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
    const review = (await this.client.raw("POST", SELF_REVIEW, body)) as { status?: { userInfo?: { username?: string } } };
    return review.status?.userInfo?.username;
  }

  /** Stops the watches. The client belongs to the caller. */
  [Symbol.dispose](): void {
    this.#watches?.[Symbol.dispose]();
  }
}
