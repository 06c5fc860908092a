import { GROUP } from "../api/constants.ts";
import { ownedApiServices, portOf } from "./apiServices.ts";
import { labelFaults, subdomainFaults } from "./dns.ts";
import type { ApiServiceDescription, RegistryV1Bundle } from "./types.ts";

const REQUIRED = ["group", "version", "kind", "name", "deploymentName"] as const;
const MAX_PORT = 65_535;
/** Zones whose groups are Kubernetes' own, but for those that are made to be served by others. */
const KUBERNETES_ZONES: readonly string[] = ["k8s.io", "kubernetes.io"];
const MEANT_FOR_OTHERS: ReadonlySet<string> = new Set(["metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"]);

/** Entries without something that every one must have, by their number. */
export function incompleteApiServices({ csv }: RegistryV1Bundle): string[] {
  return ownedIn(csv).flatMap((description, i) => {
    const missing = REQUIRED.filter((member) => !description[member]);
    return missing.length === 0 ? [] : [`owned API service number ${i + 1} has no ${missing.join(", no ")}`];
  });
}

/** API services that no deployment serves, by name. */
export function apiServicesWithoutDeployment({ csv }: RegistryV1Bundle): string[] {
  const deployments = new Set((csv.spec.install.spec.deployments ?? []).map(({ name }) => name));
  return sorted(
    ownedIn(csv)
      .filter(({ deploymentName }) => deploymentName && !deployments.has(deploymentName))
      .map((description) => `${titleOf(description)} references non-existent deployment '${description.deploymentName}'`),
  );
}

/** Groups, versions, kinds and plural names that the API server takes in no APIService or path, by name. */
export function invalidApiServiceNames({ csv }: RegistryV1Bundle): string[] {
  return sorted(
    ownedIn(csv).flatMap((description) => {
      const { group, version, kind, name } = description;
      const faults: [what: string, text: string, faults: string[]][] = [
        ["group", group, subdomainFaults(group)],
        ["version", version, labelFaults(version)],
        ["kind", kind, labelFaults(kind.toLowerCase())],
        ["name", name, labelFaults(name)],
      ];
      return faults
        .filter(([, text, found]) => text !== "" && found.length > 0)
        .map(([what, text, found]) => `${titleOf(description)} has invalid ${what} '${text}': ${found.join(", ")}`);
    }),
  );
}

/** Ports out of bounds, by name; 0 stands for 443. */
export function invalidApiServicePorts({ csv }: RegistryV1Bundle): string[] {
  return sorted(
    ownedIn(csv)
      .filter(({ containerPort = 0 }) => containerPort < 0 || containerPort > MAX_PORT)
      .map(
        (description) => `${titleOf(description)} has invalid containerPort ${description.containerPort}: must be from 1 to ${MAX_PORT}`,
      ),
  );
}

/** Group versions whose kinds are said to be served from several places, and ports that are said to lead to several, by name. */
export function disagreeingApiServices({ csv }: RegistryV1Bundle): string[] {
  const places = new Map<string, Set<string>>();
  for (const description of ownedIn(csv)) {
    const { deploymentName = "", containerPort } = description;
    const title = titleOf(description);
    places.set(title, (places.get(title) ?? new Set()).add(`port ${portOf(containerPort)} of deployment '${deploymentName}'`));
  }
  const scattered = [...places].filter(([, found]) => found.size > 1);
  const ports = ownedApiServices(csv).flatMap(({ name, deploymentName, port }) =>
    (csv.spec.webhookdefinitions ?? [])
      .filter((webhook) => webhook.deploymentName === deploymentName && portOf(webhook.containerPort) === port)
      .filter(({ targetPort = port }) => targetPort !== port)
      .map(
        ({ generateName, targetPort }) =>
          `owned API service '${name}' and webhook '${generateName}' share port ${port} of deployment '${deploymentName}', which leads the webhook to target port '${targetPort}'`,
      ),
  );
  return [
    ...sorted(scattered.map(([title, found]) => `${title} can have one place only, not ${[...found].sort().join(" and ")}`)),
    ...sorted(ports),
  ];
}

/** API services of groups that are the API server's own, or OLM's, which no bundle may stand in for, by name. */
export function apiServicesOfReservedGroups({ csv }: RegistryV1Bundle): string[] {
  return sorted(
    ownedIn(csv)
      .filter(({ group }) => isReserved(group))
      .map((description) => `${titleOf(description)} is of reserved API group '${description.group}', which bundles cannot serve`),
  );
}

/** API services of a group version that a CRD of the same bundle defines: only one of them could serve it, by name. */
export function apiServicesOfOwnDefinitions({ csv, crds }: RegistryV1Bundle): string[] {
  return sorted(
    ownedIn(csv).flatMap((description) =>
      crds
        .filter(({ spec }) => spec["group"] === description.group && versionsIn(spec["versions"]).includes(description.version))
        .map(
          ({ metadata }) =>
            `${titleOf(description)} is of the group and version of custom resource definition '${metadata.name}' in the same bundle`,
        ),
    ),
  );
}

function ownedIn({ spec }: RegistryV1Bundle["csv"]): readonly ApiServiceDescription[] {
  return spec.apiservicedefinitions.owned ?? [];
}

function titleOf({ group, version }: ApiServiceDescription): string {
  return `owned API service '${version}.${group}'`;
}

function sorted(findings: readonly string[]): string[] {
  return [...new Set(findings)].sort();
}

/** Groups without a dot are those that Kubernetes began with. */
function isReserved(group: string): boolean {
  if (group === "" || MEANT_FOR_OTHERS.has(group)) return false;
  return !group.includes(".") || [...KUBERNETES_ZONES, GROUP].some((zone) => group === zone || group.endsWith(`.${zone}`));
}

function versionsIn(versions: unknown): unknown[] {
  return Array.isArray(versions) ? versions.map((version: { name?: unknown } | null) => version?.name) : [];
}
