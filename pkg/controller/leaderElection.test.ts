import { afterEach, describe, expect, test } from "vitest";
import { FakeClock } from "../../test/support/fakeClock.ts";
import { LeaseServer } from "../../test/support/leaseServer.ts";
import type { Clock } from "../async/clock.ts";
import { createLogger } from "../telemetry/log.ts";
import { LeaderElection, LeadershipLost } from "./leaderElection.ts";
import type { LeaseSpec } from "./lease.ts";

const TIMES = { leaseDurationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2_000 };
const log = createLogger({ component: "test", level: "silent" });

/** A replica that can be stopped, killed, and suspended while its clock continues. */
class Replica {
  readonly election: LeaderElection;
  readonly terms: unknown[] = [];
  working = false;
  standBackMs = 0;
  failure: unknown;
  #gate: PromiseWithResolvers<void> | undefined;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(identity: string, server: LeaseServer, time: FakeClock) {
    const clock: Clock = { now: () => time.now(), after: (ms, fn) => time.after(ms, () => this.#whenRunning(fn)) };
    const client = server.clientOf({ running: () => this.#gate?.promise ?? Promise.resolve() });
    const standBackMs = (): number => this.standBackMs;
    const more = {
      standBackMs,
      now: () => time.now(),
      random: () => 0,
      metrics: { leading: (leading: boolean) => void this.metric.push(leading) },
    };
    this.election = new LeaderElection({
      client,
      namespace: "system",
      name: "lock",
      version: "1.2.3",
      times: TIMES,
      log,
      identity,
      clock,
      ...more,
    });
    this.#running = this.election
      .run(this.#stop.signal, (term) => this.#lead(term))
      .catch((err: unknown) => {
        this.failure = err;
      });
  }

  readonly metric: boolean[] = [];

  async stop(): Promise<void> {
    this.#stop.abort(new Error("stopped"));
    await this.#running;
  }

  suspend(): void {
    this.#gate ??= Promise.withResolvers();
  }

  resume(): void {
    this.#gate?.resolve();
    this.#gate = undefined;
  }

  #whenRunning(fn: () => void): void {
    if (this.#gate) void this.#gate.promise.then(fn);
    else fn();
  }

  async #lead(term: AbortSignal): Promise<void> {
    this.working = true;
    await new Promise((resolve) => term.addEventListener("abort", resolve, { once: true }));
    this.working = false;
    this.terms.push(term.reason);
  }
}

class Scene {
  readonly time = new FakeClock();
  readonly server = new LeaseServer();
  readonly replicas = new Map<string, Replica>();

  start(...names: string[]): void {
    for (const name of names) this.replicas.set(name, new Replica(name, this.server, this.time));
  }

  of(name: string): Replica {
    return this.replicas.get(name)!;
  }

  /** Advances the time in small steps, and checks that there is at most one leader. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 250) {
      await settle();
      expect(this.leaders().length, `leaders ${this.leaders().join(", ")} at ${this.time.now()} ms`).toBeLessThan(2);
      this.time.advance(Math.min(250, ms - passed));
    }
    await settle();
  }

  leaders(): string[] {
    return [...this.replicas].filter(([, { election }]) => election.leading).map(([name]) => name);
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => void setImmediate(resolve));
}

let scene: Scene;
afterEach(async () => {
  scene.server.state = "up";
  for (const replica of scene.replicas.values()) {
    replica.resume();
    await replica.stop();
  }
});

describe("LeaderElection", () => {
  async function withLeader(leader: string, ...followers: string[]): Promise<void> {
    scene = new Scene();
    scene.start(leader);
    await scene.pass(500);
    scene.start(...followers);
    await scene.pass(5_000);
    expect(scene.leaders()).toEqual([leader]);
  }

  interface Case {
    name: string;
    /** Called with "a" leading and "b" and "c" following. */
    when: () => void | Promise<void>;
    /** The leader after a time in milliseconds; undefined if any follower may lead, empty if there must be no leader. */
    after: readonly (readonly [ms: number, leader: string | undefined])[];
  }

  const otherHolder: LeaseSpec = { holderIdentity: "x", renewTime: "2099-01-01T00:00:00.000000Z" };

  test.for<Case>([
    { name: "keeps the leader for many lease durations", when: () => undefined, after: [[120_000, "a"]] },
    {
      name: "elects another leader immediately when the leader stops",
      when: () => scene.of("a").stop(),
      after: [[250, undefined]],
    },
    {
      name: "elects another leader after the lease duration when the leader hangs",
      when: () => scene.of("a").suspend(),
      after: [
        [7_750, "a"], // before its deadline
        [4_500, ""],
        [3_500, undefined],
      ],
    },
    {
      name: "tolerates errors of the API server within the renew deadline",
      when: () => {
        scene.server.state = "failing";
      },
      after: [[7_500, "a"]],
    },
    {
      name: "has no leader after the renew deadline until the API server responds",
      when: async () => {
        scene.server.state = "failing";
        await scene.pass(60_000);
        expect(scene.leaders()).toEqual([]);
        scene.server.state = "up";
      },
      after: [[20_000, undefined]],
    },
    {
      name: "has no leader after the renew deadline when the API server hangs",
      when: async () => {
        scene.server.state = "hanging";
        await scene.pass(12_000);
        expect(scene.leaders()).toEqual([]);
      },
      after: [[1_000, ""]],
    },
    {
      name: "lets the leader recreate a deleted Lease",
      when: () => scene.server.delete(),
      after: [
        [250, "a"],
        [60_000, "a"],
      ],
    },
    {
      name: "ends leadership immediately when another holder is written, and then waits for the lease duration regardless of the written times",
      when: () => scene.server.edit(otherHolder),
      after: [
        [250, ""],
        [14_000, ""],
        [2_500, undefined],
      ],
    },
    {
      name: "ends leadership when the holder is removed, and waits so that there are never two leaders",
      when: () => scene.server.edit({ holderIdentity: "" }),
      after: [
        [1_000, ""],
        [3_000, undefined],
      ],
    },
    {
      name: "elects no second leader when the lease duration is edited",
      when: () => scene.server.edit({ leaseDurationSeconds: 1 }),
      after: [[30_000, "a"]],
    },
    {
      name: "keeps the leader when another field is edited",
      when: () => scene.server.edit({ strategy: "OldestEmulationVersion" }),
      after: [[30_000, "a"]],
    },
  ])("LeaderElection $name", async ({ when, after }) => {
    await withLeader("a", "b", "c");
    await when();
    for (const [ms, leader] of after) {
      await scene.pass(ms);
      if (leader === undefined) expect(scene.leaders()).toHaveLength(1);
      else expect(scene.leaders()).toEqual(leader === "" ? [] : [leader]);
    }
  });

  test("LeaderElection aborts the work of a suspended leader when the leader resumes", async () => {
    await withLeader("a", "b");
    scene.of("a").suspend();
    await scene.pass(30_000);
    expect([scene.leaders(), scene.server.lease?.spec?.holderIdentity]).toEqual([["b"], "b"]);
    const writes = scene.server.writes.length;
    scene.of("a").resume();
    expect(scene.of("a").election.leading).toBe(false);
    await scene.pass(250);
    expect([scene.leaders(), scene.of("a").working]).toEqual([["b"], false]);
    expect(scene.of("a").terms).toEqual([expect.any(LeadershipLost)]);
    expect(scene.server.writes.slice(writes)).not.toContain("replace a");
    expect(scene.of("a").metric.at(-1)).toBe(false);
  });

  test("LeaderElection releases the Lease when the leader steps down, and the same replica can lead again later", async () => {
    await withLeader("a", "b");
    scene.of("b").standBackMs = 60_000;
    scene.of("a").standBackMs = 6_000;
    scene.of("a").election.stepDown("content was lost");
    scene.of("a").election.stepDown("content was lost");
    await scene.pass(250);
    expect([scene.leaders(), scene.of("a").working, scene.server.lease?.spec?.holderIdentity]).toEqual([[], false, ""]);
    expect(scene.of("a").terms).toEqual([new LeadershipLost("no longer the leader: content was lost")]);
    await scene.pass(7_000);
    expect(scene.leaders()).toEqual(["a"]);
    scene.of("b").standBackMs = 0;
    scene.of("a").election.stepDown("again");
    await scene.pass(1_000);
    expect(scene.leaders()).toEqual(["b"]);
    scene.of("a").election.stepDown("not the leader");
    await scene.pass(1_000);
    expect([scene.leaders(), scene.of("a").failure]).toEqual([["b"], undefined]);
  });

  test("LeaderElection records transitions and times in the Lease like client-go", async () => {
    await withLeader("a", "b");
    expect(scene.server.lease?.spec).toEqual({
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      acquireTime: "1970-01-01T00:00:00.000000Z",
      renewTime: "1970-01-01T00:00:04.000000Z",
      leaseTransitions: 0,
    });
    scene.of("b").suspend();
    await scene.of("a").stop();
    expect(scene.server.lease?.spec).toMatchObject({ holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 0 });
    scene.of("b").resume();
    await scene.pass(250);
    expect(scene.server.lease?.spec).toMatchObject({ holderIdentity: "b", leaseDurationSeconds: 15, leaseTransitions: 1 });
    expect([scene.of("a").metric, scene.of("b").metric]).toEqual([
      [false, true, false],
      [false, true],
    ]);
  });

  test("LeaderElection does not acquire a free Lease during the replica's stand-back time", async () => {
    await withLeader("a", "b", "c");
    scene.of("b").standBackMs = 6_000;
    scene.of("c").standBackMs = 6_000;
    await scene.of("a").stop();
    await scene.pass(3_500);
    expect(scene.leaders()).toEqual([]);
    scene.of("c").standBackMs = 0;
    await scene.pass(600);
    expect(scene.leaders()).toEqual(["c"]);
    await scene.of("c").stop();
    await scene.pass(7_000);
    expect(scene.leaders()).toEqual(["b"]);
  });

  test("LeaderElection releases the Lease and does not lead when it is stopped during the write that acquires the Lease", async () => {
    scene = new Scene();
    const stop = new AbortController();
    const client = scene.server.clientOf({ running: () => Promise.resolve() });
    const create: typeof client.create = async (lease, options) => {
      const created = await client.create(lease, options);
      stop.abort();
      options?.signal?.throwIfAborted();
      return created;
    };
    const init = {
      client: { ...client, create },
      namespace: "system",
      name: "lock",
      version: "1.2.3",
      times: TIMES,
      log,
      clock: scene.time,
    };
    let hasLed = false;
    await new LeaderElection(init).run(stop.signal, () => Promise.resolve((hasLed = true)).then(() => undefined));
    expect([scene.server.lease?.spec?.holderIdentity, hasLed]).toEqual(["", false]);
  });

  test("LeaderElection releases the Lease and rejects when leader tasks fail or end", async () => {
    scene = new Scene();
    const client = scene.server.clientOf({ running: () => Promise.resolve() });
    const init = { client, namespace: "system", name: "lock", version: "1.2.3", times: TIMES, log, clock: scene.time };
    const failing = new LeaderElection(init).run(new AbortController().signal, () => Promise.reject(new Error("broken")));
    await expect(failing).rejects.toThrow("broken");
    expect(scene.server.lease?.spec?.holderIdentity).toBe("");
    expect(scene.server.lease?.metadata.annotations).toEqual({ "olm.operatorframework.io/version": "1.2.3" });
    const ending = new LeaderElection(init).run(new AbortController().signal, () => Promise.resolve());
    await expect(ending).rejects.toThrow("leader tasks exited unexpectedly");
  });

  test("LeaderElection fails when leader tasks still run 30 s after leadership was lost", async () => {
    scene = new Scene();
    const client = scene.server.clientOf({ running: () => Promise.resolve() });
    const election = new LeaderElection({
      client,
      namespace: "system",
      name: "lock",
      version: "1.2.3",
      times: TIMES,
      log,
      clock: scene.time,
    });
    let failure: unknown;
    void election.run(new AbortController().signal, () => new Promise(() => undefined)).catch((err: unknown) => (failure = err));
    await scene.pass(1_000);
    scene.server.edit(otherHolder);
    await scene.pass(29_000);
    expect(failure).toBeUndefined();
    await scene.pass(2_000);
    expect(failure).toMatchObject({ message: "leader tasks are still running 30 s after the end of leadership" });
  });

  test.for([
    [{ ...TIMES, renewDeadlineMs: 15_000 }, "leaseDuration must be greater than renewDeadline"],
    [{ ...TIMES, retryPeriodMs: 9_000 }, "renewDeadline must be greater than retryPeriod*JitterFactor"],
  ] as const)("LeaderElection rejects inconsistent times: %j", ([times, message]) => {
    scene = new Scene();
    const client = scene.server.clientOf({ running: () => Promise.resolve() });
    expect(() => new LeaderElection({ client, namespace: "system", name: "lock", version: "1.2.3", times, log })).toThrow(message);
  });
});
