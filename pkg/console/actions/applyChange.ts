import { API_VERSION, CLUSTER_CATALOG, CLUSTER_EXTENSION, PERMISSION_POLICY } from "../../api/constants.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { mapInParallel } from "../../async/concurrency.ts";
import { getErrorMessage } from "../../errors/errors.ts";
import { isObject } from "../../golang/members.ts";
import { parseYamlDocuments } from "../../golang/yaml.ts";
import { describeObject, getObjectKey } from "../../release/identity.ts";
import { sortForInstall } from "../../release/plan.ts";
import { findDuplicates, formatList } from "../../text/lists.ts";
import { ConsoleError } from "../http/consoleError.ts";
import { buildApplyRequest } from "./clusterRequest.ts";
import type { ChangeContext, PlannedChange } from "./plannedChange.ts";

/** Maximum number of objects in one change. */
const OBJECTS_MAX = 100;
const PARALLEL = 8;
const RBAC = "rbac.authorization.k8s.io/v1";

/** The kinds that pages of the console create, and whether they are namespaced. */
const ALLOWED: ReadonlyMap<string, "namespaced" | "cluster"> = new Map([
  [`${API_VERSION} ${CLUSTER_EXTENSION}`, "cluster"],
  [`${API_VERSION} ${CLUSTER_CATALOG}`, "cluster"],
  [`${PERMISSION_POLICY.apiVersion} ${PERMISSION_POLICY.kind}`, "cluster"],
  ["v1 Namespace", "cluster"],
  ["v1 ServiceAccount", "namespaced"],
  [`${RBAC} ClusterRole`, "cluster"],
  [`${RBAC} ClusterRoleBinding`, "cluster"],
  [`${RBAC} Role`, "namespaced"],
  [`${RBAC} RoleBinding`, "namespaced"],
]);

/** Plans to apply the objects in a YAML text. @throws ConsoleError invalid if the text contains anything else */
export async function planApply(
  { client, signal }: ChangeContext,
  { yaml, force = false }: { readonly yaml: string; readonly force?: boolean | undefined },
): Promise<PlannedChange> {
  const objects = sortForInstall(readAppliedObjects(yaml));
  const requests = await mapInParallel(objects, PARALLEL, (object) => buildApplyRequest(client, object, { signal, force }));
  const extensions = objects.filter(({ kind }) => kind === CLUSTER_EXTENSION).map(({ metadata }) => metadata.name);
  const named = (isNew: boolean): string[] => objects.filter((_, i) => requests[i]?.isNew === isNew).map(describeObject);
  const [created, changed] = [named(true), named(false)];
  const hasNewExtension = objects.some(({ kind }, i) => kind === CLUSTER_EXTENSION && requests[i]?.isNew);
  return {
    title: hasNewExtension
      ? `Install ${formatList(extensions, { max: 3 })}?`
      : `Apply ${objects.length === 1 ? describeFirst(objects) : `${objects.length} objects`}?`,
    effects: [
      ...(created.length > 0 ? [`Creates ${formatList(created, { max: OBJECTS_MAX })}.`] : []),
      ...(changed.length > 0 ? [`Applies the fields in the YAML to ${formatList(changed, { max: OBJECTS_MAX })}.`] : []),
      force
        ? "Takes over the fields in the YAML from other tools. A tool that still manages them may change them back."
        : "Fields that other tools manage are not overwritten; the API server rejects such a change as a conflict.",
    ],
    isDanger: force,
    command: `kubectl apply --server-side${force ? " --force-conflicts" : ""} -f FILE`,
    requests,
  };
}

function describeFirst([first]: readonly KubeObject[]): string {
  return first ? describeObject(first) : "nothing";
}

/** Reads the objects of a YAML text. @throws ConsoleError invalid with the number of the document that is not allowed */
export function readAppliedObjects(yaml: string): KubeObject[] {
  let documents: unknown[];
  try {
    documents = parseYamlDocuments(yaml).filter((document) => document !== null);
  } catch (err) {
    throw new ConsoleError("invalid", `the YAML cannot be read: ${getErrorMessage(err)}`, { cause: err });
  }
  if (documents.length === 0) throw new ConsoleError("invalid", "the YAML contains no objects");
  if (documents.length > OBJECTS_MAX)
    throw new ConsoleError("invalid", `the YAML contains ${documents.length} objects, more than the maximum of ${OBJECTS_MAX}`);
  const objects = documents.map((document, i) => requireAllowed(document, i + 1));
  const [twice] = findDuplicates(objects.map(getObjectKey));
  if (twice !== undefined) throw new ConsoleError("invalid", `the YAML contains the object ${twice} twice`);
  return objects;
}

function requireAllowed(document: unknown, number: number): KubeObject {
  const fail = (why: string): never => {
    throw new ConsoleError("invalid", `document ${number} of the YAML ${why}`);
  };
  if (!isNamed(document)) return fail("is not an object with apiVersion, kind and metadata.name");
  const { apiVersion, kind, metadata } = document;
  const scope = ALLOWED.get(`${apiVersion} ${kind}`);
  if (scope === undefined) return fail(`is a ${kind} (${apiVersion}), which the console does not apply. Use kubectl apply for it.`);
  if (scope === "namespaced" && !metadata.namespace) return fail(`is a ${kind} without metadata.namespace`);
  if (scope === "cluster" && metadata.namespace !== undefined)
    return fail(`is a ${kind} with metadata.namespace, but this kind is cluster-scoped`);
  return document;
}

function isNamed(document: unknown): document is KubeObject {
  if (!isObject(document)) return false;
  const { apiVersion, kind, metadata } = document;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || !isObject(metadata)) return false;
  const { name, namespace } = metadata;
  return typeof name === "string" && name !== "" && (namespace === undefined || typeof namespace === "string");
}
