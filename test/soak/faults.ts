import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { GroupVersionKind } from "../../pkg/api/k8s.ts";
import { INSTALLED_SERVERS, type ServerName } from "../../pkg/devcluster/installation.ts";
import { pick, type Random, upTo } from "../support/random.ts";
import { clearDisk, fillDisk } from "../support/smallDisk.ts";
import type { SoakWorld } from "./soakWorld.ts";

/** A fault that a run causes while the cluster changes. */
export interface Fault {
  /** For the report, such as "registry down". */
  readonly name: string;
  /** Whether it restarts a program of olmv1, which resets its memory. */
  readonly restarts: boolean;
  /** Causes the fault, lets it last, and ends it. */
  strike(world: SoakWorld, random: Random): Promise<void>;
}

const SECOND = 1_000;
const FEW_SECONDS = 5 * SECOND;
const LONG = 20 * SECOND;
/** Delay of each piece of data on a slow network, and the speed of a slow registry. */
const SLOW_MS = 50;
const SLOW_BYTES_PER_SECOND = 20_000;
const FREE_BYTES = 0;

/** Paths of libfaketime in distributions. */
const FAKETIME_PATHS = [
  "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
  "/usr/lib64/faketime/libfaketime.so.1",
  "/usr/lib/faketime/libfaketime.so.1",
];

const KILLS: readonly Fault[] = INSTALLED_SERVERS.map((program) => ({
  name: `kill -9 ${program}`,
  restarts: true,
  strike: async (world, random) => {
    await sleep(upTo(random, FEW_SECONDS));
    await world.kill(program);
  },
}));

const OUTSIDE: readonly Fault[] = [
  {
    name: "API server restarts",
    restarts: false,
    strike: ({ dev }) => dev.restart("kube-apiserver"),
  },
  {
    name: "API server unreachable, etcd compacted",
    restarts: false,
    async strike({ dev, network }, random) {
      network.interrupt();
      try {
        await sleep(FEW_SECONDS + upTo(random, LONG));
        await dev.compact();
      } finally {
        network.resume();
      }
    },
  },
  {
    name: "slow network",
    restarts: false,
    async strike({ network, registry }) {
      network.slowDown(SLOW_MS);
      registry.arm({ on: "blob", bytesPerSecond: SLOW_BYTES_PER_SECOND });
      await sleep(LONG);
      network.slowDown(0);
      registry.arm();
    },
  },
  {
    name: "registry down",
    restarts: false,
    async strike({ registry }, random) {
      await registry.down();
      await sleep(FEW_SECONDS + upTo(random, LONG));
      await registry.up();
    },
  },
  {
    name: "registry breaks connections and corrupts blobs",
    restarts: false,
    async strike({ registry }) {
      registry.arm(
        { on: "blob", cutAfter: 100, times: 3 },
        { on: "blob", corrupt: true, times: 3 },
        { on: "manifest", reset: true, times: 3 },
      );
      await sleep(LONG);
      registry.arm();
    },
  },
  {
    name: "certificate of catalogd expired",
    restarts: false,
    async strike(world) {
      await world.renewCertificate(true);
      await sleep(LONG);
      await world.renewCertificate(false);
    },
  },
  {
    name: "conflicting writer",
    restarts: false,
    async strike(world, random) {
      const rivals = Array.from({ length: 5 }, () => pick(random, world.packages.all).name);
      for (let turn = 0; turn < 5; turn++) {
        for (const name of rivals) await overwrite(world, name, turn);
        await sleep(SECOND);
      }
    },
  },
];

const FULL_DISK: Fault = {
  name: "disk full",
  restarts: false,
  async strike({ disk }, random) {
    try {
      fillDisk(disk, FREE_BYTES);
      await sleep(FEW_SECONDS + upTo(random, LONG));
    } finally {
      clearDisk(disk);
    }
  },
};

/** Returns the faults that this machine can cause, and why it cannot cause others. @param noDisk why the folder of caches has no small disk */
export function listFaultKinds(noDisk: string | undefined): { faults: Fault[]; missing: string[] } {
  const library = FAKETIME_PATHS.find((path) => existsSync(path));
  return {
    faults: [
      ...KILLS,
      ...OUTSIDE,
      ...(noDisk === undefined ? [FULL_DISK] : []),
      ...(library === undefined ? [] : INSTALLED_SERVERS.map((program) => jumpClock(program, library))),
    ],
    missing: [
      ...(noDisk === undefined ? [] : [`disk full: ${noDisk}`]),
      ...(library === undefined ? ["clock jumps: libfaketime is not installed"] : []),
    ],
  };
}

/** Moves the clock of a program forward by an hour, back, and backward by an hour. Timers, which use the monotonic clock, are not affected. */
function jumpClock(program: ServerName, library: string): Fault {
  return {
    name: `clock of ${program} jumps`,
    restarts: true,
    async strike(world) {
      const file = join(world.disk, `clock-${program}`);
      await writeFile(file, "+0");
      world.env[program] = {
        LD_PRELOAD: library,
        FAKETIME_TIMESTAMP_FILE: file,
        FAKETIME_CACHE_DURATION: "1",
        FAKETIME_DONT_FAKE_MONOTONIC: "1",
      };
      try {
        await world.restart(program);
        for (const offset of ["+3600", "+0", "-3600", "+0"]) {
          await writeFile(file, offset);
          await sleep(2 * FEW_SECONDS);
        }
      } finally {
        delete world.env[program];
        await world.restart(program);
      }
    },
  };
}

/** Takes over fields of an extension's objects, as another controller does. */
async function overwrite(world: SoakWorld, name: string, turn: number): Promise<void> {
  const patch = (object: GroupVersionKind, body: object): Promise<unknown> =>
    world.retry(() => world.client.patch({ ...object, name, namespace: name }, body, { type: "merge", fieldManager: "rival" }));
  await patch({ apiVersion: "v1", kind: "ConfigMap" }, { data: { greeting: `turn ${turn}` } });
  await patch({ apiVersion: "apps/v1", kind: "Deployment" }, { spec: { replicas: 2 + turn } });
}
