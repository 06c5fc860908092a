import type { ClusterExtension } from "../api/clusterExtension.ts";
import { CLI_MANAGER, LABEL_CREATED_FOR, LABEL_DEPENDENCY, LABEL_PERMISSIONS_FOR } from "../api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import { mapInParallel } from "../async/concurrency.ts";
import { WaitTimeoutError } from "../async/poll.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { goQuote } from "../golang/quote.ts";
import { removeObjects, waitUntilGone } from "../installer/installerObjects.ts";
import type { Client } from "../kube/client.ts";
import { isConflict, isNotFound, isPassing, KindNotServed } from "../kube/errors.ts";
import { dependentLabel } from "../operatorcontroller/dependencies/dependencyLabels.ts";
import { removeReleases } from "../operatorcontroller/reconcile/delete.ts";
import { ReleaseStore } from "../operatorcontroller/releases/releaseStore.ts";
import { describeObject } from "../release/identity.ts";
import { determineOwnership, type Owner } from "../release/ownership.ts";
import { buildSuspension, sendPatch } from "../rollout/changes.ts";
import { buildExtensionRef, buildPermissionsRef } from "../rollout/extensions.ts";
import { waitUntilSuspended } from "../rollout/suspension.ts";
import type { EjectPreview } from "./ejectPreview.ts";
import { buildDetachPatch, type HelmRelease } from "./ownMarks.ts";

/** Options of an eject. */
export interface EjectOptions {
  /** The release that owns the objects afterwards; undefined for plain manifests. */
  readonly helm: HelmRelease | undefined;
  readonly systemNamespace: string;
  /** Maximum time of each wait in milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Writes the manifests. Called when the releases can no longer change, before anything else is changed. */
  readonly writeManifests: () => Promise<void>;
  /** Receives one line for each completed step. */
  readonly report: (line: string) => void;
}

const PARALLEL = 8;
/** Attempts to patch an object that others change at the same time. */
const ATTEMPTS = 10;

/**
 * Stops managing an extension and keeps its objects. Changes only metadata of the objects, so no Pod is replaced. The steps, each safe to repeat:
 * - sends all changes of objects as a dry run, so that a denied request changes nothing
 * - suspends the extension, so that the controller does not restore its marks, and checks that its releases are those of the preview
 * - writes the manifests
 * - removes the marks from all objects and from the namespace, and makes dependencies extensions of their own
 * - deletes the extension with propagation policy Orphan, so that neither the controller nor the garbage collector deletes an object
 * - deletes the releases and the objects that `olmv1 install` created, and waits until permission-manager has deleted the permissions
 * @throws Error if the releases have changed since the preview, or if the controllers do not suspend the extension, or delete it or its permissions in
 * time. A repeated call resumes while the ClusterExtension exists. Afterwards, `olmv1 uninstall` deletes the objects that `olmv1 install` created.
 */
export async function ejectExtension(client: Client, preview: EjectPreview, options: EjectOptions): Promise<void> {
  const { extension, created, dependencies, history, namespace } = preview;
  const { helm, signal, report } = options;
  const { name, uid = "" } = extension.metadata;
  const owner = { name, uid, installNamespace: namespace };
  const detachAll = (dryRun: boolean): Promise<boolean[]> =>
    mapInParallel(preview.marked, PARALLEL, (ref) => detach(client, ref, { owner, helm, dryRun, signal }));
  await detachAll(true);
  if (extension.metadata.deletionTimestamp === undefined) {
    await suspend(client, preview, options);
    report("the controller suspended the extension");
  } else {
    await options.writeManifests();
  }
  const detached = await detachAll(false);
  report(`removed the marks of ${detached.filter(Boolean).length} objects`);
  await detachNamespace(client, name, namespace, signal);
  for (const dependency of dependencies) {
    const labels = { [dependentLabel(extension)]: null, [LABEL_DEPENDENCY]: null };
    const body = { metadata: { uid: dependency.metadata.uid, labels } };
    await client.patch(buildExtensionRef(dependency.metadata.name), body, { type: "merge", fieldManager: CLI_MANAGER, signal });
  }
  await client.delete(buildExtensionRef(name), { ...(uid === "" ? {} : { uid }), propagationPolicy: "Orphan", signal });
  await requireGone(client, extension, "Run the command again to resume", options);
  report(`deleted ClusterExtension ${name}`);
  await removeReleases({ releases: new ReleaseStore(client, options.systemNamespace) }, name, history, signal);
  report("deleted the releases");
  await removeObjects(client, created, (object) => report(`deleted ${describeObject(object)}`));
  const permissions = await client.get(buildPermissionsRef(name), { metadataOnly: true, signal });
  const next = "permission-manager deletes it when it runs; nothing else is left to do";
  if (permissions) await requireGone(client, { ...permissions, ...buildPermissionsRef(name) }, next, options);
}

/**
 * Sets spec.suspend, waits until the controller has observed it, and writes the manifests.
 * @throws Error with spec.suspend as before if one of these fails, or if the releases are not those of the preview
 */
async function suspend(client: Client, { extension, history }: EjectPreview, options: EjectOptions): Promise<void> {
  const { systemNamespace, timeoutMs, signal } = options;
  const { name, uid = "" } = extension.metadata;
  let suspended: ClusterExtension | undefined;
  try {
    suspended = await sendPatch<ClusterExtension>(client, buildSuspension(extension, true));
    await waitUntilSuspended(client, suspended, { timeoutMs, signal });
    // The controller can complete a rollout while the user reads the preview.
    const { etag } = await new ReleaseStore(client, systemNamespace).history({ name, uid }, { known: history, signal });
    if (etag !== history.etag)
      throw new Error(
        `cannot eject ClusterExtension ${goQuote(name)}: its releases changed while they were shown (no changes were made). Run the command again`,
      );
    await options.writeManifests();
  } catch (cause) {
    // Without a response, the API server may have stored the change.
    if (suspended !== undefined || isPassing(cause)) await restoreSuspension(client, extension, cause);
    if (!(cause instanceof WaitTimeoutError)) throw cause;
    throw new Error(
      `cannot eject: operator-controller did not suspend ClusterExtension ${name} within ${timeoutMs / 1_000} s. Check it with olmv1 doctor`,
      { cause },
    );
  }
}

/** Sets spec.suspend as before, also after an abort. @throws Error that describes `cause` and the command that does this, if it fails */
async function restoreSuspension(client: Client, extension: ClusterExtension, cause: unknown): Promise<void> {
  if (extension.spec.suspend) return;
  const { name } = extension.metadata;
  try {
    await sendPatch(client, buildSuspension(extension, false));
  } catch (err) {
    if (isNotFound(err)) return;
    const body = JSON.stringify({ spec: { suspend: false } });
    throw new Error(
      `cannot eject ClusterExtension ${goQuote(name)}: ${getErrorMessage(cause)}. It remains suspended: ${getErrorMessage(err)}. Resume it with kubectl patch clusterextension ${name} --type merge -p '${body}'`,
      { cause: err },
    );
  }
}

/** How to remove marks. */
interface Detachment {
  readonly owner: Owner;
  readonly helm: HelmRelease | undefined;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

/** Removes the marks from one object that belongs to the extension. @returns whether it did */
async function detach(client: Client, ref: ObjectRef, { owner, helm, dryRun, signal }: Detachment): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    const live = await client.get(ref, { signal }).catch((err: unknown) => {
      if (err instanceof KindNotServed) return undefined;
      throw err;
    });
    if (!live || determineOwnership(live, owner).kind !== "ours") return false;
    try {
      await client.patch(ref, buildDetachPatch(live, owner.uid, helm), { type: "merge", fieldManager: CLI_MANAGER, dryRun, signal });
      return true;
    } catch (err) {
      if (!isConflict(err) || attempt === ATTEMPTS) throw err;
    }
  }
}

/** Removes the labels that let permission-manager and `olmv1 uninstall` find and delete the namespace. */
async function detachNamespace(client: Client, extension: string, name: string, signal: AbortSignal): Promise<void> {
  const ref = { apiVersion: "v1", kind: "Namespace", name };
  const found = await client.get(ref, { metadataOnly: true, signal });
  const marks = [LABEL_PERMISSIONS_FOR, LABEL_CREATED_FOR].filter((label) => found?.metadata.labels?.[label] === extension);
  if (!found || marks.length === 0) return;
  const labels = Object.fromEntries(marks.map((label) => [label, null]));
  await client.patch(ref, { metadata: { uid: found.metadata.uid, labels } }, { type: "merge", fieldManager: CLI_MANAGER, signal });
}

/** Waits until an object is gone. @throws Error with the next step if it still exists after the timeout */
async function requireGone(client: Client, object: KubeObject, next: string, { timeoutMs, signal }: EjectOptions): Promise<void> {
  const left = await waitUntilGone(client, object, Date.now() + timeoutMs, signal);
  if (!left) return;
  const { finalizers = [] } = left.metadata;
  const why = finalizers.length > 0 ? `: its finalizers are ${finalizers.join(", ")}` : "";
  throw new Error(`${describeObject(toObjectRef(object))} still exists after ${timeoutMs / 1_000} s${why}. ${next}`);
}
