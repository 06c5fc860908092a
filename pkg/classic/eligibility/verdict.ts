import type { CatalogBlock } from "./catalogBlocks.ts";
import type { Held } from "./check.ts";
import type { Conflict } from "./conflicts.ts";
import type { BundleOffer } from "./offer.ts";
import type { OperatorBlock } from "./operatorBlocks.ts";
import type { Remark } from "./remarks.ts";
import type { SubscriptionBlock } from "./subscriptionBlocks.ts";

/** Whether a Subscription can become a ClusterExtension. */
export type MigrationState = "Eligible" | "Ineligible" | "AlreadyMigrated" | "Conflict";

/** Every reason that there is. */
export type ReasonCode = Conflict | SubscriptionBlock | OperatorBlock | CatalogBlock | Remark | "AlreadyMigrated" | "Unreadable";

/** Why a Subscription is in its state, or what is to be known before it is converted. Codes are stable: scripts rely on them. */
export interface MigrationReason extends Held {
  readonly code: ReasonCode;
}

/** A Subscription's state, why, and what is to be known beside. */
export interface Verdict {
  readonly state: MigrationState;
  readonly reasons: readonly MigrationReason[];
  readonly remarks: readonly MigrationReason[];
  /** The catalog that the extension will follow; only where it is eligible. */
  readonly offer?: BundleOffer | undefined;
}
