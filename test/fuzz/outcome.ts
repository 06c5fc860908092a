import { API_VERSION, CLUSTER_EXTENSION, Reason } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { readRequirements } from "../../pkg/bundle/requirements.ts";
import type { BundleFiles } from "../../pkg/bundle/types.ts";
import { findProvider } from "../../pkg/certificates/providers.ts";
import { ReconcileError } from "../../pkg/errors/errors.ts";
import { writeExactJson } from "../../pkg/golang/json.ts";
import { computeRequiredRules } from "../../pkg/rbac/requiredRules.ts";
import { findKnownResource } from "../../pkg/rbac/resources.ts";
import { buildUserRoles } from "../../pkg/rbac/userRoles.ts";
import { requireIdentities } from "../../pkg/release/identity.ts";
import { sortForInstall } from "../../pkg/release/plan.ts";
import { prepareObjects } from "../../pkg/release/prepare.ts";
import { type RenderOptions, renderBundle } from "../../pkg/render/render.ts";

/** Maximum length of a message about a bundle. */
const MAX_MESSAGE_BYTES = 32 * 1024;
/** Fragments of JavaScript's own error messages. */
const RAW =
  /Cannot (?:read|set|convert|destructure|mix|assign|redefine|add|delete)|is not (?:a function|iterable|defined|an object|a constructor|extensible)|\(reading '|Maximum call stack|Invalid (?:array|string|BigInt|time|regular)|circular structure|BigInt|ERR_[A-Z]|\[object Object\]|at .+\.ts:\d/;

/** Result of a bundle: the number of objects or the start of the error, and a fault if the result is wrong. */
export interface Outcome {
  readonly result: string;
  readonly fault?: string;
}

/**
 * Performs all steps of a reconcile that precede its requests to the cluster, and checks the result. If the configuration is
 * invalid for the bundle, also tries other configurations, to cover more code.
 */
export function checkBundleCase(files: BundleFiles, options: RenderOptions): Outcome {
  let outcome = renderOutcome(files, options);
  for (const watchNamespace of [options.installNamespace, "watched"]) {
    if (outcome.fault !== undefined || !outcome.isMisconfigured) break;
    outcome = renderOutcome(files, { ...options, config: { watchNamespace } });
  }
  return outcome;
}

function renderOutcome(files: BundleFiles, options: RenderOptions): Outcome & { isMisconfigured?: boolean } {
  let objects: readonly KubeObject[];
  try {
    objects = prepareAll(files, options);
  } catch (err) {
    const isMisconfigured = err instanceof ReconcileError && err.reason === Reason.InvalidConfiguration;
    return { result: String(err).slice(0, 300), isMisconfigured, ...findFault(err) };
  }
  const odd = objects.find(({ kind, metadata }) => typeof kind !== "string" || typeof metadata?.name !== "string");
  const result = `${objects.length} objects`;
  return odd ? { result, fault: `object without kind or name: ${JSON.stringify(odd).slice(0, 200)}` } : { result };
}

function prepareAll(files: BundleFiles, options: RenderOptions): readonly KubeObject[] {
  const bundle = loadBundle(files);
  readRequirements(bundle);
  const rendered = renderBundle(bundle, options);
  requireIdentities(rendered);
  const objects = [...rendered, ...buildUserRoles(rendered)];
  findProvider(objects);
  const owner = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "fuzzed", uid: "1" };
  const { installNamespace } = options;
  const { objects: applied } = prepareObjects(objects, {
    owner,
    installNamespace,
    isNamespaced: (gvk) => findKnownResource(gvk)?.namespaced,
    bundle: { packageName: bundle.packageName, version: bundle.csv.spec.version },
  });
  computeRequiredRules(applied, { installNamespace, crdPolicy: "Retain", resourceOf: findKnownResource });
  for (const object of sortForInstall(applied)) writeExactJson(object);
  return applied;
}

function findFault(err: unknown): { fault?: string } {
  if (!(err instanceof ReconcileError)) return { fault: `unexpected error: ${err instanceof Error ? err.stack : String(err)}` };
  return findMessageFault(err.message);
}

/** Returns the fault of an error message. */
export function findMessageFault(message: string): { fault?: string } {
  const bytes = Buffer.byteLength(message);
  if (message === "") return { fault: "error without a message" };
  if (bytes > MAX_MESSAGE_BYTES) return { fault: `error message of ${bytes} bytes: ${message.slice(0, 200)}` };
  const raw = RAW.exec(message)?.[0];
  if (raw !== undefined) return { fault: `error message with internal details (${raw}): ${message.slice(0, 400)}` };
  return {};
}
