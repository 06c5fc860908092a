import { networkInterfaces } from "node:os";
import { type FastifyInstance, fastify } from "fastify";
import { getErrorMessage } from "../errors/errors.ts";
import type { Logger } from "./log.ts";
import type { Metrics } from "./metrics.ts";

/**
 * Health check function. Returns on success and throws on failure; must finish within seconds. A
 * returned text is included in the response to `?verbose`.
 */
type HealthCheck = () => string | void | Promise<string | void>;
/** Checks by name. */
export type HealthChecks = Readonly<Record<string, HealthCheck>>;

/** Options of a probe server. Absent endpoints are not served. */
export interface ProbeServerInit {
  /** ":8081", "127.0.0.1:0", "[::1]:8081"; "0" disables the server. */
  bindAddress: string;
  /** Checks of /healthz: a failure means that the process must be restarted. */
  live?: HealthChecks;
  /** Checks of /readyz: a failure means that the process must not receive traffic. */
  ready?: HealthChecks;
  /** Served at /metrics without authentication. */
  metrics?: Metrics | undefined;
  log: Logger;
}

/** A running probe server; `url` is empty if it is disabled. */
export interface ProbeServer {
  readonly url: string;
  close(): Promise<void>;
}

const CHECK_TIMEOUT_MS = 5_000;
/** Maximum number of unknown check names that a response lists. */
const MAX_UNKNOWN = 5;
const MAX_NAME = 64;

/**
 * Serves /healthz, /readyz (each check also at /readyz/NAME) and /metrics. On success the response
 * is 200 with "ok", or with one line per check for `?verbose`. On failure it is 500 with one line
 * per check. The cause of a failure is logged, but not served. `?exclude=NAME`, which is
 * repeatable, skips a check.
 * @see sigs.k8s.io/controller-runtime v0.24.1 pkg/healthz
 */
export async function startProbeServer(init: ProbeServerInit): Promise<ProbeServer> {
  if (init.bindAddress === "0" || init.bindAddress === "") return { url: "", close: () => Promise.resolve() };
  const app = fastify({ logger: false, forceCloseConnections: true });
  serveChecks(app, "/healthz", init.live ?? {}, init.log);
  serveChecks(app, "/readyz", init.ready ?? {}, init.log);
  const { metrics } = init;
  if (metrics) app.get("/metrics", async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  const { host, port } = parseBindAddress(init.bindAddress);
  const url = await app.listen({ host, port });
  return { url, close: () => app.close() };
}

/**
 * Parses host and port of a Go-style bind address; without a host, returns all addresses.
 * @throws Error if the port is not between 0 and 65535.
 */
export function parseBindAddress(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(":");
  const port = text.slice(colon + 1);
  if (colon < 0 || !/^\d{1,5}$/.test(port) || Number(port) > 65_535) throw new Error(`bind address "${text}": want host:port`);
  const host = text.slice(0, colon).replace(/^\[(.*)\]$/, "$1");
  return { host: host === "" ? allAddresses() : host, port: Number(port) };
}

/** "::" also accepts IPv4 connections, but is not available if IPv6 is disabled. */
function allAddresses(): string {
  const known = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return known.some(({ family }) => family === "IPv6") ? "::" : "0.0.0.0";
}

function serveChecks(app: FastifyInstance, path: string, checks: HealthChecks, log: Logger): void {
  const all = Object.entries(checks);
  app.get<{ Querystring: { exclude?: string | string[]; verbose?: string | string[] } }>(path, async ({ query }, reply) => {
    const excluded = new Set([query.exclude ?? []].flat());
    const results = await Promise.all(
      all.map(async ([name, check]) => {
        if (excluded.delete(name)) return { line: `[+]${name} excluded: ok`, ok: true };
        const result = await runCheck(path, name, check, log);
        return { line: result.ok ? `[+]${name} ok${result.note}` : `[-]${name} failed: reason withheld`, ok: result.ok };
      }),
    );
    const unknown = [...excluded].slice(0, MAX_UNKNOWN).map((name) => JSON.stringify(name.slice(0, MAX_NAME)));
    const warning = unknown.length > 0 ? [`warn: some health checks cannot be excluded: no matches for ${unknown.join(",")}`] : [];
    const passed = results.every(({ ok }) => ok);
    if (passed && query.verbose === undefined) return reply.type("text/plain").send("ok");
    const lines = [...results.map(({ line }) => line), ...warning, `${path.slice(1)} check ${passed ? "passed" : "failed"}`];
    return reply
      .code(passed ? 200 : 500)
      .type("text/plain")
      .send(`${lines.join("\n")}\n`);
  });
  app.get<{ Params: { name: string } }>(`${path}/:name`, async (request, reply) => {
    const { name } = request.params;
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (!check) return reply.code(404).type("text/plain").send("no such check\n");
    if ((await runCheck(path, name, check, log)).ok) return reply.type("text/plain").send("ok");
    return reply.code(500).type("text/plain").send("internal server error: reason withheld\n");
  });
}

async function runCheck(path: string, name: string, check: HealthCheck, log: Logger): Promise<{ ok: true; note: string } | { ok: false }> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no response within ${CHECK_TIMEOUT_MS} ms`)), CHECK_TIMEOUT_MS);
  });
  try {
    const note = await Promise.race([Promise.resolve().then(check), late]);
    return { ok: true, note: note === undefined ? "" : `: ${note}` };
  } catch (err) {
    log.info({ probe: path, check: name, reason: getErrorMessage(err) }, "health check failed");
    return { ok: false };
  } finally {
    clearTimeout(timer);
  }
}
