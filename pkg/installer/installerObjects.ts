import { LABEL_CREATED_FOR } from "../api/constants.ts";
import { type KubeObject, toObjectRef } from "../api/k8s.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
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

/** Matches the flag that lets operator-controller use its own permissions for extensions without a ServiceAccount. */
const PERMITTING = /^--?service-account-fallback[= ]controller$/;

/**
 * Checks that operator-controller installs extensions without a ServiceAccount. Assumes so if its Deployment does not exist or cannot be read.
 * @throws Error that explains what to do otherwise
 */
export async function requireFallback(client: Pick<Client, "get">, systemNamespace: string): Promise<void> {
  const { name, namespace } = getControllerSubject(systemNamespace);
  const args = await readArgs(client, namespace, name);
  if (!args || permits(args)) return;
  throw new Error(
    `operator-controller does not install extensions without a ServiceAccount: Deployment ${goQuote(`${namespace}/${name}`)} has no --service-account-fallback=controller. ` +
      "Use --create-service-account to create a ServiceAccount with the permissions that the bundle needs. If all extensions may have full access to the cluster, install operator-controller with config/overlays/cluster-admin instead.",
  );
}

/** Yields each flag of a program with its value, which may be in the same argument or in the next one. */
function permits(args: readonly string[]): boolean {
  return args.some((arg, i) => PERMITTING.test(arg) || PERMITTING.test(`${arg} ${args[i + 1] ?? ""}`));
}

async function readArgs(client: Pick<Client, "get">, namespace: string, name: string): Promise<string[] | undefined> {
  try {
    const live = await client.get({ apiVersion: "apps/v1", kind: "Deployment", namespace, name });
    const spec = live?.["spec"] as { template?: { spec?: { containers?: { args?: string[] }[] } } } | undefined;
    return live && (spec?.template?.spec?.containers ?? []).flatMap(({ args = [] }) => args);
  } catch (err) {
    if (isForbidden(err)) return undefined;
    throw err;
  }
}

/** Lists the existing objects that `olmv1 install` created for an extension, with only their metadata, in deletion order. */
export async function listInstallObjects(client: Pick<Client, "list">, extension: string): Promise<KubeObject[]> {
  const labelSelector = `${LABEL_CREATED_FOR}=${extension}`;
  const found = await Promise.all(MADE_KINDS.map((kind) => client.list(kind, { labelSelector, metadataOnly: true })));
  return found.flatMap(({ items }) => items);
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
