import { Agent, request } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWithPrivateCluster } from "../support/cluster.ts";
import { eventually } from "../support/eventually.ts";
import { World } from "../support/world.ts";

const METAS = [
  { schema: "olm.package", name: "p", defaultChannel: "stable" },
  { schema: "olm.channel", package: "p", name: "stable", entries: [{ name: "p.v1.0.0" }] },
  {
    schema: "olm.bundle",
    package: "p",
    name: "p.v1.0.0",
    image: "quay.io/olm/p@sha256:0000000000000000000000000000000000000000000000000000000000000000",
    properties: [{ type: "olm.package", value: { packageName: "p", version: "1.0.0" } }],
  },
];

/** Sends requests continuously on one keep-alive connection, as long as the server keeps the connection open. */
class Reader {
  readonly failures: string[] = [];
  readonly done: Promise<void>;
  answers = 0;
  asksToClose = 0;
  /** Set when the endpoint is withdrawn, as a Service does after readiness fails. */
  elsewhere = false;

  constructor(url: string) {
    this.done = this.#read(url);
  }

  async #read(url: string): Promise<void> {
    const agent = new Agent({ connections: 1 });
    while (!this.elsewhere) {
      try {
        const { statusCode, headers, body } = await request(url, { dispatcher: agent });
        await body.dump();
        if (statusCode !== 200) this.failures.push(`status ${statusCode}`);
        if (headers["connection"] === "close") this.asksToClose++;
        this.answers++;
      } catch (err) {
        this.failures.push(String(err));
      }
    }
    await agent.close();
  }
}

describeWithPrivateCluster("catalogd on SIGTERM", (cluster) => {
  let world: World;
  beforeAll(async () => {
    world = await World.start(cluster, { extraArgs: { catalogd: ["--shutdown-delay=6s"] } });
    const text = METAS.map((meta) => JSON.stringify(meta)).join("\n");
    await world.serve("stopping", await world.pushCatalog("olm/stopping", "v1", new Map([["catalog.json", Buffer.from(text)]])));
  });
  afterAll(() => world?.stop());

  // C-10
  test("catalogd fails no request after SIGTERM: it becomes unready, serves remaining requests, closes connections and exits", async () => {
    const { catalogs, probes, servers } = world.installation;
    const base = `${catalogs}/catalogs/stopping/api/v1`;
    const readers = [new Reader(`${base}/all`), new Reader(`${base}/metas?package=p`), new Reader(`${catalogs}/catalogs`)];
    await eventually(() => expect(readers.every(({ answers }) => answers > 5)).toBe(true));
    const ready = await request(`${probes.catalogd}/readyz?verbose`);
    expect([ready.statusCode, await ready.body.text()]).toEqual([200, expect.stringContaining("[+]catalog-server ok\n")]);
    const stopped = servers.catalogd.stop();
    const unready = await eventually(
      async () => {
        const { statusCode, body } = await request(`${probes.catalogd}/readyz`);
        const text = await body.text();
        expect(statusCode).toBe(500);
        return text;
      },
      { intervalMs: 20 },
    );
    expect(unready).toContain("[-]catalog-server failed: reason withheld\n");
    await eventually(() => expect(readers.every(({ asksToClose }) => asksToClose > 2)).toBe(true), { intervalMs: 20 });
    for (const reader of readers) reader.elsewhere = true;
    await Promise.all(readers.map(({ done }) => done));
    await stopped;
    expect(readers.flatMap(({ failures }) => failures)).toEqual([]);
    expect(servers.catalogd.ended).toContain("exit code 0");
    await expect(request(`${base}/all`)).rejects.toThrow("ECONNREFUSED");
  });
});
