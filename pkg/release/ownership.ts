import { ANNOTATION_OWNER_UID, CLUSTER_EXTENSION, GROUP, LABEL_OWNER_KIND, LABEL_OWNER_NAME } from "../api/constants.ts";
import { getGroup, type JsonObject, type KubeObject, type OwnerReference } from "../api/k8s.ts";
import { describeObject, isCrd } from "./identity.ts";
import { isObjectSetReference } from "./objectSet.ts";

/** Maximum number of listed field managers. */
const MANAGERS = 3;

/** The owner of a live object, for the end of a message. */
export interface Claim {
  /** Such as `it belongs to Helm release "ns/name"`. */
  readonly text: string;
  /** What the user can do, such as "uninstall that release first". */
  readonly remedy?: string;
}

/** Formats a claim and its remedy. */
export function formatClaim({ text, remedy }: Claim): string {
  return remedy === undefined ? text : `${text}: ${remedy}`;
}

/** Determines the owner of a live object without a controller reference, from the labels and annotations that installers set. */
function determineClaim(live: KubeObject, owner: Owner): Claim {
  const claimant = findClaimant(live);
  return claimant ? { text: `it belongs to ${claimant.who}`, remedy: claimant.remedy } : describeUnowned(live, owner);
}

/**
 * Returns the owner according to the labels and annotations that installers set, such as `Helm release "ns/name"`, and a remedy; undefined if there
 * are none.
 */
export function findClaimant(live: KubeObject): { who: string; remedy: string } | undefined {
  return findHelmClaimant(live) ?? findOlmV0Claimant(live) ?? findApiServerClaimant(live);
}

function findHelmClaimant({ metadata: { annotations } }: KubeObject): ReturnType<typeof findClaimant> {
  const name = annotations?.["meta.helm.sh/release-name"];
  if (name === undefined) return undefined;
  const namespace = annotations?.["meta.helm.sh/release-namespace"];
  const release = namespace ? `${namespace}/${name}` : name;
  return { who: `Helm release "${release}"`, remedy: "uninstall that release first" };
}

/** OLM v0 sets these labels on its objects and on CRDs that it installs. */
function findOlmV0Claimant({ metadata: { labels } }: KubeObject): ReturnType<typeof findClaimant> {
  const remedy = "convert that Subscription (olmv1 migrate check), or remove it and its ClusterServiceVersion first";
  if (labels?.["olm.owner"] !== undefined) {
    const namespace = labels["olm.owner.namespace"];
    const csv = namespace ? `${namespace}/${labels["olm.owner"]}` : labels["olm.owner"];
    return { who: `${labels["olm.owner.kind"] ?? "ClusterServiceVersion"} "${csv}" of OLM v0`, remedy };
  }
  const component = Object.keys(labels ?? {}).find((key) => key.startsWith("operators.coreos.com/"));
  if (component === undefined) return undefined;
  return { who: `Operator "${component.slice(component.indexOf("/") + 1)}" of OLM v0`, remedy };
}

/** Recognizes APIServices of the API server's own APIs, which it recreates when they are deleted. */
function findApiServerClaimant({ metadata: { labels } }: KubeObject): ReturnType<typeof findClaimant> {
  if (labels?.["kube-aggregator.kubernetes.io/automanaged"] === undefined) return undefined;
  const remedy = "a bundle cannot replace it";
  return { who: "the API server, which serves that group and version itself or with a CustomResourceDefinition", remedy };
}

function describeUnowned(live: KubeObject, owner: Owner): Claim {
  const managedBy = live.metadata.labels?.["app.kubernetes.io/managed-by"];
  const writers = listManagers(live);
  const hints = [
    managedBy === undefined ? "" : `label app.kubernetes.io/managed-by is "${managedBy}"`,
    writers === "" ? "" : `it was written by ${writers}`,
  ];
  const hint = hints.filter((part) => part !== "").join(", ");
  return {
    text: `it has no known owner${hint === "" ? "" : ` (${hint})`}`,
    remedy: isCrd(live)
      ? `if ${CLUSTER_EXTENSION} "${owner.name}" may adopt it with its custom resources, label it: kubectl label crd ${live.metadata.name} ${LABEL_OWNER_KIND}=${CLUSTER_EXTENSION} ${LABEL_OWNER_NAME}=${owner.name}`
      : `delete ${describeObject(live)} if it is not needed; the installation then resumes automatically`,
  };
}

/** Formats the managers that wrote more than the status, such as `"kubectl-create", "helm"`. */
function listManagers({ metadata: { managedFields = [] } }: KubeObject): string {
  const names = managedFields.filter((entry: JsonObject) => entry["subresource"] === undefined || entry["subresource"] === "");
  const unique = [...new Set(names.flatMap(({ manager }) => (typeof manager === "string" ? [manager] : [])))];
  return unique
    .slice(0, MANAGERS)
    .map((name) => `"${name.slice(0, 128)}"`)
    .join(", ");
}

/** The extension that applies an object. */
export interface Owner {
  name: string;
  uid: string;
  installNamespace: string;
}

/**
 * The ownership of a live object:
 * - free: it does not exist
 * - ours: it has our uid
 * - orphan: its extension no longer exists, so it can be adopted
 * - foreign: it has another owner, or its owner is unknown
 *
 * `owner` is the extension in the object's marks; `message` is `refusal`, then the claim.
 */
export type Ownership =
  | { readonly kind: "free" | "ours" }
  | ({ readonly kind: "orphan"; readonly owner: string } & OwnershipRefusal)
  | ({ readonly kind: "foreign"; readonly owner?: string } & OwnershipRefusal);

/** Why an object cannot be managed. */
interface OwnershipRefusal {
  readonly message: string;
  /** The text of the Go operator-controller. */
  readonly refusal: string;
  readonly claim: Claim;
}

/** Reports whether an extension with that name exists; `uid` is absent if the object's marks have none. */
export type ExtensionExists = (name: string, uid: string | undefined) => boolean;

const WEBHOOK_CONFIGURATIONS: ReadonlySet<string> = new Set(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]);

/**
 * Determines the ownership of `live`, with a message that contains the owner and a remedy. The uid in the controller reference decides, or the uid in
 * the annotation of a CRD. If an object set controls the object, its label decides. Labels without a uid refer to an owner that no longer exists.
 * @param live response of the API server; undefined if the object does not exist
 * @param extensionExists called for another extension in the labels if there is no controller reference. The default is true, so that objects of
 * another extension are not adopted.
 */
export function determineOwnership(live: KubeObject | undefined, owner: Owner, extensionExists: ExtensionExists = () => true): Ownership {
  if (!live) return { kind: "free" };
  const { labels, annotations, ownerReferences } = live.metadata;
  const controller = ownerReferences?.find((reference) => reference.controller);
  const uid = annotations?.[ANNOTATION_OWNER_UID];
  if (controller) {
    if (controller.uid === owner.uid) return { kind: "ours" };
    // The Go operator-controller labels the objects of its object sets with their extension. The next apply replaces the reference.
    const inSetOf = isObjectSetReference(controller) ? labels?.[LABEL_OWNER_NAME] : undefined;
    if (inSetOf === owner.name) return { kind: "ours" };
    if (inSetOf !== undefined) return foreign(live, owner, getExtensionClaim(inSetOf), inSetOf);
    return foreign(live, owner, getControllerClaim(controller, owner), isExtension(controller) ? controller.name : undefined);
  }
  if (uid === owner.uid && labels?.[LABEL_OWNER_NAME] === owner.name) return { kind: "ours" };
  const named = labels?.[LABEL_OWNER_KIND] === CLUSTER_EXTENSION ? labels[LABEL_OWNER_NAME] : undefined;
  if (named === undefined) return foreign(live, owner, determineClaim(live, owner));
  if (named === owner.name || !extensionExists(named, uid)) {
    const claim = { text: `it was left behind by ${CLUSTER_EXTENSION} "${named}", which no longer exists` };
    return { kind: "orphan", owner: named, ...formatRefusal(live, owner, claim) };
  }
  return foreign(live, owner, getExtensionClaim(named), named);
}

/**
 * Returns the message why the owner cannot manage `live`; undefined if it can be applied, because it is free, ours or orphan. It starts with the text
 * of the Go operator-controller.
 */
export function findOwnershipConflict(live: KubeObject | undefined, owner: Owner, extensionExists?: ExtensionExists): string | undefined {
  const ownership = determineOwnership(live, owner, extensionExists);
  return ownership.kind === "foreign" ? ownership.message : undefined;
}

/** Returns the uid of the owner in the controller reference or, on CRDs, in the annotation; undefined if there is none. */
export function getControllerUid({ metadata: { annotations, ownerReferences } }: KubeObject): string | undefined {
  return ownerReferences?.find(({ controller }) => controller)?.uid ?? annotations?.[ANNOTATION_OWNER_UID];
}

function foreign(live: KubeObject, owner: Owner, claim: Claim, extension?: string): Ownership {
  return { kind: "foreign", ...(extension === undefined ? {} : { owner: extension }), ...formatRefusal(live, owner, claim) };
}

/**
 * Formats the message with the namespace of the rendered object: empty for cluster-scoped objects, except for webhook configurations, which have the
 * install namespace.
 */
function formatRefusal({ kind, metadata }: KubeObject, { installNamespace }: Owner, claim: Claim): OwnershipRefusal {
  const namespace = WEBHOOK_CONFIGURATIONS.has(kind) ? installNamespace : (metadata.namespace ?? "");
  const refusal = `${kind} '${metadata.name}' already exists in namespace '${namespace}' and cannot be managed by operator-controller`;
  return { message: `${refusal}; ${formatClaim(claim)}`, refusal, claim };
}

function isExtension({ apiVersion, kind }: OwnerReference): boolean {
  return kind === CLUSTER_EXTENSION && getGroup(apiVersion) === GROUP;
}

function getControllerClaim(controller: OwnerReference, owner: Owner): Claim {
  const { apiVersion, kind, name } = controller;
  if (!isExtension(controller))
    return {
      text: `it is controlled by ${kind} "${name}" (${apiVersion})`,
      remedy: "remove that object first, or install into another namespace",
    };
  if (name !== owner.name) return getExtensionClaim(name);
  return {
    text: `it belongs to an earlier ${CLUSTER_EXTENSION} "${name}", and the garbage collector will delete it`,
    remedy: "the controller retries until it is gone",
  };
}

function getExtensionClaim(name: string): Claim {
  return {
    text: `it belongs to ${CLUSTER_EXTENSION} "${name}"`,
    remedy: "it can exist only once in a cluster, so uninstall that extension first",
  };
}
