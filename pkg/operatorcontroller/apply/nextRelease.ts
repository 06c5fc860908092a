import type { KubeObject } from "../../api/k8s.ts";
import type { ProxyVariables } from "../../api/proxy.ts";
import type { BundleRequirements } from "../../bundle/requirements.ts";
import { driftPolicyOf } from "../../release/drift.ts";
import { labelsFrom } from "../../release/installedBundle.ts";
import { isTakeOver, lastDeployed, type ReleaseRecord } from "../../release/record.ts";
import { determineState, type ReleaseState } from "../../release/state.ts";
import type { ReleaseContent } from "../releases/releaseJournal.ts";
import { sourcedIn } from "../state/hiddenValues.ts";
import type { ResolvedBundle, WithReleases } from "../state/phases.ts";
import type { PreparedObjects, ServedKinds } from "./preparedObjects.ts";

/** A rendered bundle on its way to the cluster. */
export interface RenderedBundle {
  bundle: ResolvedBundle;
  objects: readonly KubeObject[];
  /** The CSV's. */
  annotations: Record<string, string>;
  /** What the bundle wants of the cluster. */
  requirements?: BundleRequirements | undefined;
  /** What is wrong with the bundle itself. */
  flaws?: readonly string[] | undefined;
  /** Identity of what the objects were rendered from. */
  inputDigest?: string | undefined;
  /** The proxy variables that they were rendered with. */
  proxy?: ProxyVariables | undefined;
  /** Why, if an earlier release is restored. */
  rollback?: Pick<ReleaseRecord, "rolledBack" | "pinnedTo">;
}

/** What a release is to the extension: reason of the Event that tells it, and how it is spoken of. */
const KINDS = {
  Installed: { doing: "install of", done: "installed" },
  Upgraded: { doing: "upgrade to", done: "upgraded to" },
  TakenOver: { doing: "upgrade to", done: "took over" },
  RolledBack: { doing: "rollback to", done: "rolled back to" },
} as const;

/** A release that is to be made. */
export interface NextRelease {
  kind: keyof typeof KINDS;
  bundle: ResolvedBundle;
  /** As they are applied, in that order. */
  objects: readonly KubeObject[];
  /** What was dropped from them, in sentences. */
  notes: readonly string[];
  kinds: ServedKinds;
  state: ReleaseState;
  /** The last release that was applied completely. */
  base: ReleaseRecord | undefined;
  /** What is written down of it. */
  content: ReleaseContent;
  /** Whether objects that somebody changed stay as they are: what is taken over is only looked at. */
  leavesDrift: boolean;
}

/** Returns the release that `rendered` comes to for an extension. */
export function nextRelease(phase: WithReleases, rendered: RenderedBundle, { objects, notes, kinds }: PreparedObjects): NextRelease {
  const { extension, releases, hidden } = phase;
  const { history } = releases;
  const { bundle, annotations, requirements, flaws = [], inputDigest, proxy, rollback } = rendered;
  const labels = labelsFrom(bundle);
  const base = lastDeployed(history.current);
  const isTaken = isTakeOver(base, { labels, ...rollback });
  const takenOver = isTaken ? { takenOver: true as const } : {};
  const sourced = sourcedIn(hidden, objects);
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
    content: { namespace: extension.spec.namespace, labels, annotations, objects, ...rollback, ...takenOver, ...origin },
    leavesDrift: isTaken && !rollback && driftPolicyOf(extension.spec, takenOver).policy !== "Correct",
  };
}

/** Such as `upgrade to bundle "hello.v2"`. */
export function underWay({ kind, bundle }: NextRelease): string {
  return `${KINDS[kind].doing} bundle "${bundle.name}"`;
}

/** Such as `upgraded to bundle "hello.v2" from "hello.v1"`. */
export function completed({ kind, bundle }: NextRelease, installed: string | undefined): string {
  const from = installed === undefined || installed === bundle.name || kind === "TakenOver" ? "" : ` from "${installed}"`;
  return `${KINDS[kind].done} bundle "${bundle.name}"${from}`;
}
