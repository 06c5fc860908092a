import { API_VERSION, CLUSTER_EXTENSION } from "../../../pkg/api/constants.ts";
import { type KubeObject, toObjectRef } from "../../../pkg/api/k8s.ts";
import { POD_OUTCOME_ANNOTATION } from "../../../pkg/devcluster/podSimulation.ts";
import { eventually } from "../eventually.ts";
import { buildEvent } from "../podEvents.ts";
import { CATALOGS, publishOperators } from "./catalogs.ts";
import { describeText } from "./customResources.ts";
import { CANARY_HOST, CANARY_MEMBER, HOSTILE_DOCUMENT, HOSTILE_LINE, HOSTILE_TEXTS } from "./hostileTexts.ts";
import { toSvgIcon } from "./icons.ts";
import type { OperatorPackage, OperatorVersion } from "./operatorPackage.ts";
import type { Seed } from "./seed.ts";

/** The name of the extension with hostile texts, and its namespace. */
export const CANARY = { extension: "canary", namespace: "canary-system" } as const;

const PACKAGE = "canary-operator";
const DEPLOYMENT = "canary-operator";
const HOSTILE_LINK = `javascript:window.${CANARY_MEMBER}=1`;
const HOSTILE_ICON = toSvgIcon(
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" onload="window.${CANARY_MEMBER}=1">${HOSTILE_TEXTS.script}` +
    `<image href="https://${CANARY_HOST}/icon.png" width="64" height="64"/><rect width="64" height="64" fill="#b91c1c"/></svg>`,
);

const canaryVersion = (version: string, note: string): OperatorVersion => ({
  version,
  deployments: [{ name: DEPLOYMENT, args: [`--greeting=${HOSTILE_LINE}`], annotations: { [POD_OUTCOME_ANNOTATION]: "CrashLoop" } }],
  crds: [
    {
      group: "canary.example.com",
      kind: "Canary",
      plural: "canaries",
      displayName: HOSTILE_LINE,
      description: HOSTILE_DOCUMENT,
      versions: [{ name: "v1", spec: { note: describeText(HOSTILE_LINE) } }],
      example: { apiVersion: "canary.example.com/v1", kind: "Canary", metadata: { name: "example" }, spec: { note: HOSTILE_LINE } },
    },
  ],
  objects: [
    {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "canary-notes", annotations: { "canary.example.com/note": HOSTILE_LINE } },
      data: { note: `${note} ${HOSTILE_DOCUMENT}` },
    },
  ],
});

const OPERATOR: OperatorPackage = {
  name: PACKAGE,
  displayName: HOSTILE_LINE,
  summary: `${HOSTILE_LINE} ${HOSTILE_TEXTS.longWord}`,
  description: `# ${HOSTILE_TEXTS.image}\n\n${HOSTILE_DOCUMENT}`,
  provider: { name: HOSTILE_LINE, url: HOSTILE_LINK },
  maintainers: [{ name: HOSTILE_LINE, email: HOSTILE_TEXTS.attribute }],
  links: [
    { name: HOSTILE_LINE, url: HOSTILE_LINK },
    { name: HOSTILE_TEXTS.longWord, url: `data:text/html,${HOSTILE_TEXTS.script}` },
  ],
  keywords: Object.values(HOSTILE_TEXTS),
  categories: HOSTILE_LINE.replaceAll(",", " "),
  capabilities: HOSTILE_TEXTS.image,
  icon: HOSTILE_ICON,
  versions: [canaryVersion("1.0.0", "first"), canaryVersion("1.1.0", "second")],
  channels: {
    stable: [{ name: `${PACKAGE}.v1.0.0` }, { name: `${PACKAGE}.v1.1.0`, replaces: `${PACKAGE}.v1.0.0` }],
    [HOSTILE_TEXTS.image]: [{ name: `${PACKAGE}.v1.1.0` }],
    [HOSTILE_TEXTS.rightToLeft]: [{ name: `${PACKAGE}.v1.1.0` }],
    [HOSTILE_TEXTS.script]: [], // the finding about it contains the name
  },
  deprecations: [
    { reference: { schema: "olm.package" }, message: HOSTILE_DOCUMENT },
    { reference: { schema: "olm.channel", name: "stable" }, message: HOSTILE_LINE },
    { reference: { schema: "olm.bundle", name: `${PACKAGE}.v1.0.0` }, message: HOSTILE_LINE },
  ],
  annotations: {
    repository: HOSTILE_LINK,
    support: HOSTILE_LINE,
    "operatorframework.io/suggested-namespace": CANARY.namespace,
  },
};

/** A package whose icon has a media type that a browser would run. */
const HTML_ICON: OperatorPackage = {
  ...OPERATOR,
  name: "canary-icon-operator",
  icon: { mediatype: "text/html", base64data: Buffer.from(HOSTILE_TEXTS.script).toString("base64") },
  versions: [{ version: "0.1.0" }],
  channels: { stable: [{ name: "canary-icon-operator.v0.1.0" }] },
  deprecations: [],
};

/** Serves the catalog with hostile texts. */
export function serveHostile({ world }: Seed): Promise<void> {
  return publishOperators(world, CATALOGS.hostile, [OPERATOR, HTML_ICON]);
}

/**
 * Installs an extension whose texts are hostile: catalog, bundle objects, deprecations, plan, field manager of a drift, status of Pods
 * and Events. Its Pods have hostile logs.
 */
export async function seedCanary(seed: Seed): Promise<void> {
  const { extension, namespace } = CANARY;
  const { client } = seed;
  const deployment = { apiVersion: "apps/v1", kind: "Deployment", namespace, name: DEPLOYMENT };
  await seed.create(extension, PACKAGE, { version: "1.0.0", catalog: CATALOGS.hostile, drift: { policy: "Warn" } });
  await seed.until(extension, ({ status }) => status?.install?.bundle.version === "1.0.0");
  await client.patch(deployment, { spec: { minReadySeconds: 5, replicas: 2 } }, { type: "merge", fieldManager: HOSTILE_TEXTS.image });
  await seed.awaitProblem(extension, "DriftDetected");
  await seed.edit(extension, { spec: { approval: "Manual", source: { catalog: { version: ">=1.0.0" } } } });
  await seed.awaitPlan(extension, "1.1.0");
  const live = await seed.world.extension(extension);
  if (live)
    await client.create(buildEvent({ ...live, apiVersion: API_VERSION, kind: CLUSTER_EXTENSION }, hostileEvent("operator-controller")));
  for (const pod of await findPods(seed)) {
    await client.patch(toObjectRef(pod), { status: hostilePodStatus(pod) }, { type: "merge", subresource: "status" });
    await client.create(buildEvent(pod, hostileEvent("kubelet")));
  }
}

/** Waits until both Pods have a status. */
function findPods({ client }: Seed): Promise<KubeObject[]> {
  return eventually(async () => {
    const { items } = await client.list({ apiVersion: "v1", kind: "Pod" }, { namespace: CANARY.namespace });
    const started = items.filter((pod) => (pod["status"] as { containerStatuses?: object[] }).containerStatuses);
    if (started.length < 2) throw new Error(`${started.length} of 2 Pods have started`);
    return started.map((pod) => ({ ...pod, apiVersion: "v1", kind: "Pod" }));
  });
}

function hostilePodStatus({ status }: KubeObject): object {
  const { containerStatuses = [] } = status as { containerStatuses?: object[] };
  return {
    containerStatuses: containerStatuses.map((container) => ({
      ...container,
      state: { waiting: { reason: "ImagePullBackOff", message: HOSTILE_DOCUMENT } },
      lastState: { terminated: { exitCode: 1, reason: HOSTILE_TEXTS.image, message: HOSTILE_LINE } },
    })),
  };
}

function hostileEvent(component: string) {
  return { type: "Warning", reason: HOSTILE_TEXTS.image, message: HOSTILE_LINE, component } as const;
}
