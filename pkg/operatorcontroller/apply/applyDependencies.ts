import type { EventSink } from "../../api/events.ts";
import type { Client } from "../../kube/client.ts";
import type { ExtensionExists } from "../../release/ownership.ts";
import type { CertificateDependencies } from "../certificates/extensionCertificates.ts";
import type { ObjectChecker } from "../crdupgrade/existingObjects.ts";
import type { ExtensionMemory } from "../memory.ts";
import type { JournalOptions } from "../releases/releaseJournal.ts";
import type { ExtensionMetrics } from "../status/extensionMetrics.ts";
import type { ObjectWatches } from "../watches/objectWatches.ts";
import type { Handovers } from "./handovers.ts";
import type { ObjectClaims } from "./objectClaims.ts";

/** What applying needs from the outside. */
export interface ApplyDependencies {
  /** For discovery only; content goes through the extension's own client. */
  client: Pick<Client, "resourceFor">;
  releases: JournalOptions["store"];
  events: EventSink;
  /** Milliseconds since the epoch. */
  now: () => number;
  /** How long an object of an unchanged release that is not watched is trusted before it is compared with the cluster again. */
  driftIntervalMs: number;
  /** Whether an extension of that name, and of that uid where one is given, exists. */
  extensionExists: ExtensionExists;
  memory: ExtensionMemory;
  claims: ObjectClaims;
  /** Without it each check of custom resources starts a thread of its own. */
  objectChecker?: ObjectChecker;
  handovers: Handovers;
  /** Without it no certificates are provided. */
  certificates?: CertificateDependencies;
  metrics?: Pick<ExtensionMetrics, "corrected">;
  /** Tells between comparisons what may have drifted; without it everything is compared at each interval. */
  watches?: ObjectWatches;
}
