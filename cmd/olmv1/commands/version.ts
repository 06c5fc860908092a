import { findLeader, LEASE, type Lease } from "../../../pkg/controller/lease.ts";
import { getProgramNamespace, PROGRAMS } from "../../../pkg/doctor/clusterSnapshot.ts";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { readServerInfo } from "../../../pkg/kube/servedResources.ts";
import { PROGRAM_VERSION } from "../../internal/program.ts";
import { withCluster } from "../cli/cluster.ts";
import type { ReleaseOptions } from "../cli/options.ts";
import { type Output, print } from "../cli/output.ts";
import { formatDetails } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";

/** Options of `olmv1 version`. */
export interface VersionOptions extends ReleaseOptions {
  client?: boolean;
  output: Output;
}

/** The version of a part, or why it is unknown. */
type PartVersion = { readonly version: string } | { readonly unknown: string };

/** Versions of the command line and of the cluster. */
export interface ProgramVersions {
  readonly client: { readonly version: string; readonly node: string };
  /** Absent with `--client`. */
  readonly servers?: Readonly<Record<string, PartVersion>>;
  readonly kubernetes?: PartVersion;
}

/** Maximum time to wait for the API server. */
const TIMEOUT_MS = 10_000;

/** Runs `olmv1 version`. A cluster that does not respond is reported, and is not an error. */
export async function showVersions(terminal: Terminal, options: VersionOptions): Promise<void> {
  const client = { version: PROGRAM_VERSION, node: process.version };
  const versions: ProgramVersions = options.client ? { client } : { client, ...(await readVersions(terminal, options)) };
  await print(terminal, options.output, { data: versions, text: () => formatVersions(terminal, versions) });
}

async function readVersions(terminal: Terminal, options: VersionOptions): Promise<Omit<ProgramVersions, "client">> {
  try {
    return await withCluster(options, async (client) => {
      const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const server = await readServerInfo(client, signal);
      const servers = await readServers(client, options.systemNamespace, server.now, signal);
      return { servers, kubernetes: { version: server.version } };
    });
  } catch (err) {
    terminal.signal.throwIfAborted();
    return { kubernetes: { unknown: getErrorMessage(err) } };
  }
}

/** Reads the version of each server from the Lease of its leader. */
async function readServers(
  client: Client,
  systemNamespace: string,
  now: number,
  signal: AbortSignal,
): Promise<Record<string, PartVersion>> {
  const found = PROGRAMS.map(async ({ program, lease }) => {
    const namespace = getProgramNamespace(program, systemNamespace);
    const version = await readOrExplain(async () => {
      const leader = findLeader(await client.get<Lease>({ ...LEASE, namespace, name: lease }, { signal }), now);
      if (!leader) return { unknown: `no leader in namespace ${namespace}; olmv1 doctor checks the installation` };
      const { identity, version: written } = leader;
      return written === undefined ? { unknown: `leader ${identity} does not report its version` } : { version: written };
    });
    return [program, version] as const;
  });
  return Object.fromEntries(await Promise.all(found));
}

async function readOrExplain(read: () => Promise<PartVersion>): Promise<PartVersion> {
  try {
    return await read();
  } catch (err) {
    return { unknown: getErrorMessage(err) };
  }
}

/** Formats versions as lines of name and version. */
export function formatVersions(
  terminal: Pick<Terminal, "width" | "colour">,
  { client, servers = {}, kubernetes }: ProgramVersions,
): string {
  const part = (found: PartVersion): string => ("version" in found ? found.version : `unknown: ${found.unknown}`);
  return formatDetails(terminal, [
    ["olmv1", `${client.version} (Node.js ${client.node})`],
    ...Object.entries(servers).map(([name, found]) => [name, part(found)] as const),
    ["Kubernetes", kubernetes && part(kubernetes)],
  ]);
}
