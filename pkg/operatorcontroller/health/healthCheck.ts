import type { StepContext } from "../../controller/reconcile.ts";
import { messageOf } from "../../errors/errors.ts";
import { type ProgressDeadline, availabilityOf, exceededText, rolloutEnds } from "../../release/health/availability.ts";
import { hasHealth } from "../../release/health/health.ts";
import { objectKey } from "../../release/identity.ts";
import { type ReleaseRecord, lastDeployed } from "../../release/record.ts";
import type { PassFacts } from "../facts.ts";
import type { ExtensionMemory, RememberedHealth } from "../memory.ts";
import type { ReleaseStore } from "../releases/releaseStore.ts";
import { readHealth } from "./healthReader.ts";

/** What checking health needs from the outside. */
export interface HealthDependencies {
  releases: Pick<ReleaseStore, "update">;
  memory: ExtensionMemory;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** Queues an extension again after some milliseconds. */
  comeBack: (extension: string, afterMs: number) => void;
  /** How long a minute of `spec.progressDeadlineMinutes` is; 60,000 but in tests. */
  minuteMs: number;
}

/** Pause after the first check that finds a release not healthy; it doubles with each, up to the longest. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 15_000;

type Context = StepContext<PassFacts["extension"]>;

/**
 * Finds out whether the deployed release works, as the ServiceAccount, and when to look again:
 *
 * | last found        | since then                                                          | reads                                  |
 * | nothing           |                                                                     | every object that has a health         |
 * | anything          | another release, a failed release, a change that somebody told of   | the same                               |
 * | anything          | all objects were compared with the cluster in this very pass        | nothing: their answers have the status |
 * | healthy           |                                                                     | nothing                                |
 * | not healthy       | the pause is up: one second, twice as long each time, at most 15 s  | the same as first                      |
 *
 * So a healthy extension costs no request of its own. A release that is healthy for the first time is recorded as rolled out.
 * @throws the signal's reason when it aborts; what cannot be told is no error but Unknown.
 */
export async function checkHealth(deps: HealthDependencies, facts: PassFacts, context: Context): Promise<void> {
  const release = facts.deployed ?? lastDeployed(facts.history.current);
  if (!facts.scoped || !release || facts.deleting !== undefined) return;
  const { extension } = facts;
  const remembered = deps.memory.of(extension);
  if (isDue(remembered.health, release, facts, deps.now())) {
    remembered.health = await read(deps, facts, release, context.signal);
    const { availability, dueAt } = remembered.health;
    context.log.debug({ release: release.version, available: availability.status, reason: availability.reason, dueAt }, "health checked");
  }
  const known = remembered.health;
  if (!known) return;
  facts.availability = known.availability;
  if (known.availability.status === "True" && release.rolledOutAt === undefined) await recordRolledOut(deps, facts, release, context);
  else checkDeadline(deps, facts, release);
  if (known.dueAt !== Number.POSITIVE_INFINITY) deps.comeBack(extension.metadata.name, known.dueAt - deps.now());
}

function isDue(known: RememberedHealth | undefined, release: ReleaseRecord, facts: PassFacts, now: number): boolean {
  if (known?.release !== release.version || now >= known.dueAt) return true;
  if (now < known.readAt) return true; // the clock was put back
  if (facts.failed) return true;
  const { live } = facts;
  return live !== undefined && release.objects.filter(hasHealth).every((object) => live.has(objectKey(object)));
}

async function read(deps: HealthDependencies, facts: PassFacts, release: ReleaseRecord, signal: AbortSignal): Promise<RememberedHealth> {
  const { extension, scoped: client, live = new Map() } = facts;
  const before = deps.memory.of(extension).health;
  const explain = facts.deployed === undefined; // the Pods of what was applied just now have nothing to tell yet
  const objects = client ? await readHealth(release.objects, { client, live, explain, now: deps.now(), signal }) : [];
  const availability = availabilityOf(objects, { rolledOut: release.rolledOutAt !== undefined });
  const found = { release: release.version, availability, readAt: deps.now() };
  if (availability.status === "True") return { ...found, checks: 0, dueAt: Number.POSITIVE_INFINITY };
  const checks = before?.release === release.version ? before.checks : 0;
  const pause = Math.min(FIRST_PAUSE_MS * 2 ** checks, LONGEST_PAUSE_MS);
  return { ...found, checks: checks + 1, dueAt: found.readAt + pause };
}

/** What goes wrong here is only logged: it is tried again in the next pass, and until then nothing but the deadline hangs on it. */
async function recordRolledOut(
  deps: HealthDependencies,
  facts: PassFacts,
  release: ReleaseRecord,
  { log, signal }: Context,
): Promise<void> {
  const { name, uid = "" } = facts.extension.metadata;
  const record: ReleaseRecord = { ...release, rolledOutAt: new Date(deps.now()).toISOString() };
  try {
    await deps.releases.update(record, { name, uid }, { signal });
    facts.deployed = record;
    log.info({ release: release.version }, "release rolled out");
  } catch (err) {
    signal.throwIfAborted();
    log.warn({ release: release.version, reason: messageOf(err) }, "release not recorded as rolled out");
  }
}

function checkDeadline(deps: HealthDependencies, facts: PassFacts, release: ReleaseRecord): void {
  const { extension, availability, installed } = facts;
  const minutes = extension.spec.progressDeadlineMinutes;
  if (!minutes || availability?.status !== "False") return;
  const deadline: ProgressDeadline = { minutes, minuteMs: deps.minuteMs };
  const ends = rolloutEnds(release, deadline);
  if (ends === undefined) return;
  const left = ends - deps.now();
  if (left > 0) deps.comeBack(extension.metadata.name, left);
  else facts.overdue = exceededText(installed?.version ?? "", deadline, availability);
}
