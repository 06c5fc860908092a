import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { EVENTS, EventReason, EventSink } from "../../api/events.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { findProblem } from "../../api/problems.ts";
import { overridesProxy } from "../../api/proxy.ts";
import { describeObject, objectKey } from "../../release/identity.ts";
import { type ExtensionExists, type Owner, ownershipOf } from "../../release/ownership.ts";
import type { ExtensionCache } from "../state/extensionCache.ts";
import { type ConfigInputs, configOf } from "../state/extensionSpec.ts";
import { formatFirst, type LiveObjects, type ObjectAction } from "../state/objectActions.ts";
import type { WithExtension } from "../state/phases.ts";
import { proxyChange } from "../state/proxyVariables.ts";
import { type ApiWarning, warningTexts } from "./dryRun.ts";
import type { NextRelease } from "./nextRelease.ts";

/** What is told about the release of a bundle on its way to the cluster. What a pass finds again is not told again. */
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

  /** @param lacking whether the ServiceAccount lacks rights now; that it does is told by the condition that says so. */
  permissions(lacking: boolean): void {
    const remembered = this.#memory.of(this.#extension);
    const before = remembered.lacked ?? findProblem(this.#extension.status, "MissingPermissions") !== undefined;
    remembered.lacked = lacking;
    if (before && !lacking) this.record("Normal", "PermissionsGranted", `${this.#account()} has got every right that it lacked`);
  }

  /** What was found out before anything is written, once for the same input. */
  preflight(bundle: string, inputDigest: string | undefined, remarks: readonly string[], warnings: readonly ApiWarning[]): void {
    const texts = warningTexts(warnings, bundle);
    const remembered = this.#memory.of(this.#extension);
    const told = JSON.stringify([inputDigest ?? "", remarks, texts]);
    if (remembered.told === told) return;
    remembered.told = told;
    for (const remark of remarks) this.record("Normal", "CrdUpgradeSafety", remark);
    for (const text of texts) this.record("Warning", "ApiWarning", text);
  }

  /** Which proxy variables of the cluster the Deployments got or lost in an upgrade, and who says so. */
  proxy(
    { kind, base, content }: Pick<NextRelease, "kind" | "base" | "content">,
    phase: ConfigInputs & Pick<WithExtension, "clusterProxy">,
  ): void {
    const { clusterProxy: cluster } = phase;
    const changed = kind === "Upgraded" ? proxyChange(base?.proxy, content.proxy) : undefined;
    if (changed === undefined || overridesProxy(configOf(phase))) return;
    const source = cluster.kind === "known" ? cluster.source : "the cluster has no proxy";
    this.record("Normal", "ProxyChanged", `proxy variables of the Deployments changed as those of the cluster did (${source}): ${changed}`);
  }

  /** Told once for the same plan, although a plan that fails is carried out again. */
  approved(bundle: string, digest: string): void {
    const remembered = this.#memory.of(this.#extension);
    if (remembered.approved === digest) return;
    remembered.approved = digest;
    this.record("Normal", "Approved", `carrying out the approved plan for bundle "${bundle}": ${digest}`);
  }

  /** What was done to single objects on the way to `bundle`. @param live the objects as they were before. */
  applied(bundle: string, actions: readonly ObjectAction[], live: LiveObjects, owner: Owner, extensionExists: ExtensionExists): void {
    const done = (verb: ObjectAction["verb"]): string[] =>
      actions.filter((action) => action.verb === verb).map(({ ref }) => describeObject(ref));
    const [deleted, recreated] = [done("deleted"), done("recreated")];
    if (deleted.length > 0) this.record("Normal", "Pruned", `deleted what bundle "${bundle}" does not hold: ${formatFirst(deleted)}`);
    if (recreated.length > 0)
      this.record("Normal", "Recreated", `created anew for bundle "${bundle}", since a field cannot be changed: ${formatFirst(recreated)}`);
    const written = new Set(actions.map(({ ref }) => objectKey(ref)));
    const adopted = [...live].flatMap(([key, object]) => (written.has(key) ? this.#orphan(object, owner, extensionExists) : []));
    if (adopted.length > 0) this.record("Normal", "Adopted", `took into bundle "${bundle}": ${formatFirst(adopted)}`);
  }

  #orphan(object: KubeObject, owner: Owner, extensionExists: ExtensionExists): string[] {
    const ownership = ownershipOf(object, owner, extensionExists);
    if (ownership.kind !== "orphan") return [];
    return [`${describeObject(object)}, left behind by ClusterExtension "${ownership.owner}", which does not exist any more`];
  }

  #account(): string {
    const { namespace, serviceAccount } = this.#extension.spec;
    return serviceAccount?.name ? `ServiceAccount ${namespace}/${serviceAccount.name}` : "operator-controller";
  }
}
