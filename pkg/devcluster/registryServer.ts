import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findBinaries, type PrintLine } from "./binaries.ts";
import { Component } from "./component.ts";
import { renderRegistryConfig } from "./flags.ts";
import { findFreePorts } from "./processes.ts";

/** A registry without a control plane, for use with an existing cluster. Serves plain HTTP on loopback, without credentials. */
export interface RegistryServer {
  readonly host: string;
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 30_000;

/**
 * Starts a registry that stores its content in `dataDir`. It is ended when this process ends.
 * @throws NoBinariesError if the program is not found; Error with the end of its log if it does not start
 */
export async function startRegistry(dataDir: string, print: PrintLine): Promise<RegistryServer> {
  const binaries = await findBinaries(print);
  await mkdir(join(dataDir, "registry"), { recursive: true });
  const [port = 0] = await findFreePorts(1);
  const host = `127.0.0.1:${port}`;
  const config = join(dataDir, "registry.yaml");
  await writeFile(config, renderRegistryConfig({ dataDir, ports: { registry: port } }), { mode: 0o600 });
  const component = Component.start({
    name: "registry",
    binary: binaries.registry,
    args: ["serve", config],
    logFile: join(dataDir, "registry.log"),
    ready: (signal) => isRegistryReady(host, signal),
  });
  await component.ready(READY_TIMEOUT_MS);
  return { host, stop: () => component.stop() };
}

/** Returns whether a registry is ready. @throws Error if it does not respond. */
export async function isRegistryReady(host: string, signal: AbortSignal): Promise<boolean> {
  const response = await fetch(`http://${host}/v2/`, { signal });
  await response.body?.cancel();
  return response.status === 200;
}
