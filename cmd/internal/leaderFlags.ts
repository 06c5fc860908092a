import { LeaderElection, type LeaderElectionInit } from "../../pkg/controller/leaderElection.ts";
import { findElectionTimesProblem } from "../../pkg/controller/lease.ts";
import type { Client } from "../../pkg/kube/client.ts";
import type { Logger } from "../../pkg/telemetry/log.ts";
import { type Metrics, registerLeaderMetrics } from "../../pkg/telemetry/metrics.ts";
import { duration, switchFlag } from "./flags.ts";
import { PROGRAM_VERSION } from "./program.ts";

/** Leader election flags of both servers, to spread into their flags. @param led what only the leader does, for the help */
export function leaderFlags(led: string) {
  return {
    "leader-elect": switchFlag(false, `elect a leader, so that only one replica ${led}; if disabled, this process leads`),
    "leader-election-lease-duration": duration("137s").describe(
      "time after which another replica takes over from a leader that does not renew its lease",
    ),
    "leader-election-renew-deadline": duration("107s").describe(
      "time that a leader keeps leading while it cannot renew its lease; must be shorter than the lease duration",
    ),
    "leader-election-retry-period": duration("26s").describe("interval between lease renewals, and delay before a retry"),
  };
}

/** The values of `leaderFlags`. */
export interface LeaderFlags {
  "system-namespace": string;
  "leader-elect": boolean;
  "leader-election-lease-duration": number;
  "leader-election-renew-deadline": number;
  "leader-election-retry-period": number;
}

/** Options of a server's leader election. */
export interface LeadershipInit {
  client: Client;
  /** Name of the Lease in the system namespace. */
  name: string;
  log: Logger;
  metrics: Metrics;
  standBackMs?: LeaderElectionInit["standBackMs"];
}

/** Leadership of a server. */
export interface Leadership {
  /** Client for writes by the leader: rejects them while this process does not lead. */
  readonly client: Client;
  /** Whether this process is the leader. */
  readonly leading: boolean;
  /** Participates until `signal` aborts; calls `lead` for each term. */
  run(signal: AbortSignal, lead: (term: AbortSignal) => Promise<void>): Promise<void>;
  /** Ends the current term and releases the Lease, so that another process can become the leader. */
  stepDown(why: string): void;
  /** Returns a readable description of the current leader. */
  describe(): string;
}

/** Returns whether the leader election times are consistent. */
export function areElectionTimesValid(flags: LeaderFlags): boolean {
  return findElectionTimesProblem(readTimes(flags)) === undefined;
}

/** The error unless `areElectionTimesValid`. */
export const ELECTION_TIMES =
  "leader-election-lease-duration must be greater than leader-election-renew-deadline, which must be greater than 1.2 times leader-election-retry-period";

/** Returns leader election as configured by the flags. If it is disabled, this process always leads. */
export function createLeadership(flags: LeaderFlags, { client, name, log, metrics, standBackMs }: LeadershipInit): Leadership {
  const reported = registerLeaderMetrics(metrics, name);
  if (!flags["leader-elect"])
    return {
      client,
      leading: true,
      run: (signal, lead) => lead(signal),
      stepDown: () => undefined,
      describe: () => "this process leads, because leader election is disabled",
    };
  const election = new LeaderElection({
    client,
    namespace: flags["system-namespace"],
    name,
    version: PROGRAM_VERSION,
    times: readTimes(flags),
    log,
    metrics: reported,
    ...(standBackMs ? { standBackMs } : {}),
  });
  return {
    client: client.guardedBy(election.mustLead),
    get leading() {
      return election.leading;
    },
    run: (signal, lead) => election.run(signal, lead),
    stepDown: (why) => election.stepDown(why),
    describe: () => (election.leading ? "this process leads" : election.holder === "" ? "no current leader" : `${election.holder} leads`),
  };
}

/**
 * Leads one term: calls `lead` when this process becomes the leader. Returns when `signal` aborts.
 * @throws Error when the term ends before. The program must exit then.
 */
export function leadUntilLost(
  leadership: Pick<Leadership, "run">,
  signal: AbortSignal,
  lead: (term: AbortSignal) => Promise<void>,
): Promise<void> {
  const lost = Promise.withResolvers<never>();
  const leads = leadership.run(signal, async (term) => {
    await lead(term);
    // Exits after losing leadership, because the in-memory state is outdated; a new process starts
    // without state.
    if (!signal.aborted) lost.reject(new Error("leader election lost"));
  });
  return Promise.race([leads, lost.promise]);
}

function readTimes(flags: LeaderFlags): LeaderElectionInit["times"] {
  return {
    leaseDurationMs: flags["leader-election-lease-duration"],
    renewDeadlineMs: flags["leader-election-renew-deadline"],
    retryPeriodMs: flags["leader-election-retry-period"],
  };
}
