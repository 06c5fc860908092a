import { setTimeout as sleep } from "node:timers/promises";
import { INSTALLED_SERVERS } from "../../pkg/devcluster/installation.ts";
import type { ClusterState } from "./clusterState.ts";
import { listLosses } from "./invariants.ts";
import { sampleProgram } from "./programSample.ts";
import type { Sample } from "./samples.ts";
import type { SoakWorld } from "./soakWorld.ts";

const SAMPLE_MS = 5_000;
/** The cluster is read with every fourth sample. */
const SAMPLES_PER_READ = 4;
const VIOLATIONS_MAX = 50;

/** Watches a run while it causes faults: takes samples of the programs, and compares each state of the cluster with the one before. */
export class SoakObserver {
  /** Samples of each program, in the order of `INSTALLED_SERVERS`. */
  readonly samples: Sample[][] = INSTALLED_SERVERS.map(() => []);
  readonly violations: string[] = [];
  reads = 0;
  readonly #world: SoakWorld;
  readonly #say: (line: string) => void;
  readonly #since = performance.now();
  /** Names of extensions whose objects a round deletes now, or has deleted since the last read. */
  #deleting = new Set<string>();
  #deleted = new Set<string>();

  constructor(world: SoakWorld, say: (line: string) => void) {
    this.#world = world;
    this.#say = say;
  }

  /** Seconds since the start of the run. */
  get seconds(): number {
    return (performance.now() - this.#since) / 1_000;
  }

  expectDeletions(names: readonly string[]): void {
    this.#deleting = new Set(names);
    for (const name of names) this.#deleted.add(name);
  }

  report(violation: string): void {
    const dated = `after ${Math.round(this.seconds)} s: ${violation}`;
    this.#say(dated);
    if (this.violations.length < VIOLATIONS_MAX) this.violations.push(dated);
  }

  /** Takes one sample of each program; a program that is starting has none. */
  async sample(): Promise<void> {
    const taken = await Promise.all(
      INSTALLED_SERVERS.map((program) =>
        sampleProgram(this.#world.pid(program), this.#world.probes(program), this.#since).catch(() => undefined),
      ),
    );
    for (const [i, one] of taken.entries()) if (one) this.samples[i]?.push(one);
  }

  /** Observes until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    let before: ClusterState | undefined;
    for (let turn = 0; !signal.aborted; turn++) {
      await this.sample();
      if (turn % SAMPLES_PER_READ === 0) before = await this.#compare(before);
      await sleep(SAMPLE_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  async #compare(before: ClusterState | undefined): Promise<ClusterState> {
    const state = await this.#world.readState();
    this.reads++;
    const changing = this.#deleted;
    this.#deleted = new Set(this.#deleting);
    if (before) for (const loss of listLosses(before, state, this.#world.packages.all, changing)) this.report(loss);
    return state;
  }
}
