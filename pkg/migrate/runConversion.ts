import { type ClusterExtension, getNamespace } from "../api/clusterExtension.ts";
import { findCondition } from "../api/conditions.ts";
import { API_VERSION, CLUSTER_EXTENSION, ConditionType, Reason } from "../api/constants.ts";
import { type ObjectRef, toObjectRef } from "../api/k8s.ts";
import {
  ANNOTATION_BACKUP_DIGEST,
  ANNOTATION_OPERATOR_GROUP_BACKUP,
  ANNOTATION_STEP,
  ANNOTATION_SUBSCRIPTION_BACKUP,
  CONVERSION_STEPS,
  type ConversionStep,
  LABEL_LEFTOVER,
  MIGRATION_FIELD_MANAGER,
  MIGRATION_FINALIZER,
  parseConversionStep,
} from "../api/migration.ts";
import { WaitTimeoutError, waitFor } from "../async/poll.ts";
import type { Client } from "../kube/client.ts";
import { isConflict } from "../kube/errors.ts";
import { describeObject } from "../release/identity.ts";
import { type ObjectOwner, withOwner } from "../release/labels.ts";
import { keepBackup } from "./backup.ts";
import { formatBackup } from "./objectBackup.ts";
import type { ConvertedObject } from "./objectConversion.ts";
import { listLabelledObjects, patchLive, readOrNone } from "./olmV0Cluster.ts";
import { OperatorUpgradedError, requireSameVersion } from "./operatorUpgrade.ts";
import {
  buildConversionPatch,
  buildMarkingPatch,
  hasExtensionMarks,
  isDetached,
  isManifestOfCsv,
  type MarkedBy,
  type RemovedMarks,
  readMarks,
} from "./ownershipMarks.ts";
import type { Conversion } from "./planConversion.ts";
import { isOrphan, parseSubscription } from "./subscription.ts";

/** Returns the current OLM v0 marks on the objects of a ClusterServiceVersion, without objects that do not exist yet. */
async function findMarksToRemove(
  client: Client,
  objects: readonly ConvertedObject[],
  csv: MarkedBy,
  signal: AbortSignal,
): Promise<RemovedMarks[]> {
  const marks: RemovedMarks[] = [];
  for (const { ref, action } of objects) {
    signal.throwIfAborted();
    if (action === "create") continue;
    const live = await readOrNone(client, ref);
    if (live && isManifestOfCsv(live, csv)) marks.push(readMarks(live, csv, action !== "leave"));
  }
  return marks;
}

/**
 * Removes the OLM v0 marks from each object and transfers it to the extension, or marks it as a leftover. Skips objects that are already transferred.
 */
async function handOver(
  client: Client,
  marks: readonly RemovedMarks[],
  { csv, owner, signal }: { csv: MarkedBy; owner: ObjectOwner; signal: AbortSignal },
): Promise<void> {
  for (const one of marks) {
    signal.throwIfAborted();
    await patchLive(client, one.ref, (live) => {
      if (live.metadata.uid !== one.uid && !isManifestOfCsv(live, csv)) return undefined;
      return hasExtensionMarks(live, owner) && isDetached(live, csv) ? undefined : buildMarkingPatch(live, one, csv, owner);
    });
  }
}

/** Restores conversion webhooks that OLM v0 disabled. Until then, the API server returns all versions without conversion. */
async function keepConverting(client: Client, marks: readonly RemovedMarks[]): Promise<void> {
  for (const one of marks) if (one.conversion) await patchLive(client, one.ref, (live) => buildConversionPatch(live, one));
}

/** Timeout for OLM v0 and the garbage collector to remove their finalizers, in milliseconds. */
const DELETION_MS = 60_000;

/**
 * Deletes a ClusterServiceVersion without its dependents, but keeps it terminating with a finalizer, and waits until OLM v0 and the garbage
 * collector have removed their finalizers. OLM v0 then ignores it: it no longer rewrites Deployments or restores marks.
 * @see https://github.com/operator-framework/operator-lifecycle-manager/blob/992bb0977/pkg/controller/operators/olm/operator.go
 * @throws WaitTimeoutError with the remaining finalizers
 */
async function terminate(client: Client, csv: ObjectRef, signal: AbortSignal): Promise<void> {
  const exists = await patchLive(client, csv, ({ metadata: { finalizers = [], resourceVersion, deletionTimestamp } }) =>
    finalizers.includes(MIGRATION_FINALIZER) || deletionTimestamp !== undefined
      ? undefined
      : { metadata: { resourceVersion, finalizers: [...finalizers, MIGRATION_FINALIZER] } },
  );
  if (!exists) return;
  await client.delete(csv, { propagationPolicy: "Orphan" });
  await waitFor({ timeoutMs: DELETION_MS, signal, what: `OLM v0 to release ${describeObject(csv)}` }, async () => {
    const { finalizers = [] } = (await readOrNone(client, csv))?.metadata ?? {};
    const others = finalizers.filter((finalizer) => finalizer !== MIGRATION_FINALIZER);
    return others.length === 0
      ? { done: true }
      : { reason: `OLM v0 or the garbage collector has not removed finalizers ${others.join(", ")}` };
  });
}

/** Removes the finalizer of a conversion from a ClusterServiceVersion, and waits until the object no longer exists if it is terminating. */
export async function releaseCsv(client: Client, csv: ObjectRef, signal: AbortSignal): Promise<void> {
  await patchLive(client, csv, ({ metadata: { finalizers = [], resourceVersion } }) =>
    finalizers.includes(MIGRATION_FINALIZER)
      ? { metadata: { resourceVersion, finalizers: finalizers.filter((finalizer) => finalizer !== MIGRATION_FINALIZER) } }
      : undefined,
  );
  await waitFor({ timeoutMs: DELETION_MS, signal, what: `${describeObject(csv)} to be deleted` }, async () => {
    const found = await readOrNone(client, csv);
    if (!found || found.metadata.deletionTimestamp === undefined) return { done: true };
    return { reason: `finalizers ${(found.metadata.finalizers ?? []).join(", ")} remain` };
  });
}

/**
 * Deletes an OLM v0 object without its dependents, and waits until it no longer exists.
 * @throws WaitTimeoutError with the finalizers that block the deletion
 */
async function deleteOrphaning(client: Client, ref: ObjectRef, signal: AbortSignal): Promise<void> {
  const live = await readOrNone(client, ref);
  if (!live) return;
  const { uid } = live.metadata;
  await client.delete(ref, { propagationPolicy: "Orphan", ...(uid === undefined ? {} : { uid }) }).catch((err: unknown) => {
    if (!isConflict(err)) throw err;
  });
  await waitFor({ timeoutMs: DELETION_MS, signal, what: `${describeObject(ref)} to be deleted` }, async () => {
    const found = await readOrNone(client, ref);
    if (!found) return { done: true };
    const finalizers = found.metadata.finalizers ?? [];
    return {
      reason:
        finalizers.length > 0
          ? `OLM v0 or the garbage collector has not removed finalizers ${finalizers.join(", ")}`
          : "the object still exists",
    };
  });
}

/** Options for waiting for operator-controller. */
interface TakeOverOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly report: (what: string) => void;
}

/** Condition reasons that require user action. */
const STUCK: ReadonlySet<string> = new Set([Reason.Blocked, Reason.InvalidConfiguration, Reason.UnsatisfiedDependencies]);
const WEBHOOKS = /^(Validating|Mutating)WebhookConfiguration$/;

/**
 * Resumes a suspended extension and waits until its version is installed and ready, then removes the webhooks of OLM v0.
 * @throws WaitTimeoutError with the message of operator-controller
 */
async function takeOver(client: Client, extension: ClusterExtension, ref: ObjectRef, options: TakeOverOptions): Promise<void> {
  const { timeoutMs, signal, report } = options;
  const desired = extension.spec.source.catalog?.version ?? "";
  await client.patch(ref, { spec: { suspend: null } }, { type: "merge", fieldManager: MIGRATION_FIELD_MANAGER });
  await waitFor({ timeoutMs, signal, what: `${CLUSTER_EXTENSION} "${ref.name}" to be installed and ready` }, async () => {
    const { status, metadata } = (await client.get<ClusterExtension>(ref)) ?? extension;
    const progressing = findCondition(status?.conditions, ConditionType.Progressing);
    const ready = findCondition(status?.conditions, ConditionType.Ready);
    const isCurrent = progressing?.observedGeneration === metadata.generation;
    if (isCurrent && progressing?.status === "False" && STUCK.has(progressing.reason))
      throw new WaitTimeoutError(`${CLUSTER_EXTENSION} "${ref.name}": ${progressing.message}`);
    if (isCurrent && ready?.status === "True" && status?.install?.bundle.version === desired) return { done: true };
    const reason =
      (progressing?.reason === Reason.Succeeded ? ready?.message : progressing?.message) ??
      "operator-controller has not reconciled the ClusterExtension";
    report(`waiting for operator-controller: ${reason.split("\n")[0] ?? ""}`);
    return { reason };
  });
  await removeWebhooks(client, ref.name, signal);
}

/** Deletes the remaining OLM v0 webhook configurations, which call the same Service with an obsolete certificate authority. */
async function removeWebhooks(client: Client, extension: string, signal: AbortSignal): Promise<void> {
  for (const { apiVersion, kind, metadata } of await listLabelledObjects(client, `${LABEL_LEFTOVER}=${extension}`, [], signal))
    if (WEBHOOKS.test(kind))
      await client.delete({ apiVersion, kind, name: metadata.name }, metadata.uid === undefined ? {} : { uid: metadata.uid });
}

/** Options for running a conversion. */
export interface ConversionOptions {
  readonly client: Client;
  /** Whether to remove the version pin at the end if the Subscription had approval Automatic. */
  readonly unpin: boolean;
  /** Timeout for operator-controller to adopt all objects, in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly report: (what: string) => void;
  /** Called after each completed step. */
  readonly done: (step: ConversionStep) => void;
}

/**
 * Runs a conversion in repeatable steps. An annotation of the extension records the last completed step, so that an interrupted conversion can
 * continue. Changes only the ownership marks of the workload.
 *
 * | step         | state after the step                                                                                  |
 * | Prepared     | the ServiceAccount can install the bundle, and the suspended extension contains the backups of        |
 * |              | Subscription and OperatorGroup                                                                        |
 * | Granted      | the roles and bindings of the bundle exist, in addition to those of OLM v0                            |
 * | BackedUp     | a Secret contains the ClusterServiceVersion and the marks to remove from each object                  |
 * | Terminating  | cluster-scoped objects have no owner labels; OLM v0 ignores the ClusterServiceVersion, which is       |
 * |              | terminating but kept by a finalizer                                                                   |
 * | Unsubscribed | the Subscription is deleted. Earlier, OLM v0 would rewrite Deployments without spec.config            |
 * | Marked       | no object refers to the ClusterServiceVersion; objects of the bundle refer to the extension           |
 * | Detached     | the ClusterServiceVersion is deleted                                                                  |
 * | Installed    | operator-controller has adopted all objects, and the extension is ready                               |
 *
 * @throws OperatorUpgradedError if OLM v0 has upgraded the operator before step Unsubscribed
 * @throws Error with the failed step, and how to continue or roll back
 */
export function runConversion(conversion: Conversion, options: ConversionOptions): Promise<ClusterExtension> {
  return carryOut(new ConversionRun(conversion, options));
}

/** The last step after which OLM v0 ignores the objects of an operator. */
const RELEASED: ConversionStep = "Unsubscribed";

/**
 * Runs conversions of operators that depend on each other. First OLM v0 releases all of them, dependents first, because it would reinstall a missing
 * dependency. Then the extensions adopt them, dependencies first, because an extension waits for its dependencies.
 * @param conversions sorted, dependents before their dependencies
 * @returns the extensions in the same order
 * @throws Error as `runConversion`, at the first failure
 */
export async function runConversions(
  conversions: readonly { readonly conversion: Conversion; readonly options: ConversionOptions }[],
): Promise<ClusterExtension[]> {
  const runs = conversions.map(({ conversion, options }) => new ConversionRun(conversion, options));
  for (const run of runs) await carryOut(run, RELEASED);
  const extensions: ClusterExtension[] = [];
  for (const run of runs.toReversed()) extensions.unshift(await carryOut(run));
  return extensions;
}

/** @param until the last step to run @throws Error with the failed step, and how to continue or roll back */
async function carryOut(run: ConversionRun, until?: ConversionStep): Promise<ClusterExtension> {
  try {
    return await run.carryOut(until);
  } catch (err) {
    if (run.signal.aborted || !(err instanceof Error) || err instanceof OperatorUpgradedError) throw err;
    err.message += `. To continue, run olmv1 migrate convert again. To roll back, run olmv1 migrate rollback ${run.name} --yes`;
    throw err;
  }
}

class ConversionRun {
  readonly #conversion: Conversion;
  readonly #options: ConversionOptions;
  #extension: ClusterExtension;
  #marks: readonly RemovedMarks[];

  constructor(conversion: Conversion, options: ConversionOptions) {
    this.#conversion = conversion;
    this.#options = options;
    this.#marks = conversion.marks ?? [];
    this.#extension = conversion.source.extension;
  }

  get signal(): AbortSignal {
    return this.#options.signal;
  }

  get name(): string {
    return this.#conversion.source.extension.metadata.name;
  }

  /** Runs the steps that are left. @param until the last step to run; default: all steps */
  async carryOut(until?: ConversionStep): Promise<ClusterExtension> {
    const { report, done, signal } = this.#options;
    const steps: Readonly<Record<ConversionStep, { what: string; run: () => Promise<void> }>> = {
      Prepared: { what: "preparing the extension", run: () => this.#prepare() },
      Granted: { what: "creating the roles of the bundle", run: () => this.#grant() },
      BackedUp: { what: "backing up the ClusterServiceVersion", run: () => this.#backUp() },
      Terminating: { what: "deleting the ClusterServiceVersion, kept by a finalizer", run: () => this.#terminate() },
      Unsubscribed: { what: "deleting the Subscription", run: () => this.#unsubscribe() },
      Marked: { what: "marking the objects", run: () => this.#mark() },
      Detached: { what: "removing the finalizer of the ClusterServiceVersion", run: () => this.#detach() },
      Installed: { what: "waiting for operator-controller to adopt the objects", run: () => this.#install() },
    };
    const existing = await this.#read();
    if (existing) this.#extension = existing;
    const last = parseConversionStep(existing?.metadata.annotations?.[ANNOTATION_STEP]);
    const first = last === undefined ? 0 : CONVERSION_STEPS.indexOf(last) + 1;
    const end = until === undefined ? CONVERSION_STEPS.length : CONVERSION_STEPS.indexOf(until) + 1;
    for (const step of CONVERSION_STEPS.slice(first, end)) {
      signal.throwIfAborted();
      report(steps[step].what);
      await steps[step].run();
      await this.#annotate({ [ANNOTATION_STEP]: step });
      done(step);
    }
    if (until === undefined && this.#options.unpin) await this.#unpin();
    return this.#extension;
  }

  /** Creates the extension first, because the marks contain its uid. Creates it suspended, so that the controller does not reconcile it yet. */
  async #prepare(): Promise<void> {
    const { source, installerManifests } = this.#conversion;
    const { client } = this.#options;
    for (const object of installerManifests) await client.apply(object, { fieldManager: MIGRATION_FIELD_MANAGER, force: true });
    if (this.#extension.metadata.uid !== undefined) return;
    const annotations = {
      ...source.extension.metadata.annotations,
      [ANNOTATION_SUBSCRIPTION_BACKUP]: formatBackup(source.subscription),
      ...(source.group ? { [ANNOTATION_OPERATOR_GROUP_BACKUP]: formatBackup(source.group) } : {}),
    };
    const { metadata, spec } = source.extension;
    this.#extension = await client.create<ClusterExtension>(
      { ...source.extension, metadata: { ...metadata, annotations }, spec: { ...spec, suspend: true } },
      { fieldManager: MIGRATION_FIELD_MANAGER },
    );
  }

  async #backUp(): Promise<void> {
    if (this.#conversion.marks) return; // interrupted after the backup was written, but before the step was recorded
    const { source, csv, objects } = this.#conversion;
    const { client, signal } = this.#options;
    const marks = await findMarksToRemove(client, objects, csv, signal);
    this.#marks = marks;
    await this.#annotate({ [ANNOTATION_BACKUP_DIGEST]: await keepBackup(client, this.name, this.#namespace, { csv: source.csv, marks }) });
  }

  async #grant(): Promise<void> {
    for (const object of this.#conversion.grants) {
      this.#options.signal.throwIfAborted();
      await this.#options.client.apply(withOwner(object, this.#owner), { fieldManager: MIGRATION_FIELD_MANAGER, force: true });
    }
  }

  /** Removes the owner labels of cluster-scoped objects first: OLM v0 deletes cluster-scoped objects with these labels. */
  async #terminate(): Promise<void> {
    const { client, signal } = this.#options;
    await requireSameVersion(client, this.#conversion.source, { isTerminated: false, signal });
    const labelled = this.#marks.filter(({ ref, labels }) => ref.namespace === undefined && labels["olm.owner"] !== undefined);
    await handOver(client, labelled, { csv: this.#conversion.csv, owner: this.#owner, signal });
    await terminate(client, toObjectRef(this.#conversion.source.csv), signal);
  }

  async #unsubscribe(): Promise<void> {
    const { client, signal } = this.#options;
    await requireSameVersion(client, this.#conversion.source, { isTerminated: true, signal });
    const { subscription } = this.#conversion.source;
    if (!isOrphan(subscription)) await deleteOrphaning(client, toObjectRef(subscription), signal);
  }

  async #mark(): Promise<void> {
    const { client, signal } = this.#options;
    await handOver(client, this.#marks, { csv: this.#conversion.csv, owner: this.#owner, signal });
  }

  /** Lets the ClusterServiceVersion go. OLM v0 then disables conversion webhooks. */
  async #detach(): Promise<void> {
    const { client, signal } = this.#options;
    await releaseCsv(client, toObjectRef(this.#conversion.source.csv), signal);
    await keepConverting(client, this.#marks);
    await this.#mark();
  }

  async #install(): Promise<void> {
    const { client, timeoutMs, signal, report } = this.#options;
    await takeOver(client, this.#extension, this.#ref, { timeoutMs, signal, report });
  }

  async #unpin(): Promise<void> {
    const { client } = this.#options;
    if (parseSubscription(this.#conversion.source.subscription).approval === "Manual") return;
    const body = { spec: { source: { catalog: { version: null } } } };
    this.#extension = await client.patch(this.#ref, body, { type: "merge", fieldManager: MIGRATION_FIELD_MANAGER });
  }

  async #annotate(annotations: Record<string, string>): Promise<void> {
    const body = { metadata: { annotations } };
    this.#extension = await this.#options.client.patch(this.#ref, body, { type: "merge", fieldManager: MIGRATION_FIELD_MANAGER });
  }

  #read(): Promise<ClusterExtension | undefined> {
    return this.#options.client.get<ClusterExtension>(this.#ref);
  }

  get #namespace(): string {
    return getNamespace(this.#conversion.source.extension);
  }

  get #ref(): ObjectRef {
    return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: this.name };
  }

  get #owner(): ObjectOwner {
    const { uid } = this.#extension.metadata;
    if (uid === undefined) throw new Error(`${CLUSTER_EXTENSION} "${this.name}" has no uid`);
    return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: this.name, uid };
  }
}
