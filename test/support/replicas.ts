import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SYSTEM_NAMESPACE } from "../../pkg/api/constants.ts";
import { installConfig, ServerProcess } from "../../pkg/devcluster/installation.ts";
import { renderTokenKubeconfig } from "../../pkg/devcluster/kubeconfig.ts";
import { findFreePorts } from "../../pkg/devcluster/processes.ts";
import type { AuditEvent, TestCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";

const CREDENTIAL = "authentication.kubernetes.io/credential-id";
/** Long enough for a leader on a busy machine, short enough that tests can wait until it expires. */
export const LEASE_MS = 10_000;
const ELECTION = [
  "--leader-elect",
  `--leader-election-lease-duration=${LEASE_MS / 1_000}s`,
  "--leader-election-renew-deadline=8s",
  "--leader-election-retry-period=1s",
];

/** A program that runs with several replicas. */
export type ReplicatedProgram = "catalogd" | "operator-controller" | "permission-manager";

/** One process among several: with its own ports, cache and token. */
export interface Replica {
  readonly name: string;
  /** Base URL of catalogd's content. */
  readonly content: string;
  readonly probes: string;
  readonly process: ServerProcess;
  readonly logFile: string;
  readonly cacheDir: string;
  /** Identifies its token in the audit log. */
  readonly credential: string;
}

interface ReplicaOptions {
  readonly registry?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly programs?: string;
}

/** The parts of a cluster that replicas need. */
type ReplicaCluster = Pick<TestCluster, "auditEvents" | "client" | "kubeconfig" | "registry">;

/** Several replicas of a program on one control plane, with exactly the permissions of config/rbac. */
export class Replicas {
  readonly #cluster: ReplicaCluster;
  readonly #program: ReplicatedProgram;
  readonly #dir: string;
  readonly #all: Replica[] = [];

  private constructor(cluster: ReplicaCluster, program: ReplicatedProgram, dir: string) {
    this.#cluster = cluster;
    this.#program = program;
    this.#dir = dir;
  }

  static async start(cluster: ReplicaCluster, program: ReplicatedProgram): Promise<Replicas> {
    await installConfig(cluster.client);
    return new Replicas(cluster, program, await mkdtemp(join(tmpdir(), "olmv1-replicas-")));
  }

  /**
   * Starts one more replica without waiting until it is ready.
   * @param options.registry the registry with the images instead of quay.io @param options.env more environment variables
   * @param options.programs folder of another build of the programs
   */
  async add(name: string, flags: readonly string[] = [], options: ReplicaOptions = {}): Promise<Replica> {
    const { registry = this.#cluster.registry.host, env = {}, programs } = options;
    const [contentPort, probePort] = await findFreePorts(2);
    const token = await this.#token();
    const path = (file: string): string => join(this.#dir, `${name}.${file}`);
    const cacheDir = join(this.#dir, name);
    await writeFile(path("token"), token, { mode: 0o600 });
    await writeFile(path("kubeconfig"), await renderTokenKubeconfig(this.#cluster.kubeconfig, path("token")), { mode: 0o600 });
    await writeFile(path("registries.conf"), `[[registry]]\nprefix = "quay.io"\nlocation = "${registry}"\ninsecure = true\n`);
    const own = {
      "--kubeconfig": path("kubeconfig"),
      "--registries-conf": path("registries.conf"),
      "--health-probe-bind-address": `127.0.0.1:${probePort}`,
      "--log-level": "debug",
    };
    const specific: Record<ReplicatedProgram, string[]> = {
      // The shutdown delay leaves clients time to notice the stop.
      catalogd: [
        "--cache-dir",
        cacheDir,
        "--catalogs-server-addr",
        `127.0.0.1:${contentPort}`,
        "--external-address",
        `127.0.0.1:${contentPort}`,
        "--shutdown-delay=2s",
      ],
      "operator-controller": ["--cache-path", cacheDir],
      "permission-manager": ["--cache-path", cacheDir],
    };
    const args = [...Object.entries(own).flat(), ...specific[this.#program], ...ELECTION, ...flags];
    const process = new ServerProcess({
      name: this.#program,
      args,
      env,
      programs,
      logFile: path("log"),
      onLine: () => undefined,
      onExit: () => undefined,
    });
    const { jti } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { jti: string };
    const replica: Replica = {
      name,
      content: `http://127.0.0.1:${contentPort}`,
      probes: `http://127.0.0.1:${probePort}`,
      process,
      logFile: path("log"),
      cacheDir,
      credential: `JTI=${jti}`,
    };
    this.#all.push(replica);
    return replica;
  }

  /** The replicas whose process has not ended. */
  get running(): Replica[] {
    return this.#all.filter(({ process }) => process.ended === undefined);
  }

  /** Waits until a replica is ready. @returns the verbose response of its probe. */
  async ready(replica: Replica): Promise<string> {
    return eventually(
      async () => {
        if (replica.process.ended) throw new Error(replica.process.ended);
        const { status, text } = await readyz(replica);
        if (status !== 200) throw new Error(`${replica.name} is not ready: ${text}; its log: ${await readFile(replica.logFile, "utf8")}`);
        return text;
      },
      { timeoutMs: 180_000 },
    );
  }

  /** Waits until a replica reports that it is the leader. */
  async leads(replica: Replica): Promise<void> {
    await eventually(async () => {
      if (replica.process.ended) throw new Error(replica.process.ended);
      const { text } = await readyz(replica);
      if (!text.includes("leader ok: this process leads")) throw new Error(`${replica.name} does not lead: ${text}`);
    });
  }

  /** Returns the write requests of one replica so far, oldest first. */
  async writesOf({ credential }: Replica): Promise<AuditEvent[]> {
    const events = await this.#cluster.auditEvents();
    const own = events.filter(({ user }) => user.extra?.[CREDENTIAL]?.includes(credential));
    if (own.length === 0) throw new Error("the audit log has no request from this replica");
    return own.filter(({ verb }) => !["get", "list", "watch"].includes(verb));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#all.map(({ process }) => process.stop()));
    await rm(this.#dir, { recursive: true, force: true });
  }

  async #token(): Promise<string> {
    const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/${this.#program}-controller-manager/token`;
    const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3_600 } };
    const { status } = (await this.#cluster.client.raw("POST", path, body)) as { status?: { token?: string } };
    if (!status?.token) throw new Error("the API server returned no token");
    return status.token;
  }
}

/** Returns the verbose response of a replica's readiness probe; status 0 without a response. */
export async function readyz({ probes }: Replica): Promise<{ status: number; text: string }> {
  try {
    const answer = await fetch(`${probes}/readyz?verbose`);
    return { status: answer.status, text: await answer.text() };
  } catch (err) {
    return { status: 0, text: String(err) };
  }
}
