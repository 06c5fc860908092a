import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { getGroup, type JsonObject, type KubeObject, type OwnerReference, toObjectRef } from "../../pkg/api/k8s.ts";
import { getComponentLabel } from "../../pkg/api/migration.ts";
import { getNonEmptyText, getObjectAt, getObjectsAt } from "../../pkg/golang/members.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { isCrd } from "../../pkg/release/identity.ts";
import { eventually } from "./eventually.ts";

const GROUP = "operators.coreos.com";
/** Namespace of the recorded CatalogSource. */
const CATALOG_NAMESPACE = "olm";
/** Kinds in the order in which they are created: owners before their dependents. */
const FIRST = ["CatalogSource", "OperatorGroup", "Subscription", "InstallPlan", "ClusterServiceVersion", "OperatorCondition"];

/** The ClusterServiceVersion and Subscription of a recorded package. */
export interface RecordedPackage {
  readonly packageName: string;
  readonly namespace: string;
  /** Name of the Subscription. */
  readonly subscription: string;
  /** Name of the ClusterServiceVersion. */
  readonly csv: string;
  readonly version: string;
  readonly channel: string;
}

/** The objects that OLM v0 left on a real cluster, with 14 operators. */
export class ClassicRecording {
  readonly #objects: readonly KubeObject[];
  readonly packages: readonly RecordedPackage[];

  private constructor(objects: readonly KubeObject[]) {
    this.#objects = objects;
    this.packages = objects.flatMap((object) => toPackage(object, objects));
  }

  /** @param folder the folder of real data. */
  static read(folder: string): ClassicRecording {
    const text = gunzipSync(readFileSync(join(folder, "classic", "objects.jsonl.gz"))).toString("utf8");
    return new ClassicRecording(
      text
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as KubeObject),
    );
  }

  /**
   * Returns a recording in which OLM v0 installed a package in the namespace of a dependent that requires it. The namespace keeps its OperatorGroup, which
   * must target the same namespaces.
   */
  withDependency(dependent: string, dependency: string): ClassicRecording {
    const [from, to] = [this.get(dependency).namespace, this.get(dependent)];
    const isGroup = ({ kind, metadata }: KubeObject): boolean => kind === "OperatorGroup" && metadata.namespace === from;
    const property = (type: string, value: JsonObject): string => JSON.stringify(JSON.stringify({ type, value })).slice(1, -1);
    const own = property("olm.package", { packageName: dependent, version: to.version });
    const required = property("olm.package.required", { packageName: dependency, versionRange: ">=0.0.0" });
    const text = JSON.stringify(this.#objects.filter((object) => !isGroup(object)));
    return new ClassicRecording(JSON.parse(text.replaceAll(from, to.namespace).replaceAll(own, `${own},${required}`)) as KubeObject[]);
  }

  get(packageName: string): RecordedPackage {
    const found = this.packages.find((one) => one.packageName === packageName);
    if (!found) throw new Error(`the recording has no package ${packageName}`);
    return found;
  }

  /** Creates the CustomResourceDefinitions of OLM v0, and the recorded CatalogSource. */
  async serve(client: Client): Promise<void> {
    const classic = this.#objects.filter((object) => isCrd(object) && object.metadata.name.endsWith(`.${GROUP}`));
    for (const crd of classic) await client.create(withoutServerFields(crd), { fieldManager: "test" });
    await createNamespace(client, CATALOG_NAMESPACE);
    const sources = this.#objects.filter(({ kind }) => kind === "CatalogSource");
    await replay(client, sources, new Map());
  }

  /**
   * Creates the objects of packages as OLM v0 left them, with their labels, field managers and status, and with current uids in owner references.
   * Packages that share a namespace must be replayed by one call.
   */
  async replay(client: Client, packageNames: readonly string[]): Promise<void> {
    const packages = packageNames.map((name) => this.get(name));
    const objects = this.#objects.filter((object) => packages.some((one) => this.#belongsTo(object, one)));
    const namespaces = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
    for (const namespace of namespaces) await createNamespace(client, namespace);
    await replay(client, objects, new Map());
  }

  #belongsTo(object: KubeObject, one: RecordedPackage): boolean {
    const { kind, metadata } = object;
    const { labels = {}, ownerReferences = [], name, namespace } = metadata;
    const isCluster = namespace === undefined;
    if (isCrd(object)) return this.#definitions(one).includes(name);
    if (kind === "OperatorGroup") return namespace === one.namespace;
    if (kind === "Operator") return name === `${one.packageName}.${one.namespace}`;
    if (getComponentLabel(one) in labels || labels["olm.owner"] === one.csv) return true;
    if (kind === "ClusterServiceVersion") return name === one.csv;
    if (kind === "InstallPlan") return ownerReferences.some((owner) => owner.kind === "Subscription" && owner.name === one.subscription);
    if (kind === "RoleBinding" && namespace === "kube-system") return this.#isAuthReader(name, one);
    if (ownerReferences.some((owner) => isOwner(owner, one) && (isCluster || namespace === one.namespace))) return true;
    if (ownerReferences.some((owner) => this.#definitions(one).includes(owner.name))) return true;
    if (name === "mine") return this.#definitions(one).some((crd) => crd.endsWith(`.${getGroup(object.apiVersion)}`));
    return this.#plannedFor(one).some(
      (planned) => planned.kind === kind && planned.name === name && (isCluster || namespace === one.namespace),
    );
  }

  #isAuthReader(name: string, one: RecordedPackage): boolean {
    return this.#objects.some(
      ({ kind, metadata }) =>
        kind === "Deployment" && metadata.labels?.["olm.owner"] === one.csv && name === `${metadata.name}-service-auth-reader`,
    );
  }

  #definitions({ csv, namespace }: RecordedPackage): string[] {
    const found = this.#objects.find(
      ({ kind, metadata }) => kind === "ClusterServiceVersion" && metadata.name === csv && metadata.namespace === namespace,
    );
    return getObjectsAt(getObjectAt(getObjectAt(found, "spec"), "customresourcedefinitions"), "owned").flatMap(
      (crd) => getNonEmptyText(crd, "name") ?? [],
    );
  }

  #plannedFor({ csv, namespace }: RecordedPackage): { kind: string; name: string }[] {
    const plans = this.#objects.filter(({ kind, metadata }) => kind === "InstallPlan" && metadata.namespace === namespace);
    return plans.flatMap((plan) =>
      getObjectsAt(getObjectAt(plan, "status"), "plan").flatMap((step) => {
        const { kind, name } = getObjectAt(step, "resource") as { kind: string; name: string };
        return getNonEmptyText(step, "resolving") === csv ? [{ kind, name }] : [];
      }),
    );
  }
}

function toPackage(object: KubeObject, all: readonly KubeObject[]): RecordedPackage[] {
  if (object.kind !== "Subscription") return [];
  const { name: subscription, namespace = "" } = object.metadata;
  const packageName = getNonEmptyText(getObjectAt(object, "spec"), "name") ?? "";
  const csv = getNonEmptyText(getObjectAt(object, "status"), "installedCSV") ?? "";
  const found = all.find(({ kind, metadata }) => kind === "ClusterServiceVersion" && metadata.name === csv);
  return [
    {
      packageName,
      namespace,
      subscription,
      csv,
      version: getNonEmptyText(getObjectAt(found, "spec"), "version") ?? "",
      channel: getNonEmptyText(getObjectAt(object, "spec"), "channel") ?? "",
    },
  ];
}

function isOwner({ kind, name }: OwnerReference, one: RecordedPackage): boolean {
  return (kind === "ClusterServiceVersion" || kind === "OperatorCondition") && name === one.csv;
}

async function createNamespace(client: Client, name: string): Promise<void> {
  await client.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } }, { fieldManager: "test", force: true });
}

/** Creates objects, then their status and field managers. @param uids current uids by recorded uid. */
async function replay(client: Client, objects: readonly KubeObject[], uids: Map<string, string>): Promise<void> {
  const order = ({ kind, ...object }: KubeObject): number => {
    const first = FIRST.indexOf(kind);
    if (first >= 0) return first;
    if (isCrd({ kind, ...object })) return FIRST.length;
    return object.metadata.name === "mine" ? FIRST.length + 3 : kind === "Deployment" ? FIRST.length + 2 : FIRST.length + 1;
  };
  for (const object of objects.toSorted((a, b) => order(a) - order(b))) {
    const { managedFields = [], uid = "" } = object.metadata;
    const created = await eventually(() => client.create(withCurrentOwners(withoutServerFields(object), uids), { fieldManager: "replay" }));
    uids.set(uid, created.metadata.uid ?? "");
    await eventually(async () => {
      const live = await client.get(toObjectRef(object));
      if (!live) throw new Error(`${object.kind} ${object.metadata.name} was not created`);
      const kept = managedFields.filter(({ subresource }) => subresource === undefined || subresource === "");
      await client.replace({ ...live, metadata: { ...live.metadata, managedFields: kept } }, { fieldManager: "replay" });
    });
    if (WITH_STATUS.has(object.kind) && object["status"] !== undefined)
      await client.patch(toObjectRef(object), { status: object["status"] }, { type: "merge", subresource: "status", fieldManager: "olm" });
  }
}

/** Kinds whose status no controller of the control plane writes. */
const WITH_STATUS: ReadonlySet<string> = new Set([...FIRST, "Operator"]);

function withoutServerFields(object: KubeObject): KubeObject {
  const { status: _, ...rest } = object;
  const metadata = omit(object.metadata, ["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"]);
  const annotations = omit(metadata.annotations ?? {}, ["deployment.kubernetes.io/revision"]);
  const kept = { ...rest, metadata: { ...metadata, ...(metadata.annotations ? { annotations } : {}) } };
  return object.kind === "Service" ? { ...kept, spec: omit(getObjectAt(object, "spec"), ["clusterIP", "clusterIPs"]) } : kept;
}

function omit<T extends object>(object: T, keys: readonly string[]): T {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key))) as T;
}

/** Keeps only owners that were created: the real garbage collector would delete an object whose owner does not exist. */
function withCurrentOwners(object: KubeObject, uids: ReadonlyMap<string, string>): KubeObject {
  const { ownerReferences } = object.metadata;
  if (!ownerReferences) return object;
  const current = ownerReferences.flatMap((owner) => {
    const uid = uids.get(owner.uid);
    return uid === undefined ? [] : [{ ...owner, uid }];
  });
  return { ...object, metadata: { ...object.metadata, ownerReferences: current } };
}
