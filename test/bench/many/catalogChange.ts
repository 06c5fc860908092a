import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { API_VERSION } from "../../../pkg/api/constants.ts";
import { AuditTail, type Request } from "../../support/auditTail.ts";
import type { World } from "../../support/world.ts";
import type { BenchCluster } from "../benchCluster.ts";
import { waitUntilQuiet } from "./quiet.ts";
import { TINY_CATALOG, type TinyWorld } from "./tinyWorld.ts";

/** Effect of a new edition of the catalog. */
export interface CatalogChange {
  /** Time until both servers were idle and the last request was sent. */
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly requests: readonly Request[];
}

const TIMEOUT_MS = 120_000;
const REF = { apiVersion: API_VERSION, kind: "ClusterCatalog", name: TINY_CATALOG };

/** Publishes a new edition of the catalog and waits until it is served and both servers are idle. */
export async function changeCatalog(tiny: TinyWorld, cluster: BenchCluster, world: World, edition: number): Promise<CatalogChange> {
  const { catalogd, "operator-controller": controller } = world.installation.servers;
  const ref = await tiny.pushEdition(edition);
  const isServed = async (): Promise<boolean> => {
    const catalog = await cluster.client.get<ClusterCatalog>(REF);
    return catalog?.status?.resolvedSource?.image?.ref === ref;
  };
  const [audit, since] = [await AuditTail.fromNow(cluster.auditLog), Date.now()];
  await cluster.client.patch(REF, { spec: { source: { image: { ref } } } }, { type: "merge" });
  const busy = await waitUntilQuiet([controller.pid, catalogd.pid], TIMEOUT_MS, isServed);
  const requests = await audit.listRequests();
  const last = requests.reduce((latest, { time }) => Math.max(latest, Date.parse(time.begin)), since);
  return { seconds: Math.max(busy.seconds, (last - since) / 1_000), cpuSeconds: busy.cpuSeconds[0] ?? 0, requests };
}
