import type { ClusterExtension } from "../api/clusterExtension.ts";
import { LABEL_PERMISSIONS_FOR } from "../api/constants.ts";
import { type KubeObject, type ObjectRef, toObjectRef } from "../api/k8s.ts";
import { createTimeoutSignal } from "../async/clock.ts";
import { mapInParallel } from "../async/concurrency.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { getCatalogRef } from "../installer/catalogObject.ts";
import { waitUntilGone } from "../installer/installerObjects.ts";
import type { Client } from "../kube/client.ts";
import { KindNotServed } from "../kube/errors.ts";
import { describeObject } from "../release/identity.ts";
import { findMostRelevantCondition } from "../rollout/conditionAdvice.ts";
import { buildExtensionRef, buildPermissionsRef } from "../rollout/extensions.ts";
import { readInstalledObjects } from "../rollout/inventory.ts";
import { formatList } from "../text/lists.ts";
import type { TrialImages } from "./trialImages.ts";
import { StepFailed } from "./trialReport.ts";

const PARALLEL = 8;
const NAMES_SHOWN = 10;
/** Time in milliseconds for a request after the deadline of its step. */
const REQUEST_MS = 30_000;

/**
 * Uninstalls the extension of a trial if it exists, and checks that no object of its bundle remains.
 * @param name of the extension, which no other extension has
 * @throws StepFailed with the objects that remain, or with what delays the uninstall
 */
export async function uninstallTrial(
  client: Client,
  name: string,
  { systemNamespace, timeoutMs }: { readonly systemNamespace: string; readonly timeoutMs: number },
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  const signal = createTimeoutSignal(timeoutMs + REQUEST_MS);
  const current = await client.get<ClusterExtension>(buildExtensionRef(name), { signal });
  const { refs } = current ? await readInstalledObjects(client, current, systemNamespace) : { refs: [] };
  await client.delete(buildExtensionRef(name), { signal });
  const left = current && (await waitUntilGone(client, current, deadline, signal));
  if (left) {
    const condition = findMostRelevantCondition(left.status?.conditions);
    const why = condition ? `: ${condition.reason}: ${condition.message}` : "";
    throw new StepFailed(`ClusterExtension ${name} still exists after ${timeoutMs / 1_000} s${why}`);
  }
  const permissions = await client.get(buildPermissionsRef(name), { metadataOnly: true, signal });
  const remaining = await findRemaining(client, refs, deadline, signal);
  if (permissions && (await waitUntilGone(client, { ...permissions, ...buildPermissionsRef(name) }, deadline, signal)))
    remaining.push(`ExtensionPermissions ${name}`);
  if (remaining.length > 0) throw new StepFailed(`objects remain after the uninstall: ${formatList(remaining, { max: NAMES_SHOWN })}`);
}

/** Returns the objects that still exist at the deadline. Objects of a kind that is no longer served are gone. */
async function findRemaining(client: Client, refs: readonly ObjectRef[], deadline: number, signal: AbortSignal): Promise<string[]> {
  const found = await mapInParallel(refs, PARALLEL, async (ref) => {
    const live = await client.get(ref, { metadataOnly: true, signal }).catch((err: unknown) => {
      if (err instanceof KindNotServed) return undefined;
      throw err;
    });
    const left = live && (await waitUntilGone(client, { ...live, apiVersion: ref.apiVersion, kind: ref.kind }, deadline, signal));
    return left ? [describeObject(ref)] : [];
  });
  return found.flat();
}

/** The objects and names of a trial, except its extension. */
interface TrialLeftovers {
  readonly name: string;
  readonly namespace: string;
  /** Whether a ClusterCatalog with the name of the trial may exist. */
  readonly mayHaveCatalog: boolean;
}

/**
 * Deletes the catalog of a trial, its namespace if permission-manager created it for the trial, and its images. Continues after an error.
 * @throws StepFailed that lists what remains, with the reasons
 */
export async function removeTrialObjects(
  client: Client,
  { name, namespace, mayHaveCatalog }: TrialLeftovers,
  images: TrialImages,
  timeoutMs: number,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  const signal = createTimeoutSignal(timeoutMs + REQUEST_MS);
  const problems: string[] = [];
  const attempt = async (what: string, work: () => Promise<string[]>): Promise<void> => {
    problems.push(...(await work().catch((err: unknown) => [`${what}: ${getErrorMessage(err)}`])));
  };
  const remove = async (object: KubeObject): Promise<string[]> => {
    const { uid } = object.metadata;
    await client.delete(toObjectRef(object), { ...(uid === undefined ? {} : { uid }), signal });
    const left = await waitUntilGone(client, object, deadline, signal);
    return left ? [`${describeObject(object)} still exists after ${timeoutMs / 1_000} s`] : [];
  };
  if (mayHaveCatalog) {
    const ref = getCatalogRef(name);
    await attempt(describeObject(ref), async () => {
      const found = await client.get(ref, { signal });
      return found ? remove(found) : [];
    });
  }
  await attempt(`Namespace ${namespace}`, async () => {
    const ref = { apiVersion: "v1", kind: "Namespace", name: namespace };
    const found = await client.get(ref, { metadataOnly: true, signal });
    const isOurs = found?.metadata.labels?.[LABEL_PERMISSIONS_FOR] === name;
    return found && isOurs ? remove({ ...found, apiVersion: ref.apiVersion, kind: ref.kind }) : [];
  });
  await attempt("images", () => images.remove(signal));
  if (problems.length > 0) throw new StepFailed(`not removed: ${problems.join("; ")}`);
}
