import { keyOf, type Subscription } from "../subscription.ts";
import { CATALOG_BLOCKS } from "./catalogBlocks.ts";
import { heldOf } from "./check.ts";
import { chosenOffer } from "./chosenOffer.ts";
import { CONFLICTS } from "./conflicts.ts";
import { OPERATOR_BLOCKS } from "./operatorBlocks.ts";
import { REMARKS } from "./remarks.ts";
import { SUBSCRIPTION_BLOCKS } from "./subscriptionBlocks.ts";
import type { KnownExtension, Surroundings } from "./surroundings.ts";
import type { Verdict } from "./verdict.ts";

/** Something about the Subscription, its operator or the catalogs stands against it. */
const BLOCKS = { ...SUBSCRIPTION_BLOCKS, ...OPERATOR_BLOCKS, ...CATALOG_BLOCKS };

/** Decides what a Subscription's state is. A conflict comes before everything else. */
export function judge(subscription: Subscription, around: Surroundings): Verdict {
  const remarks = heldOf(REMARKS, subscription, around);
  const [conflict] = heldOf(CONFLICTS, subscription, around);
  if (conflict) return { state: "Conflict", reasons: [conflict], remarks };
  const blocks = heldOf(BLOCKS, subscription, around);
  if (blocks.length > 0) return { state: "Ineligible", reasons: blocks, remarks };
  return { state: "Eligible", reasons: [], remarks, offer: chosenOffer(subscription, around) };
}

/**
 * The verdict on an extension that a Subscription became which is there no more; undefined where it became none, or the Subscription exists.
 */
export function judgeMigrated(extension: KnownExtension, subscriptions: readonly Subscription[]): Verdict | undefined {
  const { migratedFrom, name, step } = extension;
  if (migratedFrom === undefined || subscriptions.some((one) => keyOf(one) === migratedFrom)) return undefined;
  const isDone = step === undefined || step === "Installed";
  const text = isDone
    ? `it is ClusterExtension "${name}" by now`
    : `ClusterExtension "${name}" takes its place, and the conversion stopped after step ${step}`;
  const next = isDone
    ? step === undefined
      ? "nothing is left to do"
      : `remove what is left of OLM classic once you are content: olmv1 migrate cleanup ${name}`
    : `go on with it: olmv1 migrate convert ${name} --yes; or take it back: olmv1 migrate rollback ${name}`;
  return {
    state: isDone ? "AlreadyMigrated" : "Conflict",
    reasons: [{ code: isDone ? "AlreadyMigrated" : "ConversionUnfinished", text, next }],
    remarks: [],
  };
}

/** The verdict on a Subscription that says nothing which could be converted. @param text why. */
export function unreadable(text: string): Verdict {
  const reason = { code: "Unreadable", text, next: "correct its spec, or delete it" } as const;
  return { state: "Ineligible", reasons: [reason], remarks: [] };
}
