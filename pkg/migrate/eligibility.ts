import type { KubeObject } from "../api/k8s.ts";
import { ANNOTATION_WITHOUT_SUBSCRIPTION } from "../api/migration.ts";
import { compareText } from "../text/compare.ts";
import { quoteShellWord } from "../text/shell.ts";
import {
  type BundleOffer,
  type EligibilityFinding,
  type EligibilityInput,
  findSameBundles,
  type KnownExtension,
} from "./eligibilityInput.ts";
import {
  CATALOG_BLOCKS,
  type CatalogBlock,
  CONFLICTS,
  type Conflict,
  OPERATOR_BLOCKS,
  type OperatorBlock,
  REMARKS,
  type Remark,
  runChecks,
} from "./eligibilityRules.ts";
import { getNamespacedName, type Subscription } from "./subscription.ts";
import { SUBSCRIPTION_BLOCKS, type SubscriptionBlock } from "./subscriptionBlocks.ts";

/**
 * Prefers the catalog with the image of the CatalogSource, then the catalog with the name of the CatalogSource, then the highest priority, then the
 * first name.
 */
function chooseOffer({ channel, source }: Subscription, { csv, offers, sourceImage }: EligibilityInput): BundleOffer | undefined {
  const isImage = ({ catalogImage }: BundleOffer): number => Number(sourceImage !== undefined && catalogImage === sourceImage);
  const bundles = csv ? findSameBundles(offers, csv) : [];
  const fitting = bundles.filter(({ channels }) => channel === undefined || channels.includes(channel));
  return fitting.toSorted(
    (a, b) =>
      isImage(b) - isImage(a) ||
      Number(b.catalog === source) - Number(a.catalog === source) ||
      b.priority - a.priority ||
      compareText(a.catalog, b.catalog),
  )[0];
}

/** Problems with the Subscription, its operator or the catalogs. */
const BLOCKS = { ...SUBSCRIPTION_BLOCKS, ...OPERATOR_BLOCKS, ...CATALOG_BLOCKS };

/** Determines the state of a Subscription. A conflict takes precedence. */
export function decideEligibility(subscription: Subscription, around: EligibilityInput): EligibilityVerdict {
  const remarks = runChecks(REMARKS, subscription, around);
  const [conflict] = runChecks(CONFLICTS, subscription, around);
  if (conflict) return { state: "Conflict", reasons: [conflict], remarks };
  const blocks = runChecks(BLOCKS, subscription, around);
  if (blocks.length > 0) return { state: "Ineligible", reasons: blocks, remarks };
  return { state: "Eligible", reasons: [], remarks, offer: chooseOffer(subscription, around) };
}

/**
 * Returns the verdict on a converted extension whose Subscription no longer exists; undefined if the extension was not converted or the Subscription
 * exists.
 */
export function checkMigrated(extension: KnownExtension, subscriptions: readonly Subscription[]): EligibilityVerdict | undefined {
  const { migratedFrom, name, step } = extension;
  if (migratedFrom === undefined || subscriptions.some((one) => getNamespacedName(one) === migratedFrom)) return undefined;
  const isDone = step === undefined || step === "Installed";
  const by = extension.isForeign ? " by another tool, which can also roll it back" : "";
  const text = isDone
    ? `the Subscription was converted to ClusterExtension "${name}"${by}`
    : `the conversion to ClusterExtension "${name}" stopped after step ${step}`;
  const next = isDone
    ? step === undefined
      ? "nothing to do"
      : `when you no longer need a rollback, remove the OLM v0 leftovers: olmv1 migrate cleanup ${name}`
    : `continue: olmv1 migrate convert ${name} --yes; or roll back: olmv1 migrate rollback ${name}`;
  return {
    state: isDone ? "AlreadyMigrated" : "Conflict",
    reasons: [{ code: isDone ? "AlreadyMigrated" : "ConversionUnfinished", text, next }],
    remarks: [],
  };
}

/** Returns the verdict on an invalid Subscription, or on a ClusterServiceVersion without Subscription whose package is unknown. @param text the reason */
export function rejectUnreadable(object: KubeObject, text: string): EligibilityVerdict {
  const { name, namespace = "", annotations = {} } = object.metadata;
  const csv = annotations[ANNOTATION_WITHOUT_SUBSCRIPTION];
  const reason: MigrationReason =
    csv === undefined
      ? {
          code: "Unreadable",
          text,
          next: `correct the spec of the Subscription, or delete it: kubectl delete subscription.operators.coreos.com ${name} -n ${namespace}`,
        }
      : {
          code: "PackageUnknown",
          text: `ClusterServiceVersion "${csv}" has no Subscription, and its properties do not contain its package`,
          next: `delete it without its objects: kubectl delete csv ${quoteShellWord(csv)} -n ${namespace} --cascade=orphan; then create a ClusterExtension for its package, which adopts the objects`,
        };
  return { state: "Ineligible", reasons: [reason], remarks: [] };
}

/** Whether a Subscription can be converted to a ClusterExtension. */
export type MigrationState = "Eligible" | "Ineligible" | "AlreadyMigrated" | "Conflict";

/** All reason codes. */
type ReasonCode =
  | Conflict
  | SubscriptionBlock
  | OperatorBlock
  | CatalogBlock
  | Remark
  | "AlreadyMigrated"
  | "ConversionRefused"
  | "PackageUnknown"
  | "Unreadable";

/** The reason for the state of a Subscription, or a remark about the conversion. Codes are stable, because scripts rely on them. */
export interface MigrationReason extends EligibilityFinding {
  readonly code: ReasonCode;
}

/** The state of a Subscription, with reasons and remarks. */
export interface EligibilityVerdict {
  readonly state: MigrationState;
  readonly reasons: readonly MigrationReason[];
  readonly remarks: readonly MigrationReason[];
  /** The catalog that the extension will use. Set only for state Eligible. */
  readonly offer?: BundleOffer | undefined;
}
