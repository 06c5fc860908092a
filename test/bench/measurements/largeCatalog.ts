import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ClusterCatalog } from "../../../pkg/api/clusterCatalog.ts";
import { eventually } from "../../support/eventually.ts";
import { BenchCluster } from "../benchCluster.ts";
import { measureResponseRate } from "../http/answerRate.ts";
import { writeCertificateFiles } from "../http/certificateFiles.ts";
import { getHeaders } from "../http/tlsClient.ts";
import { LARGE_BYTES, type LargeCatalog, largeCatalog } from "../largeCatalog.ts";
import type { Measurement } from "../measurement.ts";
import { clusterCatalog, isServing } from "../objectState.ts";
import { Observer } from "../observer.ts";
import { readProcessUse } from "../processUse.ts";
import { dataFolder } from "../realData.ts";

const ANSWER_BYTES = 1_500_000;
const TIMEOUT_MS = 300_000;
const NAME = "large";

/** Unpacks a catalog of 539 MB, created from real packages under many names, and requests a package. */
export const largeCatalogMeasurement: Measurement = {
  name: "large-catalog",
  group: "catalogd",
  title: "a catalog of 539 MB: time from ClusterCatalog applied to Serving, memory, and requests for one package",
  figures: ["unpack-large.time", "unpack-large.peak", "unpack-large.compressed", "unpack-large.compressed-peak", "http.package-large"],
  async *run(context) {
    const folder = join(dataFolder(context), "fbc");
    context.say("creating the catalog");
    const catalog = await largeCatalog([join(folder, "certified-v4.14"), join(folder, "community-v4.19")], LARGE_BYTES);
    const { certFile, keyFile, cert } = await writeCertificateFiles(await mkdtemp(join(tmpdir(), "olmv1-tls-")));
    await using cluster = await BenchCluster.start(context);
    await using world = await cluster.startServers({ catalogd: ["--tls-cert", certFile, "--tls-key", keyFile] });
    const ref = await world.pushCatalog("bench/large", "v1", catalog.files);
    const layer = await fetchLayer(`http://${cluster.registry.host}/v2/bench/large/manifests/v1`);
    context.say(`pushed ${Math.round(catalog.bytes / 1e6)} MB`);
    await using catalogs = await Observer.start<ClusterCatalog>(cluster.client, "ClusterCatalog");
    const { pid } = world.installation.servers.catalogd;
    const apply = (): Promise<unknown> => world.apply(clusterCatalog(NAME, ref));
    const seconds = await catalogs.secondsUntil(apply, () => isServing(catalogs.get(NAME)), TIMEOUT_MS);
    const { cpuSeconds, peakRssBytes } = await readProcessUse(pid);
    context.say(`Serving after ${seconds.toFixed(1)} s`);
    const note = [
      `${catalog.bytes.toLocaleString("en")} bytes in ${catalog.files.size} files, ${catalog.packages.size} packages, ${catalog.bundles} bundles`,
      `1 layer of ${layer.size.toLocaleString("en")} bytes, ${layer.mediaType}`,
      `CPU time of catalogd ${cpuSeconds.toFixed(1)} s`,
    ].join("; ");
    yield { id: "unpack-large.time", samples: [seconds], note };
    yield { id: "unpack-large.peak", samples: [peakRssBytes], note: "until Serving" };
    const compressed = await secondsUntilCompressed(
      `${world.installation.catalogs.replace("http:", "https:")}/catalogs/${NAME}/api/v1/all`,
      cert,
    );
    yield { id: "unpack-large.compressed", samples: [seconds + compressed], note: "starting when the ClusterCatalog is applied" };
    yield { id: "unpack-large.compressed-peak", samples: [(await readProcessUse(pid)).peakRssBytes] };
    const base = `${world.installation.catalogs.replace("http:", "https:")}/catalogs/${NAME}/api/v1`;
    const path = `metas?package=${encodeURIComponent(findPackage(catalog, ANSWER_BYTES))}`;
    yield await measureResponseRate({ id: "http.package-large", path, connections: 8 }, { base, ca: cert, pid }, context);
  },
};

/** Returns the only layer in the manifest of an image. */
async function fetchLayer(manifest: string): Promise<{ size: number; mediaType: string }> {
  const response = await fetch(manifest, { headers: { accept: "application/vnd.oci.image.manifest.v1+json" } });
  const { layers } = (await response.json()) as { layers: { size: number; mediaType: string }[] };
  const [layer] = layers;
  if (!layer || layers.length > 1) throw new Error(`${manifest}: ${layers.length} layers instead of one`);
  return layer;
}

/** Returns the seconds until the catalog is available in all encodings. */
async function secondsUntilCompressed(all: string, ca: string): Promise<number> {
  const started = performance.now();
  for (const coding of ["gzip", "zstd"]) {
    await eventually(
      async () => {
        const headers = await getHeaders(all, ca, { "accept-encoding": coding });
        if (headers["content-encoding"] !== coding) throw new Error(`the ${coding} catalog is not available yet`);
      },
      { timeoutMs: TIMEOUT_MS },
    );
  }
  return (performance.now() - started) / 1_000;
}

/** Returns the package with the nearest size. */
function findPackage({ packages }: LargeCatalog, bytes: number): string {
  const [nearest] = [...packages].sort(([, a], [, b]) => Math.abs(a - bytes) - Math.abs(b - bytes));
  if (!nearest) throw new Error("the catalog is empty");
  return nearest[0];
}
