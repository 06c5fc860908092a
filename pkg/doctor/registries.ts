import type { KubeObject } from "../api/k8s.ts";
import { getErrorMessage } from "../errors/errors.ts";
import { type RegistryEntry, withClusterEntries } from "../oci/registries/pullSources.ts";
import { parseRegistriesConf } from "../oci/registries/registriesConf.ts";
import { CLUSTER_CONFIG_NAMESPACE, CLUSTER_IMAGE_ORIGIN, getAuthoritiesName, type MirrorKind } from "../oci/registries/registryObjects.ts";
import { type RegistrySettings, readRegistriesConfigMap, toRegistrySettings } from "../oci/registries/registrySettings.ts";
import { formatLocation } from "../oci/registries/scopes.ts";
import { formatList } from "../text/lists.ts";
import { truncateExcerpt } from "../text/truncate.ts";
import { type ClusterSnapshot, type DoctorFinding, reportOn } from "./clusterSnapshot.ts";
import type { RegistrySnapshot } from "./registrySnapshot.ts";
import { getPartValue } from "./snapshotPart.ts";

const CHECK = "registries";
const ENTRIES_MAX = 50;
const LISTED_MAX = 10;
const GRANT = "use config/openshift in your kustomization.yaml, or set openshift.enabled of the chart";

/** Lists the mirrors, blocked and allowed registries that apply to pulls of the servers, with the object of each, and the parts without effect. */
export function checkRegistries({ registries }: ClusterSnapshot): DoctorFinding[] {
  const unknown = listUnreadable(registries);
  if (unknown.length > 0) return unknown;
  const settings = readSettings(registries);
  const files = readFiles(registries);
  const { entries } = withClusterEntries({ entries: files.entries, origin: "" }, settings.entries);
  return [
    ...checkAccess(registries),
    ...listProblems(registries, settings),
    ...files.findings,
    ...describeEntries(entries),
    ...describeScopes(settings),
  ];
}

function listUnreadable({ mirrors, image, authorities, configMaps, files, reader }: RegistrySnapshot): DoctorFinding[] {
  const parts = [...mirrors.map(({ objects }) => objects), image, authorities, ...configMaps, ...files.map(({ text }) => text), reader];
  const refused = parts.find((part) => "refused" in part);
  return refused ? reportOn(CHECK, refused, () => []) : [];
}

/** Reads the settings of all servers; their ConfigMaps can differ if the servers are in several namespaces. */
function readSettings({ mirrors, image, authorities, configMaps }: RegistrySnapshot): RegistrySettings {
  const own = configMaps.flatMap((part) => getPartValue(part) ?? []).map((configMap) => readRegistriesConfigMap(configMap));
  return toRegistrySettings({
    mirrors: Object.fromEntries(mirrors.map(({ kind, objects }) => [kind, getPartValue(objects) ?? []])) as Record<
      MirrorKind,
      KubeObject[]
    >,
    image: getPartValue(image),
    authorities: getPartValue(authorities),
    configMaps: own,
  });
}

/** Reads the files that the Deployments mount. */
function readFiles({ files }: RegistrySnapshot): { entries: RegistryEntry[]; findings: DoctorFinding[] } {
  const entries: RegistryEntry[] = [];
  const findings: DoctorFinding[] = [];
  for (const { origin, text } of files) {
    try {
      entries.push(...parseRegistriesConf(getPartValue(text) ?? "", true).map((entry) => ({ ...entry, origin })));
    } catch (err) {
      const message = `registries.conf: ${truncateExcerpt(getErrorMessage(err))}: no image can be pulled`;
      findings.push({ check: origin, status: "problem", message, next: "correct registries.conf" });
    }
  }
  return { entries, findings };
}

/** Checks whether the servers may read the objects, if there are any. */
function checkAccess({ mirrors, image, reader }: RegistrySnapshot): DoctorFinding[] {
  const hasMirrors = mirrors.some(({ objects }) => (getPartValue(objects)?.length ?? 0) > 0);
  if (getPartValue(reader) || !(hasMirrors || getPartValue(image))) return [];
  const denied = getPartValue(image) ? `${CLUSTER_IMAGE_ORIGIN}, so they reject every image` : "the mirrors of the cluster";
  const message = `the servers cannot read ${denied}: ClusterRoleBinding olmv1-registries-reader does not exist`;
  return [{ check: CHECK, status: "problem", message, next: GRANT }];
}

function listProblems({ image, authorities }: RegistrySnapshot, { problems }: RegistrySettings): DoctorFinding[] {
  const findings = problems.map(({ origin, message, object, isFatal = false }): DoctorFinding => {
    const found = { check: origin, status: isFatal ? ("problem" as const) : ("warning" as const), message };
    if (!object) return found;
    const { namespace, name } = object.metadata;
    const place = namespace === undefined ? "" : `-n ${namespace} `;
    return { ...found, next: `kubectl ${place}edit ${object.kind.toLowerCase()} ${name}` };
  });
  const name = getAuthoritiesName(getPartValue(image));
  if (name === undefined || getPartValue(authorities)) return findings;
  const message = `spec.additionalTrustedCA names ConfigMap ${CLUSTER_CONFIG_NAMESPACE}/${name}, which does not exist`;
  const next = `kubectl -n ${CLUSTER_CONFIG_NAMESPACE} create configmap ${name} --from-file=HOST..PORT=FILE`;
  return [...findings, { check: CLUSTER_IMAGE_ORIGIN, status: "warning", message, next }];
}

function describeEntries(entries: readonly RegistryEntry[]): DoctorFinding[] {
  const messages = entries.slice(0, ENTRIES_MAX).map(describeEntry);
  const more = entries.length - messages.length;
  if (more > 0) messages.push(`${more} more registries with settings`);
  return messages.map((message) => ({ check: CHECK, status: "ok", message }));
}

/** Formats an entry, such as `"quay.io": mirror "m.com/q" (by digest), then the registry itself; from ImageDigestMirrorSet "m"`. */
function describeEntry({ prefix, location, insecure, blocked, mirror, origin, ...entry }: RegistryEntry): string {
  const uses: Readonly<Record<string, string>> = { "digest-only": " (by digest)", "tag-only": " (by tag)" };
  const mirrors = mirror.map((one) => {
    const use = entry["mirror-by-digest-only"] ? uses["digest-only"] : uses[one["pull-from-mirror"]];
    return `${formatLocation(one.location)}${use ?? ""}${one.insecure ? " (insecure)" : ""}`;
  });
  const from =
    mirrors.length === 0 ? "" : `${mirrors.length === 1 ? "mirror" : "mirrors"} ${formatList(mirrors, { max: LISTED_MAX })}, then `;
  const moved = location === "" || location === prefix ? "the registry itself" : formatLocation(location);
  const source = blocked ? "blocked" : `${moved}${insecure ? " (insecure)" : ""}`;
  return `${formatLocation(prefix)}: ${from}${source}; from ${origin ?? "files"}`;
}

function describeScopes({ scopes }: RegistrySettings): DoctorFinding[] {
  const { allowed, origin } = scopes ?? {};
  if (!allowed) return [];
  const shown = allowed.length === 0 ? "no registry" : formatList(allowed.map(formatLocation), { max: LISTED_MAX });
  return [{ check: CHECK, status: "ok", message: `only images of ${shown} are allowed; from ${origin}` }];
}
