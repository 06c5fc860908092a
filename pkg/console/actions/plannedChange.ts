import type { ClusterExtension } from "../../api/clusterExtension.ts";
import type { ObjectRef } from "../../api/k8s.ts";
import type { ActionChoice } from "../../consoleapi/actions.ts";
import type { Client } from "../../kube/client.ts";
import { buildExtensionRef } from "../../rollout/extensions.ts";
import type { ReaderOptions } from "../../sources/bundleReader.ts";
import type { ClusterRequest } from "./clusterRequest.ts";

/** An action as the requests that carry it out, and what they mean. */
export interface PlannedChange {
  /** The question, such as `Approve the plan of argocd?`. */
  readonly title: string;
  /** What happens; sentences. */
  readonly effects: readonly string[];
  readonly isDanger?: boolean;
  /** The command that does the same. */
  readonly command?: string;
  readonly requests: readonly ClusterRequest[];
  /** The object that the user saw; the change is not made if its spec changes before the confirmation. */
  readonly seen?: SeenObject;
  /** Text that the user must type. */
  readonly confirmation?: string;
  /** A wider change that the user may choose. */
  readonly choice?: ActionChoice;
  /** Why the change cannot be made. */
  readonly rejected?: string;
}

/** The state of an object that a change is based on. */
export interface SeenObject {
  readonly ref: ObjectRef;
  readonly uid: string | undefined;
  readonly generation: number | undefined;
}

/** What the builders of changes need. */
export interface ChangeContext {
  readonly client: Client;
  readonly systemNamespace: string;
  /** How to pull bundle images. */
  readonly registry: ReaderOptions;
  readonly signal: AbortSignal;
  /** Time of the action in RFC 3339. */
  readonly now: string;
}

/** What to do after a conflict. */
export const RELOAD = "Close the dialog, check the current state on the page, and open the dialog again.";

/** Returns the state of an extension that a change is based on. */
export function toSeenObject({ metadata }: ClusterExtension): SeenObject {
  return { ref: buildExtensionRef(metadata.name), uid: metadata.uid, generation: metadata.generation };
}
