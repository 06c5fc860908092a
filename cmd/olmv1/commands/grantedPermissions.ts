import type { ClusterExtension, ClusterExtensionSpec } from "../../../pkg/api/clusterExtension.ts";
import { LABEL_BUNDLE_REFERENCE, LABEL_CREATED_FOR } from "../../../pkg/api/constants.ts";
import { messageOf } from "../../../pkg/errors/errors.ts";
import { type BundleRights, bundleRights, type RightsDiff, rightsDiff, rulesFor } from "../../../pkg/installer/bundlePermissions.ts";
import type { Client } from "../../../pkg/kube/client.ts";
import { formatRbacCommand, type MissingPermissions } from "../../../pkg/operatorcontroller/permissions/permissions.ts";
import { ReleaseStore, requireReadable } from "../../../pkg/operatorcontroller/releases/releaseStore.ts";
import type { Installer } from "../../../pkg/rbac/installerManifests.ts";
import type { PolicyRule } from "../../../pkg/rbac/policyRule.ts";
import type { RequiredRules } from "../../../pkg/rbac/requiredRules.ts";
import { isNothing } from "../../../pkg/rbac/ruleSets.ts";
import { lastDeployed } from "../../../pkg/release/record.ts";
import { type ReaderOptions, withReader } from "../../../pkg/sources/bundleReader.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { formatList } from "../../../pkg/text/lists.ts";
import { wrapText } from "../cli/columns.ts";
import type { RegistryOptions } from "../cli/options.ts";
import { withProgress } from "../cli/progress.ts";
import type { Terminal } from "../cli/terminal.ts";

/** The verbs that an object of a bundle takes, as `olmv1 rbac` grants them; told as "manage". */
const MANAGE = ["create", "delete", "get", "list", "patch", "watch"];
const READING = ["get", "list", "watch"];
const NAMES_SHOWN = 5;
const RULES_SHOWN = 30;
const EVERY_NAME = "every name";

/**
 * Rules for people, grouped by where they hold, a line for each: verbs, resources, names. Resources are never cut: somebody has to agree to them.
 * @param more the command that prints all of it, for what is left out of long lists.
 */
export function grantsText(screen: Pick<Terminal, "width">, { clusterRules, namespaceRules }: RequiredRules, more: string): string {
  const places = [
    ["in the whole cluster:", clusterRules] as const,
    ...[...namespaceRules].map(([name, rules]) => [`in namespace ${name}:`, rules] as const),
  ];
  const groups = places.filter(([, rules]) => rules.length > 0);
  if (groups.length === 0) return "  nothing\n";
  const count = groups.reduce((sum, [, rules]) => sum + rules.length, 0);
  let room = count > RULES_SHOWN + 1 ? RULES_SHOWN : count;
  const lines = groups.flatMap(([place, rules]) => {
    const shown = rules.toSorted((a, b) => breadth(b) - breadth(a)).slice(0, Math.max(room, 0));
    room -= shown.length;
    return shown.length === 0 ? [] : [`  ${place}`, ...shown.flatMap((rule) => ruleLines(screen, rule))];
  });
  const left = count > RULES_SHOWN + 1 ? [`  … and ${count - RULES_SHOWN} more: ${more}`] : [];
  return `${[...lines, ...left].join("\n")}\n`;
}

/** The broadest come first, so that none of them is among those that are left out. */
function breadth({ verbs, resources = [], resourceNames = [] }: PolicyRule): number {
  if (verbs.includes("*") || resources.includes("*")) return 2;
  return resourceNames.length === 0 && verbs.some((verb) => !READING.includes(verb)) ? 1 : 0;
}

function ruleLines(screen: Pick<Terminal, "width">, rule: PolicyRule): string[] {
  const text = `${verbsText(rule)} ${whatText(rule)}`;
  return wrapText(escapeControlCharacters(text), screen.width, "        ").map((line, i) =>
    i === 0 ? line.replace(/^ {8}/, "    ") : line,
  );
}

function verbsText({ verbs }: PolicyRule): string {
  if (verbs.includes("*")) return "do everything with";
  const isManaging = MANAGE.every((verb) => verbs.includes(verb));
  return (isManaging ? ["manage", ...verbs.filter((verb) => !MANAGE.includes(verb))] : verbs).join(", ");
}

function whatText({ apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: PolicyRule): string {
  if (nonResourceURLs.length > 0) return nonResourceURLs.join(", ");
  const what = apiGroups.flatMap((group) => resources.map((resource) => (group === "" ? resource : `${resource}.${group}`))).join(", ");
  const names = formatList(resourceNames, { max: NAMES_SHOWN, rest: (more) => `… and ${more} more` });
  return `${what}: ${names === "" ? EVERY_NAME : names}`;
}

/** What of an extension decides about the rights that its bundles need; without a namespace it is the one that the first bundle suggests. */
export interface RightsRequest extends Pick<ClusterExtensionSpec, "config" | "install" | "uninstall"> {
  readonly namespace: string | undefined;
  readonly serviceAccount: string;
}

/** The rights for bundle images, each pulled, in their order. @throws Error that names the image. */
export async function rightsFor(
  terminal: Terminal,
  images: readonly string[],
  { namespace, serviceAccount, config, install, uninstall }: RightsRequest,
  options: ReaderOptions,
): Promise<BundleRights[]> {
  const bundleOptions = {
    ...(namespace === undefined ? {} : { namespace }),
    serviceAccount,
    config: config?.inline,
    strategy: "escalate" as const,
    crdPolicy: uninstall?.crdPolicy ?? "DeleteIfUnused",
    webhookCertProvider: "auto" as const,
    aggregateUserRoles: install?.userRoles === "Aggregate",
    valuesFrom: config?.valuesFrom ?? [],
  };
  return withProgress(terminal, `pulling ${images.join(", ")}`, () =>
    withReader(options, (reader) => bundleRights(terminal, images, bundleOptions, reader)),
  );
}

/** What an upgrade means for rights. */
export interface NewRights {
  readonly installer: Installer;
  /** `olmv1 install` made the ServiceAccount, so its rights are ours to grant. */
  readonly isOurs: boolean;
  /** What the installer needs for both bundles and the way between them. */
  readonly rules: RequiredRules;
  readonly diff: RightsDiff;
  /** The command that prints all of it. */
  readonly command: string;
}

/** What the API server answers about the permissions of the ServiceAccount: those that it lacks, if any, or why that is not known. */
export type AccountPermissions = { readonly lacking: MissingPermissions | undefined } | { readonly unknown: string };

/**
 * The rights for the installed bundle and the next one; undefined where no ServiceAccount is named.
 * Where the image of the installed bundle cannot be pulled any more, everything counts as new, and that is told.
 */
export async function newRights(
  terminal: Terminal,
  client: Client,
  extension: ClusterExtension,
  image: string,
  options: RegistryOptions & { systemNamespace: string },
): Promise<NewRights | undefined> {
  const { metadata, spec } = extension;
  const name = spec.serviceAccount?.name;
  if (name === undefined) return undefined;
  const history = await new ReleaseStore(client, options.systemNamespace).history({ name: metadata.name, uid: metadata.uid ?? "" });
  requireReadable(history, "cannot upgrade: ");
  const installed = lastDeployed(history.current)?.labels[LABEL_BUNDLE_REFERENCE];
  const request = { ...spec, serviceAccount: name };
  const to = await rightsFor(terminal, [image], request, options);
  const from = installed === undefined ? [] : await before(terminal, () => rightsFor(terminal, [installed], request, options));
  return {
    installer: { namespace: spec.namespace, name },
    isOurs: await isInstallerOurs(client, extension),
    rules: rulesFor([...from, ...to]),
    diff: rightsDiff(from, to),
    command: formatRbacCommand(extension, [...(installed === undefined ? [] : [installed]), image]),
  };
}

/** Whether `olmv1 install` made the ServiceAccount of an extension, for it. */
export async function isInstallerOurs(client: Client, { metadata, spec }: ClusterExtension): Promise<boolean> {
  const name = spec.serviceAccount?.name;
  if (name === undefined) return false;
  const live = await client.get({ apiVersion: "v1", kind: "ServiceAccount", namespace: spec.namespace, name }, { metadataOnly: true });
  return live?.metadata.labels?.[LABEL_CREATED_FOR] === metadata.name;
}

async function before(terminal: Terminal, read: () => Promise<BundleRights[]>): Promise<BundleRights[]> {
  try {
    return await read();
  } catch (err) {
    terminal.err(`olmv1: what the installed bundle needs cannot be told, so all rights count as new: ${messageOf(err)}\n`);
    return [];
  }
}

/** Whether something is granted that was not. */
export function grantsMore({ diff }: NewRights): boolean {
  return !isNothing(diff.installer.added) || !isNothing(diff.operator.added);
}

/** Formats the permissions that an upgrade needs, for the user who must agree to them. */
export function newRightsText(terminal: Pick<Terminal, "width">, rights: NewRights, account: AccountPermissions): string {
  const { isOurs, diff, command } = rights;
  const parts = [isOurs ? grantedText(terminal, rights) : lackingText(terminal, rights, account)];
  if (!isNothing(diff.operator.added))
    parts.push("the bundle's own ServiceAccounts may from now on:\n", grantsText(terminal, diff.operator.added, command));
  return `${parts.join("")}\n`;
}

/** What a ServiceAccount that `olmv1 install` made is granted. */
function grantedText(terminal: Pick<Terminal, "width">, { installer, diff, command }: NewRights): string {
  if (isNothing(diff.installer.added)) return `${accountText(installer)} needs no new right\n`;
  const head = `${accountText(installer)} may from now on ("manage" is create, get, list, watch, patch and delete):\n`;
  return `${head}${grantsText(terminal, diff.installer.added, command)}`;
}

/** What a ServiceAccount that somebody else made lacks. */
function lackingText(terminal: Pick<Terminal, "width">, { installer, diff, command }: NewRights, account: AccountPermissions): string {
  const who = accountText(installer);
  const howTo = `  grant them: ${command} | kubectl apply -f -\n`;
  if ("unknown" in account) {
    if (isNothing(diff.installer.added)) return `${who} needs no new permission\n`;
    const head = `cannot check the permissions of ${who}: ${escapeControlCharacters(account.unknown)}. The upgrade needs these in addition to those of the installed bundle:\n`;
    return `${head}${grantsText(terminal, diff.installer.added, command)}${howTo}`;
  }
  const { lacking } = account;
  if (!lacking) return `${who} has the permissions that the upgrade needs\n`;
  const head = `${who}, which olmv1 install has not made, ${lacking.doubtful ? "may lack" : "lacks"} these permissions; without them the controller waits and changes nothing:\n`;
  return `${head}${grantsText(terminal, lacking.missing, command)}${howTo}`;
}

function accountText({ namespace, name }: Installer): string {
  return `ServiceAccount ${namespace}/${name}`;
}
