import type { Request } from "./auditTail.ts";

/** What happens to the write permissions of an extension, from the audit log. */
export type AccessStep = "restored" | "written" | "removed";

export const WRITE_VERBS: readonly string[] = ["create", "update", "patch", "delete", "deletecollection"];
const CREATED = 201;

/** Reports whether a request writes, or would write if it were not a dry run. Reviews of own permissions write nothing. */
export function isWrite({ verb, ref }: Request): boolean {
  return WRITE_VERBS.includes(verb) && ref.group !== "authorization.k8s.io";
}

/**
 * Returns the steps in the order of time, without repetitions. A binding gives permissions from the end of its creation until the beginning of its
 * deletion, so the steps are "restored", "written", "removed" only if every write began and ended in between.
 * @param own requests of the extension's ServiceAccount
 * @param manager requests of permission-manager
 * @param account name of the ServiceAccount and of the bindings with its write permissions
 */
export function listAccessSteps(own: readonly Request[], manager: readonly Request[], account: string): AccessStep[] {
  const bindings = manager.filter(({ ref, code }) => ref.name === account && ref.resource.endsWith("rolebindings") && code < 300);
  const points: { at: string; step: AccessStep }[] = own
    .filter(isWrite)
    .flatMap(({ time: { begin, end } }) => [begin, end].map((at) => ({ at, step: "written" as const })));
  for (const { verb, code, time } of bindings) {
    if (verb === "delete") points.push({ at: time.begin, step: "removed" });
    else if (code === CREATED) points.push({ at: time.end, step: "restored" });
  }
  const steps = points.toSorted((a, b) => (a.at < b.at ? -1 : 1)).map(({ step }) => step);
  return steps.filter((step, at) => step !== steps[at - 1]);
}
