import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../../support/eventually.ts";
import { BenchCluster } from "../benchCluster.ts";
import { GZIP, measureResponseRate, type Question, type Target } from "../http/answerRate.ts";
import { writeCertificateFiles } from "../http/certificateFiles.ts";
import { get } from "../http/tlsClient.ts";
import type { Measurement } from "../measurement.ts";
import { catalogInMemory, dataFolder } from "../realData.ts";

const NAME = "certified";

/** Measures catalogd's content server over TLS with a client on the same machine. */
export const httpMeasurement: Measurement = {
  name: "catalog-http",
  group: "catalogd",
  title: "requests per second of catalogd's content server with a real catalog, over TLS",
  figures: ["http.all", "http.all-gzip", "http.package", "http.schema", "http.schema-gzip", "http.not-modified"],
  async *run(context) {
    const files = await catalogInMemory(join(dataFolder(context), "fbc/certified-v4.14"));
    const { certFile, keyFile, cert } = await writeCertificateFiles(await mkdtemp(join(tmpdir(), "olmv1-tls-")));
    await using cluster = await BenchCluster.start(context);
    await using world = await cluster.startServers({ catalogd: ["--tls-cert", certFile, "--tls-key", keyFile] });
    await world.serve(NAME, await world.pushCatalog("bench/certified", "v1", files));
    const { catalogs, servers } = world.installation;
    const base = `${catalogs.replace("http:", "https:")}/catalogs/${NAME}/api/v1`;
    const target = { base, ca: cert, pid: servers.catalogd.pid };
    for (const question of await listQuestions(target)) yield await measureResponseRate(question, target, context);
  },
};

async function listQuestions({ base, ca }: Target): Promise<Question[]> {
  const all = await get(`${base}/all`, ca);
  const etag = String(all.headers["etag"]);
  await eventually(async () => {
    const { headers } = await get(`${base}/all`, ca, GZIP);
    if (headers["content-encoding"] !== "gzip") throw new Error("the compressed catalog is not available yet");
  });
  return [
    { id: "http.all", path: "all", connections: 4 },
    { id: "http.all-gzip", path: "all", headers: GZIP, connections: 4 },
    { id: "http.package", path: `metas?package=${encodeURIComponent(findLargestPackage(all.body))}`, connections: 8 },
    { id: "http.schema", path: "metas?schema=olm.package", connections: 8 },
    { id: "http.schema-gzip", path: "metas?schema=olm.package", headers: GZIP, connections: 8 },
    { id: "http.not-modified", path: "all", headers: { "if-none-match": etag }, connections: 8 },
  ];
}

/** Returns the name of the package with the most bytes. */
function findLargestPackage(lines: string): string {
  const bytes = new Map<string, number>();
  for (const line of lines.split("\n")) {
    if (line === "") continue;
    const { schema, name, package: packageName } = JSON.parse(line) as { schema?: string; name?: string; package?: string };
    const owner = (schema === "olm.package" ? name : packageName) ?? "";
    bytes.set(owner, (bytes.get(owner) ?? 0) + line.length);
  }
  const [largest] = [...bytes].sort(([, a], [, b]) => b - a);
  if (!largest) throw new Error("the catalog is empty");
  return largest[0];
}
