import * as z from "zod";
import type { JsonObject, KubeObject, ObjectRef } from "../api/k8s.ts";
import { ScenarioCatalog, toTableCatalog } from "./scenarioCatalog.ts";
import type { ScenarioRun } from "./scenarioRun.ts";

/** A sentence that scenarios may use. */
export interface Word {
  readonly argument: z.ZodType;
  /** Whether other scenarios must not run at the same time. */
  readonly disrupts?: boolean;
  /** Runs the action, or waits until the check succeeds. @param argument the result of `argument`'s parser */
  readonly run: (run: ScenarioRun, argument: never) => Promise<void>;
}

const AnyObject = z.record(z.string(), z.unknown()).transform((value) => value as JsonObject);
const Nothing = z.undefined();
const Name = z.string().min(1);
const Server = z.enum(["catalogd", "operator-controller"]);

/** API versions of the kinds that scenarios refer to by "Kind name" or "Kind namespace/name". */
const NAMESPACED: Readonly<Record<string, string>> = {
  ConfigMap: "v1",
  Deployment: "apps/v1",
  NetworkPolicy: "networking.k8s.io/v1",
  Role: "rbac.authorization.k8s.io/v1",
  RoleBinding: "rbac.authorization.k8s.io/v1",
  Secret: "v1",
  Service: "v1",
  ServiceAccount: "v1",
};
const CLUSTER_SCOPED: Readonly<Record<string, string>> = {
  APIService: "apiregistration.k8s.io/v1",
  ClusterCatalog: "olm.operatorframework.io/v1",
  ClusterExtension: "olm.operatorframework.io/v1",
  ClusterRole: "rbac.authorization.k8s.io/v1",
  ClusterRoleBinding: "rbac.authorization.k8s.io/v1",
  CustomResourceDefinition: "apiextensions.k8s.io/v1",
  MutatingWebhookConfiguration: "admissionregistration.k8s.io/v1",
  Namespace: "v1",
  PriorityClass: "scheduling.k8s.io/v1",
  ValidatingWebhookConfiguration: "admissionregistration.k8s.io/v1",
};

/** "Kind name" in the namespace of the extension or of the cluster, "Kind namespace/name", or an object reference for other kinds. */
const ObjectName = z
  .union([z.string(), z.strictObject({ apiVersion: z.string(), kind: z.string(), name: z.string(), namespace: z.string().optional() })])
  .transform((given, context): ObjectRef => {
    if (typeof given !== "string") {
      const { namespace: of, ...ref } = given;
      return of === undefined ? ref : { ...ref, namespace: of };
    }
    const [kind = "", path = ""] = given.split(" ");
    const [name = "", namespace = "$namespace"] = path.split("/").toReversed();
    const clusterVersion = CLUSTER_SCOPED[kind];
    if (name !== "" && clusterVersion !== undefined) return { apiVersion: clusterVersion, kind, name };
    const apiVersion = NAMESPACED[kind];
    if (name !== "" && apiVersion !== undefined) return { apiVersion, kind, namespace, name };
    context.addIssue(`"${given}" is not "Kind name" with a known kind`);
    return z.NEVER;
  });

const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});
const Condition = z.strictObject({
  catalog: z.string().optional(),
  type: z.string(),
  status: z.enum(["True", "False", "Unknown"]),
  reason: z.string().optional(),
  message: z.string().optional(),
  includes: z.array(z.string()).optional(),
});
const Request = z.strictObject({
  catalog: Name,
  path: z.string().startsWith("/"),
  method: z.string().default("GET"),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.string().optional(),
  is: AnyObject,
});

/** All sentences of scenarios, after given, when, then or and. */
export const VOCABULARY: Readonly<Record<string, Word>> = {
  "a namespace exists": word(Name, (run, name) => run.objects.createNamespace(name)),
  "the namespace and the installer exist": word(Nothing, (run) => run.prepareNamespace()),
  "the namespace and an installer without permissions exist": word(Nothing, (run) => run.prepareNamespace({ isAdmin: false })),
  "the installer gets all permissions": word(Nothing, (run) => run.grantAll()),
  "an object is applied": word(Manifest, (run, object) => run.objects.apply(object as KubeObject)),
  "an object is deleted": word(ObjectName, (run, name) => run.objects.delete(name)),
  "an object is patched": word(z.strictObject({ object: ObjectName, patch: AnyObject }), (run, { object, patch }) =>
    run.objects.patch(object, patch),
  ),

  "the extension is applied": word(AnyObject.default({}), async (run, patch) => {
    await run.prepareNamespace();
    await run.applyExtension(patch);
  }),
  "the extension is applied without its namespace": word(AnyObject.default({}), (run, patch) => run.applyExtension(patch)),
  "another extension is applied": word(z.strictObject({ suffix: Name, spec: AnyObject.default({}) }), (run, { suffix, spec }) =>
    run.applyOther(suffix, spec),
  ),
  "the extension is changed": word(AnyObject, (run, patch) => run.applyExtension(patch)),
  "the extension is deleted": word(Nothing, (run) => run.deleteExtension()),
  "the API server rejects the extension": word(
    z.strictObject({ spec: AnyObject.default({}), name: z.string().optional(), message: z.string() }),
    (run, { spec, name, message }) => run.expectExtensionRejected({ spec, ...(name === undefined ? {} : { name }) }, message),
  ),

  "a catalog is applied": word(
    z.strictObject({ name: Name, spec: AnyObject, labels: z.record(z.string(), z.string()).default({}) }),
    (run, { name, spec, labels }) => run.catalogs.apply(name, spec, labels),
  ),
  "a catalog is changed": word(z.strictObject({ name: Name, patch: AnyObject }), (run, { name, patch }) => run.catalogs.patch(name, patch)),
  "a catalog has an endpoint": word(z.strictObject({ catalog: Name, path: z.string().startsWith("/") }), (run, { catalog, path }) =>
    run.catalogs.requireEndpoint(catalog, path),
  ),
  "a catalog is deleted": word(Name, (run, name) => run.catalogs.delete(name)),
  "an image of a catalog is pushed": word(
    z.strictObject({ name: Name, tag: Name, content: ScenarioCatalog }),
    (run, { name, tag, content }) => run.catalogs.push(name, tag, toTableCatalog(content)),
  ),
  "an image with files is pushed": word(
    z.strictObject({ name: Name, tag: Name, files: z.record(z.string(), z.string()) }),
    (run, { name, tag, files }) => run.catalogs.pushFiles(name, tag, files),
  ),
  "the API server rejects a catalog": word(
    z.strictObject({ name: Name.default("rejected"), spec: AnyObject, message: z.string() }),
    (run, { name, spec, message }) => run.catalogs.expectRejected(name, spec, message),
  ),

  "a server restarts": { ...word(Server, (run, name) => run.servers.restart(name)), disrupts: true },
  "the leader of a server ends": { ...word(Server, (run, name) => run.servers.deleteLeader(name)), disrupts: true },
  "the metrics of a server": word(
    z.strictObject({ server: Server, account: z.string().optional(), is: AnyObject }),
    (run, { server, account, is }) => run.servers.expectMetrics(server, account, is),
  ),

  "it is rolled out as": word(Name, (run, bundle) => run.expectRolledOut(bundle)),
  "it stays installed as": word(Name, (run, bundle) => run.expectStays(bundle)),
  condition: word(Condition, (run, condition) => run.expectCondition(condition)),
  "the extension has": word(AnyObject, (run, parts) => run.expectExtension(parts)),
  "the catalog has": word(z.strictObject({ name: Name, parts: AnyObject }), (run, { name, parts }) => run.catalogs.expect(name, parts)),
  "these objects exist": word(z.array(ObjectName).min(1), (run, names) => run.objects.expectAll(names)),
  "these objects do not exist": word(z.array(ObjectName).min(1), (run, names) => run.objects.expectNone(names)),
  "an object has": word(z.strictObject({ object: ObjectName, parts: AnyObject }), (run, { object, parts }) =>
    run.objects.expect(object, parts),
  ),
  "an object keeps": word(z.strictObject({ object: ObjectName, parts: AnyObject }), (run, { object, parts }) =>
    run.objects.expectKept(object, parts),
  ),
  "a ServiceAccount may": word(
    z.strictObject({ account: Name, verb: Name, group: z.string().default(""), resource: Name }),
    (run, { account, ...attributes }) => run.objects.expectAllowed(account, attributes),
  ),
  "the content of a catalog is sent only if it changed": word(
    z.strictObject({ catalog: Name, path: z.string().startsWith("/") }),
    (run, { catalog, path }) => run.catalogs.expectConditional(catalog, path),
  ),
  "the content of a catalog": word(Request, (run, { catalog, is, ...request }) => run.catalogs.expectContent(catalog, request, is)),
};

function word<T extends z.ZodType>(argument: T, run: (run: ScenarioRun, argument: z.output<T>) => Promise<void>): Word {
  return { argument, run };
}
