import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { waitForAbort } from "../../../pkg/async/concurrency.ts";
import { getCacheFolder } from "../../../pkg/catalogcache/catalogCache.ts";
import { ClusterIdentity } from "../../../pkg/console/cluster/clusterIdentity.ts";
import { LoginSessions } from "../../../pkg/console/http/loginSessions.ts";
import { listLoopbackHosts } from "../../../pkg/console/http/requestGuards.ts";
import { type ConsoleServer, type ConsoleServerOptions, startConsoleServer } from "../../../pkg/console/server/consoleServer.ts";
import { CookieCallers } from "../../../pkg/console/session/cookieCallers.ts";
import type { Session } from "../../../pkg/consoleapi/session.ts";
import { Client } from "../../../pkg/kube/client.ts";
import { Credentials } from "../../../pkg/kube/credentials.ts";
import { CatalogConnections } from "../../../pkg/operatorcontroller/catalogs/catalogConnections.ts";
import { loadConsoleAssets } from "../../../pkg/serving/consoleAssets.ts";
import { ServiceProxyRequests } from "../../../pkg/sources/catalogdRequests.ts";
import { KeptCatalogs } from "../../../pkg/sources/keptCatalogs.ts";
import { ServedCatalogs } from "../../../pkg/sources/servedCatalogs.ts";
import { createLogger } from "../../../pkg/telemetry/log.ts";
import { PROGRAM_VERSION } from "../../internal/program.ts";
import { openBrowser } from "../cli/browser.ts";
import type { RegistryOptions, ReleaseOptions } from "../cli/options.ts";
import type { Terminal } from "../cli/terminal.ts";

const LOOPBACK = "127.0.0.1";
/** Builds the pages; only a checkout of the sources has it. */
const BUILDER = join(import.meta.dirname, "../../../.ci/console.mjs");

/** Options of `olmv1 ui`. */
export interface UiOptions extends ReleaseOptions, RegistryOptions {
  port: number;
  open: boolean;
  namespace?: string;
  readOnly?: boolean;
}

/** Runs `olmv1 ui` until the user stops it. */
export async function runUi(terminal: Terminal, options: UiOptions): Promise<void> {
  terminal.endsByItself();
  const { kubeconfig, context, systemNamespace, port, namespace, readOnly = false } = options;
  const registry = { registriesConf: options.registriesConf, signaturePolicy: options.signaturePolicy, authFile: options.authFile };
  const credentials = Credentials.fromKubeConfig(kubeconfig, context);
  if (import.meta.filename.endsWith(".ts") && existsSync(BUILDER)) await buildPages(terminal.signal);
  if (terminal.signal.aborted) return;
  const assets = loadConsoleAssets();
  const log = createLogger({ component: "olmv1-ui", level: "warn", pretty: true, destination: process.stderr });
  const client = Client.of(credentials, { userAgent: "olmv1-ui" });
  const requests = new ServiceProxyRequests(client, new CatalogConnections(), credentials.server);
  const served = new ServedCatalogs({ requests, cluster: credentials.server });
  const sessions = new LoginSessions();
  const session: Omit<Session, "user"> = {
    mode: "laptop",
    context: context ?? credentials.contextName,
    server: credentials.server,
    readOnly,
    systemNamespace,
    version: PROGRAM_VERSION,
    ...(namespace === undefined ? {} : { namespace }),
  };
  try {
    await using running = await listen(port, {
      context: {
        callers: new CookieCallers(sessions, new ClusterIdentity(client, log)),
        catalogs: new KeptCatalogs({ ...registry, served, cacheFolder: getCacheFolder(terminal.env) }),
        served,
        registry,
        session,
        log,
      },
      assets,
      hostPolicy: (used) => ({ hosts: listLoopbackHosts(used) }),
    });
    const createLink = (): string => `http://${LOOPBACK}:${running.address.port}/login#${sessions.createLogin()}`;
    const link = createLink();
    terminal.out(`Console: ${link}\n`);
    terminal.err(
      terminal.interactive
        ? "The link works once. Press Enter for another link, Ctrl-C to stop.\n"
        : "The link works once. Stop the command with Ctrl-C.\n",
    );
    if (options.open) openBrowser(link, terminal.env);
    if (terminal.interactive) {
      const lines = createInterface({ input: process.stdin, terminal: false });
      lines.on("line", () => terminal.out(`Console: ${createLink()}\n`));
      terminal.signal.addEventListener("abort", () => lines.close(), { once: true });
    }
    await waitForAbort(terminal.signal);
  } finally {
    await client.close();
  }
}

/** Starts the server on the loopback interface. @throws Error with another option if the port is in use */
async function listen(port: number, options: ConsoleServerOptions): Promise<ConsoleServer> {
  try {
    return await startConsoleServer({ host: LOOPBACK, port }, options);
  } catch (err) {
    const code = err instanceof Error && "code" in err ? err.code : undefined;
    if (code === "EADDRINUSE")
      throw new Error(`port ${port} of ${LOOPBACK} is in use. Use another port with --port, or omit it for a free port.`, { cause: err });
    if (code === "EACCES") throw new Error(`you may not listen on port ${port}. Use a port above 1023 with --port.`, { cause: err });
    throw err;
  }
}

/** Builds the pages if their sources are newer. The builder prints a line if it builds. @throws Error if the build fails */
async function buildPages(signal: AbortSignal): Promise<void> {
  const child = spawn(process.execPath, [BUILDER], { stdio: ["ignore", "ignore", "inherit"], signal, killSignal: "SIGTERM" });
  const code = await new Promise<number | null>((resolve) => {
    child.once("error", () => resolve(null)); // aborted, or not started
    child.once("exit", resolve);
  });
  if (code !== 0 && !signal.aborted) throw new Error("the web console cannot be built. Run npm install, then npm run console.");
}
