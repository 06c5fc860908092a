import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "../../support/eventually.ts";
import { BenchCluster } from "../benchCluster.ts";
import { type FigureId, GOALS } from "../goals.ts";
import { load } from "../http/load.ts";
import type { LoadResult } from "../http/loadOrder.ts";
import { serverCertificate } from "../http/serverCertificate.ts";
import { get } from "../http/tlsClient.ts";
import type { BenchContext, Figure, Measurement } from "../measurement.ts";
import { processUse } from "../processUse.ts";
import { catalogInMemory, dataFolder } from "../realData.ts";
import { digits } from "../units.ts";

const RUNS = 3;
const WARM_UP_SECONDS = 0.5;
const NAME = "certified";
const GZIP = { "accept-encoding": "gzip" };

/** The server under test. */
interface Target {
  /** Such as https://127.0.0.1:4711/catalogs/NAME/api/v1 */
  readonly base: string;
  readonly ca: string;
  readonly pid: number | undefined;
}

/** One way of asking: where, with which headers, on how many connections. */
interface Question {
  readonly id: FigureId;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly connections: number;
}

/** What catalogd's content server can send, over TLS, to a client on the same machine. */
export const httpMeasurement: Measurement = {
  name: "catalog-http",
  title: "requests per second of catalogd's content server with a real catalog, over TLS",
  figures: ["http.all", "http.all-gzip", "http.package", "http.schema", "http.schema-gzip", "http.not-modified"],
  async *run(context) {
    const files = await catalogInMemory(join(dataFolder(context), "fbc/certified-v4.14"));
    const { certFile, keyFile, cert } = await serverCertificate(await mkdtemp(join(tmpdir(), "olmv1-tls-")));
    await using cluster = await BenchCluster.start(context);
    await using world = await cluster.startServers({ catalogd: ["--tls-cert", certFile, "--tls-key", keyFile] });
    await world.serve(NAME, await world.pushCatalog("bench/certified", "v1", files));
    const { catalogs, servers } = world.installation;
    const base = `${catalogs.replace("http:", "https:")}/catalogs/${NAME}/api/v1`;
    const target = { base, ca: cert, pid: servers.catalogd.pid };
    for (const question of await questions(target)) yield await rateOf(question, target, context);
  },
};

async function questions({ base, ca }: Target): Promise<Question[]> {
  const all = await get(`${base}/all`, ca);
  const etag = String(all.headers["etag"]);
  await eventually(async () => {
    const { headers } = await get(`${base}/all`, ca, GZIP);
    if (headers["content-encoding"] !== "gzip") throw new Error("the compressed form of the catalog is not there yet");
  });
  return [
    { id: "http.all", path: "all", connections: 4 },
    { id: "http.all-gzip", path: "all", headers: GZIP, connections: 4 },
    { id: "http.package", path: `metas?package=${encodeURIComponent(largestPackage(all.body))}`, connections: 8 },
    { id: "http.schema", path: "metas?schema=olm.package", connections: 8 },
    { id: "http.schema-gzip", path: "metas?schema=olm.package", headers: GZIP, connections: 8 },
    { id: "http.not-modified", path: "all", headers: { "if-none-match": etag }, connections: 8 },
  ];
}

/** Name of the package with the most bytes. */
function largestPackage(lines: string): string {
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

async function rateOf({ id, path, headers = {}, connections }: Question, target: Target, context: BenchContext): Promise<Figure> {
  const runs = context.runs ?? RUNS;
  const results: LoadResult[] = [];
  const url = `${target.base}/${path}`;
  const before = await processUse(target.pid);
  for (let run = 1; run <= runs; run++) {
    results.push(await load({ url, headers, connections, seconds: context.seconds, warmUpSeconds: WARM_UP_SECONDS, ca: target.ca }));
  }
  const after = await processUse(target.pid);
  context.say(`${GOALS[id].work.trim()}: ${runs} runs`);
  const serverShare = (after.cpuSeconds - before.cpuSeconds) / (runs * (context.seconds + WARM_UP_SECONDS));
  return { id, samples: results.map(rate), note: noteOn(results, serverShare) };
}

/** Answers a second. Few large ones are counted by their bytes, or the ends of a run would show. */
function rate({ answers, bodyBytes, seconds, answerBytes }: LoadResult): number {
  return (answerBytes > 0 ? bodyBytes / answerBytes : answers) / seconds;
}

/** Size and kind of the answers, what went over the wire, and how busy the server was, of whose cores the client takes its share. */
function noteOn(results: readonly LoadResult[], serverShare: number): string {
  const sum = (of: (result: LoadResult) => number): number => results.reduce((total, result) => total + of(result), 0);
  const seconds = sum((r) => r.seconds);
  const [first] = results;
  const { answerBytes, encoding } = first ?? { answerBytes: 0, encoding: "" };
  const statuses = [...new Set(results.flatMap((result) => Object.keys(result.statuses)))].join(" ");
  const megabytes = sum((r) => r.bodyBytes) / seconds / 1e6;
  const size = answerBytes === 0 ? "no body" : `${(answerBytes / 1e6).toFixed(2)} MB each, ${megabytes.toFixed(0)} MB/s`;
  const clientShare = sum((r) => r.clientCpuSeconds) / seconds;
  const perServerSecond = digits(sum(rate) / results.length / serverShare);
  return (
    `TLS, status ${statuses}, ${encoding}, ${size}; cores in use: server ${serverShare.toFixed(2)}, client ${clientShare.toFixed(2)}; ` +
    `${perServerSecond} answers for a CPU second of the server`
  );
}
