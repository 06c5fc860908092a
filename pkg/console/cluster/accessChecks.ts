import { LRUCache } from "lru-cache";
import type { MissingPermission } from "../../consoleapi/problem.ts";
import type { Client } from "../../kube/client.ts";
import { ConsoleError } from "../http/consoleError.ts";

const TTL_MS = 30_000;
const MAX_HELD = 1_000;
const REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/** Asks the API server what the user may do. Remembers answers for 30 seconds. */
export class AccessChecks {
  readonly #client: Pick<Client, "raw">;
  readonly #held = new LRUCache<string, Promise<boolean>>({ max: MAX_HELD, ttl: TTL_MS });

  constructor(client: Pick<Client, "raw">) {
    this.#client = client;
  }

  /** Whether the user has a permission. */
  isAllowed(permission: MissingPermission): Promise<boolean> {
    const key = JSON.stringify(permission);
    return this.#held.get(key) ?? this.isAllowedNow(permission);
  }

  /** Whether the user has a permission at this time, regardless of a remembered answer. */
  isAllowedNow(permission: MissingPermission): Promise<boolean> {
    const key = JSON.stringify(permission);
    const review = this.#review(permission);
    this.#held.set(key, review);
    review.catch(() => this.#held.delete(key));
    return review;
  }

  /** Returns the first permission that the user lacks; undefined if the user has all. */
  async findMissing(permissions: readonly MissingPermission[]): Promise<MissingPermission | undefined> {
    const allowed = await Promise.all(permissions.map((permission) => this.isAllowed(permission)));
    return permissions[allowed.indexOf(false)];
  }

  /** @throws ConsoleError with the first permission that the user lacks */
  async require(permissions: readonly MissingPermission[]): Promise<void> {
    const missing = await this.findMissing(permissions);
    if (missing) throw new ConsoleError("forbidden", `you may not ${formatPermission(missing)}`, { missing });
  }

  async #review(permission: MissingPermission): Promise<boolean> {
    const body = {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes: { ...permission } },
    };
    const review = (await this.#client.raw("POST", REVIEW, body)) as { status?: { allowed?: boolean } };
    return review.status?.allowed === true;
  }
}

/** Formats a permission, such as `patch clusterextensions.olm.operatorframework.io argocd`. */
function formatPermission({ verb, group, resource, subresource, namespace, name }: MissingPermission): string {
  const type = `${resource}${subresource === undefined ? "" : `/${subresource}`}${group === "" ? "" : `.${group}`}`;
  return `${verb} ${type}${name === undefined ? "" : ` ${name}`}${namespace === undefined ? "" : ` in namespace ${namespace}`}`;
}
