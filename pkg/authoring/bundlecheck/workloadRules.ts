import { isDigestReference } from "../../api/imageReference.ts";
import type { JsonObject } from "../../api/k8s.ts";
import { getObjectAt, getObjectsAt, isObject } from "../../golang/members.ts";
import { goQuote } from "../../golang/quote.ts";
import type { BundleContent, BundlePlace } from "./content.ts";
import { type Breach, defineErrorRule, defineInfoRule, defineWarningRule, type RuleTable, Source } from "./rule.ts";

/** A container of a deployment in the CSV. */
interface PlacedContainer {
  readonly deployment: string;
  readonly container: JsonObject;
  readonly name: string;
  /** Path of the container in the CSV. */
  readonly path: readonly (string | number)[];
}

/** Returns the containers of all deployments. In each deployment, init containers are last. */
function listContainers({ csv }: BundleContent): PlacedContainer[] {
  return (csv?.spec.install.spec.deployments ?? []).flatMap(({ name: deployment, spec }, i) => {
    const pod: JsonObject = { ...spec.template.spec };
    return ["containers", "initContainers"].flatMap((list) => {
      const containers: unknown = pod[list];
      return (Array.isArray(containers) ? containers : []).flatMap((container: unknown, j): PlacedContainer[] => {
        if (!isObject(container)) return [];
        const name = typeof container["name"] === "string" ? container["name"] : "";
        return [{ deployment, container, name, path: [...podPath(i), list, j] }];
      });
    });
  });
}

/** Returns the path of the pod spec of a deployment in the CSV. */
function podPath(deployment: number): (string | number)[] {
  return ["spec", "install", "spec", "deployments", deployment, "spec", "template", "spec"];
}

/** Returns a location in a container. */
function inContainer(content: BundleContent, { path }: PlacedContainer, ...more: (string | number)[]): BundlePlace {
  return content.inCsv(...path, ...more);
}

/** Formats the container for messages. */
function formatContainer({ name, deployment }: PlacedContainer): string {
  return `container "${name}" of deployment "${deployment}"`;
}

const PROBES = ["livenessProbe", "readinessProbe", "startupProbe"] as const;
/** Kubernetes defaults, in seconds. */
const PROBE_DEFAULTS = { timeoutSeconds: 1, periodSeconds: 10 };
const HOST_ACCESS = ["hostNetwork", "hostPID", "hostIPC"] as const;

/** Rules for the deployments in the install strategy. */
export const DEPLOYMENT_RULES: RuleTable = {
  "deployment-none": defineInfoRule("The install strategy should contain a deployment.", Source.format, noDeployment),
  "deployment-selector": defineErrorRule("The deployment selector must match the labels of the pod template.", Source.apiServer, selectors),
  "deployment-containers": defineErrorRule(
    "A deployment must have containers, each with a unique name and an image.",
    Source.apiServer,
    containers,
  ),
  "deployment-volumes": defineErrorRule("A container must mount only volumes of its pod.", Source.apiServer, volumes),
  "probe-timeout": defineWarningRule("The timeout of a probe should be shorter than its period.", Source.packaging, probeTimeouts),
  privileged: defineWarningRule(
    "Containers should not be privileged, and pods should not share host namespaces.",
    Source.security,
    privileged,
  ),
};

function listDeployments({ csv }: BundleContent) {
  return csv?.spec.install.spec.deployments ?? [];
}

function noDeployment(content: BundleContent): Breach[] {
  if (!content.csv || listDeployments(content).length > 0) return [];
  return [{ message: "the install strategy has no deployment, so no operator would run", at: content.inCsv("spec", "install") }];
}

function selectors(content: BundleContent): Breach[] {
  return listDeployments(content).flatMap(({ name, spec }, i) => {
    const at = content.inCsv("spec", "install", "spec", "deployments", i, "spec", "selector");
    const selector = { ...spec.selector };
    const expressions = selector["matchExpressions"];
    const labels = Object.entries(selector.matchLabels ?? {});
    if (labels.length === 0 && !(Array.isArray(expressions) && expressions.length > 0))
      return [{ message: `deployment ${goQuote(name)} has no selector`, at }];
    const given = spec.template.metadata.labels ?? {};
    const differing = labels.filter(([key, value]) => given[key] !== value).map(([key, value]) => `${key}=${value}`);
    if (differing.length === 0) return [];
    return [
      { message: `deployment ${goQuote(name)} selects pods with ${differing.join(", ")}, but its template does not set these labels`, at },
    ];
  });
}

function containers(content: BundleContent): Breach[] {
  const empty = listDeployments(content).flatMap(({ name, spec }, i) =>
    (spec.template.spec.containers ?? []).length > 0
      ? []
      : [{ message: `deployment ${goQuote(name)} has no container`, at: content.inCsv(...podPath(i)) }],
  );
  const seen = new Set<string>();
  const lacking = listContainers(content).flatMap((one): Breach[] => {
    const key = `${one.deployment}\0${one.name}`;
    const isRepeated = seen.has(key);
    seen.add(key);
    const at = inContainer(content, one);
    if (one.name === "") return [{ message: `a container of deployment ${goQuote(one.deployment)} has no name`, at }];
    if (isRepeated) return [{ message: `${formatContainer(one)} is defined more than once: container names must be unique`, at }];
    const { image } = one.container;
    return typeof image === "string" && image !== "" ? [] : [{ message: `${formatContainer(one)} has no image`, at }];
  });
  return [...empty, ...lacking];
}

/** Checks the rendered Deployments, because rendering adds and removes volumes for certificates. */
function volumes(content: BundleContent): Breach[] {
  const missing = new Set<string>();
  for (const { result } of content.renderings) {
    for (const object of result instanceof Error ? [] : result.objects) {
      if (object.kind !== "Deployment") continue;
      const pod = getObjectAt(getObjectAt(getObjectAt(object, "spec"), "template"), "spec");
      const known = new Set(getObjectsAt(pod, "volumes").map(({ name }) => name));
      for (const container of [...getObjectsAt(pod, "containers"), ...getObjectsAt(pod, "initContainers")])
        for (const { name } of getObjectsAt(container, "volumeMounts"))
          if (!known.has(name))
            missing.add(
              `container ${goQuote(String(container["name"]))} of deployment ${goQuote(object.metadata.name)} mounts volume ${goQuote(String(name))}, which its pod does not have`,
            );
    }
  }
  return [...missing].map((message) => ({ message, at: content.inCsv("spec", "install", "spec", "deployments") }));
}

function probeTimeouts(content: BundleContent): Breach[] {
  return listContainers(content).flatMap((one) =>
    PROBES.flatMap((kind): Breach[] => {
      const probe: unknown = one.container[kind];
      if (!isObject(probe)) return [];
      const [timeout, period] = [seconds(probe, "timeoutSeconds"), seconds(probe, "periodSeconds")];
      if (timeout < period) return [];
      const message = `${kind} of ${formatContainer(one)} has timeoutSeconds ${timeout}: must be less than periodSeconds ${period}`;
      return [{ message, at: inContainer(content, one, kind) }];
    }),
  );
}

function seconds(probe: JsonObject, member: keyof typeof PROBE_DEFAULTS): number {
  return Number(probe[member] ?? 0) || PROBE_DEFAULTS[member];
}

function privileged(content: BundleContent): Breach[] {
  const ofPods = listDeployments(content).flatMap(({ name, spec }, i) =>
    HOST_ACCESS.filter((member) => spec.template.spec[member] === true).map((member) => ({
      message: `deployment ${goQuote(name)} sets ${member}: its pods share it with the node`,
      at: content.inCsv(...podPath(i), member),
    })),
  );
  const ofContainers = listContainers(content)
    .filter(({ container }) => getObjectAt(container, "securityContext")["privileged"] === true)
    .map((one) => ({ message: `${formatContainer(one)} is privileged`, at: inContainer(content, one, "securityContext", "privileged") }));
  return [...ofPods, ...ofContainers];
}

const FEATURE = "features.operators.openshift.io/disconnected";
const INFRASTRUCTURE = "operators.openshift.io/infrastructure-features";
/** Environment variables with the images that an operator uses. */
const RELATED_IMAGE = /^RELATED_IMAGE_/;

/** Rules for bundles on disconnected clusters, which pull images from a mirror. */
export const IMAGE_RULES: RuleTable = {
  "related-images": defineWarningRule(
    "If a bundle lists related images or declares support for disconnected clusters, it should list every image of its deployments.",
    Source.disconnected,
    notListed,
  ),
  "related-images-missing": defineInfoRule(
    "The CSV should list related images, because tools mirror only listed images.",
    Source.disconnected,
    noList,
  ),
  "related-image-digest": defineWarningRule("Related images should be referenced by digest.", Source.disconnected, relatedByTag),
  "image-digest": defineInfoRule("Deployment images should be referenced by digest.", Source.disconnected, usedByTag),
};

interface UsedImage {
  readonly image: string;
  readonly at: BundlePlace;
}

/** Returns the distinct images of containers and of RELATED_IMAGE_ variables. */
function usedImages(content: BundleContent): UsedImage[] {
  const used = new Map<string, UsedImage>();
  const note = (image: unknown, at: BundlePlace): void => {
    if (typeof image === "string" && image !== "" && !used.has(image)) used.set(image, { image, at });
  };
  for (const one of listContainers(content)) {
    note(one.container["image"], inContainer(content, one, "image"));
    for (const [i, { name, value }] of getObjectsAt(one.container, "env").entries())
      if (typeof name === "string" && RELATED_IMAGE.test(name)) note(value, inContainer(content, one, "env", i, "value"));
  }
  return [...used.values()];
}

function relatedImages({ csv }: BundleContent): string[] {
  return csv ? getObjectsAt(csv.spec, "relatedImages").map(({ image }) => (typeof image === "string" ? image : "")) : [];
}

function saysDisconnected({ csvAnnotations }: BundleContent): boolean {
  return csvAnnotations[FEATURE] === "true" || (csvAnnotations[INFRASTRUCTURE] ?? "").toLowerCase().includes('"disconnected"');
}

function notListed(content: BundleContent): Breach[] {
  const related = new Set(relatedImages(content));
  if (related.size === 0 && !saysDisconnected(content)) return [];
  return usedImages(content)
    .filter(({ image }) => !related.has(image))
    .map(({ image, at }) => ({
      message: `image ${image} is used, but not in spec.relatedImages: it would be missing on a disconnected cluster`,
      at,
    }));
}

function noList(content: BundleContent): Breach[] {
  if (!content.csv || relatedImages(content).length > 0 || saysDisconnected(content) || usedImages(content).length === 0) return [];
  return [{ message: "spec.relatedImages is missing: tools cannot mirror the images that the operator uses", at: content.inCsv("spec") }];
}

function relatedByTag(content: BundleContent): Breach[] {
  return relatedImages(content).flatMap((image, i) =>
    isDigestReference(image)
      ? []
      : [
          {
            message: `related image ${image} is not referenced by digest: mirrors serve only digests`,
            at: content.inCsv("spec", "relatedImages", i, "image"),
          },
        ],
  );
}

function usedByTag(content: BundleContent): Breach[] {
  return usedImages(content)
    .filter(({ image }) => !isDigestReference(image))
    .map(({ image, at }) => ({ message: `image ${image} is not referenced by digest: its content may change`, at }));
}
