import { LRUCache } from "lru-cache";
import { API_VERSION, CLUSTER_EXTENSION } from "../../api/constants.ts";
import type { Client } from "../../kube/client.ts";
import { readServedFields, type ServedFields } from "../../kube/servedFields.ts";

const TTL_MS = 60_000;
const KIND = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION };

/** A field that olmv1 has, and no other implementation of OLM v1. */
const OWN_FIELD = "spec.suspend";

/** Whether the cluster has the ClusterExtensions of another implementation of OLM v1. @param fields undefined if they are unknown: then it has not */
export function isOtherOlm(fields: ServedFields | undefined): boolean {
  return fields !== undefined && !fields.all.has(OWN_FIELD);
}

/** The fields of ClusterExtensions that the API server stores: other implementations of OLM v1 have fewer. Remembers them for a minute. */
export class ExtensionFields {
  readonly #client: Pick<Client, "raw">;
  readonly #held = new LRUCache<string, Promise<ServedFields | undefined>>({ max: 1, ttl: TTL_MS });

  constructor(client: Pick<Client, "raw">) {
    this.#client = client;
  }

  /** Returns the fields; undefined if they are unknown. @throws KubeError if the request fails */
  read(): Promise<ServedFields | undefined> {
    const held = this.#held.get(KIND.kind);
    if (held) return held;
    const reading = readServedFields(this.#client, KIND);
    this.#held.set(KIND.kind, reading);
    reading.catch(() => this.#held.delete(KIND.kind));
    return reading;
  }
}
