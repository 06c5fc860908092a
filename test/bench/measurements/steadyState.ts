import { setTimeout as sleep } from "node:timers/promises";
import { AuditTail, type Request } from "../../support/auditTail.ts";
import type { World } from "../../support/world.ts";
import { BenchCluster } from "../benchCluster.ts";
import { changeCatalog } from "../many/catalogChange.ts";
import { readCounters } from "../many/counters.ts";
import { waitUntilQuiet, waitUntilWatched } from "../many/quiet.ts";
import { TinyWorld } from "../many/tinyWorld.ts";
import type { BenchContext, Figure, Measurement } from "../measurement.ts";
import { readProcessUse } from "../processUse.ts";

const EXTENSIONS = 300;
const CHANGES = 3;
const QUIET_TIMEOUT_MS = 300_000;

/**
 * Measures very many unchanged extensions: their cost at rest, and the cost of an unrelated change of their catalog.
 */
export const steadyStateMeasurement: Measurement = {
  name: "steady-state",
  title: "300 small extensions (--extensions) at rest: 2 minutes (--settle), then 5 measured minutes (--rest); then catalog changes",
  figures: ["steady.memory", "steady.cpu", "steady.lists", "steady.requests", "steady.quiet", "steady.resolutions", "steady.fetches"],
  async *run(context) {
    await using cluster = await BenchCluster.start(context);
    await using world = await cluster.startServers();
    const tiny = await TinyWorld.start(cluster, world, context.extensions ?? EXTENSIONS, context.say);
    const seconds = await tiny.install();
    const streams = await waitUntilWatched(cluster.auditLog);
    const { pid } = world.installation.servers["operator-controller"];
    await waitUntilQuiet([pid], QUIET_TIMEOUT_MS);
    context.say(`installed in ${seconds.toFixed(1)} s, ${streams} streams; resting for ${context.settleSeconds} s`);
    await sleep(context.settleSeconds * 1_000);
    yield* rest(cluster, pid, context, `${tiny.packages.length} extensions, ${streams} streams`);
    yield* changes(tiny, cluster, world, context);
  },
};

async function* rest(
  cluster: BenchCluster,
  pid: number | undefined,
  { say, restSeconds }: BenchContext,
  what: string,
): AsyncGenerator<Figure> {
  say(`measuring ${restSeconds} s of rest`);
  const [before, audit] = [await readProcessUse(pid), await AuditTail.fromNow(cluster.auditLog)];
  await sleep(restSeconds * 1_000);
  const after = await readProcessUse(pid);
  const requests = await audit.listRequests();
  yield { id: "steady.memory", samples: [after.rssBytes], note: `${what}; peak ${Math.round(after.peakRssBytes / 1e6)} MB` };
  yield { id: "steady.cpu", samples: [(after.cpuSeconds - before.cpuSeconds) / restSeconds], note: `${restSeconds} s` };
  yield { id: "steady.lists", samples: [requests.filter(({ verb }) => verb === "list").length] };
  yield { id: "steady.requests", samples: [requests.length], note: describe(requests) };
}

async function* changes(
  tiny: TinyWorld,
  cluster: BenchCluster,
  world: World,
  { runs = CHANGES, say }: BenchContext,
): AsyncGenerator<Figure> {
  const changes = [];
  for (let edition = 1; edition <= runs; edition++) {
    const before = await readCounters(world);
    const { seconds, requests } = await changeCatalog(tiny, cluster, world, edition);
    const after = await readCounters(world);
    changes.push({
      seconds,
      requests,
      resolutions: after.resolutions - before.resolutions,
      fetches: after.fetches - before.fetches,
      notModified: after.notModified - before.notModified,
    });
    say(`change ${edition} of ${runs}: idle after ${seconds.toFixed(2)} s`);
  }
  yield { id: "steady.quiet", samples: changes.map(({ seconds }) => seconds), note: describe(changes[0]?.requests ?? []) };
  yield { id: "steady.resolutions", samples: changes.map(({ resolutions }) => resolutions) };
  const note = `responses with status 304: ${changes.map(({ notModified }) => notModified).join(", ")}`;
  yield { id: "steady.fetches", samples: changes.map(({ fetches }) => fetches), note };
}

/** Formats requests, such as "8 × create serviceaccounts/token, 2 × get clustercatalogs". */
function describe(requests: readonly Request[]): string {
  const format = ({ verb, ref }: Request): string =>
    [verb, [ref.resource, ref.subresource].filter((part) => part !== "").join("/")].join(" ");
  const groups = [...Map.groupBy(requests, format)].map(([text, of]) => `${of.length} × ${text}`);
  return `requests to the API server: ${groups.length > 0 ? groups.join(", ") : "none"}`;
}
