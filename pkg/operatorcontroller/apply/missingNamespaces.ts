import type { ClusterExtensionSpec } from "../../api/clusterExtension.ts";
import { compareText } from "../../text/compare.ts";
import { Reason } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { goQuote } from "../../golang/quote.ts";
import { isNamespaceMissing } from "../../kube/errors.ts";
import { objectKey } from "../../release/identity.ts";
import { WaitingError } from "../waiting.ts";
import type { DryRun } from "./dryRun.ts";
import type { Failure } from "./failures.ts";

/** A namespace that does not exist, and how many objects were to go there. */
export interface MissingNamespace {
  readonly namespace: string;
  readonly count: number;
}

/** The namespaces for lack of which requests were refused, in order of name. */
export function missingNamespaces(failures: readonly Failure[]): MissingNamespace[] {
  const counts = new Map<string, number>();
  for (const { err } of failures) {
    if (!isNamespaceMissing(err)) continue;
    const namespace = String(err.details?.["name"]);
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  }
  return [...counts].sort(([a], [b]) => compareText(a, b)).map(([namespace, count]) => ({ namespace, count }));
}

/** Which namespace is missing, for what, and what to do about it. */
export function missingNamespaceText(
  { namespace, count }: MissingNamespace,
  spec: Pick<ClusterExtensionSpec, "namespace" | "config">,
): string {
  const objects = count === 1 ? "1 object" : `${count} objects`;
  return `namespace ${goQuote(namespace)} does not exist, so ${objects} could not be tried: ${adviceOn(namespace, spec)}`;
}

function adviceOn(namespace: string, { namespace: installed, config }: Pick<ClusterExtensionSpec, "namespace" | "config">): string {
  if (namespace === installed) return "create it before the ClusterExtension";
  const { watchNamespace, watchNamespaces } = config?.inline ?? {};
  if (watchNamespace === namespace) return "create it, or name another one in spec.config.inline.watchNamespace";
  const isListed = Array.isArray(watchNamespaces) && watchNamespaces.includes(namespace);
  return isListed ? "create it, or take it out of spec.config.inline.watchNamespaces" : "create it, or take it out of the configuration";
}

/**
 * Makes sure that no object was refused for lack of its namespace.
 * @param tried the objects that failures are about.
 * @throws WaitingError Retrying with all namespaces that do not exist, over as soon as one of them does.
 */
export function requireNamespaces(
  failures: readonly Failure[],
  spec: Pick<ClusterExtensionSpec, "namespace" | "config">,
  tried: readonly KubeObject[],
  dryRun: Pick<DryRun, "untilNot">,
): void {
  const first = failures.find(({ err }) => isNamespaceMissing(err));
  const object = first && tried.find((other) => objectKey(other) === objectKey(first.item));
  if (!object) return;
  const texts = missingNamespaces(failures).map((missing) => missingNamespaceText(missing, spec));
  const text = `${texts.join("; ")}; nothing was changed, and it goes on by itself within seconds once there is such a namespace`;
  throw new WaitingError(Reason.Retrying, text, { cause: first.err, isOver: dryRun.untilNot(isNamespaceMissing, object) });
}
