import { setTimeout as sleep } from "node:timers/promises";
import { API_VERSION, CLUSTER_EXTENSION } from "../../pkg/api/constants.ts";
import { INSTALLED_SERVERS } from "../../pkg/devcluster/installation.ts";
import { getErrorMessage } from "../../pkg/errors/errors.ts";
import { AuditTail } from "../support/auditTail.ts";
import { createRandom, type Random, shuffle } from "../support/random.ts";
import { type ChangeCounts, change, listDeleting, planRound } from "./changes.ts";
import type { ClusterState } from "./clusterState.ts";
import { type Fault, listFaultKinds } from "./faults.ts";
import { listDifferences, listPermissionChanges } from "./invariants.ts";
import { SoakObserver } from "./observer.ts";
import { listChangingWrites, readVersions } from "./restWrites.ts";
import { type Course, type Sample, summarizeRest } from "./samples.ts";
import { SoakWorld } from "./soakWorld.ts";

/** Options of a run. */
export interface SoakOptions {
  readonly minutes: number;
  readonly extensions: number;
  readonly seed: number;
  readonly disk: string;
  /** Why `disk` is not a small file system of its own, if it is not. */
  readonly noDisk: string | undefined;
  readonly say: (line: string) => void;
}

/** Seconds until all extensions converged after each fault of one kind. */
type Recoveries = Map<string, number[]>;

/** A completed run. */
export interface SoakRun {
  readonly minutes: number;
  readonly extensions: number;
  readonly seed: number;
  readonly editions: number;
  readonly counts: ChangeCounts;
  readonly recoveries: Recoveries;
  /** The part of the run without restarts of programs. */
  readonly courses: readonly Course[];
  /** End of its first sixth, in seconds. Earlier samples are warm-up. */
  readonly warmUpSeconds: number;
  readonly writesAtRest: readonly string[];
  readonly reads: number;
  readonly violations: readonly string[];
  /** Faults that this machine cannot cause, with the reason. */
  readonly missing: readonly string[];
}

/** Parts of the time: first with restarts of the programs, then without, so that memory can be measured, then with restarts again. */
const RESTARTS_UNTIL = 0.3;
const STEADY_UNTIL = 0.9;
const WARM_UP = 1 / 6;
/** Time in which servers close idle connections (after a minute) and return freed memory. */
const REST_MS = 90_000;
const REST_READS = 9;
const CONVERGE_MS = 300_000;
const POLL_MS = 3_000;
const INSTALL_MS = 900_000;
const FEW_DIFFERENCES = 3;

/** Causes faults, one after another, while extensions are upgraded, reinstalled and damaged, and checks the cluster all the time. */
export async function runSoak(options: SoakOptions): Promise<SoakRun> {
  const { minutes, extensions, say } = options;
  await using world = await SoakWorld.start(options);
  say(`installing ${extensions} extensions`);
  await world.populate();
  await waitUntilConverged(world, undefined, INSTALL_MS);
  await world.createCustomResources();
  const soak = new Soak(world, await world.readState(), options);
  say("started");
  return await soak.run(minutes);
}

class Soak {
  readonly #world: SoakWorld;
  readonly #baseline: ClusterState;
  readonly #options: SoakOptions;
  readonly #random: Random;
  readonly #observer: SoakObserver;
  readonly #counts: ChangeCounts = { upgraded: 0, reinstalled: 0, damaged: 0 };
  readonly #recoveries: Recoveries = new Map();

  constructor(world: SoakWorld, baseline: ClusterState, options: SoakOptions) {
    this.#world = world;
    this.#baseline = baseline;
    this.#options = options;
    this.#random = createRandom(options.seed);
    this.#observer = new SoakObserver(world, options.say);
  }

  async run(minutes: number): Promise<SoakRun> {
    const { faults, missing } = listFaultKinds(this.#options.noDisk);
    const lasting = faults.filter(({ restarts }) => !restarts);
    const stop = new AbortController();
    const observing = this.#observer.run(stop.signal);
    const seconds = minutes * 60;
    await this.#rounds(faults, seconds * RESTARTS_UNTIL);
    const before = await this.#rest();
    const began = this.#observer.seconds;
    await this.#rounds(lasting, seconds * STEADY_UNTIL);
    const ended = this.#observer.seconds;
    const after = await this.#rest();
    await this.#rounds(faults, seconds);
    stop.abort();
    await observing;
    for (const end of this.#world.unexpectedEnds) this.#observer.report(end);
    const { extensions, seed } = this.#options;
    const courses = INSTALLED_SERVERS.map((program, i): Course => {
      const samples = (this.#observer.samples[i] ?? []).filter((sample) => sample.seconds >= began && sample.seconds <= ended);
      return { program, samples, first: before.samples[i] as Sample, last: after.samples[i] as Sample };
    });
    return {
      minutes,
      extensions,
      seed,
      missing,
      courses,
      editions: this.#world.packages.editions,
      counts: this.#counts,
      recoveries: this.#recoveries,
      warmUpSeconds: began + (ended - began) * WARM_UP,
      writesAtRest: [...before.writes, ...after.writes],
      reads: this.#observer.reads,
      violations: this.#observer.violations,
    };
  }

  /** Causes each fault in random order, again and again until the time has come; at least each fault once. */
  async #rounds(faults: readonly Fault[], until: number): Promise<void> {
    do for (const fault of shuffle(this.#random, faults)) await this.#round(fault);
    while (this.#observer.seconds < until);
  }

  async #round(fault: Fault): Promise<void> {
    const round = planRound(this.#world.packages.all, this.#random);
    this.#observer.expectDeletions(listDeleting(round));
    const done = await Promise.allSettled([
      fault.strike(this.#world, this.#random),
      change(this.#world, round, this.#random, this.#counts),
    ]);
    for (const outcome of done)
      if (outcome.status === "rejected") this.#observer.report(`${fault.name}: ${getErrorMessage(outcome.reason)}`);
    const began = this.#observer.seconds;
    const differences = await waitUntilConverged(this.#world, this.#baseline, CONVERGE_MS);
    const took = this.#observer.seconds - began;
    for (const difference of differences.slice(0, FEW_DIFFERENCES))
      this.#observer.report(`${fault.name}: after ${CONVERGE_MS / 1_000} s, ${difference}`);
    this.#recoveries.set(fault.name, [...(this.#recoveries.get(fault.name) ?? []), took]);
    this.#observer.expectDeletions([]);
    this.#world.registry.requests.length = 0;
    const { violations } = this.#observer;
    this.#options.say(
      `${(began / 60).toFixed(1)} min: ${fault.name}, converged after ${took.toFixed(0)} s, ${violations.length} violations`,
    );
  }

  /**
   * Waits while nothing changes. Prints each status that changes meanwhile.
   * @returns the resources of each program then, and the writes of the programs that may have changed an object meanwhile
   */
  async #rest(): Promise<{ samples: Sample[]; writes: string[] }> {
    await sleep(REST_MS);
    const began = this.#observer.seconds;
    const before = await readVersions(this.#world.client);
    const audit = await AuditTail.fromNow(this.#world.dev.auditLog);
    let statuses = await this.#readStatuses();
    for (let i = 0; i < REST_READS; i++) {
      await sleep(REST_MS / REST_READS);
      const now = await this.#readStatuses();
      for (const [name, status] of now)
        if (statuses.get(name) !== status) this.#options.say(`status of ${name} changed at rest: ${statuses.get(name)} to ${status}`);
      statuses = now;
    }
    await this.#observer.sample();
    const samples = this.#observer.samples.map((all) => summarizeRest(all, began) as Sample);
    return { samples, writes: listChangingWrites(await audit.listWrites(), before, await readVersions(this.#world.client)) };
  }

  /** Returns the status of each extension as JSON, by name. */
  async #readStatuses(): Promise<Map<string, string>> {
    const { items } = await this.#world.client.list({ apiVersion: API_VERSION, kind: CLUSTER_EXTENSION });
    return new Map(items.map(({ metadata: { name }, status }) => [name, JSON.stringify(status)]));
  }
}

/** Waits until all extensions have converged, and ServiceAccounts have the permissions of `baseline`. @returns differences that are left after a timeout */
async function waitUntilConverged(world: SoakWorld, baseline: ClusterState | undefined, timeoutMs: number): Promise<string[]> {
  const began = performance.now();
  for (;;) {
    const state = await world.readState();
    const differences = listDifferences(state, world.packages.all);
    if (baseline) differences.push(...listPermissionChanges(baseline, state));
    if (differences.length === 0 || performance.now() - began > timeoutMs) return differences;
    await sleep(POLL_MS);
  }
}
