import type { ClusterExtensionSpec } from "../../api/clusterExtension.ts";
import { FIELD_MANAGER, Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { newProblem } from "../../api/problems.ts";
import { isConversionLost } from "../../certificates/caBundle.ts";
import { goQuote } from "../../golang/quote.ts";
import { isNamespaceMissing } from "../../kube/errors.ts";
import { getObjectKey } from "../../release/identity.ts";
import { sortLikeLive } from "../../release/liveOrder.ts";
import { isManagedBy } from "../../release/managedFields.ts";
import { isObjectSetReference } from "../../release/objectSet.ts";
import { compareText } from "../../text/compare.ts";
import { WaitingError } from "../state/conditionPoller.ts";
import type { LiveObjects } from "../state/objectActions.ts";
import { describeFailure, type ObjectFailure, toFailureProblems } from "./applier.ts";
import type { DryRun } from "./dryRun.ts";
import { newFinding, type PreflightCheck, type PreflightFinding, type PreflightRequest } from "./preflightRequest.ts";

/**
 * Runs a dry run of each object: the API server checks admission, validation, quota and permissions. The first findings are missing namespaces, one
 * finding for each namespace. Skips a CustomResourceDefinition whose conversion webhook needs a certificate from the controller, because the API
 * server would deny it only for its missing CA.
 */
export const dryRunCheck: PreflightCheck = {
  name: "dryRun",
  async run({ desired, kinds, extension, dryRun, willBeAdopted }, checked) {
    const { live, refused, untried, needs } = checked;
    const tried = desired.filter((object) => {
      const key = getObjectKey(object);
      const isLeftOut = kinds.resourceOf(object) === undefined || refused.has(key) || untried.has(key);
      return !isLeftOut && !isConversionLost(object, live.get(key));
    });
    const created = tried.filter((object) => isLeftByCrash(live.get(getObjectKey(object))));
    const taken = new Map([...needs.map(({ object }) => object), ...created].flatMap((object) => getEntry(live, getObjectKey(object))));
    const { objects, failures } = await dryRun.run(
      tried.map((object) => keepAdoptedOrder(object, live, willBeAdopted)),
      taken,
    );
    checked.after = objects;
    for (const { item } of failures) refused.add(getObjectKey(item));
    const missing = findMissingNamespaces(failures, extension.spec);
    const findings = [...missing, ...failures.filter(({ err }) => !isNamespaceMissing(err)).map(newDeniedFinding)];
    const error = newNamespacesError(missing, failures, tried, dryRun) ?? dryRun.toError(failures, tried);
    return error && { findings, error };
  },
};

/**
 * Reports whether the Go operator-controller created an object for an object set and stopped before it applied the object: an apply then keeps the
 * owner reference to the set, until the release takes over its fields.
 */
function isLeftByCrash(live: KubeObject | undefined): boolean {
  const { ownerReferences = [], managedFields = [] } = live?.metadata ?? {};
  const belongsToSet = ownerReferences.some((reference) => reference.controller && isObjectSetReference(reference));
  return belongsToSet && managedFields.some((entry) => isManagedBy(entry, FIELD_MANAGER, "Update"));
}

function getEntry(live: LiveObjects, key: string): [string, KubeObject][] {
  const found = live.get(key);
  return found ? [[key, found]] : [];
}

function keepAdoptedOrder(object: KubeObject, live: LiveObjects, willBeAdopted: PreflightRequest["willBeAdopted"]): KubeObject {
  const current = live.get(getObjectKey(object));
  return current && willBeAdopted?.(current) ? sortLikeLive(object, current) : object;
}

function newDeniedFinding(failure: ObjectFailure): PreflightFinding {
  return { kind: "dryRun", ...describeFailure(failure), problems: toFailureProblems(failure) };
}

/** Finds namespaces that do not exist, and counts their objects. @returns a finding for each namespace, sorted by name. */
export function findMissingNamespaces(
  failures: readonly ObjectFailure[],
  spec: Pick<ClusterExtensionSpec, "namespace" | "config">,
): PreflightFinding[] {
  const counts = new Map<string, number>();
  for (const { err } of failures) {
    if (!isNamespaceMissing(err)) continue;
    const namespace = String(err.details?.["name"]);
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  }
  const byName = [...counts].sort(([a], [b]) => compareText(a, b));
  return byName.map(([namespace, count]) => {
    const objects = count === 1 ? "1 object" : `${count} objects`;
    const message = `namespace ${goQuote(namespace)} does not exist, so ${objects} cannot be created`;
    return newFinding(
      "namespace",
      newProblem("NamespaceNotFound", { message, next: getNamespaceAdvice(namespace, spec), details: [namespace] }),
    );
  });
}

function getNamespaceAdvice(
  namespace: string,
  { namespace: installed, config }: Pick<ClusterExtensionSpec, "namespace" | "config">,
): string {
  if (namespace === installed) return "create the namespace";
  const { watchNamespace, watchNamespaces } = config?.inline ?? {};
  if (watchNamespace === namespace) return "create the namespace, or set spec.config.inline.watchNamespace to an existing namespace";
  const isListed = Array.isArray(watchNamespaces) && watchNamespaces.includes(namespace);
  return isListed
    ? "create the namespace, or remove it from spec.config.inline.watchNamespaces"
    : "create the namespace, or remove it from the extension's configuration";
}

/**
 * Returns the error for missing namespaces.
 * @param missing the result of `findMissingNamespaces`.
 * @param tried the objects of the dry run.
 * @returns WaitingError Retrying with all missing namespaces, which ends when the first of them exists; undefined if no namespace is missing.
 */
export function newNamespacesError(
  missing: readonly PreflightFinding[],
  failures: readonly ObjectFailure[],
  tried: readonly KubeObject[],
  dryRun: Pick<DryRun, "untilNot">,
): WaitingError | undefined {
  const first = failures.find(({ err }) => isNamespaceMissing(err));
  const object = first && tried.find((other) => getObjectKey(other) === getObjectKey(first.item));
  if (!object) return undefined;
  const text = missing.map(({ message }) => message).join("; ");
  return new WaitingError(Reason.Retrying, text, { cause: first.err, isOver: dryRun.untilNot(isNamespaceMissing, object) });
}
