import { LRUCache } from "lru-cache";
import type { Client } from "../../kube/client.ts";

const TTL_MS = 30_000;
const MAX_HELD = 1_000;
const REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/** A permission that a request of the user needs. */
export interface NeededPermission {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  /** Such as `log` of Pods. */
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** Asks the API server what the user may do. Remembers answers for 30 seconds. */
export class AccessChecks {
  readonly #client: Pick<Client, "raw">;
  readonly #held = new LRUCache<string, Promise<boolean>>({ max: MAX_HELD, ttl: TTL_MS });

  constructor(client: Pick<Client, "raw">) {
    this.#client = client;
  }

  /** Whether the user has a permission. */
  isAllowed(permission: NeededPermission): Promise<boolean> {
    const key = JSON.stringify(permission);
    return this.#held.get(key) ?? this.isAllowedNow(permission);
  }

  /** Whether the user has a permission at this time, regardless of a remembered answer. */
  isAllowedNow(permission: NeededPermission): Promise<boolean> {
    const key = JSON.stringify(permission);
    const review = this.#review(permission);
    this.#held.set(key, review);
    review.catch(() => this.#held.delete(key));
    return review;
  }

  /** Returns the first permission that the user lacks, as in `formatPermission`; undefined if the user has all. */
  async findMissing(permissions: readonly NeededPermission[]): Promise<string | undefined> {
    const allowed = await Promise.all(permissions.map((permission) => this.isAllowed(permission)));
    const missing = permissions[allowed.indexOf(false)];
    return missing && formatPermission(missing);
  }

  async #review(permission: NeededPermission): Promise<boolean> {
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
export function formatPermission({ verb, group, resource, subresource, namespace, name }: NeededPermission): string {
  const type = `${resource}${subresource === undefined ? "" : `/${subresource}`}${group === "" ? "" : `.${group}`}`;
  return `${verb} ${type}${name === undefined ? "" : ` ${name}`}${namespace === undefined ? "" : ` in namespace ${namespace}`}`;
}
