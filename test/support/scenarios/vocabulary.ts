import { expect } from "vitest";
import * as z from "zod";
import type { ScenarioRun } from "./scenarioRun.ts";

/** A sentence that scenarios may use. */
export interface Word {
  argument: z.ZodType;
  /** Runs the action, or waits until the check succeeds. @param argument the result of `argument`'s parser. */
  run: (run: ScenarioRun, argument: never) => Promise<void>;
}

const Anything = z.record(z.string(), z.unknown());
const Nothing = z.undefined();
/** "Kind name" in the extension's namespace or of the cluster, or "Kind namespace/name". */
const ObjectName = z.string().regex(/^[A-Z]\w+ \S+$/);
const ObjectNames = z.array(ObjectName).min(1);
/** `message` is the whole text; `includes` are parts of it. */
const ExpectedCondition = z.strictObject({
  type: z.string(),
  status: z.enum(["True", "False", "Unknown"]),
  reason: z.string().optional(),
  message: z.string().optional(),
  includes: z.array(z.string()).optional(),
});
export type ExpectedCondition = z.output<typeof ExpectedCondition>;
/** A problem in status; `includes` are parts of its line: severity, type, message and next step. */
const ExpectedProblem = z.strictObject({ type: z.string(), includes: z.array(z.string()).default([]) });
export type ExpectedProblem = z.output<typeof ExpectedProblem>;
const Requester = z.strictObject({ user: z.string(), group: z.string(), spec: Anything.default({}) });
type Requester = z.output<typeof Requester>;

/** All sentences of scenarios, after given, when, then or and. */
export const VOCABULARY: Readonly<Record<string, Word>> = {
  "a namespace exists": word(z.string(), (run, name) => run.createNamespace(name)),
  "an object is deleted": word(ObjectName, (run, name) => run.deleteObject(name)),
  "an object is patched": word(z.strictObject({ object: ObjectName, patch: Anything }), (run, { object, patch }) =>
    run.patchObject(object, patch),
  ),
  "the manifests of a file are applied": word(z.string(), (run, path) => run.applyFile(path)),
  "the Pods of its namespace are": word(z.enum(["Ready", "NotReady", "CrashLoop", "Pending"]), (run, podOutcome) =>
    run.setPods(podOutcome),
  ),

  "the extension is applied": word(Anything.default({}), async (run, patch) => {
    await run.grantInstaller();
    await run.applyExtension(patch);
  }),
  "the extension is changed": word(Anything, (run, patch) => run.applyExtension(patch)),
  "a reconcile of the extension is requested": word(Nothing, (run) => run.askForReconcile()),
  "the extension is deleted": word(Nothing, (run) => run.deleteExtension()),
  "a user applies an extension": word(Requester, (run, requester) => run.applyAs(requester)),
  "a user who applies an extension is denied": word(Requester.extend({ message: z.string() }), (run, requester) =>
    run.refused(requester, requester.message),
  ),

  "an image of the catalog is pushed": word(z.strictObject({ tag: z.string(), table: z.string() }), (run, { tag, table }) =>
    run.pushCatalog(tag, table),
  ),
  "the catalog is changed to the tag": word(z.string(), (run, tag) => run.setCatalogTag(tag)),
  "the catalog is polled": word(Nothing, (run) => run.poll()),

  "it is rolled out as": word(z.string(), (run, bundle) => run.checks.rolledOut(bundle)),
  condition: word(ExpectedCondition, (run, condition) => run.checks.condition(condition)),
  problem: word(ExpectedProblem, (run, problem) => run.checks.problem(problem)),
  "there was no warning": word(Nothing, async (run) => expect(run.warnings).toEqual([])),
  "these objects exist": word(ObjectNames, (run, names) => run.checks.exist(names)),
  "these objects do not exist": word(ObjectNames, (run, names) => run.checks.absent(names)),
  "an object has": word(z.strictObject({ object: ObjectName, parts: Anything }), (run, { object, parts }) => run.checks.has(object, parts)),
  "the number of ReplicaSets is": word(z.number(), (run, count) => run.checks.countReplicaSets(count)),
  "nothing of the extension is left": word(Nothing, (run) => run.checks.nothingLeft()),
};

function word<T extends z.ZodType>(argument: T, run: (run: ScenarioRun, argument: z.output<T>) => Promise<void>): Word {
  return { argument, run };
}
