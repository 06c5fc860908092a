import { LeaderElection, type LeaderElectionInit } from "../../pkg/controller/leaderElection.ts";
import { electionTimesProblem } from "../../pkg/controller/lease.ts";
import type { Client } from "../../pkg/kube/client.ts";
import type { Logger } from "../../pkg/telemetry/log.ts";
import { leaderMetrics, type Metrics } from "../../pkg/telemetry/metrics.ts";
import { duration, switchFlag } from "./flags.ts";

/** Flags about leader election that both servers have, to be spread into their flags. @param led what the leader alone does */
export function leaderFlags(led: string) {
  return {
    "leader-elect": switchFlag(false, `let one of several replicas lead, which alone ${led}; without it, this process leads`),
    "leader-election-lease-duration": duration("137s").describe("how long a leader that does not renew is left alone by the others"),
    "leader-election-renew-deadline": duration("107s").describe(
      "how long a leader that cannot renew works on; shorter than the lease duration",
    ),
    "leader-election-retry-period": duration("26s").describe("how often a leader renews, and how long is waited after a failed attempt"),
  };
}

/** What was given for `leaderFlags`. */
export interface LeaderFlags {
  "system-namespace": string;
  "leader-elect": boolean;
  "leader-election-lease-duration": number;
  "leader-election-renew-deadline": number;
  "leader-election-retry-period": number;
}

/** What an election of a program depends on. */
export interface LeadershipInit {
  client: Client;
  /** Name of the Lease in the system namespace. */
  name: string;
  log: Logger;
  metrics: Metrics;
  standBackMs?: LeaderElectionInit["standBackMs"];
}

/** Who leads. */
export interface Leadership {
  /** For writes that are the leader's alone: refuses them while this process does not lead. */
  readonly client: Client;
  /** Whether this process leads at this moment. */
  readonly leading: boolean;
  /** Takes part until `signal` aborts; `lead` is called for each term. */
  run(signal: AbortSignal, lead: (term: AbortSignal) => Promise<void>): Promise<void>;
  /** Leaves leading to another process, if there is one that is fit to. */
  stepDown(why: string): void;
  /** For people. */
  describe(): string;
}

/** Whether the times fit together. */
export function electionTimesFit(flags: LeaderFlags): boolean {
  return electionTimesProblem(timesOf(flags)) === undefined;
}

/** What is wrong with the times otherwise. */
export const ELECTION_TIMES =
  "leader-election-lease-duration must be greater than leader-election-renew-deadline, and that greater than 1.2 times leader-election-retry-period";

/** The election that the flags ask for; without one, this process leads from the start to the end. */
export function leadershipFor(flags: LeaderFlags, { client, name, log, metrics, standBackMs }: LeadershipInit): Leadership {
  const reported = leaderMetrics(metrics, name);
  if (!flags["leader-elect"])
    return {
      client,
      leading: true,
      run: (signal, lead) => lead(signal),
      stepDown: () => undefined,
      describe: () => "this process leads: there is no election",
    };
  const election = new LeaderElection({
    client,
    namespace: flags["system-namespace"],
    name,
    times: timesOf(flags),
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
    describe: () => (election.leading ? "this process leads" : election.holder === "" ? "nobody leads" : `${election.holder} leads`),
  };
}

function timesOf(flags: LeaderFlags): LeaderElectionInit["times"] {
  return {
    leaseDurationMs: flags["leader-election-lease-duration"],
    renewDeadlineMs: flags["leader-election-renew-deadline"],
    retryPeriodMs: flags["leader-election-retry-period"],
  };
}
