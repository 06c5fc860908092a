import { CLUSTER_CATALOG, CLUSTER_EXTENSION, EXTENSION_PERMISSIONS, GROUP } from "../../pkg/api/constants.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { toYaml } from "../../pkg/golang/yaml.ts";

/** Folder of the scripts, with the layout of resource_customizations in argoproj/argo-cd. */
const SCRIPTS = "config/argocd/resource_customizations";

/** What Argo CD knows about a kind: a health script, and in addition actions and ignored fields. */
interface Customization {
  readonly kind: string;
  readonly actions: readonly string[];
  /** JSON pointers of fields that controllers and commands write, so that a difference to Git is not drift. */
  readonly ignored: readonly string[];
}

const CUSTOMIZATIONS: readonly Customization[] = [
  {
    kind: CLUSTER_EXTENSION,
    actions: ["reconcile", "suspend", "resume", "approve"],
    ignored: ["/status", annotation("reconcile-requested-at"), annotation("rollback-to")],
  },
  {
    kind: CLUSTER_CATALOG,
    actions: ["disable", "enable"],
    ignored: ["/status", `/metadata/labels/${GROUP}~1metadata.name`],
  },
  { kind: EXTENSION_PERMISSIONS.kind, actions: ["approve"], ignored: ["/status", "/spec"] },
];

function annotation(name: string): string {
  return `/metadata/annotations/${GROUP}~1${name}`;
}

/**
 * Returns the part of the ConfigMap argocd-cm that describes the kinds of this project.
 * @param readText reads a file by its path from the root of the repository.
 * @see https://github.com/argoproj/argo-cd/blob/00101b74/docs/operator-manual/argocd-cm.yaml
 */
export function buildArgoConfigMap(readText: (path: string) => string): KubeObject {
  const data = Object.fromEntries(CUSTOMIZATIONS.flatMap((customization) => listEntries(customization, readText)));
  const metadata = {
    name: "argocd-cm",
    namespace: "argocd",
    labels: { "app.kubernetes.io/name": "argocd-cm", "app.kubernetes.io/part-of": "argocd" },
  };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data };
}

function listEntries({ kind, actions, ignored }: Customization, readText: (path: string) => string): [string, string][] {
  const folder = `${SCRIPTS}/${GROUP}/${kind}`;
  const key = (subject: string): string => `resource.customizations.${subject}.${GROUP}_${kind}`;
  const definitions = actions.map((name) => ({ name, "action.lua": readText(`${folder}/actions/${name}/action.lua`) }));
  return [
    [key("health"), readText(`${folder}/health.lua`)],
    [key("actions"), toYaml({ "discovery.lua": readText(`${folder}/actions/discovery.lua`), definitions })],
    [key("ignoreDifferences"), toYaml({ jsonPointers: ignored })],
  ];
}
