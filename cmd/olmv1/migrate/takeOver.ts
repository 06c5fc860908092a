import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { findCondition } from "../../../pkg/api/conditions.ts";
import { CLUSTER_EXTENSION, ConditionType, Reason } from "../../../pkg/api/constants.ts";
import type { ObjectRef } from "../../../pkg/api/k8s.ts";
import { LABEL_LEFTOVER, MIGRATION_FIELD_MANAGER } from "../../../pkg/api/migration.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { labelledObjects } from "./classicObjects.ts";
import { DidNotCome, waitFor } from "./patient.ts";

/** How operator-controller is waited for. */
export interface TakeOverOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly tell: (what: string) => void;
}

/** Nobody but a person can go on from these. */
const STUCK: ReadonlySet<string> = new Set([Reason.Blocked, Reason.InvalidConfiguration, Reason.UnsatisfiedDependencies]);
const WEBHOOKS = /^(Validating|Mutating)WebhookConfiguration$/;

/**
 * Lets operator-controller go on with an extension that is suspended, and waits until its version is installed and ready; then the webhooks of OLM
 * classic go.
 * @throws DidNotCome with what operator-controller says.
 */
export async function takeOver(client: Client, extension: ClusterExtension, ref: ObjectRef, options: TakeOverOptions): Promise<void> {
  const { timeoutMs, signal, tell } = options;
  const wanted = extension.spec.source.catalog?.version ?? "";
  await client.patch(ref, { spec: { suspend: null } }, { type: "merge", fieldManager: MIGRATION_FIELD_MANAGER });
  await waitFor({ timeoutMs, signal, what: `${CLUSTER_EXTENSION} "${ref.name}" to be installed and ready` }, async () => {
    const { status, metadata } = (await client.get<ClusterExtension>(ref)) ?? extension;
    const progressing = findCondition(status?.conditions, ConditionType.Progressing);
    const ready = findCondition(status?.conditions, ConditionType.Ready);
    const isCurrent = progressing?.observedGeneration === metadata.generation;
    if (isCurrent && progressing?.status === "False" && STUCK.has(progressing.reason))
      throw new DidNotCome(`${CLUSTER_EXTENSION} "${ref.name}": ${progressing.message}`);
    if (isCurrent && ready?.status === "True" && status?.install?.bundle.version === wanted) return { done: true };
    const because =
      (progressing?.reason === Reason.Succeeded ? ready?.message : progressing?.message) ?? "operator-controller has not looked at it";
    tell(`waiting for operator-controller: ${because.split("\n")[0] ?? ""}`);
    return { because };
  });
  await removeWebhooks(client, ref.name, signal);
}

/** Those that are left over ask the same Service with a certificate authority that it does not have any more. */
async function removeWebhooks(client: Client, extension: string, signal: AbortSignal): Promise<void> {
  for (const { apiVersion, kind, metadata } of await labelledObjects(client, `${LABEL_LEFTOVER}=${extension}`, [], signal))
    if (WEBHOOKS.test(kind))
      await client.delete({ apiVersion, kind, name: metadata.name }, metadata.uid === undefined ? {} : { uid: metadata.uid });
}
