import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { getCacheFolder } from "../../../pkg/catalogcache/catalogCache.ts";
import { ClusterIdentity } from "../../../pkg/console/cluster/clusterIdentity.ts";
import { LoginSessions } from "../../../pkg/console/http/loginSessions.ts";
import { listLoopbackHosts } from "../../../pkg/console/http/requestGuards.ts";
import { startConsoleServer } from "../../../pkg/console/server/consoleServer.ts";
import { CookieCallers } from "../../../pkg/console/session/cookieCallers.ts";
import { Client } from "../../../pkg/kube/client.ts";
import { Credentials } from "../../../pkg/kube/credentials.ts";
import { loadConsoleAssets } from "../../../pkg/serving/consoleAssets.ts";
import { KeptCatalogs } from "../../../pkg/sources/keptCatalogs.ts";
import { createLogger } from "../../../pkg/telemetry/log.ts";
import { PROGRAM_VERSION } from "../../internal/program.ts";
import type { RegistryOptions, ReleaseOptions } from "../cli/options.ts";
import type { Terminal } from "../cli/terminal.ts";

const LOOPBACK = "127.0.0.1";

/** Options of `olmv1 ui`. */
export interface UiOptions extends ReleaseOptions, RegistryOptions {
  port: number;
  open: boolean;
  readOnly?: boolean;
}

/** Runs `olmv1 ui` until the user stops it. */
export async function runUi(terminal: Terminal, options: UiOptions): Promise<void> {
  terminal.endsByItself();
  const { kubeconfig, context, systemNamespace, port, readOnly = false } = options;
  const { registriesConf, signaturePolicy, authFile } = options;
  const log = createLogger({ component: "olmv1-ui", level: "warn", pretty: true, destination: process.stderr });
  const assets = loadConsoleAssets();
  const credentials = Credentials.fromKubeConfig(kubeconfig, context);
  const client = Client.of(credentials, { userAgent: "olmv1-ui" });
  const sessions = new LoginSessions();
  const cacheFolder = getCacheFolder(terminal.env);
  const catalogs = new KeptCatalogs({ registriesConf, signaturePolicy, authFile, cacheFolder });
  const callers = new CookieCallers(sessions, new ClusterIdentity(client, log));
  const { server } = await credentials.endpoint();
  const session = { mode: "laptop" as const, server, readOnly, systemNamespace, version: PROGRAM_VERSION };
  const running = await startConsoleServer(
    { host: LOOPBACK, port },
    {
      context: {
        callers,
        catalogs,
        registry: { registriesConf, signaturePolicy, authFile },
        session: { ...session, context: context ?? credentials.contextName },
        log,
      },
      assets,
      hostPolicy: (used) => ({ hosts: listLoopbackHosts(used) }),
    },
  );
  try {
    const createLink = (): string => `http://${LOOPBACK}:${running.address.port}/login#${sessions.createLogin()}`;
    const link = createLink();
    terminal.out(`Console: ${link}\n`);
    terminal.err(
      terminal.interactive
        ? "The link works once. Press Enter for another link, Ctrl-C to stop.\n"
        : "The link works once. Stop the command with Ctrl-C.\n",
    );
    if (options.open) openBrowser(link);
    if (terminal.interactive) {
      const lines = createInterface({ input: process.stdin, terminal: false });
      lines.on("line", () => terminal.out(`Console: ${createLink()}\n`));
      terminal.signal.addEventListener("abort", () => lines.close(), { once: true });
    }
    await untilAborted(terminal.signal);
  } finally {
    await running[Symbol.asyncDispose]();
    await client.close();
  }
}

/** Opens a page in the user's browser. Does nothing if that fails, because the terminal shows the link. */
function openBrowser(url: string): void {
  const [program, ...args] =
    process.platform === "darwin" ? ["open"] : process.platform === "win32" ? ["rundll32", "url.dll,FileProtocolHandler"] : ["xdg-open"];
  if (program === undefined) return;
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}

function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
