import type { ClusterExtension } from "../../../pkg/api/clusterExtension.ts";
import { API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import { mapInParallel } from "../../../pkg/async/concurrency.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import type { World } from "../world.ts";

const CONCURRENCY = 16;
/** Of ten extensions, this many are healthy. */
const HEALTHY_OF_TEN = 8;
const AGE_STEP_MS = 11 * 60_000;

/**
 * Creates extensions whose statuses are those of existing extensions under other names. First stops operator-controller and
 * permission-manager, which would write other statuses. The extensions have no objects and no releases.
 */
export async function createSynthetic(world: World, count: number): Promise<void> {
  const { client } = world.cluster;
  const { servers } = world.installation;
  await Promise.all([servers["operator-controller"].stop(), servers["permission-manager"].stop()]);
  const { items } = await client.list<ClusterExtension>({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION });
  const isHealthy = ({ status }: ClusterExtension): boolean => status !== undefined && (status.problems ?? []).length === 0;
  const [healthy, troubled] = [items.filter(isHealthy), items.filter((one) => !isHealthy(one))];
  const numbers = Array.from({ length: count }, (_, at) => at);
  await mapInParallel(numbers, CONCURRENCY, async (at) => {
    const [tens, rest] = [Math.floor(at / 10), at % 10];
    const template =
      rest < HEALTHY_OF_TEN
        ? healthy[(tens * HEALTHY_OF_TEN + rest) % healthy.length]
        : troubled[(tens * (10 - HEALTHY_OF_TEN) + rest - HEALTHY_OF_TEN) % troubled.length];
    if (template) await createCopy(client, template, at);
  });
}

async function createCopy(client: Client, template: ClusterExtension, at: number): Promise<void> {
  const name = `${template.metadata.name}-${String(at + 1).padStart(4, "0")}`;
  const { metadata, spec, status } = rename(template, name, at);
  const created = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, metadata: { name: metadata.name }, spec };
  await client.create(created, { fieldManager: "kubectl-create" });
  const ref = { apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, name };
  await client.patch(ref, { status }, { type: "merge", subresource: "status" });
}

/** Replaces name and namespace wherever the extension contains them, and makes its conditions older. */
function rename({ metadata, spec, status }: ClusterExtension, name: string, at: number): ClusterExtension {
  const namespace = status?.install?.namespace ?? spec.namespace;
  const text = JSON.stringify({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION, metadata: { name: metadata.name }, spec, status });
  const renamed = namespace === undefined ? text : text.replaceAll(`"${namespace}"`, `"${name}"`).replaceAll(`${namespace}/`, `${name}/`);
  return JSON.parse(renamed, (key, value: unknown) => {
    if (key === "observedGeneration") return 1;
    if (key === "name" && value === metadata.name) return name;
    if (key === "lastTransitionTime") return shiftTime(String(value), at * AGE_STEP_MS);
    return value;
  }) as ClusterExtension;
}

function shiftTime(time: string, byMs: number): string {
  return `${new Date(Date.parse(time) - byMs).toISOString().slice(0, 19)}Z`;
}
