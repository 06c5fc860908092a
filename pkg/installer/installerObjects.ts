import { LABEL_CREATED_FOR } from "../api/constants.ts";
import { type KubeObject, refOf } from "../api/k8s.ts";
import { goQuote } from "../golang/quote.ts";
import type { Client } from "../kube/client.ts";
import { isForbidden } from "../kube/errors.ts";
import { controllerSubject, type Installer, installerManifests, labelCreatedFor, tokenManifests } from "../rbac/installerManifests.ts";
import type { RequiredRules } from "../rbac/requiredRules.ts";

/** Kinds that `olmv1 install` makes for an extension, in the order in which they may go. */
const MADE_KINDS = [
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRoleBinding" },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding" },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role" },
  { apiVersion: "v1", kind: "ServiceAccount" },
  { apiVersion: "v1", kind: "Namespace" },
] as const;

/** A namespace that is made for an extension. */
export function createNamespaceObject(extension: string, name: string): KubeObject {
  return labelCreatedFor(extension, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

/** The ServiceAccount of an extension and its rights, with the mark by which `olmv1 uninstall` finds them. */
export function installerObjects(extension: string, installer: Installer, rules: RequiredRules, systemNamespace: string): KubeObject[] {
  return installerManifests(installer, rules, controllerSubject(systemNamespace)).map((object) => labelCreatedFor(extension, object));
}

/** What lets operator-controller act as a ServiceAccount that somebody else made. */
function tokenObjects(extension: string, installer: Installer, systemNamespace: string): KubeObject[] {
  return tokenManifests(installer, controllerSubject(systemNamespace)).map((object) => labelCreatedFor(extension, object));
}

/** What lets operator-controller act as a ServiceAccount that somebody else made; nothing where it may, or where that may not be asked. */
export async function tokenRights(
  client: Pick<Client, "raw">,
  extension: string,
  { namespace, name }: Installer,
  systemNamespace: string,
): Promise<KubeObject[]> {
  const controller = controllerSubject(systemNamespace);
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
    return answer.status?.allowed ? [] : tokenObjects(extension, { namespace, name }, systemNamespace);
  } catch (err) {
    if (isForbidden(err)) return [];
    throw err;
  }
}

/** The flag with which operator-controller installs what names no ServiceAccount with its own rights. */
const PERMITTING = /^--?service-account-fallback[= ]controller$/;

/**
 * Looks whether operator-controller installs extensions that name no ServiceAccount; where its Deployment may not be read, or is none, it has to be tried.
 * @throws Error that says what to do where it does not.
 */
export async function requireFallback(client: Pick<Client, "get">, systemNamespace: string): Promise<void> {
  const { name, namespace } = controllerSubject(systemNamespace);
  const args = await argsOf(client, namespace, name);
  if (!args || permits(args)) return;
  throw new Error(
    `operator-controller of this cluster installs nothing without a ServiceAccount (Deployment ${goQuote(`${namespace}/${name}`)} has no --service-account-fallback=controller): ` +
      "--create-service-account makes one with the rights that the bundle needs; config/overlays/cluster-admin is for clusters where all extensions may do everything",
  );
}

/** Arguments of a program, each flag with its value whether they stand in one or in two. */
function permits(args: readonly string[]): boolean {
  return args.some((arg, i) => PERMITTING.test(arg) || PERMITTING.test(`${arg} ${args[i + 1] ?? ""}`));
}

async function argsOf(client: Pick<Client, "get">, namespace: string, name: string): Promise<string[] | undefined> {
  try {
    const live = await client.get({ apiVersion: "apps/v1", kind: "Deployment", namespace, name });
    const spec = live?.["spec"] as { template?: { spec?: { containers?: { args?: string[] }[] } } } | undefined;
    return live && (spec?.template?.spec?.containers ?? []).flatMap(({ args = [] }) => args);
  } catch (err) {
    if (isForbidden(err)) return undefined;
    throw err;
  }
}

/** What `olmv1 install` made for an extension and is still there, metadata only, in the order in which it may go. */
export async function madeObjects(client: Pick<Client, "list">, extension: string): Promise<KubeObject[]> {
  const labelSelector = `${LABEL_CREATED_FOR}=${extension}`;
  const found = await Promise.all(MADE_KINDS.map((kind) => client.list(kind, { labelSelector, metadataOnly: true })));
  return found.flatMap(({ items }) => items);
}

/** Deletes objects in their order, each only if it is still the one that was found. @param tell is called with each whose deletion was requested. */
export async function removeObjects(
  client: Pick<Client, "delete">,
  objects: readonly KubeObject[],
  tell: (object: KubeObject) => void,
): Promise<void> {
  for (const object of objects) {
    const { uid } = object.metadata;
    if (await client.delete(refOf(object), uid === undefined ? {} : { uid })) tell(object);
  }
}
