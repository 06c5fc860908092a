import { LABEL_CREATED_FOR, LABEL_PERMISSIONS_FOR } from "../api/constants.ts";
import { type KubeObject, toObjectRef } from "../api/k8s.ts";
import { poll } from "../async/poll.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
import { readPatiently } from "../kube/patientRead.ts";
import {
  buildInstallerManifests,
  buildTokenManifests,
  getControllerSubject,
  type Installer,
  labelCreatedFor,
} from "../rbac/installerManifests.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";

/** Kinds of the objects that `olmv1 install` creates for an extension, in deletion order. */
const MADE_KINDS = [
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding" },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding" },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role" },
  { apiVersion: "v1", kind: "ServiceAccount" },
  { apiVersion: "v1", kind: "Namespace" },
] as const;

/** Returns the Namespace object for an extension. */
export function createNamespaceObject(extension: string, name: string): KubeObject {
  return labelCreatedFor(extension, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

/** Returns the ServiceAccount of an extension and its permissions, with the label by which `olmv1 uninstall` finds them. */
export function buildInstallerObjects(
  extension: string,
  installer: Installer,
  rules: RequiredRules,
  systemNamespace: string,
): KubeObject[] {
  return buildInstallerManifests(installer, rules, getControllerSubject(systemNamespace)).map((object) =>
    labelCreatedFor(extension, object),
  );
}

/** Returns the role and binding that let operator-controller request tokens for an existing ServiceAccount. */
function buildTokenObjects(extension: string, installer: Installer, systemNamespace: string): KubeObject[] {
  return buildTokenManifests(installer, getControllerSubject(systemNamespace)).map((object) => labelCreatedFor(extension, object));
}

/**
 * Returns the objects that let operator-controller request tokens for an existing ServiceAccount; empty if it already has this permission, or if the
 * permission cannot be checked.
 */
export async function findTokenObjects(
  client: Pick<Client, "raw">,
  extension: string,
  { namespace, name }: Installer,
  systemNamespace: string,
): Promise<KubeObject[]> {
  const controller = getControllerSubject(systemNamespace);
  const review = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: {
      user: `system:serviceaccount:${controller.namespace}:${controller.name}`,
      groups: ["system:serviceaccounts", `system:serviceaccounts:${controller.namespace}`, "system:authenticated"],
      resourceAttributes: { namespace, verb: "create", resource: "serviceaccounts", subresource: "token", name },
    },
  };
  try {
    const answer = (await client.raw("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)) as {
      status?: { allowed?: boolean };
    };
    return answer.status?.allowed ? [] : buildTokenObjects(extension, { namespace, name }, systemNamespace);
  } catch (err) {
    if (isForbidden(err)) return [];
    throw err;
  }
}

/** Lists the existing objects that `olmv1 install` or permission-manager created for an extension and left, with only their metadata, in deletion order. */
export async function listInstallObjects(client: Pick<Client, "list">, extension: string): Promise<KubeObject[]> {
  const labelSelector = `${LABEL_CREATED_FOR}=${extension}`;
  const found = await Promise.all(MADE_KINDS.map((kind) => client.list(kind, { labelSelector, metadataOnly: true })));
  const namespaces = await client.list(
    { apiVersion: "v1", kind: "Namespace" },
    { labelSelector: `${LABEL_PERMISSIONS_FOR}=${extension}`, metadataOnly: true },
  );
  return [...found, namespaces].flatMap(({ items }) => items);
}

/** Deletes objects in order, unless an object was recreated in the meantime. @param report called with each object whose deletion was requested */
export async function removeObjects(
  client: Pick<Client, "delete">,
  objects: readonly KubeObject[],
  report: (object: KubeObject) => void,
): Promise<void> {
  for (const object of objects) {
    const { uid } = object.metadata;
    if (await client.delete(toObjectRef(object), uid === undefined ? {} : { uid })) report(object);
  }
}

/**
 * Waits until an object is gone or was recreated. Continues after temporary failures of the API server.
 * @param deadline milliseconds since the epoch
 * @returns the object if it still exists at the deadline
 * @throws the error of the API server if it still fails at the deadline, or if a retry cannot succeed
 */
export async function waitUntilGone<T extends KubeObject>(
  client: Pick<Client, "get">,
  object: T,
  deadline: number,
  signal: AbortSignal,
): Promise<T | undefined> {
  let last = object;
  const answer = await poll({ timeoutMs: deadline - Date.now(), signal }, async () => {
    const left = await readPatiently<T>(client, toObjectRef(object), { signal, isLate: Date.now() >= deadline });
    if (left === "later") return { reason: last };
    if (!left || left.metadata.uid !== object.metadata.uid) return { done: true };
    last = left;
    return { reason: left };
  });
  return "done" in answer ? undefined : answer.reason;
}
