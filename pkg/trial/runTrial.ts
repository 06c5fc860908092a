import type { ClusterCatalog } from "../api/clusterCatalog.ts";
import type { ClusterExtension } from "../api/clusterExtension.ts";
import { CLI_MANAGER, CLUSTER_CATALOG, CLUSTER_EXTENSION } from "../api/constants.ts";
import type { KubeObject } from "../api/k8s.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed, KubeError } from "../kube/errors.ts";
import { buildExtensionRef } from "../rollout/extensions.ts";
import type { Awaited } from "../rollout/rolloutVerdict.ts";
import { buildTrialClusterCatalog, buildTrialExtension, type TrialBundle, type TrialExtension } from "./trialCatalog.ts";
import type { TrialImages } from "./trialImages.ts";
import { removeTrialObjects, uninstallTrial } from "./trialRemoval.ts";
import { StepFailed, StepRecorder, type TrialReport, type TrialStep } from "./trialReport.ts";

/** What to try, and how. */
export interface TrialRequest extends TrialExtension {
  readonly target: TrialBundle;
  /** The previous version; the trial upgrades from it. */
  readonly from: TrialBundle | undefined;
  /** Commands to run while the bundle under test is installed. */
  readonly checks: readonly string[];
  /** Commands to run while the previous version is installed. */
  readonly fromChecks: readonly string[];
  /** Maximum time of each step in milliseconds. */
  readonly timeoutMs: number;
  /** The namespace of the releases. */
  readonly systemNamespace: string;
  /** Whether the cluster is thrown away after the trial, so that an interrupted trial and its cleanup remove nothing. */
  readonly isDisposable: boolean;
}

/** What a trial uses. */
export interface TrialTools {
  readonly client: Client;
  readonly images: TrialImages;
  /** Stops the trial, for example on Ctrl-C; then only the removal runs. */
  readonly signal: AbortSignal;
  /** Waits until a catalog is served. @returns why it is not served; undefined if it is served */
  awaitCatalog(created: ClusterCatalog): Promise<string | undefined>;
  /** Waits until an extension is ready. @returns why it is not ready; undefined if it is ready */
  awaitRollout(name: string, awaited: Awaited): Promise<string | undefined>;
  /** Runs a command of the user with the names of the trial. @returns its output @throws StepFailed */
  check(command: string, bundle: TrialBundle): Promise<string>;
  /** Receives each step when it ends. */
  report(step: TrialStep): void;
}

/** Maximum time of each part of the removal after an interrupt, in milliseconds. */
const INTERRUPTED_MS = 60_000;

/**
 * Tries a bundle: publishes a catalog with it, installs the previous version if there is one, upgrades to the bundle, runs the checks, and uninstalls
 * it. Removes everything afterwards, also after a failed step or an abort of the signal.
 * Never throws: errors fail their step.
 */
export async function runTrial(request: TrialRequest, tools: TrialTools): Promise<TrialReport> {
  const { name, target, from } = request;
  const recorder = new StepRecorder((step) => tools.report(step));
  const trial = new Trial(request, tools);
  await recorder.run("publish", () => trial.publish());
  if (from) {
    await recorder.run(`install ${from.name}`, () => trial.install(from));
    for (const command of request.fromChecks) await recorder.run(`check before the upgrade: ${command}`, () => tools.check(command, from));
    await recorder.run(`upgrade to ${target.name}`, () => trial.upgrade());
  } else {
    await recorder.run(`install ${target.name}`, () => trial.install(target));
  }
  for (const command of request.checks) await recorder.run(`check: ${command}`, () => tools.check(command, target));
  const isLeft = request.isDisposable && tools.signal.aborted;
  if (!isLeft) {
    await recorder.run("uninstall", () => trial.uninstall(), { always: trial.mayHaveExtension });
    if (!request.isDisposable) await recorder.run("clean up", () => trial.cleanUp(), { always: true });
  }
  return { name, bundle: target.name, passed: !recorder.hasFailed, steps: recorder.steps };
}

class Trial {
  readonly #request: TrialRequest;
  readonly #tools: TrialTools;
  /** Kinds of the objects that the API server may have stored. */
  readonly #mayExist = new Set<string>();

  constructor(request: TrialRequest, tools: TrialTools) {
    this.#request = request;
    this.#tools = tools;
  }

  get mayHaveExtension(): boolean {
    return this.#mayExist.has(CLUSTER_EXTENSION);
  }

  async publish(): Promise<undefined> {
    const { name, from, target } = this.#request;
    const { images, signal } = this.#tools;
    const image = await images.publish(from ? [from, target] : [target], signal);
    const catalog = await this.#create(buildTrialClusterCatalog(name, image));
    const failure = await this.#tools.awaitCatalog(catalog);
    if (failure !== undefined) throw new StepFailed(`the catalog is not served: ${failure}`);
  }

  async install(bundle: TrialBundle): Promise<undefined> {
    await this.#awaitRollout(bundle, await this.#create(buildTrialExtension(this.#request, bundle)));
  }

  async upgrade(): Promise<undefined> {
    const { client, signal } = this.#tools;
    const { name, target } = this.#request;
    const body = { spec: { source: { catalog: { version: target.version } } } };
    const patched = await client.patch<ClusterExtension>(buildExtensionRef(name), body, {
      type: "merge",
      fieldManager: CLI_MANAGER,
      signal,
    });
    await this.#awaitRollout(target, patched);
  }

  /** Uninstalls with a signal of its own, because it also runs after an abort. */
  async uninstall(): Promise<undefined> {
    const { client } = this.#tools;
    const { name, systemNamespace } = this.#request;
    if (this.mayHaveExtension) await uninstallTrial(client, name, { systemNamespace, timeoutMs: this.#removalMs });
  }

  async cleanUp(): Promise<undefined> {
    const { client, images } = this.#tools;
    const { name, namespace } = this.#request;
    const mayHaveCatalog = this.#mayExist.has(CLUSTER_CATALOG);
    await removeTrialObjects(client, { name, namespace, mayHaveCatalog }, images, this.#removalMs);
  }

  get #removalMs(): number {
    const { timeoutMs } = this.#request;
    return this.#tools.signal.aborted ? Math.min(timeoutMs, INTERRUPTED_MS) : timeoutMs;
  }

  /** Creates an object without the signal: the API server would store it after an abort too. */
  async #create<T extends KubeObject>(object: T): Promise<T> {
    const { client, signal } = this.#tools;
    signal.throwIfAborted();
    this.#mayExist.add(object.kind);
    try {
      return await client.create<T>(object, { fieldManager: CLI_MANAGER });
    } catch (err) {
      if (isRejected(err)) this.#mayExist.delete(object.kind);
      throw err;
    }
  }

  async #awaitRollout(bundle: TrialBundle, { metadata }: ClusterExtension): Promise<void> {
    const awaited = { generation: metadata.generation ?? 0, bundle: bundle.name };
    const failure = await this.#tools.awaitRollout(this.#request.name, awaited);
    if (failure !== undefined) throw new StepFailed(failure);
  }
}

/** Reports whether the API server has certainly not stored the object of a failed request. */
function isRejected(err: unknown): boolean {
  return err instanceof KindNotServed || (err instanceof KubeError && err.status < 500);
}
