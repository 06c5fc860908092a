import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import { type ObjectRef, refOf } from "../../../pkg/api/k8s.ts";
import type { RemovedMarks } from "../../../pkg/migrate/ownershipMarks.ts";
import {
  ANNOTATION_BACKUP_DIGEST,
  ANNOTATION_OPERATOR_GROUP_BACKUP,
  ANNOTATION_STEP,
  ANNOTATION_SUBSCRIPTION_BACKUP,
  CONVERSION_STEPS,
  type ConversionStep,
  conversionStep,
  MIGRATION_FIELD_MANAGER,
} from "../../../pkg/api/migration.ts";
import { backupText } from "../../../pkg/migrate/objectBackup.ts";
import { subscriptionFrom } from "../../../pkg/migrate/subscription.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import type { ObjectOwner } from "../../../pkg/release/labels.ts";
import { keepBackup } from "./backup.ts";
import type { Conversion } from "./conversion.ts";
import { handOver, keepConverting, marksToRemove } from "./handover.ts";
import { deleteOrphaning } from "./orphaning.ts";
import { takeOver } from "./takeOver.ts";

/** How a conversion is carried out. */
export interface ConvertOptions {
  readonly client: Client;
  /** Lets an extension whose Subscription had approval Automatic go on to newer versions once it is done. */
  readonly unpin: boolean;
  /** For operator-controller to take everything over. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly tell: (what: string) => void;
  /** Called with each step once it is done. */
  readonly done: (step: ConversionStep) => void;
}

/**
 * Carries out a conversion in steps, each of which can be done again; the extension's annotation says which is done, so that one that was
 * interrupted goes on where it was. Nothing of the workload is written but the marks of its owner.
 *
 * | step         | afterwards                                                                                              |
 * | Prepared     | the ServiceAccount may install the bundle; the extension exists, suspended, with the backups of Subscription and OperatorGroup |
 * | BackedUp     | a Secret holds the ClusterServiceVersion, and what is going to be taken off each object                  |
 * | Unsubscribed | the Subscription is gone, so that nothing is upgraded meanwhile                                         |
 * | Marked       | no object names the ClusterServiceVersion; those of the bundle name the extension with its uid         |
 * | Detached     | the ClusterServiceVersion is gone                                                                       |
 * | Installed    | operator-controller has taken everything over, and it is ready                                          |
 *
 * @throws Error that says which step did not come right, and how to go on or back.
 */
export async function convert(conversion: Conversion, options: ConvertOptions): Promise<ClusterExtension> {
  const run = new ConversionRun(conversion, options);
  const { name } = conversion.source.extension.metadata;
  try {
    return await run.carryOut();
  } catch (err) {
    if (options.signal.aborted || !(err instanceof Error)) throw err;
    err.message += `; go on: run convert again; take it back: olmv1 migrate rollback ${name} --yes`;
    throw err;
  }
}

class ConversionRun {
  readonly #conversion: Conversion;
  readonly #options: ConvertOptions;
  #extension: ClusterExtension;
  #marks: readonly RemovedMarks[];

  constructor(conversion: Conversion, options: ConvertOptions) {
    this.#conversion = conversion;
    this.#options = options;
    this.#marks = conversion.marks ?? [];
    this.#extension = conversion.source.extension;
  }

  async carryOut(): Promise<ClusterExtension> {
    const { tell, done, signal } = this.#options;
    const steps: Readonly<Record<ConversionStep, { what: string; run: () => Promise<void> }>> = {
      Prepared: { what: "preparing the extension", run: () => this.#prepare() },
      BackedUp: { what: "backing up the ClusterServiceVersion", run: () => this.#backUp() },
      Unsubscribed: { what: "deleting the Subscription", run: () => this.#unsubscribe() },
      Marked: { what: "marking the objects", run: () => this.#mark() },
      Detached: { what: "deleting the ClusterServiceVersion", run: () => this.#detach() },
      Installed: { what: "waiting for operator-controller to take it over", run: () => this.#install() },
    };
    const existing = await this.#read();
    if (existing) this.#extension = existing;
    const last = conversionStep(existing?.metadata.annotations?.[ANNOTATION_STEP]);
    const first = last === undefined ? 0 : CONVERSION_STEPS.indexOf(last) + 1;
    for (const step of CONVERSION_STEPS.slice(first)) {
      signal.throwIfAborted();
      tell(steps[step].what);
      await steps[step].run();
      await this.#annotate({ [ANNOTATION_STEP]: step });
      done(step);
    }
    if (this.#options.unpin) await this.#unpin();
    return this.#extension;
  }

  /** The extension comes first, since what is marked names its uid. It is suspended, so that nothing is done for it meanwhile. */
  async #prepare(): Promise<void> {
    const { source, rights } = this.#conversion;
    const { client } = this.#options;
    for (const object of rights) await client.apply(object, { fieldManager: MIGRATION_FIELD_MANAGER, force: true });
    if (this.#extension.metadata.uid !== undefined) return;
    const annotations = {
      ...source.extension.metadata.annotations,
      [ANNOTATION_SUBSCRIPTION_BACKUP]: backupText(source.subscription),
      ...(source.group ? { [ANNOTATION_OPERATOR_GROUP_BACKUP]: backupText(source.group) } : {}),
    };
    const { metadata, spec } = source.extension;
    this.#extension = await client.create<ClusterExtension>(
      { ...source.extension, metadata: { ...metadata, annotations }, spec: { ...spec, suspend: true } },
      { fieldManager: MIGRATION_FIELD_MANAGER },
    );
  }

  async #backUp(): Promise<void> {
    const { source, csv, objects } = this.#conversion;
    const { client, signal } = this.#options;
    const marks = await marksToRemove(client, objects, csv, signal);
    this.#marks = marks;
    await this.#annotate({ [ANNOTATION_BACKUP_DIGEST]: await keepBackup(client, this.#name, this.#namespace, { csv: source.csv, marks }) });
  }

  async #unsubscribe(): Promise<void> {
    const { client, signal } = this.#options;
    await deleteOrphaning(client, refOf(this.#conversion.source.subscription), signal);
  }

  async #mark(): Promise<void> {
    const { client, signal } = this.#options;
    await handOver(client, this.#marks, { csv: this.#conversion.csv, owner: this.#owner, signal });
  }

  /** OLM classic may have marked an object again until it saw that the ClusterServiceVersion goes: once that is gone, it does not. */
  async #detach(): Promise<void> {
    const { client, signal } = this.#options;
    await deleteOrphaning(client, refOf(this.#conversion.source.csv), signal);
    await keepConverting(client, this.#marks);
    await this.#mark();
  }

  async #install(): Promise<void> {
    const { client, timeoutMs, signal, tell } = this.#options;
    await takeOver(client, this.#extension, this.#ref, { timeoutMs, signal, tell });
  }

  async #unpin(): Promise<void> {
    const { client } = this.#options;
    if (subscriptionFrom(this.#conversion.source.subscription).approval === "Manual") return;
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

  get #name(): string {
    return this.#conversion.source.extension.metadata.name;
  }

  get #namespace(): string {
    return this.#conversion.source.extension.spec.namespace;
  }

  get #ref(): ObjectRef {
    return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: this.#name };
  }

  get #owner(): ObjectOwner {
    const { uid } = this.#extension.metadata;
    if (uid === undefined) throw new Error(`${CLUSTER_EXTENSION} "${this.#name}" has no uid`);
    return { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: this.#name, uid };
  }
}
