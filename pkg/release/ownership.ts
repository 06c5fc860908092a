import { ANNOTATION_OWNER_UID, CLUSTER_EXTENSION, GROUP, LABEL_OWNER_KIND, LABEL_OWNER_NAME } from "../api/constants.ts";
import { groupOf, type JsonObject, type KubeObject, type OwnerReference } from "../api/k8s.ts";
import { describeObject } from "./identity.ts";

/** Names of field managers beyond this many are not listed. */
const MANAGERS = 3;

/** To whom a live object belongs, for the end of a message. */
export interface Claim {
  /** Such as `it belongs to Helm release "ns/name"`. */
  readonly text: string;
  /** What to do about it, such as "uninstall that release first". */
  readonly remedy?: string;
}

/** Writes a claim and what to do about it as one sentence. */
export function claimText({ text, remedy }: Claim): string {
  return remedy === undefined ? text : `${text}: ${remedy}`;
}

/** Finds out who claims a live object that no controller owns, from the marks that installers leave. */
function claimOf(live: KubeObject): Claim {
  const claimant = claimantOf(live);
  return claimant ? { text: `it belongs to ${claimant.who}`, remedy: claimant.remedy } : ofNobody(live);
}

/** Whom the marks of an installer name, such as `Helm release "ns/name"`, and what to do about it; undefined where they name none. */
export function claimantOf(live: KubeObject): { who: string; remedy: string } | undefined {
  return ofHelm(live) ?? ofClassicOlm(live) ?? ofApiServer(live);
}

function ofHelm({ metadata: { annotations } }: KubeObject): ReturnType<typeof claimantOf> {
  const name = annotations?.["meta.helm.sh/release-name"];
  if (name === undefined) return undefined;
  const namespace = annotations?.["meta.helm.sh/release-namespace"];
  const release = namespace ? `${namespace}/${name}` : name;
  return { who: `Helm release "${release}"`, remedy: "uninstall that release first" };
}

/** Objects of the older lifecycle manager, and CRDs that it installed, carry these labels. */
function ofClassicOlm({ metadata: { labels } }: KubeObject): ReturnType<typeof claimantOf> {
  const remedy = "convert that Subscription (olmv1 migrate check), or remove it and its ClusterServiceVersion first";
  if (labels?.["olm.owner"] !== undefined) {
    const namespace = labels["olm.owner.namespace"];
    const csv = namespace ? `${namespace}/${labels["olm.owner"]}` : labels["olm.owner"];
    return { who: `${labels["olm.owner.kind"] ?? "ClusterServiceVersion"} "${csv}" of the classic Operator Lifecycle Manager`, remedy };
  }
  const component = Object.keys(labels ?? {}).find((key) => key.startsWith("operators.coreos.com/"));
  if (component === undefined) return undefined;
  return { who: `Operator "${component.slice(component.indexOf("/") + 1)}" of the classic Operator Lifecycle Manager`, remedy };
}

/** APIServices of what the API server serves itself; it makes them anew when they are deleted. */
function ofApiServer({ metadata: { labels } }: KubeObject): ReturnType<typeof claimantOf> {
  if (labels?.["kube-aggregator.kubernetes.io/automanaged"] === undefined) return undefined;
  const remedy = "a bundle cannot serve it in its place";
  return { who: "the API server, which serves that group and version itself or by a CustomResourceDefinition", remedy };
}

function ofNobody(live: KubeObject): Claim {
  const managedBy = live.metadata.labels?.["app.kubernetes.io/managed-by"];
  const writers = managersOf(live);
  const hints = [
    managedBy === undefined ? "" : `label app.kubernetes.io/managed-by says "${managedBy}"`,
    writers === "" ? "" : `it was written by ${writers}`,
  ];
  const hint = hints.filter((part) => part !== "").join(", ");
  return {
    text: `it belongs to nobody in particular${hint === "" ? "" : ` (${hint})`}`,
    remedy: `delete ${describeObject(live)} if it is not needed, and the install goes on by itself`,
  };
}

/** Such as `"kubectl-create", "helm"`: the managers that wrote something other than the status. */
function managersOf({ metadata: { managedFields = [] } }: KubeObject): string {
  const names = managedFields.filter((entry: JsonObject) => entry["subresource"] === undefined || entry["subresource"] === "");
  const unique = [...new Set(names.flatMap(({ manager }) => (typeof manager === "string" ? [manager] : [])))];
  return unique
    .slice(0, MANAGERS)
    .map((name) => `"${name.slice(0, 128)}"`)
    .join(", ");
}

/** The extension that wants an object. */
export interface Owner {
  name: string;
  uid: string;
  installNamespace: string;
}

/**
 * Whose a live object is:
 * free: it does not exist; ours: it carries our uid; orphan: it was an extension's that is no more, and may be taken over;
 * foreign: somebody else's, or nobody's that we know. `owner` is the extension that the object's marks name; `message` is `refusal`, then the claim.
 */
export type Ownership =
  | { readonly kind: "free" | "ours" }
  | ({ readonly kind: "orphan"; readonly owner: string } & Refusal)
  | ({ readonly kind: "foreign"; readonly owner?: string } & Refusal);

/** Why an object cannot be managed. */
interface Refusal {
  readonly message: string;
  /** In the words of the Go operator-controller. */
  readonly refusal: string;
  readonly claim: Claim;
}

/** Whether the cluster has an extension of that name; `uid` is absent where the object's marks hold none. */
export type ExtensionExists = (name: string, uid: string | undefined) => boolean;

const WEBHOOK_CONFIGURATIONS: ReadonlySet<string> = new Set(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]);

/**
 * Tells whose `live` is, with a message for condition or log that names the owner and what to do.
 * The uid decides, in the controller reference or, on CRDs, in the annotation; labels alone name an owner that is no more.
 * @param live what the API server answered; undefined where there is no such object.
 * @param extensionExists asked about another extension that the marks name without a reference to it. By default every other
 * extension counts as existing, so that nothing is taken from it.
 */
export function ownershipOf(live: KubeObject | undefined, owner: Owner, extensionExists: ExtensionExists = () => true): Ownership {
  if (!live) return { kind: "free" };
  const { labels, annotations, ownerReferences } = live.metadata;
  const controller = ownerReferences?.find((reference) => reference.controller);
  const uid = annotations?.[ANNOTATION_OWNER_UID];
  if (controller) {
    if (controller.uid === owner.uid) return { kind: "ours" };
    return foreign(live, owner, claimOfController(controller, owner), isExtension(controller) ? controller.name : undefined);
  }
  if (uid === owner.uid && labels?.[LABEL_OWNER_NAME] === owner.name) return { kind: "ours" };
  const named = labels?.[LABEL_OWNER_KIND] === CLUSTER_EXTENSION ? labels[LABEL_OWNER_NAME] : undefined;
  if (named === undefined) return foreign(live, owner, claimOf(live));
  if (named === owner.name || !extensionExists(named, uid)) {
    const claim = { text: `it was left behind by ${CLUSTER_EXTENSION} "${named}", which does not exist any more` };
    return { kind: "orphan", owner: named, ...refusalOf(live, owner, claim) };
  }
  return foreign(live, owner, claimOfExtension(named), named);
}

/**
 * The message that refuses `live` to the owner, or undefined where it may be applied: free, ours or an orphan.
 * Its beginning is the Go operator-controller's.
 */
export function ownershipConflict(live: KubeObject | undefined, owner: Owner, extensionExists?: ExtensionExists): string | undefined {
  const ownership = ownershipOf(live, owner, extensionExists);
  return ownership.kind === "foreign" ? ownership.message : undefined;
}

/** Uid of the owner that the object's marks name, in the controller reference or, on CRDs, in the annotation; undefined without one. */
export function controllerOf({ metadata: { annotations, ownerReferences } }: KubeObject): string | undefined {
  return ownerReferences?.find(({ controller }) => controller)?.uid ?? annotations?.[ANNOTATION_OWNER_UID];
}

function foreign(live: KubeObject, owner: Owner, claim: Claim, extension?: string): Ownership {
  return { kind: "foreign", ...(extension === undefined ? {} : { owner: extension }), ...refusalOf(live, owner, claim) };
}

/** The namespace is that of the rendered object: empty where there is none, but the install namespace for webhook configurations. */
function refusalOf({ kind, metadata }: KubeObject, { installNamespace }: Owner, claim: Claim): Refusal {
  const namespace = WEBHOOK_CONFIGURATIONS.has(kind) ? installNamespace : (metadata.namespace ?? "");
  const refusal = `${kind} '${metadata.name}' already exists in namespace '${namespace}' and cannot be managed by operator-controller`;
  return { message: `${refusal}; ${claimText(claim)}`, refusal, claim };
}

function isExtension({ apiVersion, kind }: OwnerReference): boolean {
  return kind === CLUSTER_EXTENSION && groupOf(apiVersion) === GROUP;
}

function claimOfController(controller: OwnerReference, owner: Owner): Claim {
  const { apiVersion, kind, name } = controller;
  if (!isExtension(controller))
    return {
      text: `it belongs to ${kind} "${name}" (${apiVersion}), which controls it`,
      remedy: "remove that first, or install into another namespace",
    };
  if (name !== owner.name) return claimOfExtension(name);
  return {
    text: `it belongs to an earlier ${CLUSTER_EXTENSION} "${name}", and the garbage collector removes it`,
    remedy: "it is looked at again until it is gone",
  };
}

function claimOfExtension(name: string): Claim {
  return { text: `it belongs to ${CLUSTER_EXTENSION} "${name}"`, remedy: "a cluster can hold it once only, remove that extension first" };
}
