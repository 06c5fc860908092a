import { API_VERSION, CLUSTER_EXTENSION, Reason } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { loadBundle } from "../../pkg/bundle/load.ts";
import { readRequirements } from "../../pkg/bundle/requirements.ts";
import type { BundleFiles } from "../../pkg/bundle/types.ts";
import { providerOf } from "../../pkg/certificates/providers.ts";
import { ReconcileError } from "../../pkg/errors/errors.ts";
import { writeExactJson } from "../../pkg/golang/json.ts";
import { requiredRules } from "../../pkg/rbac/requiredRules.ts";
import { knownResource } from "../../pkg/rbac/resources.ts";
import { userRoles } from "../../pkg/rbac/userRoles.ts";
import { requireIdentities } from "../../pkg/release/identity.ts";
import { installOrder } from "../../pkg/release/plan.ts";
import { prepareObjects } from "../../pkg/release/prepare.ts";
import { type RenderOptions, renderBundle } from "../../pkg/render/render.ts";

/** The longest message that a bundle may make of itself. */
const MAX_MESSAGE_BYTES = 32 * 1024;
/** What JavaScript says of a mistake in a program. */
const RAW =
  /Cannot (?:read|set|convert|destructure|mix|assign|redefine|add|delete)|is not (?:a function|iterable|defined|an object|a constructor|extensible)|\(reading '|Maximum call stack|Invalid (?:array|string|BigInt|time|regular)|circular structure|BigInt|ERR_[A-Z]|\[object Object\]|at .+\.ts:\d/;

/** What came of a bundle: how many objects, or the beginning of the error; and what should not have come of it. */
export interface Outcome {
  readonly result: string;
  readonly fault?: string;
}

/**
 * Does with a bundle all that a pass does before it turns to the cluster, and judges what comes of it. A configuration that does not fit the
 * bundle is judged, too, and then others are tried, so that there is more to see.
 */
export function outcomeOf(files: BundleFiles, options: RenderOptions): Outcome {
  let outcome = outcomeWith(files, options);
  for (const watchNamespace of [options.installNamespace, "watched"]) {
    if (outcome.fault !== undefined || !outcome.isMisconfigured) break;
    outcome = outcomeWith(files, { ...options, config: { watchNamespace } });
  }
  return outcome;
}

function outcomeWith(files: BundleFiles, options: RenderOptions): Outcome & { isMisconfigured?: boolean } {
  let objects: readonly KubeObject[];
  try {
    objects = prepared(files, options);
  } catch (err) {
    const isMisconfigured = err instanceof ReconcileError && err.reason === Reason.InvalidConfiguration;
    return { result: String(err).slice(0, 300), isMisconfigured, ...faultOf(err) };
  }
  const odd = objects.find(({ kind, metadata }) => typeof kind !== "string" || typeof metadata?.name !== "string");
  const result = `${objects.length} objects`;
  return odd ? { result, fault: `an object without kind or name: ${JSON.stringify(odd).slice(0, 200)}` } : { result };
}

function prepared(files: BundleFiles, options: RenderOptions): readonly KubeObject[] {
  const bundle = loadBundle(files);
  readRequirements(bundle);
  const rendered = renderBundle(bundle, options);
  requireIdentities(rendered);
  const objects = [...rendered, ...userRoles(rendered)];
  providerOf(objects);
  const owner = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name: "fuzzed", uid: "1" };
  const { installNamespace } = options;
  const { objects: applied } = prepareObjects(objects, {
    owner,
    installNamespace,
    isNamespaced: (gvk) => knownResource(gvk)?.namespaced,
    bundle: { packageName: bundle.packageName, version: bundle.csv.spec.version },
  });
  requiredRules(applied, { installNamespace, crdPolicy: "Retain", resourceOf: knownResource });
  for (const object of installOrder(applied)) writeExactJson(object);
  return applied;
}

function faultOf(err: unknown): { fault?: string } {
  if (!(err instanceof ReconcileError)) return { fault: `no error of ours: ${err instanceof Error ? err.stack : String(err)}` };
  return messageFault(err.message);
}

/** What is wrong with the text of an error. */
export function messageFault(message: string): { fault?: string } {
  const bytes = Buffer.byteLength(message);
  if (message === "") return { fault: "an error without text" };
  if (bytes > MAX_MESSAGE_BYTES) return { fault: `a message of ${bytes} bytes: ${message.slice(0, 200)}` };
  const raw = RAW.exec(message)?.[0];
  if (raw !== undefined) return { fault: `a message that tells of the program (${raw}): ${message.slice(0, 400)}` };
  return {};
}
