import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateCatalog } from "../../bench/generatedCatalog.ts";
import { writeCertificateFiles } from "../../bench/http/certificateFiles.ts";
import { load } from "../../bench/http/load.ts";
import { type Dimension, measureWork } from "../dimension.ts";

const NAME = "served";
const PACKAGES = 200;
const WARM_UP_SECONDS = 3;
const SECONDS = 20;
const OK = "200";

/** Clients of the content server, each with a TLS connection of its own. */
export const clientsDimension: Dimension = {
  name: "clients",
  unit: "HTTP clients",
  description: `Clients read one package (120 KB) of a catalog of ${PACKAGES} packages over TLS, again and again for ${SECONDS} s, each on its own connection. The time is the mean response time of a client.`,
  sizes: [100, 300, 1_000],
  async measure(size, context) {
    const { certFile, keyFile, cert } = await writeCertificateFiles(await mkdtemp(join(tmpdir(), "olmv1-tls-")));
    let latency = 0;
    const cost = await measureWork(
      context,
      async (_cluster, world) => {
        await world.serve(NAME, await world.pushCatalog("scale/served", "v1", generateCatalog(PACKAGES).files));
        return world.installation.catalogs.replace("http:", "https:");
      },
      async (base) => {
        const [first] = generateCatalog(1).files.keys();
        const url = `${base}/catalogs/${NAME}/api/v1/metas?package=${first?.split("/")[0] ?? ""}`;
        const result = await load({ url, headers: {}, connections: size, seconds: SECONDS, warmUpSeconds: WARM_UP_SECONDS, ca: cert });
        if (Object.keys(result.statuses).join() !== OK) throw new Error(`responses: ${JSON.stringify(result.statuses)}`);
        latency = (result.seconds * size) / result.answers;
        context.say(`${size} clients: ${Math.round(result.answers / result.seconds)} responses a second`);
      },
      { catalogd: ["--tls-cert", certFile, "--tls-key", keyFile] },
    );
    return { ...cost, seconds: latency };
  },
};
