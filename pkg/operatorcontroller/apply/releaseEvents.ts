import { type ClusterExtension, getNamespace } from "../../api/clusterExtension.ts";
import type { EVENTS, EventReason, EventSink } from "../../api/events.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { findProblem } from "../../api/problems.ts";
import { overridesProxy } from "../../api/proxy.ts";
import { getAccountName } from "../../permissions/grantObjects.ts";
import { describeObject, getObjectKey } from "../../release/identity.ts";
import { determineOwnership, type ExtensionExists, type Owner } from "../../release/ownership.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import { type ConfigInputs, getConfiguration } from "../state/extensionSpec.ts";
import { formatFirst, type LiveObjects, type ObjectAction } from "../state/objectActions.ts";
import type { WithExtension } from "../state/phases.ts";
import { describeProxyChange } from "../state/proxyVariables.ts";
import { type ApiWarning, formatApiWarnings } from "./dryRun.ts";
import type { NextRelease } from "./nextRelease.ts";

/** Records the Events about a release while it is applied. Does not repeat an Event if a reconcile has the same result as the previous reconcile. */
export class ReleaseEvents {
  readonly #extension: Readonly<ClusterExtension>;
  readonly #events: EventSink;
  readonly #memory: ExtensionCache;

  constructor(extension: Readonly<ClusterExtension>, events: EventSink, memory: ExtensionCache) {
    this.#extension = extension;
    this.#events = events;
    this.#memory = memory;
  }

  record<R extends EventReason>(type: (typeof EVENTS)[R]["type"], reason: R, message: string): void {
    this.#events.record(this.#extension, type, reason, message);
  }

  /**
   * Records an Event when permissions were missing and no longer are. @param lacking whether permissions are missing now, which the condition
   * reports.
   */
  permissions(lacking: boolean): void {
    const entry = this.#memory.of(this.#extension);
    const before = entry.lackedPermissions ?? findProblem(this.#extension.status, "MissingPermissions") !== undefined;
    entry.lackedPermissions = lacking;
    if (before && !lacking) this.record("Normal", "PermissionsGranted", `${this.#account()} now has all required permissions`);
  }

  /** Records the notes and warnings of the preflight, once for the same input. */
  preflight(bundle: string, inputDigest: string | undefined, remarks: readonly string[], warnings: readonly ApiWarning[]): void {
    const texts = formatApiWarnings(warnings, bundle);
    const entry = this.#memory.of(this.#extension);
    const reported = JSON.stringify([inputDigest ?? "", remarks, texts]);
    if (entry.reported.preflight === reported) return;
    entry.reported.preflight = reported;
    for (const remark of remarks) this.record("Normal", "CrdUpgradeSafety", remark);
    for (const text of texts) this.record("Warning", "ApiWarning", text);
  }

  /** Records the proxy variables that an upgrade changed in the Deployments, and the source of the new values. */
  proxy(
    { kind, base, content }: Pick<NextRelease, "kind" | "base" | "content">,
    phase: ConfigInputs & Pick<WithExtension, "clusterProxy">,
  ): void {
    const { clusterProxy: cluster } = phase;
    const changed = kind === "Upgraded" ? describeProxyChange(base?.proxy, content.proxy) : undefined;
    if (changed === undefined || overridesProxy(getConfiguration(phase))) return;
    const source = cluster.kind === "known" ? cluster.source : "the cluster has no proxy";
    this.record("Normal", "ProxyChanged", `updated the proxy variables of the Deployments to match the cluster (${source}): ${changed}`);
  }

  /** Records that an approved plan is applied, once for the same plan even if it is retried after a failure. */
  approved(bundle: string, digest: string): void {
    const entry = this.#memory.of(this.#extension);
    if (entry.reported.approval === digest) return;
    entry.reported.approval = digest;
    this.record("Normal", "Approved", `applying the approved plan for bundle "${bundle}": ${digest}`);
  }

  /** Records deleted, recreated and adopted objects of a release. @param live the objects before the release. */
  applied(bundle: string, actions: readonly ObjectAction[], live: LiveObjects, owner: Owner, extensionExists: ExtensionExists): void {
    const done = (verb: ObjectAction["verb"]): string[] =>
      actions.filter((action) => action.verb === verb).map(({ ref }) => describeObject(ref));
    const [deleted, recreated] = [done("deleted"), done("recreated")];
    if (deleted.length > 0)
      this.record("Normal", "Pruned", `deleted objects that bundle "${bundle}" does not contain: ${formatFirst(deleted)}`);
    if (recreated.length > 0)
      this.record(
        "Normal",
        "Recreated",
        `recreated objects of bundle "${bundle}" because an immutable field changed: ${formatFirst(recreated)}`,
      );
    const written = new Set(actions.map(({ ref }) => getObjectKey(ref)));
    const adopted = [...live].flatMap(([key, object]) => (written.has(key) ? this.#orphan(object, owner, extensionExists) : []));
    if (adopted.length > 0) this.record("Normal", "Adopted", `adopted objects into bundle "${bundle}": ${formatFirst(adopted)}`);
  }

  #orphan(object: KubeObject, owner: Owner, extensionExists: ExtensionExists): string[] {
    const ownership = determineOwnership(object, owner, extensionExists);
    if (ownership.kind !== "orphan") return [];
    return [`${describeObject(object)} (left by deleted ClusterExtension "${ownership.owner}")`];
  }

  #account(): string {
    return `ServiceAccount ${getNamespace(this.#extension)}/${getAccountName(this.#extension)}`;
  }
}
