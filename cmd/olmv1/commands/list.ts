import { type ClusterExtension, getNamespace } from "../../../pkg/api/clusterExtension.ts";
import { CLUSTER_EXTENSION, GROUP } from "../../../pkg/api/constants.ts";
import { mapInParallel } from "../../../pkg/async/concurrency.ts";
import { isSupported, UNKNOWN_SUPPORT } from "../../../pkg/fbc/versionSupport.ts";
import { formatAge } from "../../../pkg/golang/time.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { KindNotServed } from "../../../pkg/kube/errors.ts";
import { getAccountName } from "../../../pkg/permissions/grantObjects.ts";
import { findMostRelevantCondition } from "../../../pkg/rollout/conditionAdvice.ts";
import { describeCatalogs, describeExtensionState, describeUpdate, findHolds, isOutdated } from "../../../pkg/rollout/extensionState.ts";
import { listClusterExtensions, readExtension } from "../../../pkg/rollout/extensions.ts";
import { countPlanProgress } from "../../../pkg/rollout/planProgress.ts";
import { describeSupport } from "../../../pkg/rollout/supportText.ts";
import { withCluster } from "../cli/cluster.ts";
import { measureWidth } from "../cli/columns.ts";
import type { ClusterOptions } from "../cli/options.ts";
import { type ObjectOutputOptions, print, toPrintableObject } from "../cli/output.ts";
import { type Cell, formatTable } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";

/** An API that an extension provides, and the verbs that the user may use. */
export interface ProvidedApi {
  readonly kind: string;
  readonly group: string;
  readonly versions: readonly string[];
  readonly extension: string;
  /** Permitted verbs in the order of `VERBS`; absent if the API is not served. */
  readonly allowed?: readonly string[];
}

const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete"] as const;
const READING: readonly string[] = ["get", "list", "watch"];
/** Concurrent requests. */
const PARALLEL = 8;

/**
 * Returns the APIs that the extensions provide, with the verbs that SelfSubjectAccessReviews permit.
 * @param namespace to check; default: all namespaces.
 */
async function readApis(
  client: Pick<Client, "resourceFor" | "raw">,
  extensions: readonly ClusterExtension[],
  namespace: string | undefined,
): Promise<ProvidedApi[]> {
  const provided = extensions.flatMap(({ metadata, status }) =>
    (status?.providedAPIs ?? []).map(({ group, kind, versions }) => ({ kind, group, versions, extension: metadata.name })),
  );
  return mapInParallel(provided, PARALLEL, async (api) => {
    const { group, kind, versions } = api;
    try {
      const { resource, namespaced } = await client.resourceFor({ apiVersion: `${group}/${versions[0] ?? ""}`, kind });
      const where = namespaced && namespace !== undefined ? { namespace } : {};
      const may = (verb: string): Promise<boolean> => isAllowed(client, { group, resource, verb, ...where });
      if (await may("*")) return { ...api, allowed: [...VERBS] };
      const answers = await Promise.all(VERBS.map(may));
      return { ...api, allowed: VERBS.filter((_, i) => answers[i]) };
    } catch (err) {
      if (err instanceof KindNotServed) return api;
      throw err;
    }
  });
}

async function isAllowed(client: Pick<Client, "raw">, resourceAttributes: object): Promise<boolean> {
  const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
  const review = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
  const answer = (await client.raw("POST", path, review)) as { status?: { allowed?: boolean } };
  return answer.status?.allowed === true;
}

/** Formats APIs as a table. */
export function formatApis(
  terminal: Pick<Terminal, "width" | "colour">,
  apis: readonly ProvidedApi[],
  namespace: string | undefined,
): string {
  if (apis.length === 0) return "no extension provides an API\n";
  const may = namespace === undefined ? "YOU MAY" : `YOU MAY IN ${namespace}`;
  const rows = apis.map(({ kind, group, versions, extension, allowed }) => [
    kind,
    group,
    versions.join(","),
    extension,
    allowedText(allowed),
  ]);
  return formatTable(terminal, ["KIND", "GROUP", "VERSIONS", "EXTENSION", may], rows);
}

function allowedText(allowed: readonly string[] | undefined): string {
  if (!allowed) return "none: not served";
  if (allowed.length === 0) return "none";
  if (allowed.length === VERBS.length) return "all";
  return allowed.length === READING.length && READING.every((verb) => allowed.includes(verb)) ? "read" : allowed.join(",");
}

const HEAD = ["NAME", "PACKAGE", "VERSION", "SUPPORT", "UPDATE", "CATALOG", "NAMESPACE", "STATUS", "HOLD", "AGE"];
const WIDE = ["CATALOGS", "CHANNELS", "RANGE", "SERVICE ACCOUNT", "APPROVAL", "MESSAGE"];

/** Minimum width of -o wide. */
const WIDE_WIDTH = 250;
/** Shown only if an extension has a hold. */
const HOLD = "HOLD";
/** Shown only if a catalog has support phases. */
const SUPPORT = "SUPPORT";

/** Columns to omit on a narrow terminal, in this order, so that names are not truncated. */
const OPTIONAL = ["CATALOG", "NAMESPACE", SUPPORT];

/**
 * Formats extensions as a table.
 * @param now milliseconds since the epoch.
 * @param all all extensions of the cluster, for the progress of plans; if absent, the table omits it.
 */
export function listText(
  terminal: Pick<Terminal, "width" | "colour">,
  extensions: readonly ClusterExtension[],
  now: number,
  isWide = false,
  all?: readonly ClusterExtension[],
): string {
  const unused = [
    ...(extensions.some((one) => findHolds(one).length > 0) ? [] : [HOLD]),
    ...(extensions.some(({ status }) => status?.support) ? [] : [SUPPORT]),
  ];
  const rows = extensions.map((one) => formatRow(one, now, all));
  if (isWide) {
    const columns = narrowed(rows, unused);
    return formatTable(
      { ...terminal, width: Math.max(terminal.width, WIDE_WIDTH) },
      [...columns.head, ...WIDE],
      columns.cells.map((cells, i) => [...cells, ...formatWideCells(extensions[i]!)]),
    );
  }
  const texts = OPTIONAL.map((_, i) => narrowed(rows, [...unused, ...OPTIONAL.slice(0, i)]));
  const fits = ({ head, cells }: Columns): boolean => {
    const lines = formatTable({ width: Number.POSITIVE_INFINITY, colour: false }, head, cells).split("\n");
    return lines.every((line) => measureWidth(line) <= terminal.width);
  };
  const { head, cells } = texts.find(fits) ?? narrowed(rows, [...unused, ...OPTIONAL]);
  return formatTable(terminal, head, cells);
}

interface Columns {
  readonly head: readonly string[];
  readonly cells: readonly (readonly Cell[])[];
}

function narrowed(rows: readonly (readonly Cell[])[], without: readonly string[]): Columns {
  const isShown = (_: unknown, i: number): boolean => !without.includes(HEAD[i] ?? "");
  return { head: HEAD.filter(isShown), cells: rows.map((row) => row.filter(isShown)) };
}

function formatRow(extension: ClusterExtension, now: number, all: readonly ClusterExtension[] | undefined): Cell[] {
  const { metadata, spec, status } = extension;
  const plan = all && countPlanProgress(extension, all);
  const state = describeExtensionState(extension);
  return [
    metadata.name,
    spec.source.catalog?.packageName ?? "",
    status?.install?.bundle.version ?? "",
    status?.install ? describeSupport(status.support) : "",
    describeUpdate(extension),
    status?.install?.catalog ?? "",
    getNamespace(extension),
    plan ? { ...state, text: `${state.text} (${plan.installed} of ${plan.all} bundles)` } : state,
    { text: findHolds(extension).join(", "), mood: "warning" },
    formatAge(metadata.creationTimestamp, now),
  ];
}

function formatWideCells(extension: ClusterExtension): Cell[] {
  const { spec, status } = extension;
  const { channels = [], version = "" } = spec.source.catalog ?? {};
  return [
    describeCatalogs(extension),
    channels.length > 0 ? channels.join(",") : "all",
    version === "" ? "any" : version,
    getAccountName(extension),
    spec.approval ?? "Automatic",
    messageText(status),
  ];
}

/** Returns the message of the most relevant condition, and the types of the Errors and Warnings in `status.problems`. */
function messageText(status: ClusterExtension["status"]): string {
  const types = (status?.problems ?? []).flatMap(({ type, severity }) => (severity === "Info" ? [] : [type]));
  const problems = types.length === 0 ? [] : [`problems: ${[...new Set(types)].join(", ")}`];
  return [findMostRelevantCondition(status?.conditions)?.message ?? "", ...problems].filter((text) => text !== "").join("; ");
}

/** Options of `olmv1 list`. */
export interface ListExtensionsOptions extends ClusterOptions, ObjectOutputOptions {
  outdated?: boolean;
  supported?: boolean;
  apis?: boolean;
  namespace?: string;
}

/** Runs `olmv1 list`. */
export async function listExtensions(terminal: Terminal, options: ListExtensionsOptions): Promise<void> {
  if (options.namespace !== undefined && !options.apis) throw new Error("--namespace needs --apis: ClusterExtensions have no namespace");
  await withCluster(options, async (client) => {
    const all = await listClusterExtensions(client);
    const extensions = all.filter((one) => (!options.outdated || isOutdated(one)) && (!options.supported || hasSupport(one)));
    if (options.apis) {
      const apis = await readApis(client, extensions, options.namespace);
      const names = (): string[] => apis.map(({ kind, group }) => `${kind}.${group}`);
      return print(terminal, options.output, { data: apis, text: () => formatApis(terminal, apis, options.namespace), names });
    }
    if (extensions.length === 0) terminal.err(formatEmpty(options));
    const text = (isWide: boolean) => () => (extensions.length === 0 ? "" : listText(terminal, extensions, Date.now(), isWide, all));
    return print(terminal, options.output, {
      data: { apiVersion: "v1", kind: "List", items: extensions.map((one) => toPrintableObject(one, options)) },
      text: text(false),
      wide: text(true),
      names: () => extensions.map(formatResourceName),
    });
  });
}

function hasSupport({ status }: ClusterExtension): boolean {
  return isSupported(status?.support ?? UNKNOWN_SUPPORT);
}

function formatEmpty({ outdated, supported }: ListExtensionsOptions): string {
  if (outdated) return "no extension has an available update\n";
  return supported ? "no extension has a supported version\n" : "no extensions; olmv1 install PACKAGE installs one\n";
}

/** Runs `olmv1 get`. */
export async function getExtension(terminal: Terminal, name: string, options: ClusterOptions & ObjectOutputOptions): Promise<void> {
  await withCluster(options, async (client) => {
    const extension = await readExtension(client, name);
    const text = (isWide: boolean) => () => listText(terminal, [extension], Date.now(), isWide);
    await print(terminal, options.output, {
      data: toPrintableObject(extension, options),
      text: text(false),
      wide: text(true),
      names: () => [formatResourceName(extension)],
    });
  });
}

/** Formats a name like kubectl: clusterextension.olm.operatorframework.io/NAME. */
export function formatResourceName({ metadata }: Pick<ClusterExtension, "metadata">): string {
  return `${CLUSTER_EXTENSION.toLowerCase()}.${GROUP}/${metadata.name}`;
}
