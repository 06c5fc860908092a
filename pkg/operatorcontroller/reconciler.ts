import type { ClusterExtension, ClusterExtensionStatus } from "../api/clusterExtension.ts";
import { findCondition } from "../api/conditions.ts";
import { runSteps, type Step, type StepResult, withoutStep } from "../controller/steps.ts";
import { TerminalError, wrapError } from "../errors/errors.ts";
import { canonicalJson } from "../fbc/canonical.ts";
import type { Client } from "../kube/client.ts";
import { isNotFound } from "../kube/errors.ts";
import type { EventRecorder } from "../kube/events.ts";
import type { Logger } from "../telemetry/log.ts";
import { newFacts, type PassFacts } from "./facts.ts";
import { statusFrom } from "./status.ts";

/** What a pass over one extension needs from the outside. */
export interface ReconcilerDependencies {
  client: Client;
  events: EventRecorder;
  steps: readonly Step<PassFacts["extension"], PassFacts>[];
  /** Milliseconds since the epoch. */
  now: () => number;
  /** When to look at an extension again although nothing happened. */
  resyncMs: () => number;
}

/** Runs the steps over one extension and writes its status once, only on a difference. */
export class Reconciler {
  readonly #deps: ReconcilerDependencies;

  constructor(deps: ReconcilerDependencies) {
    this.#deps = deps;
  }

  /** @throws what the steps threw, after it has been written to the conditions. */
  async reconcile(extension: Readonly<ClusterExtension>, log: Logger, signal: AbortSignal): Promise<StepResult> {
    const facts = newFacts(extension);
    let result: StepResult;
    let error: unknown;
    try {
      result = await runSteps(this.#deps.steps, facts, { object: extension, log, signal });
    } catch (err) {
      if (signal.aborted) throw err;
      const { resolved } = facts;
      const cause = withoutStep(err);
      error = resolved ? wrapError(`error for resolved bundle "${resolved.name}" with version "${resolved.version}": `, cause) : cause;
    }
    if (!facts.gone) await this.#writeStatus(extension, facts, error, log);
    if (error !== undefined) throw error;
    return result ?? { requeueAfterMs: this.#deps.resyncMs() };
  }

  async #writeStatus(extension: Readonly<ClusterExtension>, facts: PassFacts, error: unknown, log: Logger): Promise<void> {
    const { client, events, now } = this.#deps;
    const status = statusFrom(extension, facts, error, new Date(now()).toISOString().replace(/\.\d+Z$/, "Z"));
    if (canonicalJson(status) === canonicalJson(extension.status ?? {})) return;
    const { apiVersion, kind, metadata } = extension;
    const body = { metadata: { uid: metadata.uid }, status: { conditions: status.conditions, install: status.install ?? null } };
    try {
      await client.patch({ apiVersion, kind, name: metadata.name }, body, { type: "merge", subresource: "status" });
    } catch (err) {
      if (isNotFound(err)) return;
      throw wrapError("error updating status: ", err);
    }
    this.#announce(extension, status, events, log);
  }

  /** Logs every condition that changed; one that changed for the worse is an Event too. What went well is told by the step that did it. */
  #announce(extension: Readonly<ClusterExtension>, status: ClusterExtensionStatus, events: EventRecorder, log: Logger): void {
    for (const after of status.conditions ?? []) {
      const before = findCondition(extension.status?.conditions, after.type);
      if (before?.status === after.status && before.reason === after.reason && before.message === after.message) continue;
      const { type: condition, reason, message } = after;
      log.info({ condition, status: after.status, reason, message }, "condition changed");
      const worse = condition === "Progressing" && (reason === "Retrying" || after.status === "False");
      if (worse) events.record(extension, "Warning", reason, message);
    }
  }
}

/** The step that stops an extension without spec before any other step reads it. */
export const requireSpec: Step<PassFacts["extension"], PassFacts> = {
  name: "RequireSpec",
  run(facts) {
    const { spec } = facts.extension as { spec?: unknown };
    if (spec !== undefined) return Promise.resolve(undefined);
    const text = "spec is missing: set spec.namespace, spec.serviceAccount and spec.source, or delete the ClusterExtension";
    return Promise.reject(new TerminalError("Blocked", text));
  },
};
