import { expect, test } from "vitest";
import type { SurveyedSubscription } from "./survey.ts";
import { type ConversionChecks, verifyEligible } from "./verifyEligible.ts";

const { signal } = new AbortController();
const REMARK = { code: "ConversionRefused" as const, text: "the next upgrade restarts the operator", next: "nothing" };

function surveyed(name: string, state: "Eligible" | "Conflict"): SurveyedSubscription {
  const one = { namespace: "operators", name, packageName: name, version: "1.0.0", approval: "Automatic" as const };
  const verdict = { state, reasons: [], remarks: [REMARK] };
  const eligible = { subscription: { metadata: { name } } } as unknown as NonNullable<SurveyedSubscription["eligible"]>;
  return { ...one, verdict, ...(state === "Eligible" ? { eligible } : {}) };
}

/** Returns the verdict on a Subscription, such as "Ineligible: reason", and the lines that were reported. */
async function verify(one: SurveyedSubscription, plan: ConversionChecks["plan"]): Promise<{ verdict: string; lines: string[] }> {
  const lines: string[] = [];
  const [result] = await verifyEligible([one], { plan, signal, report: (line) => lines.push(line) });
  const { state, reasons, remarks } = result!.verdict;
  expect([remarks, result!.eligible !== undefined]).toEqual([[REMARK], state === "Eligible"]);
  return { verdict: [state, ...reasons.map(({ code, text }) => `${code}: ${text}`)].join("; "), lines };
}

test.for<{ name: string; state: "Eligible" | "Conflict"; plan: ConversionChecks["plan"]; want: string }>([
  { name: "its plan has no findings", state: "Eligible", plan: () => Promise.resolve({ findings: [] }), want: "Eligible" },
  {
    name: "its plan has findings",
    state: "Eligible",
    plan: () => Promise.resolve({ findings: ["a is foreign", "b is foreign"].map((text) => ({ kind: "backup" as const, text })) }),
    want: "Ineligible; ConversionRefused: a is foreign; ConversionRefused: b is foreign",
  },
  {
    name: "it cannot be planned",
    state: "Eligible",
    plan: () => Promise.reject(new Error("the bundle cannot be pulled")),
    want: "Ineligible; ConversionRefused: the conversion cannot be planned: the bundle cannot be pulled",
  },
  {
    name: "it is not eligible, without a plan",
    state: "Conflict",
    plan: () => Promise.reject(new Error("must not be planned")),
    want: "Conflict",
  },
])("verifyEligible returns $want for a Subscription when $name", async ({ state, plan, want }) => {
  const { verdict, lines } = await verify(surveyed("hello", state), plan);
  expect([verdict, lines]).toEqual([want, ["planning the conversion of operators/hello"]]);
});

test("verifyEligible passes the objects of the Subscription to the plan, and stops when it is aborted", async () => {
  const planned: (string | undefined)[] = [];
  const abort = new AbortController();
  const plan: ConversionChecks["plan"] = ({ subscription }) => {
    planned.push(subscription.metadata.name);
    abort.abort(new Error("stopped"));
    return Promise.reject(new Error("interrupted"));
  };
  const found = [surveyed("first", "Eligible"), surveyed("second", "Eligible")];
  await expect(verifyEligible(found, { plan, signal: abort.signal, report: () => undefined })).rejects.toThrow("stopped");
  expect(planned).toEqual(["first"]);
});
