import { GROUP, VERSION } from "../../pkg/api/constants.ts";
import { KINDS } from "../../pkg/api/customResourceDefinitions.ts";
import type { KubeObject } from "../../pkg/api/k8s.ts";
import { readObjects } from "./gitopsWorld.ts";

const FOLDER = "config/samples/policies";
const ADMISSION = "admissionregistration.k8s.io/v1";
/** Label that limits the policies of a tool to the objects of its tests. */
export const TOOL_LABEL = "example.com/tool";

/** The tools with sample policies that the API server can evaluate. */
export const TOOLS = ["kubernetes", "kyverno", "gatekeeper"] as const;
export type Tool = (typeof TOOLS)[number];

interface Expressions {
  matchConditions?: object[];
  variables?: { name: string; expression: string }[];
  validations: object[];
}

interface Constraint {
  match: { kinds: { apiGroups: string[]; kinds: string[] }[] };
  parameters: Record<string, unknown>;
}

interface Template {
  crd: { spec: { names: { kind: string } } };
  targets: { code: { engine: string; source: Expressions }[] }[];
}

/**
 * Returns the sample policies of a tool as ValidatingAdmissionPolicies with bindings, which apply only to objects with the label of the tool.
 * @see https://kyverno.io/docs/policy-types/validating-policy a superset of ValidatingAdmissionPolicy
 * @see https://open-policy-agent.github.io/gatekeeper/website/docs/validating-admission-policy variables.params are the parameters of the constraint
 */
export function toAdmissionPolicies(tool: Tool): KubeObject[] {
  const objects = readObjects(`${FOLDER}/${tool === "kubernetes" ? "validating-admission-policy" : tool}.yaml`);
  const policies = tool === "gatekeeper" ? convertConstraints(objects) : objects.filter(({ kind }) => kind.endsWith("Policy"));
  return policies.flatMap(({ metadata, spec }) => {
    const name = `${tool}-${metadata.name}`;
    const { validationActions = ["Deny"], matchConstraints, ...others } = spec as Record<string, object>;
    const selected = { ...matchConstraints, objectSelector: { matchLabels: { [TOOL_LABEL]: tool } } };
    return [
      { apiVersion: ADMISSION, kind: "ValidatingAdmissionPolicy", metadata: { name }, spec: { ...others, matchConstraints: selected } },
      {
        apiVersion: ADMISSION,
        kind: "ValidatingAdmissionPolicyBinding",
        metadata: { name },
        spec: { policyName: name, validationActions },
      },
    ];
  });
}

function convertConstraints(objects: readonly KubeObject[]): KubeObject[] {
  const templates = objects.filter(({ kind }) => kind === "ConstraintTemplate");
  return objects
    .filter((object) => !templates.includes(object))
    .map((constraint) => {
      const template = templates.find(({ spec }) => (spec as Template).crd.spec.names.kind === constraint.kind);
      const source = (template?.["spec"] as Template | undefined)?.targets[0]?.code.find(
        ({ engine }) => engine === "K8sNativeValidation",
      )?.source;
      if (!source) throw new Error(`no template defines ${constraint.kind}`);
      const { match, parameters } = constraint["spec"] as Constraint;
      const params = { name: "params", expression: toCel(parameters) };
      const resourceRules = match.kinds.map(({ apiGroups, kinds }) => ({
        apiGroups,
        apiVersions: ["*"],
        operations: ["CREATE", "UPDATE"],
        resources: KINDS.filter(({ kind }) => kinds.includes(kind)).map(({ plural }) => plural),
      }));
      const spec = { ...source, variables: [params, ...(source.variables ?? [])], matchConstraints: { resourceRules } };
      return { apiVersion: "", kind: "", metadata: { name: constraint.kind.toLowerCase() }, spec };
    });
}

/** Returns a value as a CEL literal. The values of a map may have different types. */
function toCel(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(toCel).join(", ")}]`;
  return `{${Object.entries(value)
    .map(([key, one]) => `${JSON.stringify(key)}: dyn(${toCel(one)})`)
    .join(", ")}}`;
}

/** An object, and the rule that denies it; undefined if the rules allow it. */
export interface PolicyCase {
  readonly title: string;
  readonly object: KubeObject;
  readonly denied?: string;
}

/** Returns objects that the rules must allow or deny. */
export function listPolicyCases(): PolicyCase[] {
  const extension = (catalog: object, more: object = {}): KubeObject => ({
    apiVersion: `${GROUP}/${VERSION}`,
    kind: "ClusterExtension",
    metadata: { name: "policy-case" },
    spec: {
      namespace: "databases",
      source: {
        sourceType: "Catalog",
        catalog: { packageName: "cockroachdb", channels: ["stable-v6.x"], selector: select("operatorhubio"), ...catalog },
      },
      install: { permissionPolicy: "gitops" },
      ...more,
    },
  });
  const catalog = (ref: string): KubeObject => ({
    apiVersion: `${GROUP}/${VERSION}`,
    kind: "ClusterCatalog",
    metadata: { name: "policy-case" },
    spec: { source: { type: "Image", image: { ref } } },
  });
  const policy = (spec: object): KubeObject => ({
    apiVersion: `${GROUP}/v1alpha1`,
    kind: "PermissionPolicy",
    metadata: { name: "policy-case" },
    spec,
  });
  return [
    { title: "an allowed package and channel", object: extension({}) },
    { title: "another package", object: extension({ packageName: "etcd" }), denied: "package etcd is not allowed" },
    {
      title: "another channel",
      object: extension({ channels: ["stable-v6.x", "beta"] }),
      denied: "channels must be one or more of: stable-v6.x",
    },
    { title: "all channels", object: extension({ channels: [] }), denied: "channels must be one or more of: stable-v6.x" },
    {
      title: "the channel of another package",
      object: extension({ channels: ["v5"] }),
      denied: "channels must be one or more of: stable-v6.x",
    },
    {
      title: "another catalog",
      object: extension({ selector: select("mine") }),
      denied: "the catalog selector must name one of: operatorhubio",
    },
    { title: "any catalog", object: extension({ selector: {} }), denied: "the catalog selector must name one of: operatorhubio" },
    {
      title: "the default permission policy",
      object: extension({}, { install: undefined }),
      denied: "permissionPolicy must be one of: gitops",
    },
    {
      title: "another permission policy",
      object: extension({}, { install: { permissionPolicy: "mine" } }),
      denied: "permissionPolicy must be one of: gitops",
    },
    { title: "a ServiceAccount", object: extension({}, { serviceAccount: { name: "admin" } }), denied: "serviceAccount is not allowed" },
    {
      title: "upgrades without edges",
      object: extension({ upgradeConstraintPolicy: "SelfCertified" }),
      denied: "upgradeConstraintPolicy must be CatalogProvided",
    },
    { title: "a catalog of an allowed registry", object: catalog("quay.io/operatorhubio/catalog:latest") },
    {
      title: "a catalog of another registry",
      object: catalog("example.com/catalog:latest"),
      denied: "the image of a catalog must start with",
    },
    { title: "a policy that grants guarded permissions", object: policy({}) },
    { title: "a policy that grants everything", object: policy({ grant: "Automatic" }), denied: "grant must be one of: Guarded, Manual" },
  ];
}

function select(catalog: string): object {
  return { matchLabels: { "olm.operatorframework.io/metadata.name": catalog } };
}
