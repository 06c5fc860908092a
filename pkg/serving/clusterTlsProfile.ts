import { getCiphers } from "node:tls";
import type { KubeObject } from "../api/k8s.ts";
import { type ObjectState, OptionalSetting, type OptionalSettingOptions } from "../controller/optionalObject.ts";
import type { SettingsSource } from "./serverTls.ts";
import {
  computeTlsSettings,
  getTlsProfile,
  isKnownProfile,
  type TlsProfile,
  type TlsSettings,
  type TlsVersion,
  withOpensslNames,
} from "./tlsProfile.ts";

/** The object that contains the TLS profile for servers in an OpenShift cluster. */
export const API_SERVER = { apiVersion: "config.openshift.io/v1", kind: "APIServer", name: "cluster" } as const;

/** Follows the TLS profile of the cluster while it runs. If the profile cannot be read, keeps the last one. */
export class ClusterTlsSettings implements SettingsSource {
  readonly synced: Promise<void>;
  readonly #setting: OptionalSetting<ClusterTlsProfile>;
  readonly #available = new Set(getCiphers());
  #last: ClusterTlsProfile | undefined;

  constructor(options: Pick<OptionalSettingOptions<ClusterTlsProfile>, "client" | "log" | "clock">) {
    this.#setting = new OptionalSetting({
      ...options,
      ref: API_SERVER,
      from: (state) => this.#profileOf(state),
      describe: ({ source }) => source,
    });
    this.synced = this.#setting.synced;
  }

  current(): TlsSettings {
    return computeTlsSettings(this.#setting.current().profile, this.#available).settings;
  }

  onChange(handler: () => void): void {
    this.#setting.onChange(handler);
  }

  /** Runs until `signal` aborts; never throws. Call once. */
  run(signal: AbortSignal): Promise<void> {
    return this.#setting.run(signal);
  }

  #profileOf(state: ObjectState): ClusterTlsProfile {
    const isKnown = state.kind !== "unreadable" && state.kind !== "unknown";
    if (isKnown) this.#last = toClusterTlsProfile(state);
    return this.#last ?? toClusterTlsProfile(state);
  }
}

/** A profile and its source. */
export interface ClusterTlsProfile {
  readonly profile: TlsProfile;
  /** For the log. */
  readonly source: string;
}

/** TLS versions by their names in the APIServer object. */
const VERSIONS: Readonly<Record<string, TlsVersion>> = {
  VersionTLS10: "TLSv1.0",
  VersionTLS11: "TLSv1.1",
  VersionTLS12: "TLSv1.2",
  VersionTLS13: "TLSv1.3",
};
const NONE = { minVersion: "TLSv1.2", ciphers: [], curves: [] } as const;

/**
 * Returns the profile in APIServer `cluster`. If the profile is missing, unknown or unusable,
 * returns the intermediate profile, like OpenShift's own servers.
 * @see github.com/openshift/api 2a3d7391 config/v1/types_tlssecurityprofile.go
 */
export function toClusterTlsProfile(state: ObjectState): ClusterTlsProfile {
  if (state.kind === "present") return readProfile(state.object);
  if (state.kind === "notServed" || state.kind === "absent") return intermediate('APIServer "cluster" does not exist');
  return intermediate(
    `APIServer "cluster" ${state.kind === "unreadable" ? "cannot be read" : "has not been read yet"}: ${state.reason ?? "no response"}`,
  );
}

function readProfile(object: KubeObject): ClusterTlsProfile {
  const spec = record(object["spec"]);
  const { type, custom } = record(spec["tlsSecurityProfile"]);
  if (type === undefined || type === "") return intermediate('APIServer "cluster" has no TLS profile');
  const source = `APIServer "cluster" profile ${JSON.stringify(type).slice(0, 64)}`;
  if (type === "Custom") return readCustomProfile(record(custom), source);
  return typeof type === "string" && isKnownProfile(type)
    ? { profile: getTlsProfile(type, NONE), source }
    : intermediate(`${source} is unknown`);
}

/** The object contains OpenSSL's names of cipher suites. */
function readCustomProfile({ ciphers, minTLSVersion }: Readonly<Record<string, unknown>>, source: string): ClusterTlsProfile {
  const minVersion = typeof minTLSVersion === "string" ? VERSIONS[minTLSVersion] : "TLSv1.2";
  if (!minVersion) return intermediate(`${source} has an unknown minTLSVersion`);
  const names = Array.isArray(ciphers) ? ciphers.filter((name) => typeof name === "string") : [];
  const known = withOpensslNames(names);
  if (known.length === 0 && names.length > 0) return intermediate(`${source} has no known cipher suite`);
  return { profile: getTlsProfile("custom", { ...NONE, minVersion, ciphers: known }), source: `${source}, ${minVersion} or later` };
}

function intermediate(source: string): ClusterTlsProfile {
  return { profile: getTlsProfile("intermediate", NONE), source: `intermediate, because ${source}` };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
