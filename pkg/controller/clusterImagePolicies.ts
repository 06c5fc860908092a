import { type Clock, systemClock } from "../async/clock.ts";
import { rejectOnAbort } from "../async/concurrency.ts";
import { encodeCanonicalJson } from "../golang/json.ts";
import { RejectedError } from "../oci/imageErrors.ts";
import {
  CLUSTER_IMAGE_POLICY,
  IMAGE_POLICY,
  type ImagePolicies,
  type ImagePolicySource,
  NO_IMAGE_POLICIES,
  toImagePolicies,
} from "../oci/policy/imagePolicies.ts";
import type { Logger } from "../telemetry/log.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import { type KindState, OptionalKind, type OptionalKindClient } from "./optionalKind.ts";

/** Options of ClusterImagePolicies. */
export interface ClusterImagePoliciesOptions {
  client: OptionalKindClient;
  /** Whether to follow ImagePolicies too; catalogs belong to no namespace. */
  namespaced: boolean;
  log: Logger;
  clock?: Clock;
}

/** Maximum wait for the first response of the API server. */
const ANSWER_MS = 10_000;

/**
 * Follows the ClusterImagePolicies and ImagePolicies of OpenShift. Kinds that the cluster does not serve cost a small request every minute, and need no
 * permission. While policies cannot be read, rejects every image, because any may need a signature.
 */
export class ClusterImagePolicies implements ImagePolicySource {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #kinds: readonly { readonly kind: string; readonly objects: OptionalKind }[];
  readonly #settled = Promise.withResolvers<void>();
  readonly #listeners: (() => void)[] = [];
  #policies: ImagePolicies = NO_IMAGE_POLICIES;
  /** The last reported policies, as text. */
  #reported = "";

  constructor({ client, namespaced, log, clock = systemClock }: ClusterImagePoliciesOptions) {
    this.#log = log;
    this.#clock = clock;
    const kinds = namespaced ? [CLUSTER_IMAGE_POLICY, IMAGE_POLICY] : [CLUSTER_IMAGE_POLICY];
    this.#kinds = kinds.map((gvk) => ({ kind: gvk.kind, objects: new OptionalKind(client, gvk, { log, clock }) }));
    for (const { objects } of this.#kinds) objects.onChange(() => this.#update());
  }

  async policies(signal: AbortSignal): Promise<ImagePolicies> {
    await rejectOnAbort(this.#settled.promise, signal);
    for (const { kind, objects } of this.#kinds) requireKnown(kind, objects.state);
    return this.#policies;
  }

  /** Calls `listener` after each change. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Watches the objects until `signal` aborts; never throws. Call it once. */
  async run(signal: AbortSignal): Promise<void> {
    const stopWaiting = this.#clock.after(ANSWER_MS, () => this.#settled.resolve());
    await Promise.all(this.#kinds.map(({ objects }) => objects.run(signal)));
    stopWaiting();
    this.#settled.resolve();
  }

  #update(): void {
    const states = this.#kinds.map(({ objects }) => objects.state);
    const [cluster = [], namespaced = []] = states.map((state) => (state.kind === "served" ? state.objects : []));
    this.#policies = toImagePolicies(cluster, namespaced);
    if (states.some(({ kind }) => kind === "unknown")) return;
    this.#settled.resolve();
    const text = describePolicies(this.#policies, states);
    if (text === this.#reported) return;
    this.#reported = text;
    this.#report();
    for (const listener of this.#listeners) listener();
  }

  #report(): void {
    const { cluster, byNamespace, problems } = this.#policies;
    if (cluster.size + byNamespace.size + problems.length > 0)
      this.#log.info({ scopes: cluster.size, namespaces: byNamespace.size }, "image policies of the cluster in force");
    for (const { origin, message } of problems)
      this.#log.warn({ policy: origin, problem: message }, "image policy cannot be used: images in its scopes are rejected");
    for (const { kind, objects } of this.#kinds)
      if (objects.state.kind === "unreadable")
        this.#log.warn({ kind, reason: objects.state.reason }, "image policies cannot be read: all images are rejected");
  }
}

/** @throws RejectedError if the objects of a kind are unknown */
function requireKnown(kind: string, state: KindState): void {
  if (state.kind !== "unknown" && state.kind !== "unreadable") return;
  const { reason = "the API server has not responded" } = state;
  const grant = state.kind === "unreadable" ? "; grant the servers list and watch, as config/openshift does" : "";
  const message = `${kind} objects cannot be read, and may require a signature: ${truncateExcerpt(reason)}${grant}`;
  throw new RejectedError(message, { problems: [{ reason: "PolicyUnreadable", message }] });
}

/** Returns a text that changes with the policies, but not with the status of the objects. */
function describePolicies({ cluster, byNamespace, problems }: ImagePolicies, states: readonly KindState[]): string {
  const namespaces = [...byNamespace].map(([namespace, scopes]) => [namespace, [...scopes]]);
  const unusable = problems.map(({ origin, message }) => [origin, message]);
  return encodeCanonicalJson([[...cluster], namespaces, unusable, states.map(({ kind }) => kind)]);
}
