import { afterEach, expect, test } from "vitest";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { LeaderElection } from "../../pkg/controller/leaderElection.ts";
import { LEASE, type Lease } from "../../pkg/controller/lease.ts";
import type { Client } from "../../pkg/kube/client.ts";
import type { WatchEvent, WriteOptions } from "../../pkg/kube/request.ts";
import { createLogger } from "../../pkg/telemetry/log.ts";
import { describeWithCluster, eventually } from "../support/cluster.ts";

const log = createLogger({ component: "test", level: "silent" });
/** Longer than any test timeout, so a replica that takes over has noticed the release and did not wait for the Lease to expire. */
const PATIENT = { leaseDurationMs: 600_000, renewDeadlineMs: 500_000, retryPeriodMs: 200 };
const HASTY = { leaseDurationMs: 4_000, renewDeadlineMs: 2_500, retryPeriodMs: 300 };

/** A client with a connection that can be cut, so that every request fails. */
class CutClient {
  cut = false;
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  get = <T extends KubeObject>(...args: Parameters<Client["get"]>): Promise<T | undefined> => this.#reach().get<T>(...args);
  create = <T extends KubeObject>(object: T, options?: WriteOptions): Promise<T> => this.#reach().create(object, options);
  replace = <T extends KubeObject>(object: T, options?: WriteOptions): Promise<T> => this.#reach().replace(object, options);
  watch = <T extends KubeObject>(...args: Parameters<Client["watch"]>): AsyncGenerator<WatchEvent<T>> => this.#reach().watch<T>(...args);

  #reach(): Client {
    if (this.cut) throw new Error("the connection is cut");
    return this.#client;
  }
}

/** A candidate in an election, and the times when it led. */
class Replica {
  readonly election: LeaderElection;
  readonly terms: { from: number; to: number }[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(client: CutClient, name: string, times: typeof PATIENT) {
    this.election = new LeaderElection({ client, namespace: "default", name, version: "1.2.3", times, log });
    this.#running = this.election.run(this.#stop.signal, async (term) => {
      const own = { from: performance.now(), to: Number.POSITIVE_INFINITY };
      this.terms.push(own);
      await new Promise((resolve) => term.addEventListener("abort", resolve, { once: true }));
      own.to = performance.now();
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await this.#running;
  }
}

describeWithCluster("leader election on the API server", (cluster) => {
  const open: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of open.splice(0).reverse()) await close();
  });

  function start(count: number, times = PATIENT): { replicas: Replica[]; clients: CutClient[]; name: string } {
    const name = cluster.name("lock");
    const clients = Array.from({ length: count }, () => new CutClient(cluster.client));
    const replicas = clients.map((client) => new Replica(client, name, times));
    open.push(...replicas.map((replica) => () => replica.stop()), async () => noneOverlap(replicas));
    return { replicas, clients, name };
  }
  const readLease = (name: string): Promise<Lease | undefined> => cluster.client.get<Lease>({ ...LEASE, namespace: "default", name });
  const edit = (name: string, spec: object): Promise<unknown> =>
    cluster.client.patch({ ...LEASE, namespace: "default", name }, { spec }, { type: "merge" });
  const findLeader = (replicas: readonly Replica[], but?: Replica): Promise<Replica> =>
    eventually(() => {
      const leading = replicas.filter(({ election }) => election.leading);
      expect(leading).toHaveLength(1);
      expect(leading[0]).not.toBe(but);
      return leading[0]!;
    });

  test("one of three candidates leads, and another leads at once when the leader stops and releases the Lease", async () => {
    const { replicas, name } = start(3);
    const left = [...replicas];
    for (let transitions = 0; left.length > 0; transitions++) {
      const leader = await findLeader(left);
      const lease = await readLease(name);
      expect(lease?.spec).toMatchObject({
        holderIdentity: leader.election.identity,
        leaseDurationSeconds: 600,
        leaseTransitions: transitions,
      });
      await eventually(() => expect(left.map(({ election }) => election.holder)).toEqual(left.map(() => leader.election.identity)));
      left.splice(left.indexOf(leader), 1);
      await leader.stop();
      expect(leader.election.leading).toBe(false);
    }
    expect((await readLease(name))?.spec).toMatchObject({ holderIdentity: "" });
  });

  test("a leader without a connection stops before another candidate leads", async () => {
    const { replicas, clients } = start(2, HASTY);
    const first = await findLeader(replicas);
    clients[replicas.indexOf(first)]!.cut = true;
    await findLeader(replicas, first);
    expect(first.terms[0]?.to).toBeLessThan(replicas.find((one) => one !== first)?.terms[0]?.from ?? 0);
  });

  test("a leader keeps its Lease when another client edits or deletes the Lease", async () => {
    const { replicas, name } = start(2, HASTY);
    const leader = await findLeader(replicas);
    const before = await readLease(name);
    await edit(name, { leaseDurationSeconds: 1, renewTime: "2001-01-01T00:00:00.000000Z" });
    await cluster.client.patch({ ...LEASE, namespace: "default", name }, { metadata: { labels: { edited: "yes" } } }, { type: "merge" });
    await eventually(async () => {
      const lease = await readLease(name);
      expect(lease?.spec?.leaseDurationSeconds).toBe(4);
      expect(lease?.metadata.labels).toEqual({ edited: "yes" });
    });
    await cluster.client.delete({ ...LEASE, namespace: "default", name });
    await eventually(async () => {
      const lease = await readLease(name);
      expect(lease?.metadata.uid).not.toBe(before?.metadata.uid);
      expect(lease?.spec?.holderIdentity).toBe(leader.election.identity);
    });
    expect([leader.election.leading, leader.terms.length]).toEqual([true, 1]);
  });

  test("a leader stops when its Lease is emptied or gets another holder", async () => {
    const { replicas, name } = start(2);
    const leader = await findLeader(replicas);
    await edit(name, { holderIdentity: "" });
    await eventually(() => expect(leader.terms[0]?.to).toBeLessThan(Number.POSITIVE_INFINITY));
    const next = await findLeader(replicas);
    const terms = next.terms.length;
    await edit(name, { holderIdentity: "somebody" });
    await eventually(() => expect(next.terms[terms - 1]?.to).toBeLessThan(Number.POSITIVE_INFINITY));
    expect(replicas.filter(({ election }) => election.leading)).toEqual([]);
  });
});

/** Expects that no two candidates led at the same time. */
async function noneOverlap(replicas: readonly Replica[]): Promise<void> {
  await Promise.resolve();
  const terms = replicas.flatMap((replica) => replica.terms).sort((one, other) => one.from - other.from);
  expect(terms.length).toBeGreaterThan(0);
  for (const [at, term] of terms.entries()) expect(terms[at - 1]?.to ?? 0).toBeLessThanOrEqual(term.from);
}
