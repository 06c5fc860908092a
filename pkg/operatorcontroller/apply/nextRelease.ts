import { getNamespace } from "../../api/clusterExtension.ts";
import type { KubeObject } from "../../api/k8s.ts";
import type { ProxyVariables } from "../../api/proxy.ts";
import type { BundleRequirements } from "../../bundle/requirements.ts";
import { getDriftPolicy } from "../../release/drift.ts";
import { toReleaseLabels } from "../../release/installedBundle.ts";
import { findLastDeployed, isTakeOver, type ReleaseRecord } from "../../release/record.ts";
import { determineState, type ReleaseState } from "../../release/state.ts";
import type { ReleaseContent } from "../releases/releaseJournal.ts";
import { findSourcedTexts } from "../state/hiddenValues.ts";
import type { ResolvedBundle, WithReleases } from "../state/phases.ts";
import type { PreparedObjects, ServedKinds } from "./preparedObjects.ts";

/** A rendered bundle to apply. */
export interface RenderedBundle {
  bundle: ResolvedBundle;
  objects: readonly KubeObject[];
  /** The annotations of the ClusterServiceVersion. */
  annotations: Record<string, string>;
  /** The bundle's requirements on the cluster. */
  requirements?: BundleRequirements | undefined;
  /** Mistakes in the bundle itself. */
  flaws?: readonly string[] | undefined;
  /** Digest of the rendering input. */
  inputDigest?: string | undefined;
  /** The proxy variables in the rendered objects. */
  proxy?: ProxyVariables | undefined;
  /** The cause of the rollback; absent if this is not a rollback. */
  rollback?: Pick<ReleaseRecord, "rolledBack" | "pinnedTo">;
}

/** For each kind of release (the Event reason): the wording of Event messages. */
const KINDS = {
  Installed: { doing: "install of", done: "installed" },
  Upgraded: { doing: "upgrade to", done: "upgraded to" },
  TakenOver: { doing: "upgrade to", done: "took over" },
  RolledBack: { doing: "rollback to", done: "rolled back to" },
} as const;

/** A release before it is applied. */
export interface NextRelease {
  kind: keyof typeof KINDS;
  bundle: ResolvedBundle;
  /** The objects in the form and order in which they are applied. */
  objects: readonly KubeObject[];
  /** Sentences about fields that were dropped from the objects. */
  notes: readonly string[];
  kinds: ServedKinds;
  state: ReleaseState;
  /** The last completely applied release. */
  base: ReleaseRecord | undefined;
  /** The content of the release record. */
  content: ReleaseContent;
  /** Whether the release leaves drift uncorrected: the first release after a takeover only reports drift. */
  leavesDrift: boolean;
}

/** Returns the next release of an extension with the rendered bundle. */
export function buildNextRelease(phase: WithReleases, rendered: RenderedBundle, { objects, notes, kinds }: PreparedObjects): NextRelease {
  const { extension, releases, hidden } = phase;
  const { history } = releases;
  const { bundle, annotations, requirements, flaws = [], inputDigest, proxy, rollback } = rendered;
  const labels = toReleaseLabels(bundle);
  const base = findLastDeployed(history.current);
  const isTaken = isTakeOver(base, { labels, ...rollback });
  const takenOver = isTaken ? { takenOver: true as const } : {};
  const sourced = findSourcedTexts(hidden, objects);
  const origin = {
    ...(sourced.length > 0 ? { sourced } : {}),
    ...(bundle.properties === undefined ? {} : { properties: bundle.properties }),
    ...(requirements === undefined ? {} : { requirements }),
    ...(inputDigest === undefined ? {} : { inputDigest }),
    ...(bundle.imageDigest === undefined ? {} : { imageDigest: bundle.imageDigest }),
    ...(proxy === undefined ? {} : { proxy }),
    ...(bundle.cautions === undefined ? {} : { cautions: bundle.cautions }),
    ...(flaws.length === 0 ? {} : { flaws }),
  };
  return {
    kind: rollback ? "RolledBack" : isTaken ? "TakenOver" : base ? "Upgraded" : "Installed",
    bundle,
    objects,
    notes,
    kinds,
    state: determineState(history.current, { objects, labels }),
    base,
    content: { namespace: getNamespace(extension), labels, annotations, objects, ...rollback, ...takenOver, ...origin },
    leavesDrift: isTaken && !rollback && getDriftPolicy(extension.spec, takenOver).policy !== "Correct",
  };
}

/** Describes a release in progress, such as `upgrade to bundle "hello.v2"`. */
export function describeProgress({ kind, bundle }: NextRelease): string {
  return `${KINDS[kind].doing} bundle "${bundle.name}"`;
}

/** Describes a completed release, such as `upgraded to bundle "hello.v2" from "hello.v1"`. */
export function describeCompletion({ kind, bundle }: NextRelease, installed: string | undefined): string {
  const from = installed === undefined || installed === bundle.name || kind === "TakenOver" ? "" : ` from "${installed}"`;
  return `${KINDS[kind].done} bundle "${bundle.name}"${from}`;
}
