import type { KubeObject } from "../../api/k8s.ts";
import { type ObjectState, OptionalSetting, type OptionalSettingOptions, type SettingReader } from "../../controller/optionalObject.ts";
import { getErrorMessage, wrapError } from "../../errors/errors.ts";
import { goQuote } from "../../golang/quote.ts";
import type { Client } from "../../kube/client.ts";
import { KindNotServed } from "../../kube/errors.ts";
import { type ClusterVersion, parseMinorVersion } from "../../version/clusterVersion.ts";

/**
 * Reads the version of the cluster from its ClusterVersion object.
 * @throws Error if the request fails or is denied.
 */
export async function readClusterVersion(client: Client): Promise<ClusterVersion> {
  try {
    const object = await client.get(CLUSTER_VERSION);
    return toClusterVersion(object ? { kind: "present", object } : { kind: "absent" }, undefined);
  } catch (err) {
    if (err instanceof KindNotServed) return { kind: "none" };
    throw wrapError('cannot read ClusterVersion "version": ', err);
  }
}

/** Reads the version of the cluster; `unknown` if it cannot be read, and `none` without a cluster. */
export async function tryReadClusterVersion(client: Client | undefined): Promise<ClusterVersion> {
  if (!client) return { kind: "none" };
  try {
    return await readClusterVersion(client);
  } catch (err) {
    return { kind: "unknown", reason: getErrorMessage(err) };
  }
}

/** The object that contains the version of an OpenShift cluster. */
export const CLUSTER_VERSION = { apiVersion: "config.openshift.io/v1", kind: "ClusterVersion", name: "version" } as const;

/** Returns the current version of the cluster; `unknown` until it has been read. */
export type ClusterVersionReader = SettingReader<ClusterVersion>;

/** The options of a ClusterVersionSource. */
export interface ClusterVersionSourceOptions extends Pick<OptionalSettingOptions<ClusterVersion>, "client" | "log" | "clock"> {
  /** The value of --cluster-version, parsed by `parseClusterVersion`. Used if the ClusterVersion object does not exist. */
  byFlag: ClusterVersion | undefined;
}

const MAX_QUOTED = 128;

/** Watches the version of the OpenShift cluster while it runs: `status.desired.version` of ClusterVersion `version`, otherwise the flag. */
export class ClusterVersionSource extends OptionalSetting<ClusterVersion> {
  constructor({ byFlag, ...options }: ClusterVersionSourceOptions) {
    super({ ...options, ref: CLUSTER_VERSION, from: (state) => toClusterVersion(state, byFlag), describe });
  }
}

function describe(version: ClusterVersion): string {
  if (version.kind === "known") return version.text;
  return version.kind === "none" ? "none: not an OpenShift cluster" : `unknown: ${version.reason}`;
}

/**
 * Converts the state of ClusterVersion `version`. If the version of an OpenShift cluster cannot be determined, the result is `unknown`, never `none`.
 */
export function toClusterVersion(state: ObjectState, byFlag: ClusterVersion | undefined): ClusterVersion {
  const unknown = (reason: string): ClusterVersion => ({ kind: "unknown", reason });
  if (state.kind === "present") return parseVersion(state.object);
  if (state.kind === "notServed") return byFlag ?? { kind: "none" };
  if (state.kind === "absent") return byFlag ?? unknown('ClusterVersion "version" does not exist');
  if (state.kind === "unreadable") return unknown(`ClusterVersion "version" cannot be read: ${state.reason}`);
  return unknown(`ClusterVersion "version" has not been read yet${state.reason === undefined ? "" : `: ${state.reason}`}`);
}

function parseVersion(object: KubeObject): ClusterVersion {
  const { desired } = (object["status"] ?? {}) as { desired?: { version?: unknown } };
  const text = desired?.version;
  if (typeof text !== "string" || text === "") return { kind: "unknown", reason: 'ClusterVersion "version" has no status.desired.version' };
  try {
    return { kind: "known", text, minor: parseMinorVersion(text) };
  } catch (err) {
    const reason = `ClusterVersion "version" has an invalid status.desired.version ${goQuote(text.slice(0, MAX_QUOTED))}: ${getErrorMessage(err)}`;
    return { kind: "unknown", reason };
  }
}

/**
 * Parses the version in a flag: a semantic version such as "4.18.3", or only its major and minor version.
 * @throws Error if it is neither.
 */
export function parseClusterVersion(text: string): ClusterVersion {
  const short = /^(0|[1-9]\d*)\.(0|[1-9]\d*)$/.test(text);
  return { kind: "known", text, minor: parseMinorVersion(short ? `${text}.0` : text) };
}
