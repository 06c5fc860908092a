import { gunzipSync } from "node:zlib";
import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import type { Client } from "../../pkg/kube/client.ts";
import { CLUSTER_OPERATOR } from "../../pkg/operatorcontroller/openshift/clusterOperator.ts";
import { CLUSTER_VERSION } from "../../pkg/operatorcontroller/openshift/clusterVersion.ts";
import { followObjects } from "./followObjects.ts";
import { getObjectCondition } from "./openShift.ts";

/** A write of one object that the watch compares with the others, in the order of their resourceVersions. */
interface Write {
  readonly revision: number;
  readonly kind: string;
  readonly name: string;
  /** Undefined if the object was deleted. */
  readonly object: KubeObject | undefined;
}

/** The maximum of a deployed release as [major, minor]; undefined without one. */
type Maximum = readonly [number, number] | undefined;

/** A release with status deployed. */
interface Deployed {
  readonly extension: string;
  readonly version: number;
  readonly max: Maximum;
}

const SECRET = { apiVersion: "v1", kind: "Secret" } as const;
const RELEASES = { namespace: SYSTEM_NAMESPACE, labelSelector: "owner=operator-controller,type=index" };

/**
 * Records all writes of releases, ClusterOperator `olm` and ClusterVersion, and finds moments in which the ClusterOperator allowed an upgrade although
 * the installed release of an extension does not support the next minor version. The newest deployed release is the installed one: for a moment after an
 * upgrade, the previous release is deployed, too.
 * @see https://github.com/helm/helm/blob/v3.19.0/pkg/storage/storage.go Deployed
 */
export class UpgradeableWatch implements AsyncDisposable {
  readonly #writes: Write[] = [];
  readonly #stops: (() => Promise<void>)[] = [];

  static async start(client: Client): Promise<UpgradeableWatch> {
    const watch = new UpgradeableWatch();
    await watch.#follow(client, SECRET, RELEASES);
    await watch.#follow(client, CLUSTER_OPERATOR, { fieldSelector: `metadata.name=${CLUSTER_OPERATOR.name}` });
    await watch.#follow(client, CLUSTER_VERSION, { fieldSelector: `metadata.name=${CLUSTER_VERSION.name}` });
    return watch;
  }

  /** Number of writes of the ClusterOperator that changed Upgradeable to True. */
  get allowed(): number {
    const states = this.#sorted().flatMap(({ kind, object }) =>
      kind === CLUSTER_OPERATOR.kind && object ? [readUpgradeable(object)] : [],
    );
    return states.filter((state, at) => state === "True" && states[at - 1] !== "True").length;
  }

  /**
   * Each moment in which Upgradeable was True although a release that does not support the next minor version was installed. The version of the cluster
   * counts from the first write of the ClusterOperator that reports it, because its upgrade is not complete before.
   */
  get wrong(): string[] {
    const found: string[] = [];
    const deployed = new Map<string, Deployed>();
    let isUpgradeable = false;
    let cluster: Maximum;
    for (const { revision, kind, name, object } of this.#sorted()) {
      if (kind === SECRET.kind) {
        if (object?.metadata.labels?.["status"] === "deployed") deployed.set(name, readDeployed(object));
        else deployed.delete(name);
      } else if (kind === CLUSTER_OPERATOR.kind && object) {
        isUpgradeable = readUpgradeable(object) === "True";
        cluster = readVersion(object);
      }
      const blocking = selectInstalled([...deployed.values()]).filter(({ max }) => max && cluster && compare(max, cluster) <= 0);
      if (isUpgradeable && blocking.length > 0)
        found.push(
          `revision ${revision}: Upgradeable on ${cluster?.join(".")} with ${blocking.map(({ extension, version }) => `${extension} v${version}`).join(", ")}`,
        );
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) await stop();
  }

  async #follow(client: Client, { apiVersion, kind }: { apiVersion: string; kind: string }, selection: object): Promise<void> {
    const stop = await followObjects(client, { apiVersion, kind, selection }, (object, isDeleted) => {
      const { name, resourceVersion: revision } = object.metadata;
      this.#writes.push({ revision: Number(revision), kind, name, object: isDeleted ? undefined : object });
    });
    this.#stops.push(stop);
  }

  #sorted(): Write[] {
    return this.#writes.toSorted((a, b) => a.revision - b.revision);
  }
}

function readUpgradeable(object: KubeObject): string | undefined {
  return getObjectCondition(object, "Upgradeable")?.status;
}

/** Reads the minor version that a ClusterOperator reports; 4.23 counts as 5.0. */
function readVersion(object: KubeObject): Maximum {
  const { versions = [] } = (object["status"] ?? {}) as { versions?: { name: string; version: string }[] };
  const [major = 0, minor = 0] = (versions.find(({ name }) => name === "operator")?.version ?? "0.0").split(".").map(Number);
  return major === 4 && minor === 23 ? [5, 0] : [major, minor];
}

function readDeployed(secret: KubeObject): Deployed {
  const { name = "", version = "" } = secret.metadata.labels ?? {};
  return { extension: name, version: Number(version), max: readMaximum(secret) };
}

/** Returns the newest deployed release of each extension. */
function selectInstalled(deployed: readonly Deployed[]): Deployed[] {
  return deployed.filter(({ extension, version }) => !deployed.some((other) => other.extension === extension && other.version > version));
}

/** Reads the maximum in a release Secret as the Go operator-controller encodes it. */
function readMaximum(secret: KubeObject): Maximum {
  const { chunk = "" } = (secret["data"] ?? {}) as { chunk?: string };
  const release = JSON.parse(gunzipSync(Buffer.from(chunk, "base64")).toString()) as {
    chart: { metadata: { annotations?: Record<string, string> } };
  };
  const properties = JSON.parse(release.chart.metadata.annotations?.["olm.properties"] ?? "[]") as { type: string; value: string }[];
  const [major, minor] = (properties.find(({ type }) => type === "olm.maxOpenShiftVersion")?.value ?? "").split(".").map(Number);
  return major === undefined || minor === undefined || Number.isNaN(major) ? undefined : [major, minor];
}

function compare([major, minor]: readonly [number, number], [otherMajor, otherMinor]: readonly [number, number]): number {
  return major - otherMajor || minor - otherMinor;
}
