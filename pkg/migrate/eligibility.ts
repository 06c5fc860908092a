import { compareText } from "../text/compare.ts";
import { type BundleOffer, type KnownExtension, type Surroundings, sameBundles } from "./eligibilityInput.ts";
import {
  CATALOG_BLOCKS,
  type CatalogBlock,
  CONFLICTS,
  type Conflict,
  type EligibilityFinding,
  heldOf,
  OPERATOR_BLOCKS,
  type OperatorBlock,
  REMARKS,
  type Remark,
  SUBSCRIPTION_BLOCKS,
  type SubscriptionBlock,
} from "./eligibilityRules.ts";
import { getSubscriptionKey, type Subscription } from "./subscription.ts";

/** The catalog with the image of the CatalogSource comes first, then the one called as it, then that of the highest priority, then by name. */
function chosenOffer({ channel, source }: Subscription, { csv, offers, sourceImage }: Surroundings): BundleOffer | undefined {
  const isImage = ({ catalogImage }: BundleOffer): number => Number(sourceImage !== undefined && catalogImage === sourceImage);
  const bundles = csv ? sameBundles(offers, csv) : [];
  const fitting = bundles.filter(({ channels }) => channel === undefined || channels.includes(channel));
  return fitting.toSorted(
    (a, b) =>
      isImage(b) - isImage(a) ||
      Number(b.catalog === source) - Number(a.catalog === source) ||
      b.priority - a.priority ||
      compareText(a.catalog, b.catalog),
  )[0];
}

/** Something about the Subscription, its operator or the catalogs stands against it. */
const BLOCKS = { ...SUBSCRIPTION_BLOCKS, ...OPERATOR_BLOCKS, ...CATALOG_BLOCKS };

/** Decides what a Subscription's state is. A conflict comes before everything else. */
export function decideEligibility(subscription: Subscription, around: Surroundings): EligibilityVerdict {
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
export function judgeMigrated(extension: KnownExtension, subscriptions: readonly Subscription[]): EligibilityVerdict | undefined {
  const { migratedFrom, name, step } = extension;
  if (migratedFrom === undefined || subscriptions.some((one) => getSubscriptionKey(one) === migratedFrom)) return undefined;
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
export function rejectUnreadable(text: string): EligibilityVerdict {
  const reason = { code: "Unreadable", text, next: "correct its spec, or delete it" } as const;
  return { state: "Ineligible", reasons: [reason], remarks: [] };
}

/** Whether a Subscription can become a ClusterExtension. */
export type MigrationState = "Eligible" | "Ineligible" | "AlreadyMigrated" | "Conflict";

/** Every reason that there is. */
type ReasonCode = Conflict | SubscriptionBlock | OperatorBlock | CatalogBlock | Remark | "AlreadyMigrated" | "Unreadable";

/** Why a Subscription is in its state, or what is to be known before it is converted. Codes are stable: scripts rely on them. */
export interface MigrationReason extends EligibilityFinding {
  readonly code: ReasonCode;
}

/** A Subscription's state, why, and what is to be known beside. */
export interface EligibilityVerdict {
  readonly state: MigrationState;
  readonly reasons: readonly MigrationReason[];
  readonly remarks: readonly MigrationReason[];
  /** The catalog that the extension will follow; only where it is eligible. */
  readonly offer?: BundleOffer | undefined;
}
