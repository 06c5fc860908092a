import { findExamples } from "../../../pkg/browse/bundleExamples.ts";
import type { PackageView } from "../../../pkg/browse/details/packageView.ts";
import { describeFoundPackage, findFirst, findRequestedBundle } from "../../../pkg/browse/packageView.ts";
import { formatDay } from "../../../pkg/fbc/lifecycleDocument.ts";
import { formatPlatformSupport } from "../../../pkg/fbc/versionSupport.ts";
import { toYaml } from "../../../pkg/golang/yaml.ts";
import { tryReadClusterVersion } from "../../../pkg/operatorcontroller/openshift/clusterVersion.ts";
import { type InstalledExtension, listInstalledExtensions } from "../../../pkg/rollout/extensions.ts";
import { describeSupport } from "../../../pkg/rollout/supportText.ts";
import { compareText } from "../../../pkg/text/compare.ts";
import { escapeControlCharacters } from "../../../pkg/text/escape.ts";
import { formatCount, formatList } from "../../../pkg/text/lists.ts";
import type { CatalogReadOptions } from "../cli/catalogOptions.ts";
import { wrapText } from "../cli/columns.ts";
import { withPackage } from "../cli/openCatalogs.ts";
import { type Output, print } from "../cli/output.ts";
import { type Cell, type Detail, formatDetails, formatStyled, formatTable, MAX_PROSE } from "../cli/table.ts";
import type { Terminal } from "../cli/terminal.ts";

/** Options for printing a package. */
interface PrintOptions {
  /** The installed versions of the package. */
  readonly installed: readonly InstalledExtension[];
  /** Whether to print lists completely. */
  readonly isWide: boolean;
}

/** Maximum number of names in a shortened list. */
const MAX_NAMES = 12;

/** Formats a package and one of its versions. */
function packageText(terminal: Terminal, view: PackageView, telling: PrintOptions): string {
  const text = (telling.isWide ? view.longDescription : undefined) ?? view.description ?? "";
  return [
    `${formatStyled(terminal, { text: escapeControlCharacters(formatTitle(view)), mood: "strong" })}\n`,
    proseText(text, terminal.width),
    formatDetails(terminal, [...versionDetails(view, telling), ...apiDetails(view, telling), ...aboutDetails(view, telling)]),
    channelTable(terminal, view),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function formatTitle({ package: name, displayName, provider }: PackageView): string {
  const shown = displayName === undefined || displayName === name ? name : `${name}: ${displayName}`;
  return provider === undefined ? shown : `${shown}, by ${provider}`;
}

/** Wraps the paragraphs of a text. */
function proseText(text: string, width: number): string {
  return text === "" ? "" : `${wrapText(escapeControlCharacters(text), Math.min(width, MAX_PROSE)).join("\n")}\n`;
}

function versionDetails(view: PackageView, { installed, isWide }: PrintOptions): Detail[] {
  const { version, catalog, alsoIn } = view;
  const others = alsoIn.map((other) => faint(`also in ${other.catalog}${other.version === undefined ? "" : `, ${other.version}`}`));
  return [
    ["Deprecated", limited(deprecations(view), isWide)],
    ["Version", `${version.version ?? version.bundle}${version.release === undefined ? "" : `, release ${version.release}`}`],
    ["Default version", view.defaultVersion],
    ["Latest version", view.latestVersion],
    ["Support phase", version.lifecycle && [describeSupport(version.lifecycle)]],
    ["OpenShift", version.lifecycle && formatPlatformSupport(version.lifecycle)],
    ["Channels", version.channels.join(", ")],
    ["Catalog", [catalog, ...others]],
    ["Installed", installed.map((one) => ({ text: `${one.version} by ClusterExtension ${one.extension}`, mood: "good" as const }))],
    ["Bundle", version.bundle],
    ["Image", version.image],
    ["Created", version.createdAt],
  ];
}

/** Formats deprecations with their messages; the deprecation of the shown version is first. */
function deprecations({ version, deprecated, channels, deprecatedBundles }: PackageView): Cell[] {
  const others = deprecatedBundles.filter(({ bundle }) => bundle !== version.bundle);
  return [
    ...(deprecated === undefined ? [] : [deprecated]),
    ...(version.deprecated === undefined ? [] : [`this version: ${version.deprecated}`]),
    ...channels.flatMap((one) => (one.deprecated === undefined ? [] : [`channel ${one.name}: ${one.deprecated}`])),
    ...others.map(({ bundle, message }) => `${bundle}: ${message}`),
  ].map((text) => ({ text, mood: "warning" as const }));
}

function apiDetails(
  { version, exampleKinds, suggestedNamespace, package: name, provided }: PackageView,
  { isWide }: PrintOptions,
): Detail[] {
  const described = new Map(provided.map((one) => [`${one.kind}.${one.group}`, isWide ? one.description : one.displayName]));
  const examples =
    exampleKinds && exampleKinds.length > 0 ? `${shortened(exampleKinds)}; olmv1 show ${name} --examples prints them` : undefined;
  return [
    ["Capability", version.capability],
    ["Install modes", version.installModes.join(", ")],
    ["Architectures", version.architectures.join(", ")],
    ["Operating systems", version.operatingSystems.join(", ")],
    ["Min Kubernetes", version.minKubeVersion],
    ["Max OpenShift", version.maxOpenShiftVersion],
    ["Infrastructure", version.infrastructureFeatures.join(", ")],
    ["Namespace", suggestedNamespace === undefined ? undefined : `${suggestedNamespace} (suggested)`],
    ["Provides", limited(kindTexts(version.providedAPIs, described), isWide)],
    ["Requires", limited([...new Set([...version.requires, ...version.requiredAPIs.map((api) => `API ${apiText(api)}`)])], isWide)],
    ["Examples", examples],
  ];
}

function aboutDetails(view: PackageView, { isWide }: PrintOptions): Detail[] {
  const { version, categories = [], keywords = [], maintainers, links, versions } = view;
  const images = version.relatedImages;
  return [
    ["Maturity", view.maturity],
    ["Certified", view.certified === undefined ? undefined : view.certified ? "yes" : "no"],
    ["Support", view.support],
    ["Categories", categories.join(", ")],
    ["Keywords", keywords.join(", ")],
    ["Maintainers", maintainers.map(({ name, email }) => `${name} ${email === undefined ? "" : `<${email}>`}`.trim())],
    ["Repository", view.repository],
    ["Links", links.map(({ name, url }) => (name === "" ? url : `${name}: ${url}`))],
    ["Images", isWide ? images : images.length > 0 ? `${formatCount(images.length, "image")}; -o wide lists them` : undefined],
    ["Versions", versions.length > MAX_NAMES ? `${shortened(versions)}; olmv1 versions lists all ${versions.length}` : versions.join(", ")],
  ];
}

function channelTable(terminal: Terminal, { channels, defaultChannel }: PackageView): string {
  const head = ["CHANNEL", "HEAD", "ENTRIES"];
  const rows = channels.map(({ name, heads, entries, deprecated }): Cell[] => {
    const marks = [...(name === defaultChannel ? ["default"] : []), ...(deprecated === undefined ? [] : ["deprecated"])].join(", ");
    const mood = deprecated !== undefined ? "warning" : name === defaultChannel ? "strong" : undefined;
    return [
      { text: marks === "" ? name : `${name} (${marks})`, mood },
      heads.map(({ version, bundle }) => version ?? bundle).join(", "),
      String(entries),
    ];
  });
  return rows.length === 0 ? "" : formatTable(terminal, head, rows);
}

/** Formats each kind once, with its versions, and with its display name if that differs from the kind. */
function kindTexts(apis: readonly string[], described: ReadonlyMap<string, string | undefined>): string[] {
  const versions = new Map<string, string[]>();
  for (const api of apis) {
    const [group = "", version = "", kind = ""] = api.split("/");
    const key = group === "" ? kind : `${kind}.${group}`;
    versions.set(key, [...(versions.get(key) ?? []), version]);
  }
  return [...versions]
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, all]) => {
      const text = described.get(key);
      const isRepeated = text === undefined || text.replaceAll(" ", "").toLowerCase() === key.split(".")[0]?.toLowerCase();
      return `${key} ${all.join(", ")}${isRepeated ? "" : `: ${text}`}`;
    });
}

/** Formats an API as `group/version Kind`. */
function apiText(api: string): string {
  const at = api.lastIndexOf("/");
  return `${api.slice(0, at)} ${api.slice(at + 1)}`;
}

function limited(all: readonly Cell[], isWide: boolean): Cell[] {
  if (isWide || all.length <= MAX_NAMES) return [...all];
  return [...all.slice(0, MAX_NAMES), faint(`and ${all.length - MAX_NAMES} more; -o wide lists them`)];
}

function shortened(all: readonly string[]): string {
  return formatList(all, { max: MAX_NAMES, rest: () => "…" });
}

function faint(text: string): Cell {
  return { text, mood: "faint" };
}

/** Options of `olmv1 show`. */
export interface ShowOptions extends CatalogReadOptions {
  channel?: string;
  /** True for all examples, or a kind. */
  examples?: true | string;
  output: Output;
}

/** Runs `olmv1 show`. @param text a package, or PACKAGE@VERSION. */
export async function show(terminal: Terminal, text: string, options: ShowOptions): Promise<void> {
  const { name, version } = packageAndVersion(text);
  if (version !== undefined && options.channel !== undefined) throw new Error("use either a version or --channel");
  await withPackage(terminal, name, options, async (all, { client, signal }) => {
    const { found, requested: bundle } = findFirst(all, (one) => findRequestedBundle(one, { version, channel: options.channel }));
    if (options.examples !== undefined) {
      const examples = findExamples(found, bundle.name, options.examples === true ? undefined : options.examples);
      await print(terminal, options.output, { data: examples, text: () => examples.map((one) => `---\n${toYaml(one)}`).join("") });
      return;
    }
    const when = { today: formatDay(Date.now()), cluster: await tryReadClusterVersion(client) };
    const others = all.filter((one) => one !== found);
    const view = describeFoundPackage(found, bundle, others, when);
    const installed = (await listInstalledExtensions(client, signal))?.filter((one) => one.package === name) ?? [];
    await print(terminal, options.output, {
      data: { ...view, ...(client ? { installed } : {}) },
      text: () => packageText(terminal, view, { installed, isWide: false }),
      wide: () => packageText(terminal, view, { installed, isWide: true }),
      names: () => [view.version.bundle],
    });
  });
}

/** Parses PACKAGE or PACKAGE@VERSION. @throws Error if a part is empty. */
function packageAndVersion(text: string): { name: string; version?: string } {
  const at = text.indexOf("@");
  const [name, version] = at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)];
  if (name === "" || version === "") throw new Error(`${JSON.stringify(text)} must be in the form PACKAGE or PACKAGE@VERSION`);
  return version === undefined ? { name } : { name, version };
}
