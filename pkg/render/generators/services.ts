import { compareText } from "../../text/compare.ts";
import type { KubeObject } from "../../api/k8s.ts";
import { ownedApiServices, portOf, servingDeployments } from "../../bundle/apiServices.ts";
import { MANIFEST_TYPES } from "../../bundle/goTypes.ts";
import type { Csv, RegistryV1Bundle } from "../../bundle/types.ts";
import { certificateNames } from "../certificateProvider.ts";
import type { GeneratorOptions } from "./options.ts";

/** A Service in front of each deployment that serves webhooks of any type or APIs, in the order of the deployments. */
export function services({ csv }: RegistryV1Bundle, { installNamespace, certProvider }: GeneratorOptions): KubeObject[] {
  const wanted = wantedPorts(csv);
  return (csv.spec.install.spec.deployments ?? []).flatMap(({ name, spec }) => {
    const ports = servicePorts(wanted.get(name) ?? []);
    if (ports.length === 0) return [];
    const names = certificateNames(name, installNamespace);
    const selector = spec.selector?.matchLabels;
    const annotations = certProvider?.annotations("Service", names);
    const metadata = { name: names.serviceName, namespace: installNamespace, annotations };
    return [
      {
        kind: "Service",
        apiVersion: "v1",
        metadata: MANIFEST_TYPES.convert("meta/v1.ObjectMeta", metadata) as KubeObject["metadata"],
        spec: selector && Object.keys(selector).length > 0 ? { ports, selector } : { ports },
        status: { loadBalancer: {} },
      },
    ];
  });
}

/** What the certificate provider needs for each deployment that serves webhooks or APIs, sorted by deployment. */
export function certificateObjects({ csv }: RegistryV1Bundle, { installNamespace, certProvider }: GeneratorOptions): KubeObject[] {
  if (!certProvider) return [];
  const names = [...servingDeployments(csv)].sort();
  return names.flatMap((name) => certProvider.additionalObjects(certificateNames(name, installNamespace)));
}

interface ServicePort {
  name: string;
  port: number;
  targetPort: number | string;
}

interface WantedPort {
  readonly port: number;
  readonly target: number | string;
}

/** The ports that webhooks and API services are served at, by deployment. */
function wantedPorts(csv: Csv): Map<string, WantedPort[]> {
  const wanted = [
    ...(csv.spec.webhookdefinitions ?? []).map(({ deploymentName = "", containerPort, targetPort }) => {
      const port = portOf(containerPort);
      return { deploymentName, port, target: targetPort ?? port };
    }),
    ...ownedApiServices(csv).map(({ deploymentName, port }) => ({ deploymentName, port, target: port })),
  ];
  return Map.groupBy(wanted, ({ deploymentName }) => deploymentName);
}

/** The distinct ports, by port and then by target; a named target counts by the number it spells, else as 0. */
function servicePorts(wanted: readonly WantedPort[]): ServicePort[] {
  const ports = new Map<string, ServicePort>();
  for (const { port, target } of wanted) ports.set(`${port}/${typeof target}/${target}`, { name: String(port), port, targetPort: target });
  return [...ports.values()].sort(
    (a, b) => a.port - b.port || numberOf(a.targetPort) - numberOf(b.targetPort) || compareText(String(a.targetPort), String(b.targetPort)),
  );
}

function numberOf(target: number | string): number {
  if (typeof target === "number") return target;
  return /^[+-]?\d+$/.test(target) ? Number(target) : 0;
}
