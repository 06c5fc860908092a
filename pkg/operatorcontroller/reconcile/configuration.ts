import { isDeepStrictEqual } from "node:util";
import { type ClusterExtension, getNamespace } from "../../api/clusterExtension.ts";
import { Reason } from "../../api/constants.ts";
import type { JsonObject, ObjectRef } from "../../api/k8s.ts";
import { newProblem } from "../../api/problems.ts";
import { getErrorMessage, RetryableError, TerminalError } from "../../errors/errors.ts";
import type { Client } from "../../kube/client.ts";
import { isForbidden } from "../../kube/errors.ts";
import { findKnownResource } from "../../rbac/resources.ts";
import { checkConfigSize } from "../../render/configLimits.ts";
import { mergeConfig, type ReadSource } from "../../render/configSources.ts";
import { getWatchIdentity } from "../permissions/identity.ts";
import { findMissingPermissions } from "../permissions/permissions.ts";
import { type UnblockCheck, WaitingError } from "../state/conditionPoller.ts";
import type { ReconcileStep, Resolved } from "../state/phases.ts";
import { formatUnwatched } from "../watches/objectWatches.ts";
import type { ReadObject } from "../watches/sourceWatches.ts";
import type { Services } from "./services.ts";

/** Returns the objects in `spec.config.valuesFrom`, in this order and without duplicates. */
function listSourceRefs(extension: Pick<ClusterExtension, "spec">): ObjectRef[] {
  const namespace = getNamespace(extension);
  const named = (extension.spec.config?.valuesFrom ?? []).map(({ kind, name }) => [`${kind}/${name}`, { kind, name }] as const);
  return [...new Map(named).values()].map(({ kind, name }) => ({ apiVersion: "v1", kind, name, namespace }));
}

/** The objects that were read, and the errors for the others. */
interface ConfigSourceReads {
  readonly read: readonly ReadSource[];
  readonly failures: readonly unknown[];
}

/** Reads all objects of `spec.config.valuesFrom`, only in spec.namespace, with the identity of `client`. */
async function readSources(
  client: Pick<Client, "get">,
  extension: Pick<ClusterExtension, "spec">,
  signal: AbortSignal,
): Promise<ConfigSourceReads> {
  const refs = listSourceRefs(extension);
  const answers = await Promise.allSettled(refs.map((ref) => client.get(ref, { signal })));
  signal.throwIfAborted();
  const failures = answers.flatMap((answer): unknown[] => (answer.status === "rejected" ? [answer.reason] : []));
  const read = (extension.spec.config?.valuesFrom ?? []).map((source): ReadSource => {
    const answer = answers[refs.findIndex(({ kind, name }) => kind === source.kind && name === source.name)];
    return { source, object: answer?.status === "fulfilled" ? answer.value : undefined };
  });
  return { read, failures };
}

/** Dependencies of reading the configuration. */
export interface ConfigurationServices extends Pick<Services, "driftIntervalMs">, Partial<Pick<Services, "sources">> {
  /**
   * Whether the reconcile acts as the extension's ServiceAccount. If so, a denied request is explained by the missing
   * permissions. Default: true.
   */
  readonly isServiceAccount?: boolean;
  /** Reports whether permission-manager grants the permissions of an extension. Default: of none. */
  readonly managed?: Pick<Services["managed"], "covers">;
}

/**
 * Builds the configuration from `spec.config` and the objects in `valuesFrom`, which are read as the extension's
 * ServiceAccount:
 *
 * | sources                               | the reconcile                                                         |
 * | an earlier release is pinned          | continues, because nothing is rendered                                |
 * | `spec.config.inline` is too large     | ends with InvalidConfiguration until the extension changes            |
 * | none                                  | continues with `spec.config.inline`                                   |
 * | all are readable and can be merged    | continues                                                             |
 * | reading one is forbidden              | ends; resumes when the permission is granted                          |
 * | one is missing and not optional       | ends; resumes when it exists                                          |
 * | one contains anything except an object   | ends with InvalidConfiguration until it or the extension changes      |
 * | one determines managed permissions       | the same, because permission-manager does not read the sources        |
 *
 * Every message hides the values from these objects.
 */
export function readConfiguration(services: ConfigurationServices): ReconcileStep<Resolved> {
  const { sources: watches, driftIntervalMs, isServiceAccount = true, managed } = services;
  return {
    name: "ReadConfiguration",
    async run(phase, { signal, log }) {
      const { extension, client, hidden, pinned } = phase;
      const { name } = extension.metadata;
      if (!pinned) checkConfigSize(extension.spec.config?.inline);
      if (!extension.spec.config?.valuesFrom || pinned) {
        watches?.forget(name);
        return phase;
      }
      const { config } = extension.spec;
      const sources = await readSources(client, extension, signal);
      const merged = mergeConfig(sources.read, getNamespace(extension), config?.inline);
      hidden.add(merged.texts);
      watches?.follow(name, getWatchIdentity(extension, client), listObjects(extension, sources));
      if (sources.failures.length > 0) {
        const explained = isServiceAccount && sources.failures.every(isForbidden);
        throw explained ? await createDeniedError(phase, sources.failures, signal) : createReadError(sources.failures);
      }
      if (!merged.config) throw createSourcesError(merged, checkChangedSince(client, extension, sources));
      checkConfigSize(merged.config);
      const misplaced = managed?.covers(extension) ? listMisplaced(merged.config, config?.inline) : [];
      if (misplaced.length > 0)
        throw createSourcesError({ missing: [], invalid: misplaced }, checkChangedSince(client, extension, sources));
      const identities = sources.read.map(({ object }) => object?.metadata.uid ?? "");
      log.debug({ sources: sources.read.length }, "configuration read");
      const next: Resolved = { ...phase, sourcedConfig: { config: merged.config, identities } };
      const unwatched = watches?.unwatched(name) ?? [];
      if (unwatched.length > 0)
        phase.report.problems.push(newProblem("ConfigurationWarning", { message: formatUnwatched(unwatched, driftIntervalMs) }));
      return next;
    },
  };
}

/** Returns a message for each member that determines permissions and is not in `inline`, where permission-manager reads it. */
function listMisplaced(merged: JsonObject, inline: JsonObject = {}): string[] {
  const [desired, known] = [listPermissionMembers(merged), listPermissionMembers(inline)];
  return Object.keys(desired)
    .filter((member) => !isDeepStrictEqual(desired[member], known[member]))
    .map((member) => `${member} must be in spec.config.inline, because permission-manager does not read valuesFrom`);
}

/** Returns the members of a configuration that determine which objects a bundle has, and where. */
function listPermissionMembers({ watchNamespace, watchNamespaces, deploymentConfig, deploymentConfigs }: JsonObject): JsonObject {
  const configs: unknown[] = [deploymentConfig, ...(Array.isArray(deploymentConfigs) ? deploymentConfigs : [])];
  const trustedCA = configs.map((one) => (one as JsonObject | null | undefined)?.["trustedCA"]).filter((one) => one !== undefined);
  return { watchNamespace, watchNamespaces, trustedCA };
}

/** Returns the error for sources that cannot be merged. The controller retries when one of the sources has changed. */
function createSourcesError({ missing, invalid }: { missing: readonly string[]; invalid: readonly string[] }, isOver: UnblockCheck): Error {
  const text = [...invalid, ...missing].join("; ");
  const details = (texts: readonly string[]) => texts.map((message) => ({ path: "valuesFrom", message }));
  const problems = [newProblem("ConfigurationSourceNotFound", { message: text, details: details(missing) })];
  const waiting = new WaitingError(Reason.Retrying, text, { isOver, problems });
  if (invalid.length === 0) return waiting;
  const message = `invalid ClusterExtension configuration: ${text}`;
  return new TerminalError(Reason.InvalidConfiguration, message, {
    cause: waiting,
    problems: [newProblem("InvalidConfiguration", { message: text, details: details([...invalid, ...missing]) })],
  });
}

function createReadError(failures: readonly unknown[]): RetryableError {
  return new RetryableError(Reason.Retrying, `cannot read spec.config.valuesFrom: ${failures.map(getErrorMessage).join("; ")}`, {
    cause: failures[0],
  });
}

/** Returns an error with the missing rules. The controller retries when the rules are granted. */
async function createDeniedError(phase: Resolved, failures: readonly unknown[], signal: AbortSignal): Promise<Error> {
  const { extension, client, releases, bundle } = phase;
  const [first] = failures;
  const images = [releases.installed?.image, bundle.image].filter((image) => image !== undefined);
  const request = { extension, desired: [], pruned: [], images, resourceOf: findKnownResource };
  const lacking = await findMissingPermissions(client, request, signal);
  if (lacking)
    return new WaitingError(Reason.Retrying, lacking.text, { cause: first, isOver: lacking.isOver, problems: [lacking.problem] });
  const isOver: UnblockCheck = async (until) => !(await readSources(client, extension, until)).failures.some(isForbidden);
  const { message } = createReadError(failures);
  return new WaitingError(Reason.Retrying, message, { cause: first, isOver, problems: [newProblem("MissingPermissions", { message })] });
}

function listObjects(extension: Readonly<ClusterExtension>, { read }: ConfigSourceReads): ReadObject[] {
  return listSourceRefs(extension).map((ref) => {
    const found = read.find(({ source }) => source.kind === ref.kind && source.name === ref.name);
    return { ref, resourceVersion: found?.object?.metadata.resourceVersion };
  });
}

function checkChangedSince(client: Pick<Client, "get">, extension: Readonly<ClusterExtension>, before: ConfigSourceReads): UnblockCheck {
  const formatVersions = (sources: ConfigSourceReads): string =>
    JSON.stringify(listObjects(extension, sources).map(({ resourceVersion }) => resourceVersion ?? null));
  return async (signal) => formatVersions(await readSources(client, extension, signal)) !== formatVersions(before);
}
