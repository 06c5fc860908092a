import type { Subscription } from "../subscription.ts";
import type { Surroundings } from "./surroundings.ts";

/** Something that holds, and what to do about it. */
export interface Held {
  /** One sentence without its full stop. */
  readonly text: string;
  /** What to do about it. */
  readonly next: string;
}

/** What a check found; undefined where it does not hold. */
export type Check = (subscription: Subscription, around: Surroundings) => Held | undefined;

/** What holds, each with its code, in the order of the checks. */
export function heldOf<Code extends string>(
  checks: Readonly<Record<Code, Check>>,
  subscription: Subscription,
  around: Surroundings,
): (Held & { readonly code: Code })[] {
  return (Object.entries(checks) as [Code, Check][]).flatMap(([code, check]) => {
    const held = check(subscription, around);
    return held ? [{ code, ...held }] : [];
  });
}
