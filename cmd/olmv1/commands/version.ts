import { ANNOTATION_PROGRAM_VERSION } from "../../../pkg/api/constants.ts";
import type { KubeObject } from "../../../pkg/api/k8s.ts";
import { LEASE } from "../../../pkg/controller/lease.ts";
import { PROGRAMS } from "../../../pkg/doctor/clusterSnapshot.ts";
import { getErrorMessage } from "../../../pkg/errors/errors.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { readServerVersion } from "../../../pkg/kube/servedResources.ts";
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

/** Longest wait for the API server. */
const TIMEOUT_MS = 10_000;

/** Runs `olmv1 version`. A cluster that does not respond is reported, and is not an error. */
export async function showVersions(terminal: Terminal, options: VersionOptions): Promise<void> {
  const client = { version: PROGRAM_VERSION, node: process.version };
  const versions: ProgramVersions = options.client ? { client } : { client, ...(await readVersions(terminal, options)) };
  await print(terminal, options.output, { data: versions, text: () => formatVersions(terminal, versions) });
}

async function readVersions(terminal: Terminal, options: VersionOptions): Promise<Omit<ProgramVersions, "client">> {
  try {
    let found: Omit<ProgramVersions, "client"> = {};
    await withCluster(options, async (client) => {
      const signal = AbortSignal.any([terminal.signal, AbortSignal.timeout(TIMEOUT_MS)]);
      const kubernetes = await readOrExplain(async () => ({ version: await readServerVersion(client, signal) }));
      // Without an API server, the servers cannot be read either.
      const servers = "unknown" in kubernetes ? undefined : await readServers(client, options.systemNamespace, signal);
      found = { ...(servers ? { servers } : {}), kubernetes };
    });
    return found;
  } catch (err) {
    terminal.signal.throwIfAborted();
    return { kubernetes: { unknown: getErrorMessage(err) } };
  }
}

async function readServers(client: Client, namespace: string, signal: AbortSignal): Promise<Record<string, PartVersion>> {
  const found = PROGRAMS.map(async ({ program, lease }) => {
    const version = await readOrExplain(async () => {
      const live = await client.get({ ...LEASE, namespace, name: lease }, { signal });
      return readLeaseVersion(live) ?? { unknown: `no leader in namespace ${namespace}; olmv1 doctor checks the installation` };
    });
    return [program, version] as const;
  });
  return Object.fromEntries(await Promise.all(found));
}

/** The leader writes its version to its Lease. */
function readLeaseVersion(lease: KubeObject | undefined): PartVersion | undefined {
  const { holderIdentity } = (lease?.["spec"] ?? {}) as { holderIdentity?: string };
  const version = lease?.metadata.annotations?.[ANNOTATION_PROGRAM_VERSION];
  return holderIdentity && version !== undefined ? { version } : undefined;
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
